"""--state-outputs gives what buffers are after a call; without it, a warning says that they are lost."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import warnings

import numpy
import onnxruntime
import torch

warnings.filterwarnings("ignore")
BIN = pathlib.Path(os.environ["RULES_ONNX_BIN"])


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.tensor(3))
        self.register_buffer("mean", torch.ones(4))
        self.register_buffer("fixed", torch.ones(4))

    def forward(self, x):
        self.calls += 1
        self.mean.mul_(0.5).add_(x.mean(0) * 0.5)
        return x * self.calls - self.mean + self.fixed


class StateTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.x = torch.arange(8.0).reshape(2, 4)
        torch.jit.script(Counter()).save(self.folder / "script.pt")
        program = torch.export.export(Counter(), (self.x,))
        torch.export.save(program, self.folder / "training.pt2")
        torch.export.save(program.run_decompositions(), self.folder / "core.pt2")

    def run_command(self, command, program, *options):
        inputs = ["--inputs", "x:float32[2,4]"] if program.endswith(".pt") else []
        done = subprocess.run([BIN / "onnx-export", command, "--model", program, *inputs, *options],
                              cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def test_final_states(self):
        module = Counter()
        result = module(self.x)
        for program in ("script.pt", "training.pt2", "core.pt2"):
            messages = self.run_command("export", program, "--state-outputs", "true", "--output", "m.onnx")
            self.assertNotIn("final state", messages)
            session = onnxruntime.InferenceSession(self.folder / "m.onnx")
            names = [output.name for output in session.get_outputs()]
            self.assertEqual(names, ["out", "final_state.calls", "final_state.mean"])
            actual = session.run(None, {session.get_inputs()[0].name: self.x.numpy()})
            for value, expected in zip(actual, (result, module.calls, module.mean)):
                numpy.testing.assert_allclose(value, expected.numpy(), rtol=1e-6)
                self.assertEqual(value.dtype, expected.numpy().dtype)

    def test_without(self):
        for program in ("script.pt", "training.pt2", "core.pt2"):
            self.assertIn("final state", self.run_command("export", program, "--output", "m.onnx"))
            session = onnxruntime.InferenceSession(self.folder / "m.onnx")
            self.assertEqual([output.name for output in session.get_outputs()], ["out"])


if __name__ == "__main__":
    unittest.main()
