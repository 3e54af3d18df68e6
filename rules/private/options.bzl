"""The options of an export: attributes of onnx_export, and flags of onnx-export.

An option some_name is the attribute some_name, the CMake keyword SOME_NAME and
the flag --some-name; its type is that of its default. Only what differs from
the default is passed on.
"""

def _option(default, doc, values = []):
    return struct(default = default, doc = doc, values = values)

# Options that the captured graph depends on.
CAPTURE_OPTIONS = {
    "allow_frozen_shapes": _option(
        False,
        "Sizes that the program froze at capture are warnings instead of errors.",
    ),
    "do_constant_folding": _option(
        True,
        "Computes constant parts of the graph, and folds batch normalization into convolutions under training = \"eval\".",
    ),
    "dynamic_axes": _option(
        {},
        "Axes of unknown size: {\"x\": [\"0:N\", \"2:H\"]} names axes 0 and 2 of the input x. Equal names mean equal sizes.",
    ),
    "input_names": _option(
        [],
        "Names of the graph's inputs, then of its parameters, in order; a shorter list names the first ones.",
    ),
    "training": _option(
        "eval",
        "Whether Dropout and BatchNormalization are exported as in training; preserve takes each module's own mode.",
        values = ["eval", "preserve", "train"],
    ),
}

# Options that only the ONNX graph depends on.
LOWER_OPTIONS = {
    "check": _option(
        True,
        "Runs the ONNX checker with full type and shape inference; a model that fails is an error.",
    ),
    "custom_opsets": _option(
        {},
        "Versions of custom operator domains: {\"domain\": \"version\"}.",
    ),
    "export_params": _option(
        True,
        "False: parameters become graph inputs without values.",
    ),
    "keep_initializers_as_inputs": _option(
        False,
        "True: initializers are graph inputs as well.",
    ),
    "metadata": _option(
        {},
        "Entries of ModelProto.metadata_props.",
    ),
    "operator_export_type": _option(
        "onnx",
        "What becomes of an operator without an ONNX form: refused (onnx), an ATen node (aten_fallback), a custom operator (fallthrough); " +
        "aten and raw write every operator as captured.",
        values = ["onnx", "aten", "aten_fallback", "raw", "fallthrough"],
    ),
    "output_names": _option(
        [],
        "Names of the graph's outputs, in order; a shorter list names the first ones.",
    ),
    "strip_doc_string": _option(
        True,
        "False: each node's doc_string tells its source line.",
    ),
    "verbose": _option(
        False,
        "Prints the graph for a person.",
    ),
}

def option_attributes(options):
    """The rule attributes of a table of options.

    Args:
      options: CAPTURE_OPTIONS or LOWER_OPTIONS.
    Returns:
      A dictionary from name to attribute.
    """
    attributes = {}
    for name, option in options.items():
        kind = type(option.default)
        if name == "dynamic_axes":
            attribute = attr.string_list_dict(doc = option.doc)
        elif kind == "bool":
            attribute = attr.bool(default = option.default, doc = option.doc)
        elif kind == "dict":
            attribute = attr.string_dict(doc = option.doc)
        elif kind == "list":
            attribute = attr.string_list(doc = option.doc)
        else:
            attribute = attr.string(default = option.default, doc = option.doc, values = option.values)
        attributes[name] = attribute
    return attributes

def dynamic_axes_json(axes_of_input):
    """The command line's form of a dynamic_axes attribute.

    Args:
      axes_of_input: {"x": ["0:N", "2:H"]}.
    Returns:
      The JSON text {"x": {"0": "N", "2": "H"}}.
    """
    result = {}
    for name, axes in axes_of_input.items():
        named = {}
        for axis in axes:
            index, separator, symbol = axis.partition(":")
            if not separator or not symbol or not index.lstrip("-").isdigit():
                fail("%r is not AXIS:NAME, as in \"0:N\"" % axis, attr = "dynamic_axes")
            named[index] = symbol
        result[name] = named
    return json.encode(result)

def add_options(args, options, values):
    """Adds the flags of a table of options to a command line.

    Args:
      args: the Args object.
      options: CAPTURE_OPTIONS or LOWER_OPTIONS.
      values: ctx.attr.
    """
    for name, option in options.items():
        value = getattr(values, name)
        if value == option.default:
            continue
        flag = "--" + name.replace("_", "-")
        if name == "dynamic_axes":
            args.add(flag, dynamic_axes_json(value))
        elif type(value) == "bool":
            args.add(flag, "true" if value else "false")
        elif type(value) == "dict":
            for key in sorted(value):
                args.add(flag, "%s=%s" % (key, value[key]))
        elif type(value) == "list":
            args.add_joined(flag, value, join_with = ",")
        else:
            args.add(flag, value)
