"""verify and its Python program find what is wrong, and nothing else."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
from typing import List, Tuple

import numpy
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

warnings.filterwarnings("ignore")
BIN = pathlib.Path(os.environ["RULES_ONNX_BIN"])
SCRIPT = pathlib.Path(os.environ["RULES_ONNX_ROOT"]) / "exporter/verify/run_onnx.py"


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 5)

    def forward(self, x):
        return torch.relu(self.fc(x))


class Difference(torch.nn.Module):
    def forward(self, x, y):
        return x - y


def pairs(x):
    result: List[Tuple[torch.Tensor, List[torch.Tensor]]] = []
    for i in range(x.size(0)):
        result.append((x + i, [x.sum() * i, x[i]]))
    return result, x


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)


class ScriptTest(Folder):
    def write(self, op, dtype, given, wanted, opset=18):
        node = helper.make_node(op, ["x"], ["y"])
        info = lambda name: helper.make_tensor_value_info(name, dtype, [None])
        graph = helper.make_graph([node], "g", [info("x")], [info("y")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        onnx.save(model, self.folder / "model.onnx")
        case = self.folder / "test_data_set_0"
        case.mkdir(exist_ok=True)
        for name, value in (("input_0", given), ("output_0", wanted)):
            (case / f"{name}.pb").write_bytes(value.SerializeToString())

    def run_suite(self, *options):
        result = subprocess.run([sys.executable, SCRIPT, "--suite", self.folder, "--json", *options],
                                capture_output=True, text=True)
        return result.returncode, json.loads(result.stdout)[0]

    def floats(self, *values, name=""):
        return numpy_helper.from_array(numpy.array(values, numpy.float32), name)

    def test_equal(self):
        nan, inf = float("nan"), float("inf")
        self.write("Abs", TensorProto.FLOAT, self.floats(-1, nan, -inf), self.floats(1, nan, inf))
        status, result = self.run_suite()
        self.assertEqual((status, result["runtime"], result["problem"]), (0, "onnxruntime", None))

    def test_share_of_nan(self):
        nan, inf = float("nan"), float("inf")
        run_text = lambda *options: subprocess.run(
            [sys.executable, SCRIPT, "--suite", self.folder, *options], capture_output=True, text=True)
        for given, wanted, share, warned in (
                ((4, 1, -1, 9), (2, 1, nan, 3), {"root": 0.25}, False),
                ((4, -1), (2, nan), {"root": 0.5}, False),
                ((-1, -2), (nan, nan), {"root": 1}, True),
                ((inf, -1), (inf, nan), {"root": 0.5}, True),
                ((inf,), (inf,), {}, True),
                ((4,), (2,), {}, False),
                ((), (), {}, False)):
            self.write("Sqrt", TensorProto.FLOAT, self.floats(*given), self.floats(*wanted, name="root"))
            status, result = self.run_suite()
            self.assertEqual((status, result["problem"], result["nan"]), (0, None, share))
            self.assertEqual(bool(result["warning"]), warned, wanted)
            for options in ((), ("--json",)):
                told = run_text(*options)
                self.assertEqual(told.returncode, 0)
                self.assertEqual("warning: model.onnx, case test_data_set_0: no finite value was compared of root" in
                                 told.stderr, warned, wanted)
            text = f"ok (expected NaN: {100 * share['root']:.3g}% of root)\n" if share else "ok\n"
            self.assertTrue(run_text().stdout.endswith("  " + text), run_text().stdout)

    def test_share_of_nan_where_values_differ(self):
        nan = float("nan")
        self.write("Sqrt", TensorProto.FLOAT, self.floats(4, 4), self.floats(nan, 2, name="root"))
        status, result = self.run_suite()
        self.assertEqual((status, result["nan"]), (1, {"root": 0.5}))

    def test_integers_are_finite(self):
        whole = numpy_helper.from_array(numpy.array([1, 2]), "y")
        self.write("Abs", TensorProto.INT64, whole, whole)
        status, result = self.run_suite()
        self.assertEqual((status, result["nan"], result["warning"]), (0, {}, None))

    def test_differences(self):
        for wanted, word in ((self.floats(1, 2.1), "[1] is 2.0, expected 2.09"),
                             (self.floats(1, float("nan")), "expected nan"),
                             (self.floats(1, float("inf")), "expected inf"),
                             (self.floats(1, 2, 3), "shape [2], expected [3]"),
                             (numpy_helper.from_array(numpy.array([1, 2])), "float32, expected int64")):
            self.write("Abs", TensorProto.FLOAT, self.floats(-1, -2), wanted)
            status, result = self.run_suite()
            self.assertEqual(status, 1)
            self.assertIn(word, result["problem"])

    def test_random_outputs_have_type_and_shape(self):
        self.write("RandomUniformLike", TensorProto.FLOAT, self.floats(1, 2), self.floats(7, 8, name="out"))
        status, result = self.run_suite()
        self.assertEqual((status, result["problem"], result["random"]), (0, None, ["out"]))
        self.write("RandomUniformLike", TensorProto.FLOAT, self.floats(1, 2), self.floats(7))
        self.assertIn("shape [2], expected [1]", self.run_suite()[1]["problem"])
        self.write("Dropout", TensorProto.FLOAT, self.floats(1, 2), self.floats(7, 8))
        self.assertEqual(self.run_suite()[0], 1)  # not in training mode

    def test_columns_of_different_lengths(self):
        self.write("Abs", TensorProto.FLOAT, self.floats(-1), self.floats(1))
        nodes = [helper.make_node("SequenceConstruct", ["x"] * length, [f"out.*.{column}"])
                 for column, length in enumerate((1, 2))]
        info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None])
        outputs = [helper.make_tensor_sequence_value_info(node.output[0], TensorProto.FLOAT, [None]) for node in nodes]
        graph = helper.make_graph(nodes, "g", [info], outputs)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8),
                  self.folder / "model.onnx")
        for name in ("input_0", "output_0", "output_1"):
            (self.folder / f"test_data_set_0/{name}.pb").write_bytes(self.floats(-1).SerializeToString())
        status, result = self.run_suite()
        self.assertEqual(status, 1)
        self.assertIn("longer", result["problem"])

    def test_optional_outputs(self):
        self.write("Abs", TensorProto.FLOAT, self.floats(-1), self.floats(1))
        tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [None])
        nodes = [helper.make_node("Optional", ["x"], ["there"]), helper.make_node("Optional", [], ["gone"], type=tensor)]
        outputs = [helper.make_value_info(name, helper.make_optional_type_proto(tensor)) for name in ("gone", "there")]
        graph = helper.make_graph(nodes, "g", [helper.make_value_info("x", tensor)], outputs)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8),
                  self.folder / "model.onnx")
        for wanted, status, problem in ((-1, 0, None), (1, 1, "there[0] is -1.0")):
            (self.folder / "test_data_set_0/output_0.pb").write_bytes(
                self.floats(wanted, name="there").SerializeToString())
            found, result = self.run_suite()
            self.assertEqual((found, result["none"]), (status, ["gone"]))
            self.assertIn(problem or "", result["problem"] or "")
        (self.folder / "test_data_set_0/output_1.pb").write_bytes(self.floats(1).SerializeToString())
        self.assertEqual(self.run_suite()[1]["problem"], "1 outputs, expected 2")

    def test_tolerance(self):
        self.write("Abs", TensorProto.FLOAT, self.floats(-100), self.floats(101))
        self.assertEqual(self.run_suite()[0], 1)
        self.assertEqual(self.run_suite("--rtol", "0.01")[0], 0)
        self.assertEqual(self.run_suite("--atol", "1")[0], 0)

    def test_no_kernel_in_onnx_runtime(self):
        half = lambda *values: helper.make_tensor("", TensorProto.BFLOAT16, [len(values)], values)
        self.write("Abs", TensorProto.BFLOAT16, half(-1.0, 2.0), half(1.0, 2.0))
        status, result = self.run_suite()
        self.assertEqual((status, result["runtime"], result["problem"]), (0, "reference", None))

    def test_model_that_does_not_load(self):
        self.write("Abs", TensorProto.FLOAT, self.floats(1), self.floats(1))
        (self.folder / "model.onnx").write_text("no model")
        status, result = self.run_suite()
        self.assertEqual(status, 1)
        self.assertIn("cannot be loaded", result["problem"])

    def test_nothing_to_do_is_no_success(self):
        result = subprocess.run([sys.executable, SCRIPT, "--suite", self.folder], capture_output=True)
        self.assertEqual(result.returncode, 2)


class CommandTest(Folder):
    def setUp(self):
        super().setUp()
        self.net = Net().eval()
        torch.jit.trace(self.net, torch.randn(2, 4)).save(self.folder / "net.pt")
        self.common = ["--model", self.folder / "net.pt", "--inputs", "x:float32[N=2,4]"]
        subprocess.run([BIN / "onnx-export", "export", *self.common, "--output",
                        self.folder / "net.onnx"], check=True)

    def verify(self, *options, python=sys.executable):
        return subprocess.run(
            [BIN / "onnx-export", "verify", *self.common, "--onnx", self.folder / "net.onnx",
             "--python", python, *options], capture_output=True, text=True)

    def test_good_model_at_all_sizes(self):
        data = self.folder / "data"
        result = self.verify("--test-data-dir", data)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count(" ok"), 2)
        for number, size in ((0, 2), (1, 3)):
            tensors = {}
            for kind in ("input", "output"):
                tensor = onnx.TensorProto()
                tensor.ParseFromString((data / f"test_data_set_{number}/{kind}_0.pb").read_bytes())
                tensors[kind] = torch.from_numpy(numpy_helper.to_array(tensor).copy())
            self.assertEqual(tensors["input"].shape, (size, 4))
            torch.testing.assert_close(tensors["output"], self.net(tensors["input"]))

    def test_exported_program_on_its_own_inputs(self):
        x = torch.randn(2, 4)
        program = torch.export.export(self.net, (x,), dynamic_shapes=({0: torch.export.Dim("N")},))
        torch.export.save(program, self.folder / "net.pt2")
        for inputs in ([], ["--inputs", "x:float32[M=2,4]"]):
            result = subprocess.run(
                [BIN / "onnx-export", "verify", "--model", self.folder / "net.pt2", *inputs, "--onnx",
                 self.folder / "net.onnx", "--python", sys.executable, "--json",
                 "--test-data-dir", self.folder / "data"], capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(len(json.loads(result.stdout)), 2)
            tensor = onnx.TensorProto()
            tensor.ParseFromString((self.folder / "data/test_data_set_1/input_0.pb").read_bytes())
            self.assertEqual(list(tensor.dims), [3, 4])

    def test_list_of_tuples_is_an_output_for_each_field(self):
        torch.jit.script(pairs).save(str(self.folder / "net.pt"))
        subprocess.run([BIN / "onnx-export", "export", *self.common, "--output",
                        self.folder / "net.onnx"], check=True)
        graph = onnx.load(self.folder / "net.onnx").graph
        self.assertEqual([value.name for value in graph.output], ["out.0.*.0", "out.0.*.1.0", "out.0.*.1.1",
                                                                  "out.1"])
        result = self.verify()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stdout.count(" ok"), 2)

    def test_axes_that_go_together(self):
        # The mask is as long as both others together; smaller ones do not fit the window.
        def program(x, past, mask):
            return (torch.cat([past, x], 1) + mask)[:, :, None].unfold(1, 6, 1)

        inputs = (torch.randn(2, 3), torch.randn(2, 5), torch.randn(2, 8))
        torch.jit.trace(program, inputs).save(str(self.folder / "net.pt"))
        self.common = ["--model", self.folder / "net.pt", "--inputs", "x:float32[2,S=3]", "--inputs",
                       "past:float32[2,P=5]", "--inputs", "mask:float32[2,M=8]"]
        subprocess.run([BIN / "onnx-export", "export", *self.common, "--output",
                        self.folder / "net.onnx"], check=True)
        data = self.folder / "data"
        results = json.loads(self.verify("--json", "--test-data-dir", data).stdout)
        self.assertEqual([result["case"] for result in results],
                         ["example", "M=9 P=6", "M=9 S=4", "M=16 P=8 S=8"])
        self.assertEqual(len(list(data.iterdir())), len(results))

    def cases_of(self, program, shapes):
        """Sizes of the symbols of which verify has run the program and its model."""
        inputs = [torch.randn(size) for _, _, size in shapes]
        torch.jit.trace(program, inputs).save(str(self.folder / "net.pt"))
        self.common = ["--model", self.folder / "net.pt"]
        for name, symbol, size in shapes:
            self.common += ["--inputs", f"{name}:float32[{symbol}={size}]"]
        subprocess.run([BIN / "onnx-export", "export", *self.common, "--output",
                        self.folder / "net.onnx"], check=True)
        result = self.verify("--json")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return [case["case"] for case in json.loads(result.stdout)]

    def test_axes_in_proportion(self):
        cases = self.cases_of(lambda x, y: torch.cat([x, x]) + y, [("x", "N", 4), ("y", "M", 8)])
        self.assertEqual(cases, ["example", "M=16 N=8", "M=4 N=2"])

    def test_axes_of_multiples(self):
        cases = self.cases_of(lambda x, y, z: ((x + y).reshape(-1, 3), z.reshape(-1, 3)),
                              [("x", "N", 6), ("y", "M", 6), ("z", "K", 12)])
        self.assertEqual(cases, ["example", "K=15", "M=9 N=9", "K=21 M=21 N=21", "K=6 M=3 N=3"])

    def test_json(self):
        results = json.loads(self.verify("--json").stdout)
        self.assertEqual([result["case"] for result in results], ["example", "N=3"])

    def test_wrong_model(self):
        model = onnx.load(self.folder / "net.onnx")
        for node in model.graph.node:
            if node.op_type == "Relu":
                node.op_type = "Neg"
        onnx.save(model, self.folder / "net.onnx")
        result = self.verify()
        self.assertEqual(result.returncode, 1)
        self.assertIn("expected", result.stdout)
        self.assertIn("error:", result.stderr)

    def test_inputs_in_another_order(self):
        program = torch.export.export(Difference(), (torch.randn(2), torch.randn(3, 1)))
        torch.export.save(program, self.folder / "two.pt2")
        self.common = ["--model", self.folder / "two.pt2", "--inputs", "y:float32[3,1]", "--inputs",
                       "x:float32[2]"]
        subprocess.run([BIN / "onnx-export", "export", *self.common, "--output",
                        self.folder / "net.onnx"], check=True)
        result = self.verify()
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_python_that_does_nothing(self):
        for python in ("true", shutil.which("true")):
            result = self.verify(python=python)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"--python {python} did not run the models", result.stderr)

    def test_no_model(self):
        (self.folder / "net.onnx").unlink()
        result = self.verify()
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(result.stderr.splitlines(),
                         [f"error: cannot read {self.folder / 'net.onnx'}: no such file"])

    def test_no_python(self):
        result = self.verify(python="/no/such/python")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/no/such/python", result.stderr)


if __name__ == "__main__":
    unittest.main()
