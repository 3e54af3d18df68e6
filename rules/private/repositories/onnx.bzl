"""ONNX's source distribution as a repository."""

load(":deps_dir.bzl", "deps_dir")

def _onnx_sources_repository_impl(ctx):
    root = ctx.os.environ.get("ONNX_ROOT", ctx.attr.path)
    root = ctx.path(root) if root else deps_dir(ctx).get_child("onnx")
    sources = root.get_child("onnx")
    if not sources.get_child("onnx-ml.proto").exists:
        fail("No ONNX sources in %s: run tools/setup, or name the folder that holds onnx/onnx-ml.proto in ONNX_ROOT." % root)

    # Only what is compiled: the package's Python side holds thousands of files.
    for entry in sources.readdir():
        name = entry.basename
        if name.endswith((".h", ".cc", ".proto")) or name in _FOLDERS:
            ctx.symlink(entry, "onnx/" + name)
    ctx.symlink(Label("//third_party/onnx:onnx.BUILD"), "BUILD.bazel")

_FOLDERS = ["common", "defs", "inliner", "shape_inference", "version_converter"]

onnx_sources_repository = repository_rule(
    implementation = _onnx_sources_repository_impl,
    local = True,
    attrs = {"path": attr.string(doc = "The unpacked distribution; default: what tools/setup fetched.")},
    environ = ["ONNX_ROOT"],
    doc = "A cc_library :onnx of schemas, checker and shape inference. The variable ONNX_ROOT goes before the attribute.",
)
