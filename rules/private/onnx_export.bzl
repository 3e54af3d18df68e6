"""onnx_export: ONNX artifacts of a PyTorch program."""

load(":options.bzl", "CAPTURE_OPTIONS", "LOWER_OPTIONS", "OPSET_RANGE", "VERIFY_FILES", "VERIFY_OPTIONS", "flag_of", "option_attributes", "option_flags")
load(":providers.bzl", "OnnxInfo", "TorchModelInfo")
load(":toolchains.bzl", "EXPORTER_TOOLCHAIN", "TOOLCHAIN_ARGUMENTS")
load(":verify.bzl", "OPTIONAL_VERIFY_TOOLCHAINS", "can_verify", "make_test_data")

_LAYOUTS = ["none", "single", "per_tensor", "shared"]

def _check_unique(values, attribute):
    if not values:
        fail("%s: no value is given" % attribute)
    seen = {}
    for value in values:
        if value in seen:
            fail("%s: %s is given twice" % (attribute, value))
        seen[value] = True

def _layouts(ctx):
    layouts = ctx.attr.external_data.split(",")
    for layout in layouts:
        if layout not in _LAYOUTS:
            fail("external_data: %r is none of %s" % (layout, ", ".join(_LAYOUTS)))
    _check_unique(layouts, "external_data")
    return layouts

def _opsets(ctx):
    first, last = OPSET_RANGE
    for opset in ctx.attr.opsets:
        if opset < first or opset > last:
            fail("opsets: %d is not within %d..%d" % (opset, first, last))
    _check_unique(ctx.attr.opsets, "opsets")
    return ctx.attr.opsets

def _output_template(ctx, opsets, layouts):
    template = ctx.attr.output
    if not template:
        return ctx.label.name + (".opset{opset}" if len(opsets) > 1 else "") + \
               (".{external_data}" if len(layouts) > 1 else "") + ".onnx"
    if "/" in template:
        fail("output: %r is not a file name" % template)
    for field, values in (("{opset}", opsets), ("{external_data}", layouts)):
        if len(values) > 1 and field not in template:
            fail("output: %r must hold %s, since there are %d of them" % (template, field, len(values)))
    return template

def _program(ctx):
    """The program, and the example inputs that are files."""
    if TorchModelInfo in ctx.attr.model:
        info = ctx.attr.model[TorchModelInfo]
        if not ctx.attr.inputs and not ctx.attr.input_files:
            return info.program, [info.inputs]
        return info.program, ctx.files.input_files
    return ctx.file.model, ctx.files.input_files

def _capture(ctx, exporter, program, input_files):
    graph = ctx.actions.declare_file(ctx.label.name + ".graph")
    weights = ctx.actions.declare_file(ctx.label.name + ".weights")
    debug = ctx.actions.declare_file(ctx.label.name + ".debug")
    args = ctx.actions.args()
    args.add("capture")
    args.add("--model", program)
    args.add_all(ctx.attr.inputs, before_each = "--inputs")
    args.add_all(input_files, before_each = "--inputs")
    args.add_all(option_flags(CAPTURE_OPTIONS, ctx.attr))
    tools = []

    # An ExportedProgram is read without LibTorch.
    if program.extension != "pt2":
        if not exporter.torch_capture:
            fail("model: %s needs onnx-capture-torch, which the exporter toolchain has not" % program.short_path)
        args.add("--torch-capture", exporter.torch_capture.executable)
        tools = [exporter.torch_capture.files_to_run]
    args.add_all(ctx.files.torch_libraries, before_each = "--torch-libraries")
    args.add("--graph", graph)
    args.add("--weights", weights)
    args.add("--debug", debug)
    ctx.actions.run(
        mnemonic = "OnnxCapture",
        executable = exporter.exporter.files_to_run,
        arguments = [args],
        inputs = [program] + input_files + ctx.files.torch_libraries,
        outputs = [graph, weights, debug],
        tools = tools,
        progress_message = "Capturing %s" % program.short_path,
    )
    return graph, weights, debug

def _declare_data(ctx, layout, model_name):
    """The files that the writer puts beside a model."""
    if layout == "single":
        return [ctx.actions.declare_file(model_name + ".data")]
    if layout == "per_tensor":
        return [ctx.actions.declare_directory(model_name + ".data")]
    return []

def _lower(ctx, exporter, captured, opset, layout, name):
    graph, weights, debug = captured
    model = ctx.actions.declare_file(name)
    unused = ctx.actions.declare_file(name + ".unused_inputs")
    shared = layout == "shared"
    data = _declare_data(ctx, layout, name)
    args = ctx.actions.args()
    args.add("lower")
    args.add("--graph", graph)
    args.add("--debug", debug)
    args.add("--opset", opset)
    args.add("--external-data", layout)
    if shared:
        args.add("--weights-name", weights.basename)
    else:
        args.add("--weights", weights)
    args.add_all(option_flags(LOWER_OPTIONS, ctx.attr))
    args.add_all(ctx.files.plugins, before_each = "--plugins")
    args.add_all(ctx.files.op_mapping, before_each = "--op-mapping")
    args.add("--unused-inputs", unused)
    args.add("--output", model)
    ctx.actions.run(
        mnemonic = "OnnxLower",
        executable = exporter.exporter.files_to_run,
        arguments = [args],
        # Debug last: it is read for messages and doc strings only.
        inputs = [graph] + ([] if shared else [weights]) + ctx.files.plugins + ctx.files.op_mapping + [debug],
        outputs = [model, unused] + data,
        unused_inputs_list = unused,
        progress_message = "Lowering %s to opset %d, external data %s" % (ctx.label, opset, layout),
    )
    return struct(opset = opset, external_data = layout, model = model, data = [weights] if shared else data)

