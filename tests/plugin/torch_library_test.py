"""A TorchScript program with operators of a C++ library: captured, and lowered by a plugin."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy
import onnx
import onnxruntime
import torch
from torch.utils import cpp_extension

ROOT = pathlib.Path(os.environ["RULES_ONNX_ROOT"])
EXAMPLE = ROOT / "examples/plugin"
BIN = pathlib.Path(os.environ["RULES_ONNX_BIN"])


def build(source, output, includes, *libraries):
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-shared", "-fPIC",
                    *(f"-I{folder}" for folder in includes), str(source), "-o", str(output), *libraries], check=True)


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.ops.mykernels.leaky_square(x, 0.25).sum(1)


class Branching(torch.nn.Module):
    def forward(self, n: int, x):
        if bool(x.sum() > 0):
            x = x * 2
        for i in range(n):
            x = x + i
        return x


def operators(graph):
    """(domain, operator) of every node, inner graphs included."""
    found = set()
    for node in graph.node:
        found.add((node.domain, node.op_type))
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                found |= operators(attribute.g)
    return found


@unittest.skipUnless((BIN / "onnx-capture-torch").exists(), "built without LibTorch")
class TorchLibraryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.library = cls.folder / "libmykernels.so"
        build(EXAMPLE / "torch_library.cc", cls.library, cpp_extension.include_paths(),
              *(f"-L{folder}" for folder in cpp_extension.library_paths()), "-ltorch_cpu", "-lc10")
        torch.ops.load_library(cls.library)
        torch.jit.trace(Net(), (torch.randn(2, 3),)).save(cls.folder / "m.pt")

    def export(self, *arguments):
        return subprocess.run([BIN / "onnx-export", "export", "--model", self.folder / "m.pt", "--inputs", "x:float32[N=2,3]",
                               "--output", self.folder / "m.onnx", *arguments], capture_output=True, text=True)

    def test_without_the_library(self):
        done = self.export()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("mykernels::leaky_square", done.stderr)

    def test_with_library_and_plugin(self):
        build(EXAMPLE / "mylib.cc", self.folder / "libmylib.so", [ROOT])
        done = self.export("--torch-library", self.library, "--plugin", self.folder / "libmylib.so")
        self.assertEqual(done.returncode, 0, done.stderr)
        session = onnxruntime.InferenceSession(self.folder / "m.onnx")
        x = torch.randn(5, 3)
        numpy.testing.assert_allclose(session.run(None, {"x": x.numpy()})[0], Net()(x), rtol=1e-5, atol=1e-6)

    def test_falls_through(self):
        done = self.export("--torch-library", self.library, "--operator-export-type", "fallthrough")
        self.assertEqual(done.returncode, 0, done.stderr)
        model = onnx.load(self.folder / "m.onnx")
        self.assertEqual([(node.domain, node.op_type) for node in model.graph.node][0], ("mykernels", "leaky_square"))

    def test_control_flow_as_captured(self):
        torch.jit.script(Branching()).save(self.folder / "branch.pt")
        arguments = ["--model", self.folder / "branch.pt", "--output", self.folder / "branch.onnx", "--inputs", "n:int=3",
                     "--inputs", "x:float32[N=4,3]"]
        for export_type, expected in (("raw", {("prim", "If"), ("prim", "Loop"), ("aten", "mul")}),
                                      ("aten", {("", "If"), ("", "Loop"), ("org.pytorch.aten", "ATen")})):
            subprocess.run([BIN / "onnx-export", "export", *arguments, "--operator-export-type", export_type], check=True)
            self.assertLessEqual(expected, operators(onnx.load(self.folder / "branch.onnx").graph))

    def test_a_library_that_does_not_load(self):
        done = self.export("--torch-library", self.folder / "absent.so")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("absent.so", done.stderr)


if __name__ == "__main__":
    unittest.main()
