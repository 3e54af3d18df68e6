"""The build of one source folder, as cmake/RulesOnnxFolder.cmake does it.

Sources are found by pattern:
  *_test.cc        one GoogleTest program for the folder
  *_test_util.cc   part of that program
  main.cc          the folder's program
  *.proto          compiled, headers included as "<folder>/<name>.pb.h"
  other *.cc       the folder's library
"""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")

_COPTS = [
    "-std=c++20",
    # Folding must give the same bits on every CPU.
    "-ffp-contract=off",
]

def _protobuf_sources(proto):
    stem = proto[:-len(".proto")]
    outs = [stem + ".pb.cc", stem + ".pb.h"]
    native.genrule(
        name = stem + "_protobuf",
        srcs = [proto],
        outs = outs,
        # Named from the repository's root, which is not the root of the
        # execution tree when another workspace uses this one.
        cmd = " && ".join([
            "source=$(location %s)" % proto,
            "path=%s/%s" % (native.package_name(), proto),
            "root=$${source%$$path}",
            "$(execpath //third_party:protoc) --proto_path=$${root:-.} --cpp_out=$(GENDIR)/$$root $$path",
        ]),
        tools = ["//third_party:protoc"],
    )
    return outs

def rules_onnx_library(deps = [], test_deps = [], python_tests = False, alwayslink = False, public = False):
    """The folder's library, named as the folder, and its test.

    Args:
      deps: what the library includes.
      test_deps: what only the tests include.
      python_tests: the test runs Python, which it finds in the variable RULES_ONNX_PYTHON.
      alwayslink: keeps files that only register themselves.
      public: other projects may depend on the library.
    """
    package = native.package_name()
    name = package.split("/")[-1]
    generated = []
    for proto in native.glob(["*.proto"]):
        generated += _protobuf_sources(proto)
    if generated:
        deps = deps + ["//third_party:protobuf"]
    cc_library(
        name = name,
        srcs = native.glob(
            ["*.cc"],
            exclude = [
                "*_test.cc",
                "*_test_util.cc",
                "main.cc",
            ],
        ) + [file for file in generated if file.endswith(".cc")],
        hdrs = native.glob(["*.h"]) + [file for file in generated if file.endswith(".h")],
        # Scripts that a source includes as text.
        textual_hdrs = native.glob(["*.py"]),
        alwayslink = alwayslink,
        copts = _COPTS,
        linkstatic = True,
        visibility = ["//visibility:public" if public else "//:__subpackages__"],
        deps = deps,
    )
    test_sources = native.glob([
        "*_test.cc",
        "*_test_util.cc",
    ])
    if test_sources:
        python = ["@rules_onnx_python//:python"] if python_tests else []
        cc_test(
            name = name + "_test",
            srcs = test_sources,
            copts = _COPTS,
            data = native.glob(["testdata/**"]) + python,
            env = {"RULES_ONNX_PYTHON": "$(rootpath %s)" % python[0]} if python else {},
            linkstatic = True,
            deps = [":" + name, "//third_party:gtest"] + deps + test_deps,
        )

def rules_onnx_binary(name, visibility = None):
    """The folder's main.cc, linked with its library.

    Args:
      name: name of the program.
      visibility: default: everybody.
    """
    cc_binary(
        name = name,
        srcs = ["main.cc"],
        copts = _COPTS,
        visibility = visibility or ["//visibility:public"],
        deps = [":" + native.package_name().split("/")[-1]],
    )