def _verify_arguments(ctx, input_files):
    """What `onnx-export verify` has to be told of the export: flags, and (flag, file)."""
    options = {
        name: option
        for name, option in dict(CAPTURE_OPTIONS, **LOWER_OPTIONS).items()
        if name in VERIFY_OPTIONS
    }
    flags = option_flags(options, ctx.attr)
    for spec in ctx.attr.inputs:
        flags += ["--inputs", spec]
    files = [struct(flag = "--inputs", file = file) for file in input_files]
    for name in VERIFY_FILES:
        files += [struct(flag = flag_of(name), file = file) for file in getattr(ctx.files, name)]
    return flags, files

def _onnx_export_impl(ctx):
    exporter = ctx.toolchains[EXPORTER_TOOLCHAIN]
    opsets = _opsets(ctx)
    layouts = _layouts(ctx)
    template = _output_template(ctx, opsets, layouts)
    program, input_files = _program(ctx)

    captured = _capture(ctx, exporter, program, input_files)
    graph, weights, debug = captured
    artifacts = [
        _lower(ctx, exporter, captured, opset, layout, template.format(opset = opset, external_data = layout))
        for layout in layouts
        for opset in opsets
    ]
    verify_flags, verify_files = _verify_arguments(ctx, input_files)
    info = OnnxInfo(
        artifacts = artifacts,
        debug = debug,
        graph = graph,
        program = program,
        verify_files = verify_files,
        verify_flags = verify_flags,
        weights = weights,
    )
    models = [artifact.model for artifact in artifacts]
    data = depset([file for artifact in artifacts for file in artifact.data])
    files = depset(models, transitive = [data])
    groups = {
        "opset%d" % opset: depset(
            [artifact.model for artifact in artifacts if artifact.opset == opset],
            transitive = [depset([
                file
                for artifact in artifacts
                if artifact.opset == opset
                for file in artifact.data
            ])],
        )
        for opset in opsets
    }
    return [
        DefaultInfo(files = files, runfiles = ctx.runfiles(transitive_files = files)),
        info,
        OutputGroupInfo(
            data = data,
            graph = depset([graph, debug]),
            test_data = depset([make_test_data(ctx, info)] if can_verify(ctx) else []),
            **groups
        ),
    ]

_ATTRIBUTES = {
    "external_data": attr.string(
        default = "none",
        doc = "Where tensors of 1 kB and more lie: in the model (none), in one file beside it (single), in a file each (per_tensor), " +
              "or in the one weights file of this target (shared). Several layouts are separated by commas.",
    ),
    "input_files": attr.label_list(
        allow_files = [".npy", ".npz", ".pb", ".pt"],
        doc = "Example inputs that are files, after those of inputs: a tuple written by torch.save, a .npz archive, a .npy array, ONNX tensors.",
    ),
    "inputs": attr.string_list(
        doc = "Example inputs in order: \"x:float32[N=10,3,224,224]\" is the input x with a dynamic axis N of example size 10. " +
              "Without inputs and input_files, those of a torch_model are taken.",
    ),
    "model": attr.label(
        mandatory = True,
        allow_single_file = [".pt", ".pt2"],
        doc = "The program: a torch_model, or a file written by torch.jit.save (.pt) or torch.export.save (.pt2).",
    ),
    "op_mapping": attr.label_list(
        allow_files = [".json"],
        doc = "Files that map operators to nodes of custom domains; their grammar is in exporter/plugin/host/mapping.h.",
    ),
    "opsets": attr.int_list(
        default = [18],
        doc = "Opsets, %d to %d, each an artifact of its own." % OPSET_RANGE,
    ),
    "output": attr.string(
        doc = "File name of the artifacts, with {opset} and {external_data} where there are several; " +
              "default: NAME.onnx, NAME.opset{opset}.onnx, NAME.opset{opset}.{external_data}.onnx.",
    ),
    "plugins": attr.label_list(
        allow_files = [".so"],
        cfg = "exec",
        doc = "Lowerings of one's own, each an onnx_lowering_library; they come before the built-in ones.",
    ),
    "torch_libraries": attr.label_list(
        allow_files = [".so"],
        cfg = "exec",
        doc = "Shared objects that register operators with PyTorch, for a TorchScript program that uses them.",
    ),
}

onnx_export = rule(
    implementation = _onnx_export_impl,
    attrs = dict(
        _ATTRIBUTES,
        **dict(option_attributes(CAPTURE_OPTIONS), **option_attributes(LOWER_OPTIONS))
    ),
    toolchains = OPTIONAL_VERIFY_TOOLCHAINS,
    provides = [OnnxInfo],
    doc = """Exports a PyTorch program to ONNX at one or more opsets.

The program is captured once (OnnxCapture), and each opset and layout is an
action of its own (OnnxLower) that needs neither LibTorch nor, with
external_data = "shared", the weights.

Output groups: opsetN (artifacts of one opset and their data), data, graph, and
test_data: a folder with inputs and expected outputs as ONNX's test_data_set_N,
made only if every artifact gives what the program gives. Without a Python
toolchain that group is empty.""",
    **TOOLCHAIN_ARGUMENTS
)
