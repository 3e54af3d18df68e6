"""The Python that verifies artifacts and makes models."""

load(":deps_dir.bzl", "deps_dir")

_BUILD = """\
exports_files(["python"])
"""

_WRAPPER = """\
#!/bin/sh
# Packages: {packages}
exec {python} "$@"
"""

_MISSING = """\
#!/bin/sh
echo "No Python at {python}: run tools/setup, or name an interpreter that has torch, onnx and onnxruntime in RULES_ONNX_PYTHON." >&2
exit 1
"""

_LIST = """
import importlib.metadata as m
print(" ".join(sorted({d.metadata["Name"] + "==" + d.version for d in m.distributions()})))
"""

def _python_repository_impl(ctx):
    python = ctx.os.environ.get("RULES_ONNX_PYTHON", ctx.attr.path)
    if not python:
        python = deps_dir(ctx).get_child("venv").get_child("bin").get_child("python")
    ctx.file("BUILD.bazel", _BUILD)
    if not ctx.path(python).exists:
        ctx.file("python", _MISSING.format(python = python))
        return
    listing = ctx.execute([python, "-c", _LIST])
    if listing.return_code:
        fail("%s cannot list its packages: %s" % (python, listing.stderr))
    ctx.file("python", _WRAPPER.format(python = python, packages = listing.stdout.strip()))

python_repository = repository_rule(
    implementation = _python_repository_impl,
    local = True,
    attrs = {"path": attr.string(doc = "The interpreter; default: that of the environment that tools/setup made.")},
    environ = ["RULES_ONNX_PYTHON"],
    doc = """A program :python that starts an installed interpreter.

The versions of its packages stand in the program's text, so that another set of packages is another build.
The variable RULES_ONNX_PYTHON goes before the attribute. Where there is no interpreter the program says so when it is
started: whoever only exports does without.""",
)
