"""Analysis tests of torch_model and onnx_export_test: each attribute has its effect."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("//rules:defs.bzl", "TorchModelInfo", "onnx_export", "onnx_export_test", "torch_model")
load(":flags_test.bzl", "flags_test")

def _torch_model_test_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    program = target[TorchModelInfo].program
    asserts.equals(env, ctx.attr.program, program.basename)
    asserts.equals(env, [program], target[DefaultInfo].files.to_list())
    asserts.equals(env, [target[TorchModelInfo].inputs], target[OutputGroupInfo].inputs.to_list())
    inputs = [file.basename for file in analysistest.target_actions(env)[0].inputs.to_list()]
    for file in ctx.attr.inputs:
        asserts.true(env, file in inputs, "%s lacks %s" % (inputs, file))
    return analysistest.end(env)

_torch_model_test = analysistest.make(
    _torch_model_test_impl,
    attrs = {
        "inputs": attr.string_list(),
        "program": attr.string(),
    },
)

def _export_test_test_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    runfiles = [file.basename for file in target[DefaultInfo].default_runfiles.files.to_list()]
    for file in ["model.pt", "tested.opset13.onnx", "tested.opset18.onnx", "tested.weights", "onnx-export", "onnx-capture-torch"]:
        asserts.true(env, file in runfiles, "%s lacks %s" % (runfiles, file))
    script = [action.content for action in analysistest.target_actions(env) if action.mnemonic == "FileWrite"][0]
    for words in ["'--model' 'tests/rules/model.pt'", "'--onnx' 'tests/rules/tested.opset18.onnx'", "'--inputs' 'x:float32[N=2,3]'"]:
        asserts.true(env, words in script, "%s lacks %s" % (script, words))
    return analysistest.end(env)

_export_test_test = analysistest.make(_export_test_test_impl)

def _program_impl(ctx):
    program = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(program, "#!/bin/sh\n", is_executable = True)
    return [DefaultInfo(executable = program, runfiles = ctx.runfiles(ctx.files.data))]

# A Python that is a program with files of its own, as a py_binary is.
python_program = rule(
    implementation = _program_impl,
    attrs = {"data": attr.label_list(allow_files = True)},
    executable = True,
)

def _python_program_test_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    runfiles = [file.basename for file in target[DefaultInfo].default_runfiles.files.to_list()]
    for file in ["python_program.sh", "python_package.txt"]:
        asserts.true(env, file in runfiles, "%s lacks %s" % (runfiles, file))
    script = [action.content for action in analysistest.target_actions(env) if action.mnemonic == "FileWrite"][0]
    asserts.true(env, "'--python' 'tests/rules/python_program.sh'" in script, script)
    return analysistest.end(env)

_python_program_test = analysistest.make(
    _python_program_test_impl,
    config_settings = {"//command_line_option:extra_toolchains": "//tests/rules:python_program_toolchain"},
)

def torch_model_tests(name):
    """Declares every test.

    Args:
      name: name of the suite.
    """
    tests = []
    for attribute, attributes, flags in [
        ("srcs", {}, ["--source", "tests/rules/model.py"]),
        ("entry", {}, ["--entry", "model:build"]),
        ("form", {"form": "script"}, ["--form", "script"]),
        ("seed", {"seed": 7}, ["--seed", "7"]),
        ("mode", {"training": "preserve"}, ["--training", "preserve"]),
        ("axes", {"dynamic_axes": {"x": ["0:N"]}, "form": "export"}, ["--dynamic-axes", '{"x":{"0":"N"}}']),
    ]:
        model = "torch_model_with_" + attribute
        torch_model(
            name = model,
            srcs = ["model.py"],
            data = ["example.npz"],
            entry = "model:build",
            tags = ["manual"],
            **attributes
        )
        flags_test(
            name = model + "_flags_test",
            flags = flags,
            mnemonic = "TorchModel",
            target_under_test = ":" + model,
        )
        _torch_model_test(
            name = model + "_test",
            inputs = ["model.py", "example.npz"],
            program = model + (".pt2" if attributes.get("form") == "export" else ".pt"),
            target_under_test = ":" + model,
        )
        tests += [model + "_flags_test", model + "_test"]

    # The example inputs of a torch_model are those of the export.
    onnx_export(
        name = "of_torch_model",
        model = ":torch_model_with_srcs",
        tags = ["manual"],
    )
    flags_test(
        name = "inputs_of_torch_model_test",
        flags = ["--inputs", "$(BINDIR)/tests/rules/torch_model_with_srcs.inputs.pt"],
        mnemonic = "OnnxCapture",
        target_under_test = ":of_torch_model",
    )

    onnx_export(
        name = "tested",
        external_data = "shared",
        inputs = ["x:float32[N=2,3]"],
        model = "model.pt",
        opsets = [13, 18],
        tags = ["manual"],
    )
    onnx_export_test(
        name = "test_of_tested",
        export = ":tested",
        tags = ["manual"],
    )
    _export_test_test(
        name = "export_test",
        target_under_test = ":test_of_tested",
    )
    _python_program_test(
        name = "python_program_test",
        target_under_test = ":test_of_tested",
    )
    native.test_suite(
        name = name,
        tests = tests + ["export_test", "inputs_of_torch_model_test", "python_program_test"],
    )
