"""Analysis tests of onnx_export: each attribute reaches the actions that it is for, and only those."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("//rules:defs.bzl", "OnnxInfo", "onnx_export", "onnx_export_test")
load("//rules/private:options.bzl", "CAPTURE_OPTIONS", "LOWER_OPTIONS", "VERIFY_FILES", "VERIFY_OPTIONS")
load(":flags_test.bzl", "flags_test", "script_test")

def _row(attributes, flags, mnemonic = "OnnxLower"):
    return struct(attributes = attributes, flags = flags, mnemonic = mnemonic)

# Attribute -> values to set, and the flags that one kind of action then has and the others have
# not. Those that verify takes reach the test and its data as well.
_ROWS = {
    "allow_frozen_shapes": _row({"allow_frozen_shapes": True}, ["--allow-frozen-shapes", "true"], "OnnxCapture"),
    "check": _row({"check": False}, ["--check", "false"]),
    "custom_opsets": _row({"custom_opsets": {"b.domain": "2", "a.domain": "1"}}, ["--custom-opsets", "a.domain=1", "--custom-opsets", "b.domain=2"]),
    "do_constant_folding": _row({"do_constant_folding": False}, ["--do-constant-folding", "false"], "OnnxCapture"),
    "dynamic_axes": _row({"dynamic_axes": {"x": ["0:N", "2:H"]}}, ["--dynamic-axes", '{"x":{"0":"N","2":"H"}}'], "OnnxCapture"),
    "export_params": _row({"export_params": False}, ["--export-params", "false"]),
    "input_names": _row({"input_names": ["a", "b"]}, ["--input-names", "a,b"], "OnnxCapture"),
    "keep_initializers_as_inputs": _row({"keep_initializers_as_inputs": True}, ["--keep-initializers-as-inputs", "true"]),
    "metadata": _row({"metadata": {"team": "vision", "build": "7"}}, ["--metadata", "build=7", "--metadata", "team=vision"]),
    "op_mapping": _row({"op_mapping": ["//examples/plugin:mapping.json"]}, ["--op-mapping", "examples/plugin/mapping.json"]),
    "operator_export_type": _row({"operator_export_type": "aten_fallback"}, ["--operator-export-type", "aten_fallback"]),
    "output_names": _row({"output_names": ["y"]}, ["--output-names", "y"]),
    "plugins": _row({"plugins": ["lowerings.so"]}, ["--plugins", "tests/rules/lowerings.so"]),
    "state_outputs": _row({"state_outputs": True}, ["--state-outputs", "true"], "OnnxCapture"),
    "strip_doc_string": _row({"strip_doc_string": False}, ["--strip-doc-string", "false"]),
    "torch_libraries": _row({"torch_libraries": ["operators.so"]}, ["--torch-libraries", "tests/rules/operators.so"], "OnnxCapture"),
    "training": _row({"training": "train"}, ["--training", "train"], "OnnxCapture"),
    "verbose": _row({"verbose": True}, ["--verbose", "true"]),
}

def _defaults_test_impl(ctx):
    env = analysistest.begin(ctx)
    for action in analysistest.target_actions(env):
        for name in CAPTURE_OPTIONS.keys() + LOWER_OPTIONS.keys():
            flag = "--" + name.replace("_", "-")
            asserts.false(env, flag in (action.argv or []), "%s has %s" % (action.mnemonic, flag))
    return analysistest.end(env)

_defaults_test = analysistest.make(_defaults_test_impl)

def _artifacts_test_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    info = target[OnnxInfo]
    asserts.equals(env, ctx.attr.models, [artifact.model.basename for artifact in info.artifacts])
    asserts.equals(
        env,
        sorted(ctx.attr.models + ctx.attr.data),
        sorted([file.basename for file in target[DefaultInfo].files.to_list()]),
    )
    runfiles = [file.basename for file in target[DefaultInfo].default_runfiles.files.to_list()]
    asserts.equals(env, sorted(ctx.attr.models + ctx.attr.data), sorted(runfiles))
    asserts.equals(env, ctx.attr.data, sorted([file.basename for file in target[OutputGroupInfo].data.to_list()]))
    for artifact in info.artifacts:
        group = getattr(target[OutputGroupInfo], "opset%d" % artifact.opset).to_list()
        asserts.true(env, artifact.model in group, "opset%d lacks %s" % (artifact.opset, artifact.model))
        for file in artifact.data:
            asserts.true(env, file in group, "opset%d lacks %s" % (artifact.opset, file))
    return analysistest.end(env)

_artifacts_test = analysistest.make(
    _artifacts_test_impl,
    attrs = {
        "data": attr.string_list(),
        "models": attr.string_list(),
    },
)

def _failure_test_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.expect_failure(env, ctx.attr.message)
    return analysistest.end(env)

_failure_test = analysistest.make(
    _failure_test_impl,
    expect_failure = True,
    attrs = {"message": attr.string()},
)

def _capture_tools_test_impl(ctx):
    env = analysistest.begin(ctx)
    for action in analysistest.target_actions(env):
        with_torch = [file.path for file in action.inputs.to_list() if "torch" in file.basename]
        expected = action.mnemonic == "OnnxVerify" or ctx.attr.torch and action.mnemonic == "OnnxCapture"
        asserts.equals(env, expected, bool(with_torch), "%s: %s" % (action.mnemonic, with_torch))
        if action.mnemonic in ["OnnxCapture", "OnnxLower"]:
            with_python = [file.path for file in action.inputs.to_list() if "python" in file.path]
            asserts.equals(env, [], with_python, action.mnemonic)
    return analysistest.end(env)

_capture_tools_test = analysistest.make(
    _capture_tools_test_impl,
    attrs = {"torch": attr.bool()},
)

def _export(name, **attributes):
    onnx_export(
        name = name,
        tags = ["manual"],
        **dict({"inputs": ["x:float32[N=2,3]"], "model": "model.pt"}, **attributes)
    )
    return ":" + name

def _verify_tests(name, export, flags):
    """Tests that the flags reach the data and the test of an export; their names."""
    flags_test(
        name = name + "_data_test",
        flags = flags,
        mnemonic = "OnnxVerify",
        target_under_test = export,
    )
    onnx_export_test(
        name = name + "_verify",
        export = export,
        tags = ["manual"],
    )
    script_test(
        name = name + "_verify_test",
        flags = flags,
        target_under_test = ":" + name + "_verify",
    )
    return [name + "_data_test", name + "_verify_test"]

def attribute_tests(name):
    """Declares every test.

    Args:
      name: name of the suite.
    """
    options = CAPTURE_OPTIONS.keys() + LOWER_OPTIONS.keys() + VERIFY_FILES
    missing = [option for option in options if option not in _ROWS]
    if missing:
        fail("no test for %s" % ", ".join(missing))
    tests = []
    for option, row in _ROWS.items():
        flags_test(
            name = option + "_test",
            flags = row.flags,
            mnemonic = row.mnemonic,
            target_under_test = _export("with_" + option, **row.attributes),
        )
        tests.append(option + "_test")
        if option in VERIFY_OPTIONS + VERIFY_FILES:
            tests += _verify_tests(option, ":with_" + option, row.flags)

    for flag, attributes, mnemonic, flags in [
        ("model", {}, "OnnxCapture", ["--model", "tests/rules/model.pt"]),
        ("inputs", {"inputs": ["x:int64[2]", "y:float32[]"]}, "OnnxCapture", ["--inputs", "x:int64[2]", "--inputs", "y:float32[]"]),
        ("input_files", {"input_files": ["example.npz"]}, "OnnxCapture", ["--inputs", "x:float32[N=2,3]", "--inputs", "tests/rules/example.npz"]),
        ("npy_file", {"input_files": ["example.npy"], "inputs": []}, "OnnxCapture", ["--inputs", "tests/rules/example.npy"]),
        ("opsets", {"opsets": [13]}, "OnnxLower", ["--opset", "13"]),
        ("external_data", {"external_data": "per_tensor"}, "OnnxLower", ["--external-data", "per_tensor"]),
    ]:
        flags_test(
            name = flag + "_test",
            flags = flags,
            mnemonic = mnemonic,
            target_under_test = _export("with_" + flag, **attributes),
        )
        tests.append(flag + "_test")
        if mnemonic == "OnnxCapture":
            tests += _verify_tests(flag, ":with_" + flag, flags)

    _defaults_test(
        name = "defaults_test",
        target_under_test = _export("plain"),
    )
    tests.append("defaults_test")

    for case, attributes, models, data in [
        ("one", {}, ["files_of_one.onnx"], []),
        ("opsets", {"opsets": [13, 18]}, ["files_of_opsets.opset13.onnx", "files_of_opsets.opset18.onnx"], []),
        ("single", {"external_data": "single"}, ["files_of_single.onnx"], ["files_of_single.onnx.data"]),
        ("per_tensor", {"external_data": "per_tensor"}, ["files_of_per_tensor.onnx"], ["files_of_per_tensor.onnx.data"]),
        ("shared", {"external_data": "shared", "opsets": [9, 28]}, ["files_of_shared.opset9.onnx", "files_of_shared.opset28.onnx"], ["files_of_shared.weights"]),
        ("layouts", {"external_data": "none,shared"}, ["files_of_layouts.none.onnx", "files_of_layouts.shared.onnx"], ["files_of_layouts.weights"]),
        ("output", {"opsets": [13, 18], "output": "net{opset}.onnx"}, ["net13.onnx", "net18.onnx"], []),
    ]:
        _artifacts_test(
            name = "artifacts_of_%s_test" % case,
            data = data,
            models = models,
            target_under_test = _export("files_of_" + case, **attributes),
        )
        tests.append("artifacts_of_%s_test" % case)

    for case, attributes, message in [
        ("no_opset", {"opsets": []}, "no value is given"),
        ("low_opset", {"opsets": [18, 8]}, "opsets: 8 is not within 9..28"),
        ("high_opset", {"opsets": [29]}, "opsets: 29 is not within 9..28"),
        ("same_opset", {"opsets": [18, 18]}, "18 is given twice"),
        ("unknown_layout", {"external_data": "many"}, "\"many\" is none of none, single, per_tensor, shared"),
        ("bad_axis", {"dynamic_axes": {"x": ["N"]}}, "\"N\" is not AXIS:NAME"),
        ("folder_in_output", {"output": "there/net.onnx"}, "is not a file name"),
        ("bad_output", {"opsets": [13, 18], "output": "net.onnx"}, "must hold {opset}"),
    ]:
        _failure_test(
            name = case + "_test",
            message = message,
            target_under_test = _export("with_" + case, **attributes),
        )
        tests.append(case + "_test")

    for form in ["pt", "pt2"]:
        _capture_tools_test(
            name = "tools_of_%s_test" % form,
            target_under_test = _export("program_" + form, model = "model." + form),
            torch = form == "pt",
        )
        tests.append("tools_of_%s_test" % form)

    native.test_suite(
        name = name,
        tests = tests,
    )
