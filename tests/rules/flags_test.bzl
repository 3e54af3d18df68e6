"""An analysis test of the flags of a target's actions."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")

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
        elif action.argv and action.mnemonic not in ctx.attr.also:
            asserts.false(env, ctx.attr.flags[0] in action.argv, "%s has %s" % (action.mnemonic, ctx.attr.flags[0]))
    asserts.true(env, seen > 0, "no action " + ctx.attr.mnemonic)
    return analysistest.end(env)

flags_test = analysistest.make(
    _flags_test_impl,
    attrs = {
        "also": attr.string_list(doc = "Further kinds of actions that may have the flags."),
        "flags": attr.string_list(doc = "Arguments that follow one another; $(BINDIR) is the folder of outputs."),
        "mnemonic": attr.string(doc = "The kind of actions that all must have the flags, and others must not."),
    },
)
