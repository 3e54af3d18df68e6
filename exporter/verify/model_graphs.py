R"py("  # C++ reads this file too, as a raw string: see script.cc.
"""Graphs of a model that are run by themselves: the main one, and inner ones, on the values that they
read of the graphs around them. The iterations of a loop are run one by one.
"""

import collections

from onnx_models import inner_graphs, num_scan_inputs, numpy, onnx, start_session, used_names


def outer_names(graph):
    """The values that an inner graph reads of the graphs around it."""
    used, own = [], {value.name for value in graph.input}
    for node in graph.node:
        used += node.input
        for _, inner in inner_graphs(node):
            used += outer_names(inner)
        own.update(node.output)
    used += [output.name for output in graph.output]
    return [name for name in dict.fromkeys(used) if name and name not in own]


def input_of(name, value):
    """The declaration of an input that takes the tensor, of any shape."""
    dtype = onnx.helper.np_dtype_to_tensor_dtype(numpy.asarray(value).dtype)
    return onnx.helper.make_tensor_value_info(name, dtype, None)


def clear_shapes(kind):
    """Of a TypeProto: those of a tensor, of the items of a sequence, of an optional value."""
    if kind.HasField("tensor_type"):
        kind.tensor_type.ClearField("shape")
    for inner in ("sequence_type", "optional_type"):
        if kind.HasField(inner):
            clear_shapes(getattr(kind, inner).elem_type)


def without_shape(declaration):
    copy = onnx.ValueInfoProto.FromString(declaration.SerializeToString())
    clear_shapes(copy.type)
    return copy


class ModelGraph:
    """`path` leads to it: (name of the node, name of the attribute), …, from outside in."""

    def __init__(self, model, folder, path, graph, outer=None):
        """`folder` has the model's external data; `outer` is the graph around it."""
        self.model, self.folder, self.path, self.graph = model, folder, path, graph
        own = {value.name: value for value in (*graph.value_info, *graph.output, *graph.input)}
        self.declared = outer.declared.new_child(own) if outer else collections.ChainMap(own)
        self.nodes = {node.name: node for node in graph.node}
        self.initializers = {tensor.name for tensor in model.graph.initializer}
        self.inputs = [value.name for value in graph.input if value.name not in self.initializers]
        self.outputs = [value.name for value in graph.output]
        self.sessions = {}

    def with_inner_graphs(self):
        """This graph and all below it."""
        yield self
        for node in self.graph.node:
            for name, graph in inner_graphs(node):
                inner = ModelGraph(self.model, self.folder, (*self.path, (node.name, name)), graph,
                                   self)
                yield from inner.with_inner_graphs()

    def declared_inputs(self, feeds):
        """The main graph's as they are; what goes into an inner one may have any shape."""
        if not self.path:
            return self.graph.input
        return [without_shape(self.declared[name]) if name in self.declared else input_of(name, value)
                for name, value in feeds.items()]

    def part(self, names, feeds):
        """A model that gives the values."""
        needed, kept = set(names), []
        for node in reversed(self.graph.node):
            if not needed.isdisjoint(filter(None, node.output)):
                kept.append(node)
                needed.update(used_names(node))
        part = onnx.ModelProto(ir_version=self.model.ir_version, functions=self.model.functions,
                               opset_import=self.model.opset_import)
        part.graph.name = "part"
        part.graph.node.extend(reversed(kept))
        part.graph.initializer.extend(tensor for tensor in self.model.graph.initializer
                                      if tensor.name in needed)
        part.graph.input.extend(self.declared_inputs(feeds))
        part.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
        return part

    def values(self, names, feeds):
        """name -> value, also of the feeds."""
        names = tuple(dict.fromkeys(name for name in names if name and name not in feeds))
        if names and names not in self.sessions:
            if not self.path:
                self.sessions.clear()  # each is run once, and may be large
            self.sessions[names] = start_session(self.part(names, feeds), self.folder)[0]
        results = self.sessions[names].run(None, feeds) if names else []
        return {**feeds, **dict(zip(names, results))}

    def results(self, feeds):
        values = self.values(self.outputs, feeds)
        return [values[name] for name in self.outputs]

    def runs(self, name, graphs, feeds):
        """(iteration, graph, its feeds) of each run of an inner graph of a node; `graphs` has all by
        their paths."""
        node = self.nodes[name]
        inner = {attribute: graphs[(*self.path, (name, attribute))]
                 for attribute, _ in inner_graphs(node)}
        outer = {attribute: [one for one in outer_names(graph.graph) if one not in self.initializers]
                 for attribute, graph in inner.items()}
        values = self.values([*node.input, *sum(outer.values(), [])], feeds)
        inputs = [values.get(one) for one in node.input]
        read = {attribute: {one: values[one] for one in names} for attribute, names in outer.items()}
        if node.op_type == "If":
            branch = "then_branch" if inputs[0] else "else_branch"
            return [(0, inner[branch], read[branch])]
        if node.op_type == "Loop":
            return loop_runs(inner["body"], inputs, read["body"])
        return scan_runs(node, inner["body"], inputs, read["body"])


def loop_runs(body, inputs, read):
    """Of ONNX's Loop whose body gives nothing that is stacked."""
    limit, go_on, *carried = inputs
    go_on = go_on is None or bool(go_on)
    iteration = 0
    while go_on and (limit is None or iteration < limit):
        given = [numpy.asarray(iteration, numpy.int64), numpy.asarray(go_on), *carried]
        feeds = {**read, **dict(zip(body.inputs, given))}
        yield iteration, body, feeds
        go_on, *carried = body.results(feeds)
        iteration += 1


def scan_runs(node, body, inputs, read):
    """Of ONNX's Scan along axis 0, from front to back."""
    count = num_scan_inputs(node)
    carried, scanned = inputs[:-count], inputs[-count:]
    for iteration in range(len(scanned[0])):
        slices = [numpy.asarray(value[iteration]) for value in scanned]
        feeds = {**read, **dict(zip(body.inputs, [*carried, *slices]))}
        yield iteration, body, feeds
        carried = body.results(feeds)[:len(carried)]
#)py"
