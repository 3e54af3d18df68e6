"""onnx_lowering_library: a plugin of the exporter."""

load("@rules_cc//cc:defs.bzl", "cc_binary")

def onnx_lowering_library(name, srcs, deps = [], copts = [], visibility = None, **kwargs):
    """A shared object with lowerings of one's own, for the attribute plugins of onnx_export.

    Args:
      name: name of the target; the file is libNAME.so.
      srcs: C++ sources; one has RULES_ONNX_PLUGIN, see exporter/plugin/plugin.h.
      deps: what they need beside that header; linked into the file.
      copts: more compiler options.
      visibility: of the target.
      **kwargs: passed on to cc_binary.
    """
    library = "lib%s.so" % name
    cc_binary(
        name = library,
        srcs = srcs,
        copts = [
            "-std=c++17",
            "-fvisibility=hidden",
        ] + copts,
        linkshared = True,
        linkstatic = True,
        visibility = ["//visibility:private"],
        deps = deps + [Label("//exporter/plugin")],
        **kwargs
    )
    native.filegroup(
        name = name,
        srcs = [library],
        visibility = visibility,
    )
