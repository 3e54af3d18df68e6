R"py("  # C++ reads this file too, as a raw string: see script.cc.
"""Finds the first value that a model has otherwise than the program (exporter/cli/first_difference.h)."""

import json
import os

from onnx_models import (bind, compare, numpy, onnx, random_values, read_tensors, start_session,
                         text_of, used_names)


def keep_only(graph, outputs):
    """Leaves the outputs, and the nodes that they need."""
    needed, kept = set(outputs), []
    for node in reversed(graph.node):
        if not needed.isdisjoint(filter(None, node.output)):
            kept.append(node)
            needed.update(used_names(node))
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in reversed(kept)]
    del graph.node[:], graph.output[:]
    graph.node.extend(nodes)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)


class Search:
    """Looks for the first value that a model has otherwise than it must."""

    def __init__(self, path, case, folder, rtol, atol):
        self.path, self.case, self.folder, self.rtol, self.atol = path, case, folder, rtol, atol
        graph = onnx.load(path, load_external_data=False).graph
        nodes = {node.name: node for node in graph.node}
        random = random_values(graph)
        with open(os.path.join(folder, "plan.json"), encoding="utf-8") as file:
            plan = json.load(file)
        self.steps = []
        for step in plan:
            step["expected"] = [value for _, value in read_tensors(folder, step["value"])]
            names = [self.name_of(nodes, part) for part in step["parts"]]
            if (len(names) == len(step["expected"]) and names and None not in names
                    and random.keys().isdisjoint(names)):
                self.steps.append({**step, "names": names})

    @staticmethod
    def name_of(nodes, part):
        """The value that a node of the model makes, or None."""
        node = nodes.get(part[0]) if part else None
        return node.output[part[1]] if node and part[1] < len(node.output) else None

    def difference(self, step, names, error, problem):
        return {"op": step["op"], "scope": step["scope"], "location": step["location"],
                "onnx_nodes": step["nodes"], "onnx_value": names, "max_error": error,
                "problem": problem}

    def check(self, step, values):
        for name, actual, expected in zip(step["names"], values, step["expected"]):
            error, problem = compare(name, numpy.asarray(actual), expected, self.rtol, self.atol)
            if problem:
                return self.difference(step, name, error, problem)
        return None

    def values(self, names):
        """name -> value"""
        model = onnx.load(self.path, load_external_data=False)
        keep_only(model.graph, names)
        session, inputs, _ = start_session(model, os.path.dirname(os.path.abspath(self.path)))
        feeds = bind(inputs, read_tensors(self.case, "input"))
        return dict(zip(names, session.run(None, feeds)))

    def first(self, steps):
        """The first difference among the steps; None where there is none."""
        if not steps:
            return None
        names = sorted({name for step in steps for name in step["names"]})
        try:
            values = self.values(names)
        except Exception as error:  # the model fails on the way to one of them
            if len(steps) == 1:
                return self.difference(steps[0], steps[0]["names"][0], None, text_of(error))
            middle = len(steps) // 2
            return self.first(steps[:middle]) or self.first(steps[middle:])
        for step in steps:
            found = self.check(step, [values[name] for name in step["names"]])
            if found:
                return found
        return None

    def run(self):
        """The first difference, or why there is none."""
        size = 100  # so that not all values are in memory at once
        for start in range(0, len(self.steps), size):
            if found := self.first(self.steps[start:start + size]):
                return found
        return {"op": None, "problem": self.explain()}

    def explain(self):
        if not self.steps:
            return "no value of the model could be compared: it was not made from this program"
        wanted = read_tensors(self.case, "output")
        captured = read_tensors(self.folder, "output")
        if not captured and wanted:
            return "every value up to where LibTorch fails is as it must be"
        if len(captured) == len(wanted) and all(
                compare("", a, e, self.rtol, self.atol)[1] is None
                for (_, a), (_, e) in zip(captured, wanted)):
            return ("every value that can be compared is as it must be; what differs is an output "
                    "itself, or comes from the runtime's own rewriting of the model")
        return ("the model gives what the captured graph gives; that differs from the program, "
                "which may be random")


def find(path, case, folder, rtol, atol):
    """The first value that the model `path` has otherwise than the program on the inputs of `case`;
    `folder` has what PrepareSearch writes."""
    return Search(path, case, folder, rtol, atol).run()
#)py"
