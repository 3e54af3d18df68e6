"""export through the cache: equal bytes, and only what changed is done again."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import unittest.mock
import warnings
import zipfile

import torch

warnings.filterwarnings("ignore")
BIN = pathlib.Path(os.environ["RULES_ONNX_BIN"])


class Net(torch.nn.Module):
    def __init__(self, width=300):
        super().__init__()
        self.fc = torch.nn.Linear(4, width)

    def forward(self, x):
        return torch.relu(self.fc(x)), "a text"


class CacheTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = self.folder / "out"
        self.out.mkdir()
        torch.manual_seed(0)
        self.save(Net())

    def save(self, net):
        self.model = self.folder / "net.pt2"
        torch.export.save(torch.export.export(net.eval(), (torch.randn(2, 4),)), self.model)

    def export(self, *options, cache=True, output="o.{opset}.onnx"):
        command = [BIN / "onnx-export", "export", "--model", self.model, "--output", self.out / output, *options]
        if cache:
            command += ["--cache-dir", self.folder / "cache"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stderr

    def capture(self):
        """Written by capture through the cache: name -> bytes; and what it said."""
        parts = ("graph", "weights", "debug")
        command = [BIN / "onnx-export", "capture", "--model", self.model, "--cache-dir", self.folder / "cache"]
        for part in parts:
            command += [f"--{part}", self.out / f"net.{part}"]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
        return {part: (self.out / f"net.{part}").read_bytes() for part in parts}, said

    def bytes(self):
        return {str(path.relative_to(self.out)): path.read_bytes()
                for path in sorted(self.out.rglob("*")) if path.is_file()}

    def entries(self, kind):
        return {path for path in (self.folder / "cache/v1" / kind).rglob("*") if path.is_file()}

    def test_capture_shares_its_entries_with_export(self):
        first = self.capture()
        entries = self.entries("actions")
        self.assertEqual(len(entries), 1)
        self.assertEqual(self.capture(), first)
        self.export("--opset", "18")
        self.assertEqual(len(self.entries("actions") - entries), 1)  # the model's

    def test_same_bytes_with_and_without(self):
        for layout in ("none", "single", "per_tensor", "shared"):
            options = ("--external-data", layout, "--opset", "13,18")
            self.export(*options, cache=False)
            expected = self.bytes()
            for _ in range(2):
                shutil.rmtree(self.out)
                self.out.mkdir()
                self.export(*options)
                self.assertEqual(self.bytes(), expected, layout)
            shutil.rmtree(self.out)
            self.out.mkdir()

    def test_outputs_that_are_there_stay_untouched(self):
        self.export("--external-data", "shared")
        before = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in self.out.iterdir()}
        self.export("--external-data", "shared")
        self.assertEqual({path: (path.stat().st_ino, path.stat().st_mtime_ns)
                          for path in self.out.iterdir()}, before)

    def test_warnings_are_told_again(self):
        self.assertIn("output", self.export())
        self.assertIn("output", self.export())

    def test_what_makes_a_new_entry(self):
        self.export("--opset", "18")
        self.assertEqual(len(self.entries("actions")), 2)  # a capture, a model
        self.export("--opset", "13,18")
        self.assertEqual(len(self.entries("actions")), 3)  # one more model
        self.export("--opset", "18", "--verbose")
        self.export("--opset", "18", output="other.onnx")
        self.assertEqual(len(self.entries("actions")), 3)
        self.export("--opset", "18", "--strip-doc-string", "false")
        self.assertEqual(len(self.entries("actions")), 4)
        self.save(Net(width=301))
        self.export("--opset", "18")
        self.assertEqual(len(self.entries("actions")), 6)

    def test_input_specs_and_libtorch_make_a_new_entry(self):
        self.export("--inputs", "x:float32[2,4]")
        self.assertEqual(len(self.entries("actions")), 2)  # a capture, a model
        self.export("--inputs", "float32[2,4]")
        self.assertEqual(len(self.entries("actions")), 3)  # a capture; its graph is the same

        self.model = self.folder / "net.pt"
        torch.jit.trace(Net().fc, torch.randn(2, 4)).save(self.model)
        self.export("--inputs", "x:float32[2,4]")
        before = self.entries("actions")
        # Another build of a library: bytes that no one reads stand behind its sections.
        library = self.folder / "lib/libc10.so"
        library.parent.mkdir()
        library.write_bytes((pathlib.Path(torch.__file__).parent / "lib/libc10.so").read_bytes() + b"another build")
        folders = [str(library.parent), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        with unittest.mock.patch.dict(os.environ, LD_LIBRARY_PATH=":".join(folders)):
            self.export("--inputs", "x:float32[2,4]")
        self.assertEqual(len(self.entries("actions") - before), 1)

    def test_equal_program_saved_again(self):
        self.export()
        self.save_again()
        self.export()
        self.assertEqual(len(self.entries("actions")), 3)  # a second capture, the same model

    def save_again(self):
        with zipfile.ZipFile(self.model, "a") as archive:
            root = archive.namelist()[0].split("/")[0]
            archive.writestr(f"{root}/extra/note", "other bytes")

    def test_damaged_and_lost_entries_are_made_again(self):
        self.export()
        expected = self.bytes()
        for spoil in (lambda path: path.write_bytes(path.read_bytes()[:-1] + b"?"),
                      lambda path: path.write_bytes(b""), pathlib.Path.unlink):
            for kind in ("content", "actions"):
                for path in self.entries(kind):
                    path.chmod(0o600)
                    spoil(path)
                shutil.rmtree(self.out)
                self.out.mkdir()
                self.export()
                self.assertEqual(self.bytes(), expected)

    def test_a_cache_that_does_not_work_is_a_warning(self):
        (self.folder / "cache").write_text("a file")
        self.assertIn("warning: the cache", self.export())
        self.assertEqual(list(self.bytes()), ["o.18.onnx"])


if __name__ == "__main__":
    unittest.main()
