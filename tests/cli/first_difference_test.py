"""verify names the node of the program behind the first value that a changed model has otherwise.

Inside of branches and loops: inner_difference_test.py.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings

import onnx
import torch

warnings.filterwarnings("ignore")
BIN = pathlib.Path(os.environ["RULES_ONNX_BIN"])


class Gate(torch.nn.Module):
    def forward(self, x, y):
        return torch.sigmoid(x - y) * x


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(4)

    def forward(self, x):
        return torch.softmax(self.norm(x), -1)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
        self.first = Gate()
        self.second = Gate()
        self.head = Head()

    def forward(self, x):
        y = self.fc(x)
        z = self.first(x, y)
        return self.head(self.second(y, z).cumsum(1)), z


class Noisy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Gate()

    def forward(self, x):
        noise = torch.rand_like(x)
        return noise[noise > 0.5], self.gate(x, x * 2)


class Placed(torch.nn.Module):
    def forward(self, x):
        y = x.to(torch.device("cpu"), torch.float64)
        return torch.exp(y) - y


class Filled(torch.nn.Module):
    def forward(self, x):
        y = x.new_empty(x.size(0), 8)
        y[:, :4] = x
        y[:, 4:] = x * 2
        return torch.exp(y) - y


def swap(node):
    node.input[0], node.input[1] = node.input[1], node.input[0]


def set_axis(value):
    def change(node):
        [attribute] = [one for one in node.attribute if one.name == "axis"]
        attribute.i = value
    return change


class FirstDifferenceTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        torch.manual_seed(0)

    def export(self, net, inputs, *options):
        """For .pt and .pt2: (the options that name the program, the model's path)."""
        scripted = self.folder / "net.pt"
        torch.jit.script(net).save(scripted)
        exported = self.folder / "net.pt2"
        torch.export.save(torch.export.export(net, inputs), exported)
        for program, specs in ((scripted, ["--inputs", "x:float32[N=4,4]"]), (exported, [])):
            with self.subTest(program=program.name):
                common = ["--model", program, *specs]
                model = self.folder / f"{program.name}.onnx"
                subprocess.run([BIN / "onnx-export", "export", *common, "--output", model, *options], check=True)
                yield common, model

    def change(self, path, name, change):
        model = onnx.load(path, load_external_data=False)
        [node] = [node for node in model.graph.node if node.name == name]
        change(node)
        onnx.save(model, path)

    def verify(self, common, model, *options):
        return subprocess.run([BIN / "onnx-export", "verify", *common, "--onnx", model, "--python", sys.executable,
                               *options], capture_output=True, text=True)

    def difference(self, common, model):
        result = self.verify(common, model, "--json")
        self.assertEqual(result.returncode, 1, result.stderr)
        found = [one["first_difference"] for one in json.loads(result.stdout) if one["first_difference"]]
        self.assertEqual(len(found), 1, result.stdout + result.stderr)
        return found[0]

    def check(self, name, change, op, scope, line, *options):
        inputs = (torch.randn(4, 4),)
        for common, model in self.export(Net().eval(), inputs, *options):
            self.change(model, name, change)
            found = self.difference(common, model)
            self.assertEqual(found["op"], op)
            self.assertIn(name, found["onnx_nodes"])
            self.assertTrue(found["scope"].endswith(scope), found["scope"])
            self.assertIn(pathlib.Path(__file__).name, found["location"])
            self.assertIn(line, found["location"])

    def test_first_of_two_equal_modules(self):
        self.check("/first/Sub", swap, "aten::sub.Tensor", "Gate[first]", "torch.sigmoid(x - y)")

    def test_second_of_two_equal_modules(self):
        self.check("/second/Sub", swap, "aten::sub.Tensor", "Gate[second]", "torch.sigmoid(x - y)")

    def test_axis(self):
        self.check("/head/Softmax", set_axis(0), "aten::softmax.int", "Head[head]", "torch.softmax(")

    def test_data_beside_the_model(self):
        self.check("/second/Sub", swap, "aten::sub.Tensor", "Gate[second]", "x - y", "--external-data", "single")

    def test_random_values_are_no_differences(self):
        for common, model in self.export(Noisy().eval(), (torch.randn(4, 4),)):
            self.assertEqual(self.verify(common, model).returncode, 0)
            self.change(model, "/gate/Sub", swap)
            self.assertEqual(self.difference(common, model)["op"], "aten::sub.Tensor")

    def test_a_conversion_that_names_a_device(self):
        for common, model in self.export(Placed().eval(), (torch.randn(4, 4),)):
            self.change(model, "/Sub", swap)
            self.assertEqual(self.difference(common, model)["op"], "aten::sub.Tensor")

    def test_uninitialized_memory_is_no_difference(self):
        for common, model in self.export(Filled().eval(), (torch.randn(4, 4),)):
            self.change(model, "/Sub", swap)
            self.assertEqual(self.difference(common, model)["op"], "aten::sub.Tensor")

    def test_inside_of_a_composition(self):
        # Before opset 17 a layer norm is many nodes.
        inputs = (torch.randn(4, 4),)
        for common, model in self.export(Net().eval(), inputs, "--opset", "13"):
            self.change(model, "/head/norm/Sub", swap)
            found = self.difference(common, model)
            self.assertIn("layer_norm", found["op"])
            self.assertIn("/head/norm/Sub", found["onnx_nodes"])
            self.assertGreater(len(found["onnx_nodes"]), 3)

    def test_a_model_that_fails_on_the_way(self):
        for common, model in self.export(Net().eval(), (torch.randn(4, 4),)):
            loaded = onnx.load(model)
            [node] = [node for node in loaded.graph.node if node.name == "/first/Sub"]
            node.input[1] = "wrong"  # [N, 4] less [3, 4]; nothing is wrong before the model runs
            loaded.graph.initializer.append(
                onnx.helper.make_tensor("wrong", onnx.TensorProto.FLOAT, [3, 4], [0] * 12))
            loaded.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
            del loaded.graph.value_info[:]
            onnx.save(loaded, model)
            found = self.difference(common, model)
            self.assertEqual(found["op"], "aten::sub.Tensor", found)
            self.assertIn("/first/Sub", found["onnx_nodes"])

    def test_text(self):
        for common, model in self.export(Net().eval(), (torch.randn(4, 4),)):
            self.change(model, "/first/Sub", swap)
            result = self.verify(common, model)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stdout, r"case example: the first value that differs is that of aten::sub\.Tensor\n"
                                            r"  in: .*Gate\[first\]\n"
                                            r"  at: .*first_difference_test\.py:\d+: .*x - y.*\n"
                                            r"  ONNX: .*/first/Sub\n"
                                            r"  value: .*expected.*\n"
                                            r"  error: .*\d")

    def test_an_equal_model_has_none(self):
        for common, model in self.export(Net().eval(), (torch.randn(4, 4),)):
            result = self.verify(common, model, "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual({one["first_difference"] for one in json.loads(result.stdout)}, {None})

    def test_another_program(self):
        for common, model in self.export(Net().eval(), (torch.randn(4, 4),)):
            other = onnx.load(model)
            for node in other.graph.node:
                node.name = f"other/{node.name}"
                if node.op_type == "Softmax":
                    node.op_type = "LogSoftmax"
            onnx.save(other, model)
            found = self.difference(common, model)
            self.assertIsNone(found["op"])
            self.assertIn("was not made from this program", found["problem"])


if __name__ == "__main__":
    unittest.main()
