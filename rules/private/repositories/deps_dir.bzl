"""Finds what tools/setup installed."""

def deps_dir(ctx):
    """The folder .deps in the root folder of rules_onnx."""
    return ctx.path(Label("//:BUILD.bazel")).dirname.get_child(".deps")

def site_package(ctx, name):
    """Path of an installed package in the virtual environment, or None."""
    lib = deps_dir(ctx).get_child("venv").get_child("lib")
    if not lib.exists:
        return None
    for entry in lib.readdir():
        package = entry.get_child("site-packages").get_child(name)
        if entry.basename.startswith("python3") and package.exists:
            return package
    return None
