R"py("  # C++ reads this file too, as a raw string: see script.cc.
"""ONNX models and cases of their inputs and outputs: reads, runs and compares them.

A case is a folder in the form of ONNX's backend tests: input_0.pb, input_1.pb, … and output_0.pb, …
Models run in ONNX Runtime; where it has no kernel for a node, in ONNX's reference evaluator.
Needs numpy, onnx and onnxruntime.
"""

import functools
import itertools
import os
import sys


def fail(message):
    print(f"error: {message}", file=sys.stderr)
    sys.exit(2)


try:
    import numpy
    import onnx
    import onnx.numpy_helper
    import onnx.reference
    import onnx.shape_inference
    import onnxruntime
except ImportError as error:
    fail(f"{sys.executable} cannot verify: {error}; name a Python that has onnxruntime, onnx and "
         "numpy with --python")


def read_tensors(folder, kind):
    """(name, array) of input_0.pb, input_1.pb, …"""
    tensors = []
    while os.path.exists(path := os.path.join(folder, f"{kind}_{len(tensors)}.pb")):
        tensor = onnx.TensorProto()
        with open(path, "rb") as file:
            tensor.ParseFromString(file.read())
        tensors.append((tensor.name, onnx.numpy_helper.to_array(tensor)))
    return tensors


def used_names(node):
    """The values that a node reads, those that its inner graphs read included."""
    yield from node.input
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from used_names(inner)
        for output in attribute.g.output:
            yield output.name


RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
          "RandomUniformLike"}


def draws(node):
    """Whether a node, or one of its inner graphs, makes random numbers."""
    if node.domain in ("", "ai.onnx"):
        # Dropout does in training mode, which is an input.
        if node.op_type in RANDOM or (node.op_type == "Dropout" and any(node.input[2:])):
            return True
    return any(draws(inner) for attribute in node.attribute for inner in attribute.g.node)


SIZED_BY_VALUES = {"Compress", "ConstantOfShape", "NonMaxSuppression", "NonZero", "Range", "Unique"}


def inner_graphs(node):
    """(name of the attribute, graph)"""
    return [(attribute.name, attribute.g) for attribute in node.attribute
            if attribute.type == onnx.AttributeProto.GRAPH]


def num_scan_inputs(node):
    [count] = [attribute.i for attribute in node.attribute if attribute.name == "num_scan_inputs"]
    return count


def random_values(graph, found=None):
    """The values that depend on random numbers, those of inner graphs included: name -> whether their
    sizes may too."""
    found = {} if found is None else found
    for node in graph.node:
        if node.op_type in ("If", "Loop", "Scan"):
            find_random_results(node, found)
            continue
        inputs = [name for name in used_names(node) if name in found]
        sized = any(found[name] for name in inputs)
        if node.op_type in ("Shape", "Size") and not sized:
            continue
        if draws(node) or inputs:
            sized = sized or bool(inputs) and node.op_type in SIZED_BY_VALUES
            found.update(dict.fromkeys(node.output, sized))
    return found


def find_random_results(node, found):
    """Those of a branch or loop, and values in it."""
    deciding = list(node.input[:{"If": 1, "Loop": 2, "Scan": 0}[node.op_type]])
    for _, inner in inner_graphs(node):
        results = find_random_inside(node, inner, found)
        if node.op_type == "Loop":
            deciding.append(inner.output[0].name)
        found.update({output: found[result] or found.get(output, False)
                      for output, result in zip(node.output, results) if result in found})
    if not found.keys().isdisjoint(deciding):
        found.update(dict.fromkeys(node.output, True))


def find_random_inside(node, inner, found):
    """The names of the inner graph's results that are the node's. What a loop carries may be random from
    an iteration on."""
    params, given = [value.name for value in inner.input], list(node.input)
    results = [value.name for value in inner.output]
    carried = len(params)
    if node.op_type == "Loop":
        params, results, given = params[2:], results[1:], given[2:]
    elif node.op_type == "Scan":
        carried -= num_scan_inputs(node)
    new = {param: found[value] for param, value in zip(params, given) if value in found}
    while True:
        found.update(new)
        random_values(inner, found)
        new = {param: found[result] for param, result in zip(params[:carried], results)
               if result in found and param not in found}
        if not new:
            return results


