"""onnx_export_test: runs artifacts in ONNX Runtime."""

load(":providers.bzl", "OnnxInfo")
load(":shell.bzl", "shell_quote")
load(":toolchains.bzl", "TOOLCHAIN_ARGUMENTS")
load(":verify.bzl", "VERIFY_ATTRIBUTES", "VERIFY_TOOLCHAINS", "verify_command")

def _runfiles_path(file):
    return file.short_path

def _onnx_export_test_impl(ctx):
    command = verify_command(ctx, ctx.attr.export[OnnxInfo], _runfiles_path)
    words = [_runfiles_path(command.exporter.executable)] + command.arguments
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(
        script,
        "#!/bin/sh\nexec %s --test-data-dir \"$TEST_UNDECLARED_OUTPUTS_DIR\"\n" % " ".join([shell_quote(word) for word in words]),
        is_executable = True,
    )
    runfiles = ctx.runfiles(
        [program.executable for program in command.programs],
        transitive_files = command.files,
    )
    for program in command.programs:
        runfiles = runfiles.merge(program.runfiles)
    return [DefaultInfo(executable = script, runfiles = runfiles)]

onnx_export_test = rule(
    implementation = _onnx_export_test_impl,
    attrs = VERIFY_ATTRIBUTES,
    test = True,
    toolchains = VERIFY_TOOLCHAINS,
    doc = """Compares every artifact of an onnx_export in ONNX Runtime with what the program computes.

At the example sizes, at a second size for each dynamic axis, with all of them
moved, and at smaller sizes where the program takes them. Inputs and expected
outputs lie among the test's outputs, in the form of ONNX's test_data_set_0.""",
    **TOOLCHAIN_ARGUMENTS
)
