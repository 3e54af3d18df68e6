"""A signal that ends the program leaves no file and no child, and gives its exit status."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings

import onnx
import torch

warnings.filterwarnings("ignore")
BIN = pathlib.Path(os.environ["RULES_ONNX_BIN"])


class Net(torch.nn.Module):
    def forward(self, x):
        return x + 1


def until(condition):
    for _ in range(600):
        if condition():
            return True
        time.sleep(0.1)
    return False


def is_alive(pid):
    """A zombie, which only its new parent can remove, is not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class InterruptionTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        torch.jit.trace(Net(), torch.randn(2)).save(self.folder / "net.pt")
        self.out = self.folder / "out"
        self.out.mkdir()
        # In the place of onnx-capture-torch: tells its number and takes its time.
        self.pid = self.folder / "pid"
        self.slow = self.folder / "slow"
        self.slow.write_text(f"#!/bin/sh\necho $$ > {self.pid}.new\nmv {self.pid}.new {self.pid}\n"
                             "exec sleep 300\n")
        self.slow.chmod(0o755)

    def start(self, **popen):
        process = subprocess.Popen(
            [BIN / "onnx-export", "export", "--model", self.folder / "net.pt", "--inputs",
             "x:float32[N=2]", "--torch-capture", self.slow, "--output", self.out / "net.onnx"],
            stderr=subprocess.PIPE, text=True, **popen)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        self.assertTrue(until(self.pid.exists))
        self.assertTrue(list(self.out.iterdir()))  # what is to be removed
        return process

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self.pid.unlink(missing_ok=True)
            process = self.start()
            process.send_signal(number)
            _, messages = process.communicate(timeout=60)
            self.assertEqual((process.returncode, messages), (-number, ""))
            self.assertEqual(list(self.out.iterdir()), [])
            self.assertFalse(is_alive(self.pid.read_text().strip()))

    def test_an_ignored_signal_stays_ignored(self):
        process = self.start(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        self.assertIsNone(process.poll())
        process.terminate()
        self.assertEqual(process.wait(timeout=60), -signal.SIGTERM)

    def test_the_child_of_a_killed_program_ends(self):
        process = self.start()
        child = self.pid.read_text().strip()
        self.assertTrue(is_alive(child))
        process.kill()
        process.wait()
        self.assertTrue(until(lambda: not is_alive(child)))

    def test_the_child_of_a_search_ends(self):
        """LibTorch's run for the first difference is a child of the Python that verify starts."""
        model = self.folder / "net.onnx"
        common = ["--model", self.folder / "net.pt", "--inputs", "x:float32[2]"]
        subprocess.run([BIN / "onnx-export", "export", *common, "--output", model], check=True)
        changed = onnx.load(model)
        changed.graph.node[0].op_type = "Sub"
        onnx.save(changed, model)
        self.slow.write_text(self.slow.read_text().replace("#!/bin/sh\n", (
            "#!/bin/sh\n"
            f'case "$*" in *--values-of*) ;; *) exec {BIN.absolute()}/onnx-capture-torch "$@" ;; esac\n')))
        process = subprocess.Popen(
            [BIN / "onnx-export", "verify", *common, "--onnx", model, "--python", sys.executable,
             "--torch-capture", self.slow], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.assertTrue(until(self.pid.exists))
        child = self.pid.read_text().strip()
        self.assertTrue(is_alive(child))
        process.terminate()
        self.assertEqual(process.wait(timeout=60), -signal.SIGTERM)
        self.assertTrue(until(lambda: not is_alive(child)))

    def test_nobody_reads(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        for arguments in (["ops"], ["export", "--help"]):
            result = subprocess.run([BIN / "onnx-export", *arguments], stdout=write_end,
                                    stderr=subprocess.PIPE, text=True)
            self.assertEqual((result.returncode, result.stderr), (-signal.SIGPIPE, ""))
        os.close(write_end)


if __name__ == "__main__":
    unittest.main()
