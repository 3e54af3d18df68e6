"""`onnx-export print`: the graph at each station, from both front ends, with types, scopes and lines."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import warnings

import torch

warnings.filterwarnings("ignore")
BIN = pathlib.Path(os.environ["RULES_ONNX_BIN"])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 3)

    def forward(self, x):
        y = self.fc(x)
        y[:, 1:] += 1
        return torch.relu(y)


class PrintTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        x = torch.randn(2, 4)
        net = Net().eval()
        torch.jit.trace(net, x).save(cls.folder / "net.pt")
        dims = ({0: torch.export.Dim("N")},)
        torch.export.save(torch.export.export(net, (x,), dynamic_shapes=dims), cls.folder / "net.pt2")

    def run_print(self, *arguments):
        return subprocess.run([BIN / "onnx-export", "print", *arguments], capture_output=True, text=True)

    def printed(self, model, stage, *arguments):
        done = self.run_print("--model", self.folder / model, "--inputs", "x:float32[N=2,4]",
                              "--stage", stage, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_captured_has_the_write(self):
        for model in ("net.pt", "net.pt2"):
            text = self.printed(model, "captured")
            self.assertRegex(text, r"input %x: float32\[N, 4\]")
            self.assertRegex(text, r"aten::add_.*print_test\.py:2\d")

    def test_functionalized_has_none(self):
        for model in ("net.pt", "net.pt2"):
            text = self.printed(model, "functionalized")
            self.assertNotIn("aten::add_", text)
            self.assertRegex(text, r"= aten::relu\(.*# .*print_test\.py:\d+")

    def test_onnx(self):
        for model in ("net.pt", "net.pt2"):
            text = self.printed(model, "onnx", "--opset", "17")
            self.assertTrue(text.startswith("opset 17\ninput %x: float32[N, 4]\n"), text)
            self.assertRegex(text, r"%/fc/Gemm_output: float32\[N, 3\] = Gemm\(%x, %fc.weight, %fc.bias\)"
                                   r" \{.*transB=1.*\}  # /fc/Gemm  .*:\d+")
            self.assertRegex(text, r"= Relu\(.*  # /Relu  print_test\.py:\d+\noutput %")

    def test_axes_are_named_by_option_by_file_or_as_the_program_has_them(self):
        class Sum(torch.nn.Module):
            def forward(self, x, y):
                return x + y.sum()

        dims = ({0: torch.export.Dim("N")}, {0: torch.export.Dim("M")})
        program = torch.export.export(Sum(), (torch.ones(2), torch.ones(3)), dynamic_shapes=dims)
        path = self.folder / "named.pt2"
        torch.export.save(program, path, extra_files={"dynamic_axes.json": '[null, {"0": "M"}]'})
        for options, names in (((), ("s[0-9]+", "M")), (("--dynamic-axes", '{"x": {"0": "K"}}'), ("K", "M")),
                               (("--inputs", "y:float32[L=4]"), ("s[0-9]+", "L"))):
            done = self.run_print("--model", path, *options)
            self.assertRegex(done.stdout, r"input %x: float32\[{}\]\ninput %y: float32\[{}\]\n".format(*names), done.stderr)
        torch.export.save(program, path, extra_files={"dynamic_axes.json": '{"z": {"0": "M"}}'})
        done = self.run_print("--model", path)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("named.pt2: extra/dynamic_axes.json: dynamic_axes: there is no input 'z'", done.stderr)

    def test_what_cannot_be_printed(self):
        for arguments, words in (((), "either a --model or a --graph"),
                                 (("--graph", "x.graph", "--stage", "captured"), "give the --model"),
                                 (("--model", "missing.pt"), "missing.pt")):
            done = self.run_print(*arguments)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
