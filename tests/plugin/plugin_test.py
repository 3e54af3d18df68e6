"""Operators of a user: plugins, mapping files, and operator export types; by the examples' code."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import numpy
import onnx
import onnxruntime
import torch

ROOT = pathlib.Path(os.environ["RULES_ONNX_ROOT"])
EXAMPLE = ROOT / "examples/plugin"
EXPORTER = os.path.join(os.environ["RULES_ONNX_BIN"], "onnx-export")
DOMAIN = "com.example.mylib"


def load_mylib():
    spec = importlib.util.spec_from_file_location("mylib", EXAMPLE / "mylib.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


mylib = load_mylib()


def node(model, op_type):
    return next(node for node in model.graph.node if node.op_type == op_type)


def attributes(node):
    return {attr.name: onnx.helper.get_attribute_value(attr) for attr in node.attribute}


def versions(model):
    return {opset.domain: opset.version for opset in model.opset_import}


class PluginTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        for name in ("gelu", "mylib"):
            cls.build(EXAMPLE / f"{name}.cc", f"lib{name}.so")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def build(cls, source, name):
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror",
                        "-shared", "-fPIC", f"-I{ROOT}", str(source), "-o", str(cls.folder / name)], check=True)

    def run_exporter(self, module, inputs, *arguments):
        program, output = self.folder / "m.pt2", self.folder / "m.onnx"
        torch.export.save(torch.export.export(module.eval(), inputs), program)
        output.unlink(missing_ok=True)
        done = subprocess.run([EXPORTER, "export", "--model", program, "--output", output, *arguments],
                              capture_output=True, text=True)
        return done, output

    def export(self, module, inputs, *arguments):
        done, output = self.run_exporter(module, inputs, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return onnx.load(output)

    def run_model(self, model, inputs):
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        names = [value.name for value in session.get_inputs()]
        return session.run(None, {name: value.numpy() for name, value in zip(names, inputs)})

    # ---- plugins

    def test_replaces_a_standard_lowering(self):
        class Net(torch.nn.Module):
            def forward(self, x):
                return torch.nn.functional.gelu(x)

        x = torch.randn(3, 4)
        model = self.export(Net(), (x,), "--plugin", self.folder / "libgelu.so", "--opset", "20")
        self.assertEqual([n.op_type for n in model.graph.node], ["Mul", "Sigmoid", "Mul"])
        numpy.testing.assert_allclose(self.run_model(model, [x])[0], x * torch.sigmoid(1.702 * x), rtol=1e-5)

    def test_operators_made_of_onnx_operators(self):
        x = torch.randn(2, 3)
        gate = mylib.Gate()
        model = self.export(gate, (x,), "--plugin", self.folder / "libmylib.so", "--opset", "9")
        with torch.no_grad():
            numpy.testing.assert_allclose(self.run_model(model, [x])[0], gate(x), rtol=1e-5, atol=1e-6)

    def test_custom_domain(self):
        x = torch.randn(2, 3)
        model = self.export(mylib.Rotation(), (x,), "--plugin", self.folder / "libmylib.so",
                            "--custom-opsets", f"{DOMAIN}=4")
        rotate = node(model, "Rotate")
        self.assertEqual(rotate.domain, DOMAIN)
        self.assertEqual(attributes(rotate), {"angle": 0.5, "axes": [0]})
        self.assertEqual(versions(model)[DOMAIN], 4)

    def test_what_a_plugin_refuses_names_the_operator(self):
        (self.folder / "refuse.cc").write_text(
            '#include <stdexcept>\n#include "exporter/plugin/plugin.h"\n'
            'using rules_onnx::plugin::Op;\n'
            'void Refuse(Op& op) { op.Fail("only on Tuesdays"); }\n'
            'void Throw(Op&) { throw std::runtime_error("no moon"); }\n'
            'RULES_ONNX_PLUGIN({"aten::relu", Refuse}, {"mylib::rotate", Throw})\n')
        self.build(self.folder / "refuse.cc", "librefuse.so")
        done, output = self.run_exporter(mylib.Rotation(), (torch.randn(2, 3),),
                                         "--plugin", self.folder / "librefuse.so")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "aten::relu.*only on Tuesdays")
        self.assertRegex(done.stderr, "mylib::rotate.*no moon")
        self.assertFalse(output.exists())

    def test_since_opset(self):
        (self.folder / "since.cc").write_text(
            '#include "exporter/plugin/plugin.h"\n'
            'using rules_onnx::plugin::Op;\n'
            'void Neg(Op& op) { op.Return(op.Node("Neg", {op.Tensor("self")})); }\n'
            'void Abs(Op& op) { op.Return(op.Node("Abs", {op.Tensor("self")})); }\n'
            'RULES_ONNX_PLUGIN({"aten::relu", Neg, 13}, {"aten::relu", Abs, 17})\n')
        self.build(self.folder / "since.cc", "libsince.so")

        class Net(torch.nn.Module):
            def forward(self, x):
                return torch.relu(x)

        for opset, op_type in ((11, "Relu"), (13, "Neg"), (16, "Neg"), (17, "Abs")):
            model = self.export(Net(), (torch.randn(2),), "--plugin", self.folder / "libsince.so", "--opset", str(opset))
            self.assertEqual([n.op_type for n in model.graph.node], [op_type])

    def test_files_that_are_no_plugins(self):
        (self.folder / "empty.cc").write_text("int nothing;\n")
        self.build(self.folder / "empty.cc", "libempty.so")
        (self.folder / "later.cc").write_text(
            '#include "exporter/plugin/plugin.h"\n#undef RULES_ONNX_PLUGIN_REVISION\n'
            '#define RULES_ONNX_PLUGIN_REVISION 1000\n'
            'void Nothing(rules_onnx::plugin::Op&) {}\nRULES_ONNX_PLUGIN({"aten::relu", Nothing})\n')
        self.build(self.folder / "later.cc", "liblater.so")
        (self.folder / "text.so").write_text("text")
        for name, message in (("libempty.so", "no plugin of interface 1"), ("liblater.so", "revision 1000"),
                              ("text.so", "text.so"), ("absent.so", "absent.so")):
            done, _ = self.run_exporter(mylib.Rotation(), (torch.randn(2, 3),), "--plugin", self.folder / name)
            self.assertNotEqual(done.returncode, 0, name)
            self.assertIn(message, done.stderr)

    # ---- mapping files

    def test_mapping(self):
        x = torch.randn(2, 3)
        model = self.export(mylib.Rotation(), (x,), "--op-mapping", EXAMPLE / "mapping.json")
        rotate = node(model, "Rotate")
        self.assertEqual(rotate.domain, DOMAIN)
        self.assertEqual(attributes(rotate), {"angle": 0.5, "axes": [0], "unit": b"radian"})
        self.assertEqual(versions(model)[DOMAIN], 3)
        shape = next(value for value in model.graph.value_info if value.name == rotate.output[0]).type.tensor_type
        self.assertEqual([dim.dim_value for dim in shape.shape.dim], [2, 3])

    def test_mapping_to_onnx(self):
        (self.folder / "onnx.json").write_text('[{"op": "mylib::rotate", "to": "ai.onnx::LeakyRelu", '
                                               '"inputs": ["x"], "attributes": {"alpha": "angle"}}]')
        x = torch.randn(2, 3)
        model = self.export(mylib.Rotation(), (x,), "--op-mapping", self.folder / "onnx.json")
        numpy.testing.assert_allclose(self.run_model(model, [x])[0], torch.relu(x) + 1, rtol=1e-6)

    def test_bad_mappings(self):
        for text, message in (("[", "no JSON"), ("{}", "no JSON list"), ("[{}]", "op is missing"),
                              ('[{"op": "a::b"}]', "to is missing"),
                              ('[{"op": "b", "to": "c::D"}]', "namespace::name"),
                              ('[{"op": "a::b", "to": "c::D", "outputs": 1}]', "'outputs' is none of"),
                              ('[{"op": "a::b", "to": "c::D", "version": 0}]', "1 or more"),
                              ('[{"op": "mylib::rotate", "to": "c::D", "inputs": ["y"]}]', "argument y"),
                              ('[{"op": "mylib::rotate", "to": "c::D", "attributes": {"k": "z"}}]', "argument z")):
            (self.folder / "bad.json").write_text(text)
            done, output = self.run_exporter(mylib.Rotation(), (torch.randn(2, 3),), "--op-mapping", self.folder / "bad.json")
            self.assertNotEqual(done.returncode, 0, text)
            self.assertIn(message, done.stderr)
            self.assertFalse(output.exists())

    def test_the_cache_sees_what_is_in_the_files(self):
        mapping, cache = self.folder / "changes.json", self.folder / "cache"
        for op_type in ("First", "Second", "First"):
            mapping.write_text(f'[{{"op": "mylib::rotate", "to": "c::{op_type}", "inputs": ["x"]}}]')
            model = self.export(mylib.Rotation(), (torch.ones(2, 3),), "--op-mapping", mapping, "--cache-dir", cache)
            self.assertEqual(node(model, op_type).domain, "c")
        shutil.copy(self.folder / "libgelu.so", self.folder / "libchanges.so")
        plugin = ("--plugin", self.folder / "libchanges.so", "--operator-export-type", "fallthrough", "--cache-dir", cache)
        gelu = torch.nn.GELU()
        self.assertEqual([n.op_type for n in self.export(gelu, (torch.ones(2),), *plugin).graph.node],
                         ["Mul", "Sigmoid", "Mul"])
        shutil.copy(self.folder / "libmylib.so", self.folder / "libchanges.so")
        self.assertNotIn("Sigmoid", [n.op_type for n in self.export(gelu, (torch.ones(2),), *plugin).graph.node])

    # ---- operator export types

    def test_onnx_refuses_all_at_once(self):
        done, _ = self.run_exporter(mylib.Rotation(), (torch.randn(2, 3),))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("mylib::rotate", done.stderr)

    def test_fallthrough(self):
        model = self.export(mylib.Rotation(), (torch.randn(2, 3),), "--operator-export-type", "fallthrough",
                            "--custom-opsets", "mylib=7")
        rotate = node(model, "rotate")
        self.assertEqual(rotate.domain, "mylib")
        self.assertEqual(attributes(rotate), {"angle": 0.5, "axes": [0], "input_names": [b"x"]})
        self.assertEqual(versions(model)["mylib"], 7)
        self.assertEqual(node(model, "Relu").domain, "")

    def test_aten(self):
        class Net(torch.nn.Module):
            def forward(self, x, y):
                return torch.add(torch.cat([x, y], 1), 1.5, alpha=2)

        model = self.export(Net(), (torch.randn(2, 3), torch.randn(2, 1)), "--operator-export-type", "aten")
        self.assertEqual({n.domain for n in model.graph.node}, {"org.pytorch.aten"})
        cat, add = model.graph.node
        self.assertEqual(attributes(cat), {"operator": b"cat", "overload_name": b"", "dim": 1,
                                           "input_names": [b"tensors", b"tensors"]})
        self.assertEqual(attributes(add)["operator"], b"add")
        self.assertEqual(attributes(add)["overload_name"], b"Tensor")
        self.assertEqual(attributes(add)["alpha"], 2)

    def test_aten_fallback(self):
        class Net(torch.nn.Module):
            def forward(self, x):
                return torch.polygamma(2, torch.relu(x) + 1)

        model = self.export(Net(), (torch.rand(2, 3),), "--operator-export-type", "aten_fallback", "--opset", "9")
        self.assertEqual(node(model, "Relu").domain, "")

    def test_raw(self):
        class Net(torch.nn.Module):
            def forward(self, x):
                return torch.softmax(x, 1).sum([0], keepdim=True)

        model = self.export(Net(), (torch.randn(2, 3),), "--operator-export-type", "raw")
        self.assertEqual([(n.domain, n.op_type) for n in model.graph.node], [("aten", "softmax"), ("aten", "sum")])
        self.assertEqual(attributes(model.graph.node[1])["dim"], [0])
        self.assertEqual(attributes(model.graph.node[1])["keepdim"], 1)


if __name__ == "__main__":
    unittest.main()
