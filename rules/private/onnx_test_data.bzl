"""Inputs and expected outputs of an export, in the form of ONNX's own backend tests."""

load(":providers.bzl", "OnnxInfo")
load(":toolchains.bzl", "TOOLCHAIN_ARGUMENTS")
load(":verify.bzl", "VERIFY_ATTRIBUTES", "VERIFY_TOOLCHAINS", "verify_command")

def _path(file):
    return file.path

def _make_test_data(ctx, export, name):
    """The folder name, made by an action."""
    directory = ctx.actions.declare_directory(name)
    command = verify_command(ctx, export[OnnxInfo], _path)
    args = ctx.actions.args()
    args.add_all(command.arguments)
    args.add("--test-data-dir", directory.path)
    ctx.actions.run(
        mnemonic = "OnnxVerify",
        executable = command.exporter.files_to_run,
        arguments = [args],
        inputs = command.files,
        outputs = [directory],
        tools = [program.files_to_run for program in command.programs],
        progress_message = "Verifying %s" % export.label,
    )
    return depset([directory])

def _onnx_test_data_impl(ctx):
    files = _make_test_data(ctx, ctx.attr.export, ctx.label.name)
    return [DefaultInfo(files = files, runfiles = ctx.runfiles(transitive_files = files))]

onnx_test_data = rule(
    implementation = _onnx_test_data_impl,
    attrs = VERIFY_ATTRIBUTES,
    toolchains = VERIFY_TOOLCHAINS,
    doc = """A folder with inputs and expected outputs of an onnx_export, as ONNX's test_data_set_N.

Made as onnx_export_test makes them, and only if every artifact gives what the
program gives. Any ONNX backend can replay them.""",
    **TOOLCHAIN_ARGUMENTS
)

def _onnx_test_data_aspect_impl(target, ctx):
    if OnnxInfo not in target:
        return []
    return [OutputGroupInfo(test_data = _make_test_data(ctx, target, target.label.name + ".test_data"))]

onnx_test_data_aspect = aspect(
    implementation = _onnx_test_data_aspect_impl,
    toolchains = VERIFY_TOOLCHAINS,
    doc = """Adds the output group test_data to onnx_export targets.

What onnx_test_data gives, without a target of its own: --output_groups=test_data
--aspects=@rules_onnx//rules:defs.bzl%onnx_test_data_aspect""",
    **TOOLCHAIN_ARGUMENTS
)
