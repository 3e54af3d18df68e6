R"py("  # C++ reads this file too, as a raw string: see script.cc.
"""Finds the first value that a model has otherwise than the program.

exporter/cli/search_plan.h says which values of the model stand for which of the program's. The
values of the main block are compared first; where the first that differs is that of a branch or
loop, those in it, iteration by iteration; and so on inwards.
"""

import ctypes
import functools
import json
import os
import shutil
import signal
import subprocess
import sys

from model_graphs import ModelGraph
from onnx_models import bind, compare, numpy, onnx, random_values, read_tensors, text_of


class Reference:
    """The program in LibTorch, which computes the values of one block at a time.

    A place is a run of a block: (node that it belongs to, iteration), …, from outside in; () for the
    main block.
    """

    def __init__(self, command, folder):
        self.command, self.folder = command, folder
        self.iterations = {}  # folder of a block -> those whose values are there

    def folder_of(self, place):
        """One for all iterations of a block."""
        outer = [f"{node}.{iteration}" for node, iteration in place[:-1]]
        return os.path.join(self.folder, "values", *outer, *(str(node) for node, _ in place[-1:]))

    def reaches(self, place):
        """Whether the program comes to a place, whose values can be had then."""
        folder = self.folder_of(place)
        iteration = place[-1][1] if place else 0
        if iteration not in self.iterations.get(folder, ()):
            self.compute(place, folder)
        return iteration in self.iterations[folder]

    def compute(self, place, folder):
        """Writes the values of the block from this iteration on, as many as LibTorch gives at once."""
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        text = "/".join(f"{node}:{iteration}" for node, iteration in place)
        end_with_this = functools.partial(ctypes.CDLL(None).prctl, 1, signal.SIGKILL)
        done = subprocess.run(
            [*self.command, "--values-of", text, "--values-dir", folder, "--output-dir", folder],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
            preexec_fn=end_with_this)
        if done.returncode and not place:
            print("warning: the search for the first difference ends where LibTorch fails: "
                  + done.stderr.strip(), file=sys.stderr)
        self.iterations[folder] = {int(name.split("_")[0]) for name in os.listdir(folder)
                                   if name.count("_") == 2}

    def values(self, place, value):
        """The tensors of a value, in a place that the program reaches."""
        iteration = place[-1][1] if place else 0
        return [tensor for _, tensor in read_tensors(self.folder_of(place), f"{iteration}_{value}")]


