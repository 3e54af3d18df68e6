"""Bad input gets one clear message, exit status 1 or 2, and leaves no file."""

import json
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import unittest
import warnings
import zipfile
from typing import List, Optional

import torch

warnings.filterwarnings("ignore")
BIN = pathlib.Path(os.environ["RULES_ONNX_BIN"])
# What a person should never see.
NOISE = ("terminate called", "Traceback", "what():", "Exception raised from", "Segmentation", ".cpp:", "c10::")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 300)

    def forward(self, x):
        return torch.relu(self.fc(x))


class Difference(torch.nn.Module):
    def forward(self, x, y):
        return x - y


class Cumulative(torch.nn.Module):
    def forward(self, x):
        return torch.cumsum(x, 1)


class Two(torch.nn.Module):
    def forward(self, x):
        return torch.masked_scatter(torch.cumsum(x, 1), x > 0, x)


@torch.library.custom_op("bad_input_test::first", mutates_args=())
def first(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@torch.library.custom_op("bad_input_test::second", mutates_args=())
def second(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


first.register_fake(torch.empty_like)
second.register_fake(torch.empty_like)


class Unsupported(torch.nn.Module):
    def forward(self, x):
        x = torch.ops.bad_input_test.first(x)
        x = torch.ops.bad_input_test.second(x)
        return torch.ops.bad_input_test.first(x)


def rows_that_may_be_none(x: torch.Tensor):
    rows: List[Optional[torch.Tensor]] = []
    for i in range(x.size(0)):
        rows.append(x[i] if bool(x[i].sum() > 0) else None)
    return rows


def save_programs(folder):
    x = torch.randn(2, 4)
    net = Net().eval()
    torch.jit.trace(net, x).save(folder / "net.pt")
    torch.jit.trace(Difference(), (x, x + 1)).save(folder / "difference.pt")
    torch.jit.script(rows_that_may_be_none).save(str(folder / "rows.pt"))
    torch.save(net.state_dict(), folder / "state.pt")
    for name, module in (("net", net), ("cumulative", Cumulative()), ("two", Two()), ("unsupported", Unsupported())):
        torch.export.save(torch.export.export(module, (x,)), folder / f"{name}.pt2")
    (folder / "text.pt").write_text("this is no program\n")
    (folder / "empty.pt").write_text("")
    (folder / "folder.pt").mkdir()
    for name in ("net.pt", "net.pt2"):
        whole = (folder / name).read_bytes()
        (folder / f"truncated.{name}").write_bytes(whole[: len(whole) // 2])
    with zipfile.ZipFile(folder / "net.pt2") as old, zipfile.ZipFile(folder / "newer.pt2", "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith("models/model.json"):
                program = json.loads(data)
                program["schema_version"]["major"] += 1
                data = json.dumps(program).encode()
            new.writestr(entry, data)


class BadInputTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.programs)
        save_programs(cls.programs)

    def setUp(self):
        self.out = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.out)

    def refused(self, model, *words, options=("--inputs", "x:float32[2,4]"), output=None, status=1,
                errors=1, **popen):
        """Runs an export that must fail with a message that holds all words."""
        command = [BIN / "onnx-export", "export", "--model", self.programs / model, *options,
                   *(["--output", output or self.out / "o.onnx"] if "--output" not in options else [])]
        result = subprocess.run(command, capture_output=True, text=True, **popen)
        self.assertEqual(result.returncode, status, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        for noise in NOISE:
            self.assertNotIn(noise, result.stderr)
        lines = [line for line in result.stderr.splitlines() if line.startswith("error:")]
        self.assertEqual(len(lines), errors, result.stderr)
        self.assertNotIn("staging", result.stderr)
        self.assertEqual(list(self.out.iterdir()), [])
        return result.stderr

    def test_the_good_case(self):
        """The options of `refused` are not what is wrong in all the others."""
        for model in ("net.pt", "net.pt2"):
            command = [BIN / "onnx-export", "export", "--model", self.programs / model, "--inputs",
                       "x:float32[2,4]", "--output", self.out / "o.onnx"]
            subprocess.run(command, check=True)
            self.assertEqual([path.name for path in self.out.iterdir()], ["o.onnx"])

    def test_no_program(self):
        self.refused("missing.pt", "missing.pt", "no such file")
        self.refused("missing.pt2", "missing.pt2", "no such file")
        self.refused("folder.pt", "folder.pt", "directory")
        self.refused("text.pt", "text.pt", "text file")
        self.refused("empty.pt", "empty.pt", "empty")
        self.refused("truncated.net.pt", "truncated.net.pt")
        self.refused("truncated.net.pt2", "truncated.net.pt2")
        self.refused("state.pt", "state.pt", "state dict", "torch.jit.trace")

    def test_newer_schema(self):
        self.refused("newer.pt2", "newer.pt2", "schema")

    def test_wrong_inputs(self):
        for spec in ("x:int64[2,4]", "x:float32[2,5]", "x:float32[2,2,2]", "x:float99[2,4]",
                     "x:float32[2,4", "missing.npz"):
            self.refused("net.pt", options=("--inputs", spec))
            self.refused("net.pt2", options=("--inputs", spec))
        self.refused("net.pt2", "missing.pt", options=("--inputs", "missing.pt"))
        self.refused("net.pt2", "y:float32[2,4]", "inputs are x", options=("--inputs", "y:float32[2,4]"))
        self.refused("net.pt2", "axis 0 of input x", options=("--inputs", "x:float32[N=2,4]"))
        self.refused("net.pt", options=())
        self.refused("net.pt", options=("--inputs", "x:float32[2,4]", "--inputs", "y:float32[2,4]"))

    def test_inputs_in_another_order(self):
        x, y = ("--inputs", "x:float32[2,4]"), ("--inputs", "y:float32[2,4]")
        self.refused("difference.pt", "input y", "parameter x", options=(*y, *x))
        self.refused("difference.pt", "input y", "parameter x",
                     options=(*y, *x, "--input-names", "a,b"))
        for options in ((*x, *y), (*y, *x, "--input-names", "y,x")):
            command = [BIN / "onnx-export", "export", "--model", self.programs / "difference.pt",
                       *options, "--output", self.out / "o.onnx"]
            subprocess.run(command, check=True)
            (self.out / "o.onnx").unlink()

    def test_files_that_hold_no_inputs(self):
        for name, words in (("state.pt", "a program or a state dict"), ("net.pt", "a program or a state dict"),
                            ("missing.pt", "no such file"), ("folder.pt", "directory"),
                            ("text.pt", "plain text file"), ("truncated.net.pt", "not a zip file")):
            path = self.programs / name
            self.refused("net.pt", str(path), words, options=("--inputs", path))
        for path in ("/etc/passwd", str(self.programs)):
            self.refused("net.pt", path, "neither a spec", options=("--inputs", path))
            self.refused("net.pt2", path, "neither a spec", options=("--inputs", path))

    def test_sizes_that_are_too_large(self):
        for spec, words in (("x:float32[N=2|1000000000000,8]", "16 GiB"),
                            ("x:float32[N=99999999999999999999,4]", "is too large")):
            self.refused("net.pt", words, options=("--inputs", spec))
            self.refused("net.pt2", words, options=("--inputs", spec))

    def test_long_json_is_not_repeated(self):
        message = self.refused("net.pt2", "is not JSON", options=("--dynamic-axes", "[" * 100000))
        self.assertLess(len(message), 500)

    def test_output_names(self):
        self.refused("net.pt2", "3 names", "1 outputs", options=("--output-names", "a,b,c"))
        self.refused("net.pt2", "x is the name of an input", options=("--output-names", "x"))
        self.refused("net.pt2", "twice", options=("--output-names", "o,o"), status=2)

    def test_custom_opsets_of_onnx_itself(self):
        self.refused("net.pt2", "ai.onnx", "--opset", options=("--custom-opsets", "ai.onnx=5"), status=2)

    def test_texts_that_are_not_utf8(self):
        for option in ("--metadata", "--output-names", "--input-names"):
            self.refused("net.pt2", option, "UTF-8", options=(option, b"k=\xff"), status=2)

    def test_mapping_of_no_operator(self):
        path = self.programs / "map.json"
        path.write_text(json.dumps([{"op": "aten::no_such_operator", "to": "mine::Op"}]))
        self.refused("net.pt2", "map.json", "aten::no_such_operator", options=("--op-mapping", path))

    def test_unknown_dynamic_axis(self):
        for model in ("net.pt", "net.pt2"):
            for axes in ('{"x": {"2": "N"}}', '{"y": {"0": "N"}}', '{"x": {"0": "N"}', "[]]"):
                self.refused(model, options=("--inputs", "x:float32[2,4]", "--dynamic-axes", axes))

    def test_axis_that_the_program_fixes(self):
        self.refused("net.pt2", "axis 0 of input x",
                     options=("--dynamic-axes", '{"x": {"0": "N"}}'))

    def test_opsets(self):
        for opset in ("6", "99", "eighteen"):
            self.refused("net.pt2", "--opset", opset, options=("--opset", opset), status=2)
        self.refused("cumulative.pt2", "aten::cumsum", "11", "bad_input_test.py",
                     options=("--opset", "9"))
        self.refused("cumulative.pt2", "aten::cumsum", "11",
                     options=("--opset", "18,9"), output=self.out / "{opset}.onnx")

    def test_unknown_options(self):
        self.refused("net.pt2", "--no-such-option", "--check", status=2, errors=2,
                     options=("--no-such-option", "3", "--check", "perhaps"))

    def test_output_folder(self):
        self.refused("net.pt2", "no folder", output=self.out / "missing" / "o.onnx")
        self.refused("net.pt", "no folder", output=self.out / "missing" / "o.onnx")
        closed = pathlib.Path("/sys")
        if os.geteuid() != 0:
            closed = pathlib.Path(tempfile.mkdtemp())
            closed.chmod(0o500)
            self.addCleanup(closed.rmdir)
        self.refused("net.pt2", str(closed), output=closed / "o.onnx")
        self.refused("net.pt2", "/proc: permission denied", output="/proc/o.onnx")
        self.refused("net.pt2", "--output: is empty", status=2,
                     options=("--output", ""))

    def test_output_is_a_folder(self):
        taken = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(taken.rmdir)
        self.refused("net.pt2", str(taken), output=taken)

    def test_full_disk(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))

        for layout in ("none", "single", "per_tensor", "shared"):
            self.refused("net.pt2", "write", options=("--external-data", layout), preexec_fn=limit)
        self.refused("net.pt", "write", preexec_fn=limit)

    def test_really_full_disk(self):
        small = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(small.rmdir)
        mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(small)]
        if subprocess.run(mount, capture_output=True).returncode != 0:
            self.skipTest("mounting a small file system needs root")
        self.addCleanup(subprocess.run, ["umount", str(small)], check=True)
        self.refused("net.pt2", "disk is full", str(small / "o.onnx"), output=small / "o.onnx")
        self.assertEqual(list(small.iterdir()), [])

    def test_all_unsupported_operators_at_once(self):
        message = self.refused("unsupported.pt2", "bad_input_test::first", "bad_input_test::second",
                               "bad_input_test.py:", "Unsupported", errors=2)
        self.assertIn("2×", message)

    def test_a_problem_behind_a_problem_is_reported_too(self):
        self.refused("two.pt2", "aten::cumsum", "aten::masked_scatter", options=("--opset", "9"), errors=2)

    def test_list_that_no_opset_has(self):
        """No opset is named as the one that is needed."""
        for opset in ("11", "13"):
            self.refused("rows.pt", "a list of Optional[Tensor]", "no output of an ONNX model holds",
                         options=("--inputs", "x:float32[2,4]", "--dynamic-axes", '{"0": {"0": "N"}}',
                                  "--opset", opset))

    def test_earlier_output_stays(self):
        keep = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, keep)
        (keep / "o.onnx").write_text("earlier")
        self.refused("unsupported.pt2", errors=2, output=keep / "o.onnx")
        self.assertEqual((keep / "o.onnx").read_text(), "earlier")
        self.assertEqual([path.name for path in keep.iterdir()], ["o.onnx"])

    def test_no_torch_capture(self):
        self.refused("net.pt", "--torch-capture",
                     options=("--inputs", "x:float32[2,4]", "--torch-capture", "/no/such/program"))

    def test_torch_capture_that_does_nothing(self):
        self.refused("net.pt", "--torch-capture", "true", "no graph",
                     options=("--inputs", "x:float32[2,4]", "--torch-capture", shutil.which("true")))

    def test_lower_of_foreign_files(self):
        for content in (b"", b"not a graph", bytes(range(256))):
            graph = self.programs / "foreign.graph"
            graph.write_bytes(content)
            result = subprocess.run(
                [BIN / "onnx-export", "lower", "--graph", graph, "--weights", graph, "--output",
                 self.out / "o.onnx"], capture_output=True, text=True)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("foreign.graph", result.stderr)
            self.assertEqual(list(self.out.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
