"""Programs that older releases of torch saved: captured, exported and run.

fixtures/<torch version>/cases.json holds, for each program beside it, inputs and what that torch
computed from them (make_fixtures.py).
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnxruntime
from onnx import numpy_helper

BIN = pathlib.Path(os.environ["RULES_ONNX_BIN"])
FIXTURES = pathlib.Path(__file__).parent / "fixtures"
LARGEST = 20 * 1024


def tensors(value):
    """The arrays of nested lists, numbers as 0-d ones."""
    if isinstance(value, list):
        return [one for item in value for one in tensors(item)]
    if isinstance(value, dict):
        return [numpy.array(value["data"], value["dtype"]).reshape(value["shape"])]
    return [numpy.array(value)]


def spec(value, folder, position):
    """An --inputs argument."""
    if not isinstance(value, dict):
        return f"{type(value).__name__}={value}"
    path = folder / f"input_{position}.pb"
    path.write_bytes(numpy_helper.from_array(tensors(value)[0]).SerializeToString())
    return path


class OldFilesTest(unittest.TestCase):
    def check(self, program, case):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            model = folder / "model.onnx"
            common = ["--model", program]
            for position, value in enumerate(case["inputs"]):
                common += ["--inputs", spec(value, folder, position)]
            if program.name.startswith("convolutions.") and program.suffix == ".pt":
                common += ["--dynamic-axes", '[{"0": "N"}]']
            done = subprocess.run([BIN / "onnx-export", "export", *common, "--output", model],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            session = onnxruntime.InferenceSession(model)
            given = [one for value in case["inputs"] for one in tensors(value)]
            names = [value.name for value in session.get_inputs()]
            actual = session.run(None, dict(zip(names, given)))
            expected = tensors(case["outputs"])
            self.assertEqual(len(actual), len(expected))
            for one, other in zip(actual, expected):
                self.assertEqual(one.dtype, other.dtype)
                numpy.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
            done = subprocess.run([BIN / "onnx-export", "verify", *common, "--onnx", model,
                                   "--python", sys.executable], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_programs(self):
        versions = sorted(FIXTURES.iterdir())
        self.assertGreater(len(versions), 1)
        for version in versions:
            cases = json.loads((version / "cases.json").read_text())
            files = {path.name for path in version.iterdir()} - {"cases.json"}
            self.assertEqual(set(cases), files)
            for name, case in cases.items():
                with self.subTest(torch=version.name, program=name):
                    self.assertLess((version / name).stat().st_size, LARGEST)
                    self.check(version / name, case)


if __name__ == "__main__":
    unittest.main()
