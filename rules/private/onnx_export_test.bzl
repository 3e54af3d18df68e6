"""onnx_export_test: runs artifacts in ONNX Runtime."""

load(":onnx_export.bzl", "EXPORTER_TOOLCHAIN", "VERIFY_PYTHON_TOOLCHAIN")
load(":providers.bzl", "OnnxInfo")
load(":shell.bzl", "shell_quote")

def _onnx_export_test_impl(ctx):
    exporter = ctx.toolchains[EXPORTER_TOOLCHAIN]
    python = ctx.toolchains[VERIFY_PYTHON_TOOLCHAIN]
    info = ctx.attr.export[OnnxInfo]

    words = [exporter.exporter.executable.short_path, "verify", "--model", info.program.short_path]
    files = [info.program, exporter.exporter.executable] + info.input_files
    runfiles = ctx.attr.export[DefaultInfo].default_runfiles.merge(exporter.exporter.runfiles)
    if not exporter.torch_capture:
        fail("running the program needs onnx-capture-torch, which the exporter toolchain has not")
    files.append(exporter.torch_capture.executable)
    runfiles = runfiles.merge(exporter.torch_capture.runfiles)
    words += ["--torch-capture", exporter.torch_capture.executable.short_path]
    for artifact in info.artifacts:
        words += ["--onnx", artifact.model.short_path]
    for spec in info.inputs + [file.short_path for file in info.input_files]:
        words += ["--inputs", spec]
    if info.dynamic_axes:
        words += ["--dynamic-axes", info.dynamic_axes]
    words += ["--python", python.python.short_path]

    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(
        script,
        "#!/bin/sh\nexec %s --test-data-dir \"$TEST_UNDECLARED_OUTPUTS_DIR\"\n" % " ".join([shell_quote(word) for word in words]),
        is_executable = True,
    )
    return [DefaultInfo(
        executable = script,
        runfiles = ctx.runfiles(files, transitive_files = python.files).merge(runfiles),
    )]

onnx_export_test = rule(
    implementation = _onnx_export_test_impl,
    attrs = {
        "export": attr.label(
            mandatory = True,
            providers = [OnnxInfo],
            doc = "The onnx_export target whose artifacts are run.",
        ),
    },
    test = True,
    toolchains = [EXPORTER_TOOLCHAIN, VERIFY_PYTHON_TOOLCHAIN],
    incompatible_use_toolchain_transition = True,
    doc = """Compares every artifact of an onnx_export in ONNX Runtime with what the program computes.

At the example sizes, at a second size for each dynamic axis, and with all of
them moved. Inputs and expected outputs lie among the test's outputs, in the
form of ONNX's test_data_set_0.""",
)
