"""verify names the node inside of branches and loops, and the iteration, where a changed model first differs."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
from typing import List

import onnx
import torch
from onnx import helper
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

warnings.filterwarnings("ignore")
BIN = pathlib.Path(os.environ["RULES_ONNX_BIN"])


class Gate(torch.nn.Module):
    def forward(self, x, y):
        return torch.sigmoid(x - y) * x


class Branching(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Gate()

    def forward(self, x):
        y = x * 2
        if bool(y.sum() > 0):
            y = self.gate(y, x)
        else:
            y = torch.exp(y)[:2]
        return y - 1


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Gate()
        self.fc = torch.nn.Linear(4, 4)

    def forward(self, x, n: int):
        y = x
        for i in range(n):
            z = self.gate(y, x) + i
            y = torch.cat([self.fc(y), z[:1] - i])  # grows
            x = y.cos()
        return torch.relu(y).sum(0)


class Nested(torch.nn.Module):
    def forward(self, x, n: int):
        y = x
        total = x.sum()
        while bool(total < 1000):
            for i in range(n):
                z = y * 0.5 + i
                if i > 1:
                    z = torch.tanh(z) + x
                y = z / 3
            total = total * 2 + 100
        return y


class Listed(torch.nn.Module):
    def forward(self, x, n: int):
        items: List[torch.Tensor] = []
        for i in range(n):
            y = x
            for j in range(i):
                y = torch.cat([y, x.exp()])
            items.append(y)
        return torch.cat(items)


class Swapping(torch.nn.Module):
    def forward(self, x, n: int):
        y, z = x + 1, x - 1
        for i in range(n):
            y, z = torch.exp(-z), torch.tanh(y)
        return y, z


class Long(torch.nn.Module):
    def forward(self, x, n: int):
        y = x
        for i in range(n):
            y = (y + i).cos()
        return y.sum()


class Noisy(torch.nn.Module):
    def forward(self, x, n: int):
        y, noise = x, x
        for i in range(n):
            noise = noise + torch.rand_like(x)
            noise = noise * 2
            y = torch.tanh(y) + i
        return y, noise


class Growing(torch.nn.Module):
    def forward(self, x, n: int):
        items: List[torch.Tensor] = []
        for i in range(n):
            y = x + len(items)
            if i > 0:
                y = torch.exp(y) + items[-1]
            items.append(y)
        return torch.cat(items)


class Choosing(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: torch.sigmoid(x), lambda x: torch.exp(x), (x,))


class CondExported(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.choosing = Choosing()

    def forward(self, x):
        return self.choosing(x) - 1


class AlwaysExported(torch.nn.Module):
    def forward(self, x):
        is_large = torch.tensor([5, 1])[0] > 2
        return torch.cond(is_large, lambda x: torch.exp(x) * 2, lambda x: x - 1, (x,)).relu()


class LoopExported(torch.nn.Module):
    def forward(self, x):
        def go_on(i, y):
            return i < 6

        def body(i, y):
            z = torch.cond(i % 2 == 0, lambda y: torch.tanh(y), lambda y: torch.cos(y), (y,))
            return i + 1, z - x

        i, y = while_loop(go_on, body, (torch.tensor(0), x * 3))
        return y.relu()


class ScanExported(torch.nn.Module):
    def forward(self, x):
        def step(carried, row):
            following = carried * 0.5 + row
            return following, torch.exp(following)

        return scan(step, torch.zeros(4), x)


def inner_graphs(node):
    return [attribute.g for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH]


def way_to(graph, name):
    """(the graphs around a node, from outside in; the node)"""
    for node in graph.node:
        if node.name == name:
            return [graph], node
        for inner in inner_graphs(node):
            graphs, found = way_to(inner, name)
            if found:
                return [graph, *graphs], found
    return [], None


def replace(graph, node, new):
    nodes = [other for one in graph.node for other in (new if one is node else [one])]
    copies = [onnx.NodeProto.FromString(one.SerializeToString()) for one in nodes]
    del graph.node[:]
    graph.node.extend(copies)


def constant(name, values, dims=()):
    tensor = helper.make_tensor(name, onnx.TensorProto.INT64, dims, values)
    return helper.make_node("Constant", [], [name], value=tensor)


def make_wrong(model, name, *iterations):
    """Adds 1 to what a node reads, from an iteration on of each loop around it, from outside in."""
    graphs, node = way_to(model.graph, name)
    bodies = [graph for graph in graphs[1:] if graph.input]
    assert len(bodies) == len(iterations), f"{name}: {len(bodies)} loops"
    new = [constant("wrong_0", [1])]
    for number, (body, first) in enumerate(zip(bodies, iterations)):
        limit, reached, flag = f"limit_{number}", f"reached_{number}", f"flag_{number}"
        new += [constant(limit, [first - 1]),
                helper.make_node("Greater", [body.input[0].name, limit], [reached]),
                helper.make_node("Cast", [reached], [flag], to=onnx.TensorProto.INT64),
                helper.make_node("Mul", [f"wrong_{number}", flag], [f"wrong_{number + 1}"])]
    changed = onnx.NodeProto.FromString(node.SerializeToString())
    changed.input[0] = "changed"
    new += [helper.make_node("Cast", [f"wrong_{len(bodies)}"], ["wrong"], to=onnx.TensorProto.FLOAT),
            helper.make_node("Add", [node.input[0], "wrong"], ["changed"]), changed]
    replace(graphs[-1], node, new)


class InnerDifferenceTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        torch.manual_seed(0)
        self.model = self.folder / "net.onnx"

    def script(self, net, *specs, options=()):
        torch.jit.script(net.eval()).save(self.folder / "net.pt")
        self.common = ["--model", self.folder / "net.pt", *(word for spec in specs for word in ("--inputs", spec))]
        self.export(options)

    def export_program(self, net, *inputs, options=()):
        torch.export.save(torch.export.export(net.eval(), inputs), self.folder / "net.pt2")
        self.common = ["--model", self.folder / "net.pt2"]
        self.export(options)

    def export(self, options):
        subprocess.run([BIN / "onnx-export", "export", *self.common, "--output", self.model, *options], check=True)

    def change(self, change, *arguments):
        model = onnx.load(self.model, load_external_data=False)
        change(model, *arguments)
        onnx.save(model, self.model)

    def verify(self, *options):
        return subprocess.run([BIN / "onnx-export", "verify", *self.common, "--onnx", self.model, "--python",
                               sys.executable, *options], capture_output=True, text=True)

    def difference(self):
        result = self.verify("--json")
        self.assertEqual((result.returncode, result.stderr.count("warning")), (1, 0), result.stderr)
        [found] = [one["first_difference"] for one in json.loads(result.stdout) if one["first_difference"]]
        self.assertTrue(found["op"], found)
        return found

    def check(self, op, line, *inside):
        """`inside`: op and iteration or branch, from outside in."""
        found = self.difference()
        self.assertEqual(found["op"], op, found)
        self.assertIn(line, found["location"])
        self.assertIn(pathlib.Path(__file__).name, found["location"])
        self.assertEqual([(one["op"], one["branch"] if one["iteration"] is None else one["iteration"])
                          for one in found["inside"]], list(inside))
        return found

    def test_branch(self):
        for spec, name, op, scope, line, branch in (
                ("x:float32[N=3,4]=0..1", "/gate/Sub", "aten::sub.Tensor", "Branching/Gate[gate]", "x - y", "then"),
                ("x:float32[N=3,4]=-1..0", "/Exp", "aten::exp", "Branching", "torch.exp(y)", "else")):
            self.script(Branching(), spec)
            self.change(make_wrong, name)
            found = self.check(op, line, ("prim::If", branch))
            self.assertTrue(found["scope"].endswith(scope), found)
            self.assertEqual(found["onnx_nodes"], [name])
            self.assertGreater(found["max_error"], 0.1)
            self.assertIn("if bool(y.sum() > 0)", found["inside"][0]["location"])

    def test_third_iteration(self):
        for options in ((), ("--opset", "9"), ("--opset", "13", "--external-data", "single")):
            with self.subTest(options=options):
                self.script(Counting(), "x:float32[3,4]", "n:int=5", options=options)
                self.change(make_wrong, "/gate/Sub", 2)
                found = self.check("aten::sub.Tensor", "torch.sigmoid(x - y)", ("prim::Loop", 2))
                self.assertTrue(found["scope"].endswith("Gate[gate]"), found["scope"])
                self.assertIn("for i in range(n)", found["inside"][0]["location"])

    def test_weights_in_a_body(self):
        self.script(Counting(), "x:float32[3,4]", "n:int=5", options=("--external-data", "single"))
        [node] = [one.name for one in self.nodes() if one.op_type == "Cos"]
        self.change(make_wrong, node, 3)
        self.check("aten::cos", "y.cos()", ("prim::Loop", 3))

    def nodes(self, graph=None):
        for node in (graph or onnx.load(self.model, load_external_data=False).graph).node:
            yield node
            for inner in inner_graphs(node):
                yield from self.nodes(inner)

    def test_nested(self):
        self.script(Nested(), "x:float32[3,4]", "n:int=4")
        self.change(make_wrong, "/Tanh", 1, 3)
        self.check("aten::tanh", "torch.tanh(z)", ("prim::Loop", 1), ("prim::Loop", 3), ("prim::If", "then"))

    def test_nested_behind_lists(self):
        self.script(Listed(), "x:float32[3,4]", "n:int=4")
        self.change(make_wrong, "/Exp", 3, 1)
        self.check("aten::exp", "x.exp()", ("prim::Loop", 3), ("prim::Loop", 1))

    def test_carried_values(self):
        def swap(model):
            [loop] = [node for node in model.graph.node if node.op_type == "Loop"]
            [body] = inner_graphs(loop)
            body.output[1].name, body.output[2].name = body.output[2].name, body.output[1].name

        self.script(Swapping(), "x:float32[3,4]", "n:int=3")
        self.change(swap)
        found = self.check("prim::Loop", "for i in range(n)", ("prim::Loop", 1))
        self.assertRegex(found["problem"], "^carried")

    def test_random_values_are_no_difference(self):
        self.script(Noisy(), "x:float32[3,4]", "n:int=3")
        self.change(make_wrong, "/Tanh", 1)
        self.check("aten::tanh", "torch.tanh(y)", ("prim::Loop", 1))

    def test_carried_list_that_starts_empty(self):
        self.script(Growing(), "x:float32[3,4]", "n:int=4")
        self.change(make_wrong, "/Exp", 2)
        self.check("aten::exp", "torch.exp(y)", ("prim::Loop", 2), ("prim::If", "then"))

    def test_condition(self):
        def swap(model):
            [node] = [node for node in model.graph.node if node.op_type == "If"]
            node.attribute[0].name, node.attribute[1].name = node.attribute[1].name, node.attribute[0].name

        self.script(Branching(), "x:float32[3,4]=0..1")
        self.change(swap)
        self.check("prim::If", "if bool(y.sum() > 0)")

    def test_too_few_iterations(self):
        def once(model):
            [loop] = [node for node in model.graph.node if node.op_type == "Loop"]
            model.graph.initializer.append(helper.make_tensor("once", onnx.TensorProto.INT64, [], [1]))
            loop.input[0] = "once"

        self.script(Counting(), "x:float32[3,4]", "n:int=5")
        self.change(once)
        self.check("prim::Loop", "for i in range(n)")

    def test_an_iteration_that_fails(self):
        def widen(model):  # by rows of 4, 5, 6, … zeros
            graphs, node = way_to(model.graph, "/gate/Sub")
            row = helper.make_tensor("zero", onnx.TensorProto.FLOAT, [1], [0])
            changed = onnx.NodeProto.FromString(node.SerializeToString())
            changed.input[1] = "sum"
            replace(graphs[-1], node, [
                constant("four", [4], [1]),
                helper.make_node("Add", ["four", graphs[-1].input[0].name], ["columns"]),
                helper.make_node("ConstantOfShape", ["columns"], ["row"], value=row),
                helper.make_node("Add", [node.input[1], "row"], ["sum"]),
                changed])

        self.script(Counting(), "x:float32[3,4]", "n:int=5")
        self.change(widen)
        found = self.check("aten::sub.Tensor", "x - y", ("prim::Loop", 1))
        self.assertIsNone(found["max_error"])

    def test_many_large_values(self):
        self.script(Long(), "x:float32[9000000]", "n:int=6")  # more than LibTorch gives at once
        self.change(make_wrong, "/Cos", 4)
        self.check("aten::cos", "(y + i).cos()", ("prim::Loop", 4))

    def test_exported_branch(self):
        for x, name, op, branch in ((torch.rand(3, 4), "/choosing/Sigmoid", "aten::sigmoid", "then"),
                                    (-torch.rand(3, 4), "/choosing/Exp", "aten::exp", "else")):
            self.export_program(CondExported(), x)
            self.change(make_wrong, name)
            found = self.check(op, "torch.cond(", ("prim::If", branch))
            self.assertEqual(found["scope"], "CondExported/Choosing[choosing]")

    def test_exported_branch_that_is_always_taken(self):
        self.export_program(AlwaysExported(), torch.randn(3, 4))
        self.assertEqual([node.op_type for node in self.nodes()], ["Exp", "Mul", "Relu"])
        self.change(make_wrong, "/Exp")
        self.check("aten::exp", "torch.cond(", ("prim::If", None))

    def test_exported_loop(self):
        self.export_program(LoopExported(), torch.randn(3, 4))
        self.change(make_wrong, "/Sub", 2)
        self.check("aten::sub.Tensor", "while_loop(", ("prim::Loop", 2))

    def test_exported_branch_in_a_loop(self):
        self.export_program(LoopExported(), torch.randn(3, 4))
        self.change(make_wrong, "/Cos", 2)  # which odd iterations run
        self.check("aten::cos", "while_loop(", ("prim::Loop", 3), ("prim::If", "else"))

    def test_exported_scan(self):
        def soften(model):  # nothing at 0
            _, node = way_to(model.graph, "/Exp")
            node.op_type = "Cosh"

        self.export_program(ScanExported(), torch.cat([torch.zeros(2, 4), torch.randn(3, 4)]))
        self.change(soften)
        self.check("aten::exp", "scan(step", ("prim::Scan", 2))

    def test_text(self):
        self.script(Nested(), "x:float32[3,4]", "n:int=4")
        self.change(make_wrong, "/Tanh", 1, 2)
        result = self.verify()
        self.assertRegex(
            result.stdout,
            r"case example: the first value that differs is that of aten::tanh\n"
            r"  in:     Nested\n"
            r"  at:     inner_difference_test\.py:\d+: z = torch\.tanh\(z\) \+ x\n"
            r"  inside: iteration 1 \(from 0\) of prim::Loop at inner_difference_test\.py:\d+: while bool.*\n"
            r"  inside: iteration 2 \(from 0\) of prim::Loop at inner_difference_test\.py:\d+: for i in range.*\n"
            r"  inside: the then branch of prim::If at inner_difference_test\.py:\d+: if i > 1:\n"
            r"  ONNX:   /Tanh\n"
            r"  value:  .*expected.*\n"
            r"  error:  0\.\d+\n")


if __name__ == "__main__":
    unittest.main()
