"""Analysis tests of the flags of a target's actions, and of a test's script."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("//rules/private:shell.bzl", "shell_quote")

def _contains(argv, flags):
    for start in range(len(argv) - len(flags) + 1):
        if argv[start:start + len(flags)] == flags:
            return True
    return False

def _flags_test_impl(ctx):
    env = analysistest.begin(ctx)
    flags = [flag.replace("$(BINDIR)", ctx.bin_dir.path) for flag in ctx.attr.flags]
    seen = 0
    for action in analysistest.target_actions(env):
        if action.mnemonic == ctx.attr.mnemonic:
            seen += 1
            asserts.true(env, _contains(action.argv, flags), "%s of %s lacks %s" % (action.argv, action.mnemonic, flags))
        elif "OnnxVerify" not in [action.mnemonic, ctx.attr.mnemonic] and action.argv:
            asserts.false(env, ctx.attr.flags[0] in action.argv, "%s has %s" % (action.mnemonic, ctx.attr.flags[0]))
    asserts.true(env, seen > 0, "no action " + ctx.attr.mnemonic)
    return analysistest.end(env)

flags_test = analysistest.make(
    _flags_test_impl,
    attrs = {
        "flags": attr.string_list(doc = "Arguments that follow one another; $(BINDIR) is the folder of outputs."),
        "mnemonic": attr.string(doc = "The kind of actions that all must have the flags; others must not, but that OnnxVerify repeats flags of the export."),
    },
)

def _script_test_impl(ctx):
    env = analysistest.begin(ctx)
    words = " ".join([shell_quote(flag) for flag in ctx.attr.flags])
    scripts = [action.content for action in analysistest.target_actions(env) if action.mnemonic == "FileWrite"]
    asserts.equals(env, 1, len(scripts))
    asserts.true(env, words in scripts[0], "%s lacks %s" % (scripts[0], words))
    return analysistest.end(env)

script_test = analysistest.make(
    _script_test_impl,
    attrs = {"flags": attr.string_list(doc = "Words that follow one another in the script that a test runs.")},
)
