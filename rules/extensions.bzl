"""The repositories of rules_onnx for MODULE.bazel; for WORKSPACE, see repositories.bzl.

A root module puts its own abseil, protobuf, LibTorch, … in place with
override_repo; such a repository offers the target that third_party/BUILD.bazel names.
"""

load(":repositories.bzl", "rules_onnx_own_repositories")

def _declare(repository, name, **attributes):
    repository(name = name, **attributes)

def _repositories_impl(_ctx):
    rules_onnx_own_repositories(_declare)

repositories = module_extension(
    implementation = _repositories_impl,
    doc = "Libraries and tools that the exporter is built with, and the Python that verifies.",
)
