"""Inputs and expected outputs of an export, in the form of ONNX's own backend tests."""

load(":verify.bzl", "VERIFY_ATTRIBUTES")

def _onnx_test_data_impl(ctx):
    export = ctx.attr.export
    files = export[OutputGroupInfo].test_data
    if not files.to_list():
        fail("%s has no test data: running artifacts needs onnx-capture-torch and a toolchain of type //rules:verify_python_toolchain_type" % export.label)
    return [DefaultInfo(files = files, runfiles = ctx.runfiles(transitive_files = files))]

onnx_test_data = rule(
    implementation = _onnx_test_data_impl,
    attrs = VERIFY_ATTRIBUTES,
    doc = """The output group test_data of an onnx_export, as a target: for data attributes.

A folder with inputs and expected outputs as ONNX's test_data_set_N, made as
onnx_export_test makes them, and only if every artifact gives what the program
gives. Any ONNX backend can replay them.""",
)
