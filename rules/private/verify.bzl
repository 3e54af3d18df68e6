"""What runs artifacts in ONNX Runtime beside the program: for tests and for their data."""

load(":providers.bzl", "OnnxInfo")
load(":toolchains.bzl", "EXPORTER_TOOLCHAIN", "VERIFY_PYTHON_TOOLCHAIN")

VERIFY_TOOLCHAINS = [EXPORTER_TOOLCHAIN, VERIFY_PYTHON_TOOLCHAIN]

# Attributes of rules that run the artifacts of an export.
VERIFY_ATTRIBUTES = {
    "export": attr.label(
        mandatory = True,
        providers = [OnnxInfo],
        doc = "The onnx_export target whose artifacts are run.",
    ),
}

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
    python = ctx.toolchains[VERIFY_PYTHON_TOOLCHAIN].python
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
