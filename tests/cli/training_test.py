"""--training eval changes what a program saved in training mode computes: it says so."""

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
WARNING = "was saved in training mode"


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(x)


class TrainingTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def export(self, module, *options):
        """What exporting the scripted module prints."""
        torch.jit.script(module).save(self.folder / "m.pt")
        done = subprocess.run([BIN / "onnx-export", "export", "--model", self.folder / "m.pt", "--inputs",
                               "x:float32[2,3]", "--output", self.folder / "m.onnx", *options],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def test_evaluation_of_a_program_in_training_mode(self):
        self.assertIn(WARNING, self.export(Net().train()))
        self.assertIn("--training preserve", self.export(Net().train()))

    def test_nothing_changes(self):
        self.assertNotIn(WARNING, self.export(Net().eval()))
        self.assertNotIn(WARNING, self.export(Net().train(), "--training", "preserve"))
        self.assertNotIn(WARNING, self.export(torch.nn.ReLU().train()))


if __name__ == "__main__":
    unittest.main()
