"""torch_model: a PyTorch program made at build time."""

load(":options.bzl", "dynamic_axes_json")
load(":providers.bzl", "TorchModelInfo")
load(":toolchains.bzl", "MODEL_PYTHON_TOOLCHAIN", "TOOLCHAIN_ARGUMENTS")

def _torch_model_impl(ctx):
    python = ctx.toolchains[MODEL_PYTHON_TOOLCHAIN]
    program = ctx.actions.declare_file(ctx.label.name + (".pt2" if ctx.attr.form == "export" else ".pt"))
    inputs = ctx.actions.declare_file(ctx.label.name + ".inputs.pt")
    if ctx.attr.entry.count(":") != 1:
        fail("entry: %r is not MODULE:FUNCTION" % ctx.attr.entry)

    args = ctx.actions.args()
    args.add(ctx.file._script)
    args.add("--entry", ctx.attr.entry)
    args.add("--form", ctx.attr.form)
    args.add("--training", ctx.attr.training)
    args.add("--seed", ctx.attr.seed)
    if ctx.attr.dynamic_axes:
        args.add("--dynamic-axes", dynamic_axes_json(ctx.attr.dynamic_axes))
    args.add_all(ctx.files.srcs, before_each = "--source")
    args.add("--program", program)
    args.add("--inputs", inputs)
    ctx.actions.run(
        mnemonic = "TorchModel",
        executable = python.python.files_to_run,
        arguments = [args],
        inputs = ctx.files.srcs + ctx.files.data + [ctx.file._script],
        outputs = [program, inputs],
        # Set iteration and the number of threads must not show in the result.
        env = {
            "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
        },
        progress_message = "Making %s with PyTorch" % program.short_path,
    )
    files = depset([program])
    return [
        DefaultInfo(files = files, runfiles = ctx.runfiles([program])),
        OutputGroupInfo(inputs = depset([inputs])),
        TorchModelInfo(inputs = inputs, program = program),
    ]

torch_model = rule(
    implementation = _torch_model_impl,
    attrs = {
        "data": attr.label_list(
            allow_files = True,
            doc = "Files that the module reads, named from the workspace's root.",
        ),
        "dynamic_axes": attr.string_list_dict(
            doc = "Axes of unknown size by the name of forward's parameter, as in onnx_export (a tensor in a list x is x.0). " +
                  "torch.export is told them; with every form, module and saved program are compared at other sizes of them too.",
        ),
        "entry": attr.string(
            mandatory = True,
            doc = "MODULE:FUNCTION, a function without parameters that returns (module, example inputs). " +
                  "MODULE is found among srcs, by its file's name or its dotted path from the workspace's root.",
        ),
        "form": attr.string(
            default = "trace",
            values = ["trace", "script", "export"],
            doc = "torch.jit.trace, torch.jit.script (.pt) or torch.export (.pt2).",
        ),
        "seed": attr.int(
            default = 0,
            doc = "Seed of PyTorch's, NumPy's and Python's random numbers.",
        ),
        "srcs": attr.label_list(
            mandatory = True,
            allow_files = [".py"],
            doc = "The module's Python sources.",
        ),
        "training": attr.string(
            default = "eval",
            values = ["eval", "preserve", "train"],
            doc = "The mode that the module is put into; preserve leaves it as the entry returns it.",
        ),
        "_script": attr.label(
            default = "//rules/private:make_torch_model.py",
            allow_single_file = True,
        ),
    },
    toolchains = [MODEL_PYTHON_TOOLCHAIN],
    provides = [TorchModelInfo],
    doc = """Makes a PyTorch program from the author's Python code.

The same sources give the same bytes. The module and the saved program are run
on a second set of inputs as well, drawn within the range of the example's: a
value that tracing froze (.item(), int(x), a Python branch) makes them differ,
and is an error. So is a size that tracing froze (int(x.shape[0]), len(x)) along
one of dynamic_axes: module and program are also run on the example inputs
repeated along these axes, each by itself and all at once. Where the module
itself fails on inputs made so, that is a warning.

Output group inputs: the example inputs, written by torch.save; onnx_export
takes them where it is given none.""",
    **TOOLCHAIN_ARGUMENTS
)
