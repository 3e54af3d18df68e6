"""ONNX's schemas, checker and shape inference; as in CMakeLists.txt beside."""

load("@rules_cc//cc:defs.bzl", "cc_library")

_PROTOS = [
    "onnx/onnx-data",
    "onnx/onnx-ml",
    "onnx/onnx-operators-ml",
]

# They define templates that other files use before, or specialize after.
_ALONE = [
    "onnx/defs/schema.cc",
    "onnx/defs/tensor_proto_util.cc",
]

_BATCH_SIZE = 4

def onnx_library(name):
    """The library, compiled in batches of some files each.

    Args:
      name: name of the cc_library.
    """
    outputs = [proto + suffix for proto in _PROTOS for suffix in (".pb.cc", ".pb.h")]
    native.genrule(
        name = name + "_protos",
        srcs = [proto + ".proto" for proto in _PROTOS],
        outs = outputs,
        cmd = "root=$$(dirname $(location onnx/onnx-ml.proto))/.. && " +
              "$(execpath @rules_onnx//third_party:protoc) --proto_path=$$root " +
              "--cpp_out=$(RULEDIR) " + " ".join([proto + ".proto" for proto in _PROTOS]),
        tools = ["@rules_onnx//third_party:protoc"],
    )

    sources = native.glob(["onnx/**/*.cc"], exclude = ["onnx/cpp2py_export.cc"] + _ALONE)
    batches = []
    for start in range(0, len(sources), _BATCH_SIZE):
        batch = "unity/%d.cc" % (start // _BATCH_SIZE)
        native.genrule(
            name = "unity_%d" % (start // _BATCH_SIZE),
            outs = [batch],
            cmd = "printf '#include \"%s\"\\n' " +
                  " ".join(sources[start:start + _BATCH_SIZE]) + " > $@",
        )
        batches.append(batch)

    cc_library(
        name = name,
        srcs = batches + _ALONE + [out for out in outputs if out.endswith(".cc")],
        hdrs = native.glob(["onnx/**/*.h"]) + [out for out in outputs if out.endswith(".h")],
        copts = [
            # Start-up registers thousands of schemas: optimizing that code costs minutes.
            "-O1",
            "-std=c++20",
            "-w",
        ],
        defines = [
            "ONNX_ML=1",
            "ONNX_NAMESPACE=onnx",
        ],
        includes = ["."],
        linkstatic = True,
        textual_hdrs = sources,
        visibility = ["//visibility:public"],
        deps = ["@rules_onnx//third_party:protobuf"],
    )
