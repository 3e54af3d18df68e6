"""No command writes over what it reads, over another output, or over what is no file."""

import os
import pathlib
import shutil
import stat
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
        self.fc = torch.nn.Linear(4, 300)

    def forward(self, x):
        return self.fc(x)


class OutputTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.programs)
        x = torch.randn(2, 4)
        torch.jit.trace(Net(), x).save(cls.programs / "net.pt")
        torch.save((x,), cls.programs / "in.pt")
        torch.export.save(torch.export.export(Net(), (x,)), cls.programs / "net.pt2")
        subprocess.run([BIN / "onnx-export", "capture", "--model", "net.pt2", "--graph", "g",
                        "--weights", "w", "--debug", "d"], cwd=cls.programs, check=True)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for path in self.programs.iterdir():
            shutil.copy(path, self.folder)

    def state(self):
        return {path.name: (path.lstat().st_mode, path.lstat().st_ino, path.is_file() and path.read_bytes())
                for path in self.folder.iterdir()}

    def run_command(self, *command, **popen):
        return subprocess.run([BIN / "onnx-export", *command], cwd=self.folder, capture_output=True,
                              text=True, **popen)

    def refused(self, *command, words, status=1):
        """The command fails with one message that holds the words, and changes nothing."""
        before = self.state()
        result = self.run_command(*command)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stderr.count("error:"), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(self.state(), before)

    def test_outputs_that_are_inputs(self):
        pt = ("--inputs", "x:float32[2,4]")
        (self.folder / "link.pt2").symlink_to("net.pt2")
        (self.folder / "here").symlink_to(".")
        for command, output, source in (
                (("export", "--model", "net.pt", *pt, "--output", "net.pt"), "--output", "--model"),
                (("export", "--model", "net.pt", "--inputs", "in.pt", "--output", "in.pt"),
                 "--output", "--inputs"),
                (("export", "--model", "link.pt2", "--output", "net.pt2"), "--output", "--model"),
                (("export", "--model", "link.pt2", "--output", "link.pt2"), "--output", "--model"),
                (("export", "--model", "net.pt2", "--output", "here/./net.pt2"), "--output", "--model"),
                (("export", "--model", "net.pt2", "--external-data", "shared", "--weights-name",
                  "net.pt2", "--output", "o.onnx"), "--weights-name", "--model"),
                (("capture", "--model", "net.pt2", "--graph", "net.pt2", "--weights", "x", "--debug",
                  "y"), "--graph", "--model"),
                (("lower", "--graph", "g", "--weights", "w", "--output", "g"), "--output", "--graph"),
                (("lower", "--graph", "g", "--weights", "w", "--output", "w"), "--output", "--weights"),
                (("lower", "--graph", "g", "--external-data", "shared", "--weights-name", "w",
                  "--output", "w"), "--output", "--weights-name"),
                (("lower", "--graph", "g", "--weights", "w", "--debug", "d", "--unused-inputs", "d",
                  "--output", "o.onnx"), "--unused-inputs", "--debug")):
            self.refused(*command, words=(f"{output} ", "would replace", f"{source} reads"))

    def test_data_beside_the_model_that_is_an_input(self):
        (self.folder / "o.onnx.data").mkdir()
        shutil.copy(self.folder / "net.pt2", self.folder / "o.onnx.data")
        for layout in ("single", "per_tensor"):
            self.refused("export", "--model", "o.onnx.data/net.pt2", "--external-data", layout,
                         "--output", "o.onnx", words=("o.onnx.data", "--model"))

    def test_data_of_one_layout_replaces_that_of_another(self):
        for layout in ("per_tensor", "single", "per_tensor"):
            result = self.run_command("export", "--model", "net.pt2", "--external-data", layout,
                                      "--output", "o.onnx")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual((self.folder / "o.onnx.data").is_dir(), layout == "per_tensor")

    def test_folders_that_are_no_data_stay(self):
        kept = self.folder / "o.onnx.data/precious"
        kept.mkdir(parents=True)
        (kept / "file").write_text("kept")
        for layout in ("single", "per_tensor"):
            self.refused("export", "--model", "net.pt2", "--external-data", layout, "--output", "o.onnx",
                         words=("o.onnx.data", "the folder holds precious"))
            self.assertEqual((kept / "file").read_text(), "kept")

    def test_test_data_that_holds_an_input(self):
        case = self.folder / "test_data_set_0"
        case.mkdir()
        shutil.copy(self.folder / "in.pt", case)
        (self.folder / "m.onnx").write_text("")
        self.refused("verify", "--model", "net.pt", "--inputs", "test_data_set_0/in.pt", "--onnx",
                     "m.onnx", "--test-data-dir", ".", words=("--test-data-dir", "--inputs"))
        self.assertTrue((case / "in.pt").exists())

    def test_two_outputs_of_one_name(self):
        self.refused("capture", "--model", "net.pt2", "--graph", "s", "--weights", "s", "--debug", "s",
                     words=("--graph and --weights name the same file, s",))
        self.refused("export", "--model", "net.pt2", "--external-data", "shared", "--weights-name",
                     "a.onnx", "--output", "a.onnx", words=("--weights-name and --output", "a.onnx"))

    def test_what_is_no_regular_file(self):
        os.mkfifo(self.folder / "fifo")
        (self.folder / "link").symlink_to("fifo")
        for name in ("fifo", "link"):
            self.refused("export", "--model", "net.pt2", "--output", name,
                         words=(f"cannot write {name}", "not a regular file"))
            self.refused("lower", "--graph", "g", "--weights", "w", "--output", name,
                         words=("not a regular file",))
            self.refused("capture", "--model", "net.pt2", "--graph", "a", "--weights", "b", "--debug",
                         name, words=("not a regular file",))
        os.mkfifo(self.folder / "o.onnx.data")
        for layout in ("single", "per_tensor"):
            self.refused("export", "--model", "net.pt2", "--external-data", layout, "--output",
                         "o.onnx", words=("o.onnx.data", "not a regular file"))
        self.assertTrue(stat.S_ISFIFO((self.folder / "fifo").stat().st_mode))

    def test_a_link_is_replaced_not_followed(self):
        (self.folder / "link.onnx").symlink_to("g")
        before = (self.folder / "g").read_bytes()
        result = self.run_command("export", "--model", "net.pt2", "--output", "link.onnx")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertFalse((self.folder / "link.onnx").is_symlink())
        self.assertEqual((self.folder / "g").read_bytes(), before)

    def test_errors_leave_no_file(self):
        (self.folder / "out").mkdir()
        self.refused("export", "--model", "net.pt2", "--external-data", "shared", "--weights-name",
                     "../w2", "--output", "out/a.onnx", words=("--weights-name", "../w2"), status=2)
        self.refused("lower", "--graph", "g", "--external-data", "shared", "--weights-name", "/w",
                     "--output", "a.onnx", words=("--weights-name", "/w"), status=2)
        self.refused("lower", "--graph", "g", "--weights", "w", "--unused-inputs", "nodir/u",
                     "--output", "a.onnx", words=("nodir/u", "no folder"))
        self.assertEqual(list((self.folder / "out").iterdir()), [])

    def test_names_of_255_bytes(self):
        name = "n" * 250 + ".onnx"
        result = self.run_command("export", "--model", "net.pt2", "--output", name)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue((self.folder / name).exists())

    def test_no_memory_leaves_no_file(self):
        result = self.run_command("export", "--model", "net.pt2", "--output", "o.onnx")
        self.assertEqual(result.returncode, 0, result.stderr)
        (self.folder / "o.onnx").unlink()
        before = self.state()
        for megabytes in range(8, 200, 2):
            def run(arguments):
                command = f"ulimit -v {megabytes * 1000}; exec {BIN / 'onnx-export'} {arguments}"
                return subprocess.run(["bash", "-c", command], cwd=self.folder, capture_output=True, text=True)

            if run("--help").returncode != 0:
                continue  # the program is not loaded, or its libraries do not begin
            result = run("export --model net.pt2 --output o.onnx")
            if result.returncode == 0:
                break
            if result.returncode == 1:
                self.assertIn("memory", result.stderr)
            self.assertNotIn("terminate", result.stderr)
            self.assertEqual(self.state(), before, result.stderr)
        self.assertEqual(result.returncode, 0)

    def test_full_standard_output(self):
        subprocess.run([BIN / "onnx-export", "export", "--model", "net.pt2", "--output", "o.onnx"],
                       cwd=self.folder, check=True)
        for command in (("ops",), ("--help",), ("options",), ("--version",), ("print", "--model", "net.pt2"),
                        ("print", "--model", "net.pt", "--inputs", "x:float32[2,4]", "--stage", "captured"),
                        ("export", "--model", "net.pt2", "--output", "v.onnx", "--verbose", "true"),
                        ("verify", "--model", "net.pt2", "--onnx", "o.onnx", "--python",
                         os.sys.executable)):
            with open("/dev/full", "w", encoding="utf-8") as full:
                result = subprocess.run([BIN / "onnx-export", *command], cwd=self.folder, stdout=full,
                                        stderr=subprocess.PIPE, text=True)
            self.assertEqual(result.returncode, 1, command)
            self.assertIn("error: cannot write the standard output: ", result.stderr)
            self.assertNotIn("Input/output", result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)


if __name__ == "__main__":
    unittest.main()
