"""LibTorch as a repository."""

load(":deps_dir.bzl", "site_package")

_BUILD = """\
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "torch",
    # In one library, so that they lie in one folder and find each other there.
    srcs = {libraries},
    hdrs = glob(
        ["include/**"],
        exclude = [
            # Another protobuf than the one that we compile with.
            "include/google/**",
            "include/oneapi/**",
            "include/pybind11/**",
        ],
    ),
    includes = [
        "include",
        "include/torch/csrc/api/include",
    ],
    visibility = ["//visibility:public"],
)
"""

def _torch_repository_impl(ctx):
    root = ctx.os.environ.get("TORCH_ROOT", ctx.attr.path)
    root = ctx.path(root) if root else site_package(ctx, "torch")
    if not root or not root.get_child("lib").get_child("libtorch_cpu.so").exists:
        fail("No LibTorch: run tools/setup, or name its folder (that holds include and lib) in TORCH_ROOT.")
    ctx.symlink(root.get_child("include"), "include")
    libraries = []
    for name in ["libtorch_cpu.so", "libc10.so", "libgomp.so.1"]:
        library = root.get_child("lib").get_child(name)
        if library.exists:
            ctx.symlink(library, "lib/" + name)
            libraries.append("lib/" + name)
    ctx.file("BUILD.bazel", _BUILD.format(libraries = repr(libraries)))

torch_repository = repository_rule(
    implementation = _torch_repository_impl,
    local = True,
    attrs = {"path": attr.string(doc = "Folder of LibTorch; default: what tools/setup installed.")},
    environ = ["TORCH_ROOT"],
    doc = "A cc_library :torch of LibTorch. The variable TORCH_ROOT goes before the attribute.",
)
