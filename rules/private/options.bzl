"""The options of an export: attributes of onnx_export, and flags of onnx-export.

An option some_name is the attribute some_name, the CMake keyword SOME_NAME and
the flag --some-name; its type is that of its default. Only what differs from
the default is passed on.
"""

# The first and the last opset that onnx-export knows.
OPSET_RANGE = (9, 28)

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
    "state_outputs": _option(
        False,
        "True: what each buffer is after the call, where the program changes it, is an output too, final_state.NAME.",
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

# Options of either table that `onnx-export verify` takes too: what the program is to give, and
# which captured graph a difference is looked for in, depend on them.
VERIFY_OPTIONS = [
    "allow_frozen_shapes",
    "do_constant_folding",
    "dynamic_axes",
    "operator_export_type",
    "training",
]

# Attributes with files that `onnx-export verify` takes too.
VERIFY_FILES = [
    "op_mapping",
    "plugins",
    "torch_libraries",
]

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
                fail("dynamic_axes: %r is not AXIS:NAME, as in \"0:N\"" % axis)
            named[index] = symbol
        result[name] = named
    return json.encode(result)

def flag_of(name):
    """The flag of an option.

    Args:
      name: "some_name".
    Returns:
      "--some-name".
    """
    return "--" + name.replace("_", "-")

def option_flags(options, values):
    """The part of a command line that says the options of a table.

    Args:
      options: CAPTURE_OPTIONS, LOWER_OPTIONS or a part of them.
      values: ctx.attr.
    Returns:
      A list of words.
    """
    words = []
    for name, option in options.items():
        value = getattr(values, name)
        if value == option.default:
            continue
        flag = flag_of(name)
        if name == "dynamic_axes":
            words += [flag, dynamic_axes_json(value)]
        elif type(value) == "bool":
            words += [flag, "true" if value else "false"]
        elif type(value) == "dict":
            for key in sorted(value):
                words += [flag, "%s=%s" % (key, value[key])]
        elif type(value) == "list":
            words += [flag, ",".join(value)]
        else:
            words += [flag, value]
    return words
