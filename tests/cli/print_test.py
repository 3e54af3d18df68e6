"""`onnx-export print`: the graph at each station, from both front ends, with types, scopes and lines.

With --update, writes the graphs of testdata/printed.py as they are printed now.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings

import torch

from tests.cli.testdata import printed

warnings.filterwarnings("ignore")
BIN = pathlib.Path(os.environ["RULES_ONNX_BIN"])
GOLDEN = pathlib.Path(printed.__file__).parent
UPDATE = "--update" in sys.argv


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 3)

    def forward(self, x):
        y = self.fc(x)
        y[:, 1:] += 1
        return torch.relu(y)


class GoldenTest(unittest.TestCase):
    """Whole texts, with branches and loops."""

    maxDiff = None

    def check(self, name, save, *options):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            save(path)
            for stage in ("captured", "functionalized", "onnx"):
                with self.subTest(stage=stage):
                    golden = GOLDEN / f"{name}.{stage}.txt"
                    text = subprocess.run([BIN / "onnx-export", "print", "--model", path, *options, "--stage", stage],
                                          stdout=subprocess.PIPE, text=True, check=True).stdout
                    if UPDATE:
                        golden.write_text(text)
                    self.assertEqual(text, golden.read_text())

    def test_scripted(self):
        self.check("scripted.pt", torch.jit.script(printed.Scripted()).save, "--inputs", "x:float32[N=3,4]",
                   "--inputs", "n:int=5", "--opset", "18")

    def test_exported(self):
        program = torch.export.export(printed.Exported(), (torch.ones(3, 4),),
                                      dynamic_shapes=({0: torch.export.Dim("N")},))
        self.check("exported.pt2", lambda path: torch.export.save(program, path), "--inputs", "x:float32[N=3,4]",
                   "--opset", "18")


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
            self.assertRegex(text, r"aten::add_.*print_test\.py:\d+")

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
                                   r" \{.*transB=1.*\}  # /fc/Gemm  Net/Linear\[fc\]  .*:\d+")
            self.assertRegex(text, r"= Relu\(.*  # /Relu  Net  print_test\.py:\d+\noutput %")

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
    unittest.main(argv=[argument for argument in sys.argv if argument != "--update"])
