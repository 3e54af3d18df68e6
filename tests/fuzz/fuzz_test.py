"""A bounded number of random programs; run.py hunts with more."""

import os
import pathlib
import subprocess
import sys
import unittest

BIN = pathlib.Path(os.environ["RULES_ONNX_BIN"])
RUN = pathlib.Path(__file__).parent / "run.py"


class FuzzTest(unittest.TestCase):
    def run_programs(self, form, seed, count, exporter=BIN / "onnx-export"):
        return subprocess.run([sys.executable, RUN, "--exporter", exporter, "--form", form, "--seed", str(seed),
                               "--count", str(count)], capture_output=True, text=True)

    def check(self, form, seed, count):
        done = self.run_programs(form, seed, count)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        equal = [line for line in done.stdout.splitlines() if line.endswith(" equal")]
        self.assertGreaterEqual(int(equal[0].split()[1]), count // 3, done.stdout)

    def test_exported(self):
        self.check("export", 1000, 40)

    def test_traced(self):
        self.check("trace", 1000, 15)

    def test_scripted(self):
        self.check("control", 1040, 30)

    def test_a_wrong_exporter_is_found(self):
        done = self.run_programs("export", 1000, 3, "/bin/false")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--form export --seed ", done.stdout)


if __name__ == "__main__":
    unittest.main()
