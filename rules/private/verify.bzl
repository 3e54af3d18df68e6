"""What runs artifacts in ONNX Runtime beside the program: for tests and for their data."""

load(":providers.bzl", "OnnxInfo")
load(":toolchains.bzl", "EXPORTER_TOOLCHAIN", "VERIFY_PYTHON_TOOLCHAIN")

VERIFY_TOOLCHAINS = [EXPORTER_TOOLCHAIN, VERIFY_PYTHON_TOOLCHAIN]

# Of rules that do their work without a Python too. Bazel 4 knows no optional toolchains: there,
# //rules/toolchains/without_python stands in.
OPTIONAL_VERIFY_TOOLCHAINS = [
    EXPORTER_TOOLCHAIN,
    config_common.toolchain_type(VERIFY_PYTHON_TOOLCHAIN, mandatory = False) if hasattr(config_common, "toolchain_type") else VERIFY_PYTHON_TOOLCHAIN,
]

# Attributes of rules that run the artifacts of an export.
VERIFY_ATTRIBUTES = {
    "export": attr.label(
        mandatory = True,
        providers = [OnnxInfo],
        doc = "The onnx_export target whose artifacts are run.",
    ),
}

def _python(ctx):
    toolchain = ctx.toolchains[VERIFY_PYTHON_TOOLCHAIN]
    return toolchain.python if toolchain else None

def can_verify(ctx):
    """True if the toolchains hold what runs the program and its artifacts."""
    return bool(_python(ctx) and ctx.toolchains[EXPORTER_TOOLCHAIN].torch_capture)

def verify_command(ctx, info, path):
    """`onnx-export verify` of every artifact of an export.

    Args:
      ctx: of a rule or aspect with VERIFY_TOOLCHAINS.
      info: OnnxInfo.
      path: the function that gives the path of a File where the command runs.
    Returns:
      A struct: exporter (the program to start), arguments (list of strings), files (depset of what
      they name), programs (those of the toolchains that are needed).
    """
    exporter = ctx.toolchains[EXPORTER_TOOLCHAIN]
    python = _python(ctx)
    if not python:
        fail("running artifacts needs a toolchain of type " + VERIFY_PYTHON_TOOLCHAIN)
    if not exporter.torch_capture:
        fail("running the program needs onnx-capture-torch, which the exporter toolchain has not")

    arguments = ["verify", "--model", path(info.program)]
    for artifact in info.artifacts:
        arguments += ["--onnx", path(artifact.model)]
    arguments += info.verify_flags
    for argument in info.verify_files:
        arguments += [argument.flag, path(argument.file)]
    arguments += ["--torch-capture", path(exporter.torch_capture.executable)]
    arguments += ["--python", path(python.executable)]

    artifacts = [file for artifact in info.artifacts for file in [artifact.model] + artifact.data]
    return struct(
        exporter = exporter.exporter,
        arguments = arguments,
        files = depset([info.program] + artifacts + [argument.file for argument in info.verify_files]),
        programs = [exporter.exporter, exporter.torch_capture, python],
    )

def _path(file):
    return file.path

def make_test_data(ctx, info):
    """An action that makes NAME.test_data: inputs and expected outputs, as ONNX's test_data_set_N.

    It fails if an artifact does not give what the program gives.

    Args:
      ctx: of a rule for which can_verify is true.
      info: OnnxInfo of the export.
    Returns:
      The folder.
    """
    directory = ctx.actions.declare_directory(ctx.label.name + ".test_data")
    command = verify_command(ctx, info, _path)
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
        progress_message = "Verifying %s" % ctx.label,
    )
    return directory