def start_session(model, folder):
    """(session, names of inputs, runtime) of a model file, or of a ModelProto whose data is in `folder`."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    content = model
    if not isinstance(model, str):
        content = model.SerializeToString()
        options.add_session_config_entry("session.model_external_initializers_file_folder_path",
                                         folder)
    try:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        return session, [value.name for value in session.get_inputs()], "onnxruntime"
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        if not isinstance(model, str):
            onnx.load_external_data_for_model(model, folder)
        session = onnx.reference.ReferenceEvaluator(model)
        return session, list(session.input_names), "reference"


def bind(names, tensors):
    """name -> value of (name, value) pairs: by their names, by position those of no such input."""
    feeds = {}
    for position, (name, value) in enumerate(tensors):
        if name not in names and position < len(names):
            name = names[position]
        feeds[name] = value
    missing = [name for name in names if name not in feeds]
    if missing:
        raise ValueError(f"no value for input {', '.join(missing)}")
    return feeds


class Model:
    """A model file, ready to run."""

    def __init__(self, path):
        self.path = path
        self.session, self.inputs, self.runtime = start_session(path, None)

    @functools.cached_property
    def outputs(self):
        """The names of its outputs."""
        return list(getattr(self.session, "output_names", None) or [
            value.name for value in self.session.get_outputs()])

    @functools.cached_property
    def random_outputs(self):
        """Of the outputs that depend on random numbers: position -> whether their sizes may too."""
        graph = onnx.load(self.path, load_external_data=False).graph
        names = random_values(graph)
        return {index: names[output.name] for index, output in enumerate(graph.output)
                if output.name in names}

    def arranged(self, outputs):
        """(position of the output, tensor) of all tensors in PyTorch's order: a list of tuples is an output
        for each field, with that of all items."""
        arranged = []
        for _, group in itertools.groupby(range(len(outputs)),
                                          lambda index: prefix_of(self.outputs[index])):
            columns = [[(index, value) for value in flatten([outputs[index]])] for index in group]
            arranged += [pair for row in zip(*columns, strict=True) for pair in row]
        return arranged

    def run(self, tensors):
        return self.session.run(None, bind(self.inputs, tensors))


def prefix_of(name):
    """"out." of the columns out.*.0 and out.*.1; a name of no column as it is."""
    return name.partition("*")[0] if "*" in name else name


def flatten(values):
    """Sequences count as their elements."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from flatten(value)
        else:
            yield value


def compare_types(name, actual, expected, random_size=False):
    """How dtype or shape, or with random_size the rank, differ, or None."""
    if actual.dtype != expected.dtype:
        return f"{name} is {actual.dtype}, expected {expected.dtype}"
    if actual.ndim != expected.ndim or (not random_size and actual.shape != expected.shape):
        return f"{name} has shape {list(actual.shape)}, expected {list(expected.shape)}"
    return None


def compare(name, actual, expected, rtol, atol):
    """(largest absolute difference, problem or None)."""
    actual = numpy.asarray(actual)
    if problem := compare_types(name, actual, expected):
        return None, problem
    if actual.size == 0:
        return 0.0, None
    if actual.dtype.kind in "biuOSU":
        wrong = actual != expected
        error = float(wrong.any())
        if actual.dtype.kind in "iu":
            error = float(numpy.abs(actual.astype(float) - expected.astype(float)).max())
    else:
        a, e = actual.astype(numpy.float64), expected.astype(numpy.float64)
        same = (a == e) | (numpy.isnan(a) & numpy.isnan(e))
        with numpy.errstate(invalid="ignore"):
            difference = numpy.where(same, 0.0, numpy.abs(a - e))
            near = numpy.isfinite(e) & (difference <= atol + rtol * numpy.abs(e))
        wrong = ~(same | near)
        error = float(difference.max())
    if not wrong.any():
        return error, None
    place = tuple(int(i) for i in numpy.argwhere(wrong)[0])
    return error, (f"{name}{list(place)} is {actual[place]}, expected {expected[place]} "
                   f"({int(wrong.sum())} of {wrong.size} differ)")


def text_of(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
#)py"