class Search:
    def __init__(self, path, case, folder, rtol, atol):
        self.case, self.rtol, self.atol = case, rtol, atol
        model = onnx.shape_inference.infer_shapes(onnx.load(path, load_external_data=False))
        main = ModelGraph(model, os.path.dirname(os.path.abspath(path)), (), model.graph)
        self.graphs = {graph.path: graph for graph in main.with_inner_graphs()}
        with open(os.path.join(folder, "plan.json"), encoding="utf-8") as file:
            plan = json.load(file)
        self.reference = Reference(plan["command"], folder)
        self.blocks = plan["blocks"]
        self.find_values(random_values(model.graph))

    def find_values(self, random):
        """Gives the steps the names of their values in the model, and the path of the graph that makes
        them; no names where the model has them not, or random ones."""
        makers = {name: graph for graph in self.graphs.values() for name in graph.nodes}
        takers = {name: graph for graph in self.graphs.values() for name in graph.inputs}

        def find(part):
            if isinstance(part, str):
                return (takers[part].path, part) if part in takers else (None, None)
            if not part or part[0] not in makers:
                return None, None
            graph = makers[part[0]]
            outputs = graph.nodes[part[0]].output
            return (graph.path, outputs[part[1]]) if part[1] < len(outputs) else (None, None)

        for steps in self.blocks.values():
            for step in steps:
                found = [find(part) for part in step["parts"]]
                names, paths = [name for _, name in found], {path for path, _ in found}
                if len(paths) != 1 or None in names or not random.keys().isdisjoint(names):
                    names, paths = [], {None}
                step.update(names=names, path=paths.pop())

    def run(self):
        """The first difference, or why there is none."""
        main = self.graphs[()]
        feeds = bind(main.inputs, read_tensors(self.case, "input"))
        found = self.reference.reaches(()) and self.search((), "", main, feeds)
        return found or {"op": None, "problem": self.explain()}

    def search(self, place, block, graph, feeds):
        """The first difference in a run of a block, which is that of `graph` on `feeds`; or None."""
        steps, found = self.blocks[block], None
        size = 100  # so that not all values are in memory at once
        for start in range(0, len(steps), size):
            part = [step for step in steps[start:start + size] if self.prepare(step, place, graph)]
            if found := self.first(part, graph, feeds):
                break
        if not found and place:
            return None
        step, difference = found or (None, None)
        for outer in self.steps_to_enter(place, steps, step):
            if inner := self.enter(place, outer, graph, feeds):
                return inner
        return difference

    def prepare(self, step, place, graph):
        """Whether the step can be compared; reads its expected values."""
        step["expected"] = []
        if step["path"] == graph.path:
            step["expected"] = self.reference.values(place, step["value"])
        return step["expected"] and (step["is_list"] or len(step["names"]) == len(step["expected"]))

    def first(self, steps, graph, feeds):
        """(step, difference) of the first step that differs; None where there is none."""
        if not steps:
            return None
        try:
            values = graph.values(sorted({name for step in steps for name in step["names"]}), feeds)
        except Exception as error:  # the model fails on the way to one of them
            if len(steps) == 1:
                [step] = steps
                return step, self.difference(step, step["names"][0], None, text_of(error))
            middle = len(steps) // 2
            return (self.first(steps[:middle], graph, feeds)
                    or self.first(steps[middle:], graph, feeds))
        for step in steps:
            if difference := self.check(step, [values[name] for name in step["names"]]):
                return step, difference
        return None

    def check(self, step, values):
        names = step["names"]
        if step["is_list"]:
            values, [name] = list(values[0]), names
            names = names * len(values)
            if len(values) != len(step["expected"]):
                return self.difference(step, name, None, f"{name} has {len(values)} items, expected "
                                                         f"{len(step['expected'])}")
        for name, actual, expected in zip(names, values, step["expected"]):
            error, problem = compare(name, numpy.asarray(actual), expected, self.rtol, self.atol)
            if problem:
                return self.difference(step, name, error, problem)
        return None

    @staticmethod
    def difference(step, name, error, problem):
        return {"op": step["op"], "scope": step["scope"], "location": step["location"],
                "inside": [], "onnx_nodes": step["nodes"], "onnx_value": name, "max_error": error,
                "problem": problem}

    def steps_to_enter(self, place, steps, found):
        """The branches and loops that may have the first difference inside: the step that differs, and
        those before it that cannot be compared as a whole."""
        entered = {}
        for step in steps:
            is_parameter = place and step["node"] == place[-1][0]
            if str(step["node"]) in self.blocks and not is_parameter:
                if step is found or not step["expected"]:
                    entered.setdefault(step["node"], step)
            if step is found:
                break
        return entered.values()

    def enter(self, place, step, graph, feeds):
        """The first difference inside of a branch or loop, or None."""
        try:
            for iteration, inner, inner_feeds in self.runs(step, graph, feeds):
                at = (*place, (step["node"], iteration))
                if not self.reference.reaches(at):
                    return None
                if found := self.search(at, str(step["node"]), inner, inner_feeds):
                    found["inside"].insert(0, self.surroundings(step, iteration, graph, inner))
                    return found
        except Exception as error:  # whatever a runtime throws
            print(f"warning: {step['op']} cannot be searched: {text_of(error)}", file=sys.stderr)
        return None

    def runs(self, step, graph, feeds):
        """(iteration, graph, its feeds) of each run of the step's inner blocks."""
        paths = [inner["path"] for inner in self.blocks[str(step["node"])]]
        for path in filter(None, paths):
            if path[:-1] == graph.path:
                return graph.runs(path[-1][0], self.graphs, feeds)
        # A branch that is always taken has no graph of its own.
        return [(0, graph, feeds)] if graph.path in paths else []

    @staticmethod
    def surroundings(step, iteration, graph, inner):
        attribute = inner.path[-1][1] if inner is not graph else ""
        return {"op": step["op"], "scope": step["scope"], "location": step["location"],
                "iteration": None if step["op"] == "prim::If" else iteration,
                "branch": {"then_branch": "then", "else_branch": "else"}.get(attribute)}

    def explain(self):
        if not any(step["names"] for step in self.blocks[""]):
            return "no value of the model could be compared: it was not made from this program"
        wanted = read_tensors(self.case, "output")
        captured = read_tensors(self.reference.folder_of(()), "output")
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
    `folder` has plan.json."""
    return Search(path, case, folder, rtol, atol).run()
#)py"
