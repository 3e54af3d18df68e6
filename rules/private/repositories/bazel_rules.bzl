"""Rule sets of Bazel's that have to be mended before Bazel 4.2 can load them."""

_NO_CPP_TOOLCHAIN_HELPER = [
    "cc/private/rules_impl/cc_flags_supplier.bzl",
    "cc/private/rules_impl/compiler_flag.bzl",
]

def _rules_cc_repository_impl(ctx):
    source = ctx.path(ctx.attr.path)
    if not source.exists:
        fail("No rules_cc in %s: install bazel-rules-cc, or declare a repository rules_cc before rules_onnx_repositories()." % source)
    ctx.execute(["cp", "-R", str(source) + "/.", "."])
    for path in _NO_CPP_TOOLCHAIN_HELPER:
        text = ctx.read(path)
        text = text.replace(', "use_cpp_toolchain"', "")
        text = text.replace("use_cpp_toolchain()", '["@bazel_tools//tools/cpp:toolchain_type"]')
        ctx.delete(path)
        ctx.file(path, text, executable = False)

rules_cc_repository = repository_rule(
    implementation = _rules_cc_repository_impl,
    local = True,
    attrs = {"path": attr.string(mandatory = True, doc = "Folder of an unpacked rules_cc 0.0.4.")},
    doc = "A copy of rules_cc without use_cpp_toolchain, which Bazel 4.2 does not have yet.",
)

def _coverage_stub_repository_impl(ctx):
    ctx.file("BUILD.bazel", """\
filegroup(
    name = "coverage_report_generator",
    visibility = ["//visibility:public"],
)
""")

coverage_stub_repository = repository_rule(
    implementation = _coverage_stub_repository_impl,
    doc = "Stands for the coverage tools, which every test rule names and only coverage runs use.",
)
