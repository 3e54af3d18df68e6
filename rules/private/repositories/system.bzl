"""Libraries and tools that the distribution installed."""

# Where compilers look without being told.
_INCLUDE_DIRS = ["/usr/local/include", "/usr/include"]

_LIBRARY_BUILD = """\
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "{target}",
    linkopts = {linkopts},
    visibility = ["//visibility:public"],
)
"""

def _target_name(ctx):
    return ctx.name.split("rules_onnx_")[-1]

def _how_to_override(ctx):
    return "install %s, or declare a repository %s with a target %s before rules_onnx_repositories()." % (
        ctx.attr.package,
        ctx.name,
        _target_name(ctx),
    )

def _system_library_repository_impl(ctx):
    if not [d for d in _INCLUDE_DIRS if ctx.path(d + "/" + ctx.attr.header).exists]:
        fail("No %s in %s: %s" % (ctx.attr.header, " or ".join(_INCLUDE_DIRS), _how_to_override(ctx)))
    linkopts = list(ctx.attr.linkopts)
    if ctx.attr.static_libraries:
        linkopts = ["-Wl,--start-group"] + [
            "-l:lib%s.a" % library
            for library in ctx.attr.static_libraries
        ] + ["-Wl,--end-group"] + linkopts
    ctx.file("BUILD.bazel", _LIBRARY_BUILD.format(target = _target_name(ctx), linkopts = repr(linkopts)))

system_library_repository = repository_rule(
    implementation = _system_library_repository_impl,
    local = True,
    attrs = {
        "header": attr.string(mandatory = True, doc = "A header of the library, as it is included."),
        "static_libraries": attr.string_list(doc = "Names of archives, without lib and .a, searched as one group."),
        "linkopts": attr.string_list(doc = "Further linker options."),
        "package": attr.string(mandatory = True, doc = "The Debian package, for messages."),
    },
    doc = "A cc_library, named as the repository without rules_onnx_, for a library on the compiler's own search path.",
)

def _system_tool_repository_impl(ctx):
    tool = ctx.which(ctx.attr.tool)
    if not tool:
        fail("No %s on PATH: %s" % (ctx.attr.tool, _how_to_override(ctx)))
    ctx.symlink(tool, ctx.attr.tool)
    ctx.file("BUILD.bazel", 'exports_files(["%s"])\n' % ctx.attr.tool)

system_tool_repository = repository_rule(
    implementation = _system_tool_repository_impl,
    local = True,
    attrs = {
        "tool": attr.string(mandatory = True, doc = "Name of the program."),
        "package": attr.string(mandatory = True, doc = "The Debian package, for messages."),
    },
    environ = ["PATH"],
    doc = "Exports a program that is found on PATH.",
)
