"""Toolchains of rules_onnx."""

# As text, which Bazel 4 wants, and of this repository, whatever a user calls it.
EXPORTER_TOOLCHAIN = str(Label("//rules:exporter_toolchain_type"))
VERIFY_PYTHON_TOOLCHAIN = str(Label("//rules:verify_python_toolchain_type"))
MODEL_PYTHON_TOOLCHAIN = str(Label("//rules:model_python_toolchain_type"))

# Arguments of rules that use a toolchain. What it holds is to be built for the platform of the
# actions, as Bazel 5 and later always do; Bazel 4 has to be told, which newer ones do not accept.
TOOLCHAIN_ARGUMENTS = {} if hasattr(config_common, "toolchain_type") else {"incompatible_use_toolchain_transition": True}

def _program(target):
    """A program for actions (files_to_run) and for tests (executable, runfiles)."""
    info = target[DefaultInfo]
    return struct(
        executable = info.files_to_run.executable,
        files_to_run = info.files_to_run,
        runfiles = info.default_runfiles,
    )

def _onnx_exporter_toolchain_impl(ctx):
    return [platform_common.ToolchainInfo(
        exporter = _program(ctx.attr.exporter),
        torch_capture = _program(ctx.attr.torch_capture) if ctx.attr.torch_capture else None,
    )]

def _exporter_attributes(configuration):
    return {
        "exporter": attr.label(
            mandatory = True,
            cfg = configuration,
            allow_files = True,
            executable = True,
            doc = "The program onnx-export.",
        ),
        "torch_capture": attr.label(
            cfg = configuration,
            allow_files = True,
            executable = True,
            doc = "The program onnx-capture-torch, which reads .pt files; without it only .pt2 files can be exported.",
        ),
    }

onnx_exporter_toolchain = rule(
    implementation = _onnx_exporter_toolchain_impl,
    attrs = _exporter_attributes("exec"),
    doc = "The exporter, for toolchains of type @rules_onnx//rules:exporter_toolchain_type.",
    **TOOLCHAIN_ARGUMENTS
)

# Only for this repository: its tests and its exports then use one build of the
# programs instead of two.
onnx_exporter_target_toolchain = rule(
    implementation = _onnx_exporter_toolchain_impl,
    attrs = _exporter_attributes("target"),
    doc = "The exporter, built for the target platform, which must be that of the actions.",
    **TOOLCHAIN_ARGUMENTS
)

def _onnx_python_toolchain_impl(ctx):
    return [platform_common.ToolchainInfo(python = _program(ctx.attr.python) if ctx.attr.python else None)]

onnx_python_toolchain = rule(
    implementation = _onnx_python_toolchain_impl,
    attrs = {
        "python": attr.label(
            allow_files = True,
            cfg = "exec",
            executable = True,
            doc = "A Python interpreter, or a program that passes its arguments to one: a py_binary, whose runfiles are the packages. Without it nothing is verified.",
        ),
    },
    doc = """A Python, for toolchains of the types @rules_onnx//rules:verify_python_toolchain_type
(with onnx, onnxruntime and numpy) and @rules_onnx//rules:model_python_toolchain_type (with torch).""",
    **TOOLCHAIN_ARGUMENTS
)
