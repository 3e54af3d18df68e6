"""The programs that torch_model and add_torch_model make, and the faults of authors' modules that they tell."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch

SCRIPT = pathlib.Path(os.environ["RULES_ONNX_ROOT"]) / "rules/private/make_torch_model.py"


class MakeTorchModelTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def make(self, forward, inputs, form="trace", dynamic_axes=None, parameters="x"):
        """Makes a program of a module with that forward; the finished process."""
        body = "".join(f"        {line}\n" for line in forward.splitlines())
        (self.folder / "net.py").write_text(
            "import torch\n\n\nclass Net(torch.nn.Module):\n"
            f"    def forward(self, {parameters}):\n{body}\n\n"
            f"def build():\n    return Net(), {inputs}\n")
        self.program = self.folder / ("net.pt2" if form == "export" else "net.pt")
        axes = ["--dynamic-axes", json.dumps(dynamic_axes)] if dynamic_axes else []
        return subprocess.run(
            [sys.executable, SCRIPT, "--entry", "net:build", "--source", "net.py", "--form", form, *axes,
             "--program", self.program, "--inputs", "net.inputs.pt"],
            cwd=self.folder, capture_output=True, text=True)

    def assert_made(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(self.program.exists())

    def assert_refused(self, result, *messages):
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertFalse(self.program.exists())
        for message in messages:
            self.assertIn(message, result.stderr)

    def warnings(self, result):
        self.assert_made(result)
        return [line for line in result.stderr.splitlines() if line.startswith("torch_model: warning: ")]


FROZEN_SIZE = "b = int(x.shape[0])\nreturn x.reshape(b, -1) + torch.zeros(b, 1)"


class SizesTest(MakeTorchModelTest):
    def test_a_frozen_size_is_found_along_a_dynamic_axis(self):
        inputs = "torch.ones(4, 4)"
        self.assert_made(self.make(FROZEN_SIZE, inputs))
        self.assert_refused(
            self.make(FROZEN_SIZE, inputs, dynamic_axes={"x": {"0": "N"}}),
            "where N (axis 0 of x) is 5 instead of 4, the saved program differs from the module: "
            "output has shape [4, 5] instead of [5, 4]", "int(x.shape[0])")
        self.assert_made(self.make(FROZEN_SIZE, inputs, dynamic_axes={"x": {"1": "N"}}))
        self.assertEqual(self.warnings(self.make(FROZEN_SIZE, inputs, "script", {"x": {"0": "N"}})), [])

    def test_a_program_that_fails_at_another_size(self):
        forward = "return x.reshape(int(x.shape[0]), 3) * 2"
        self.assert_refused(
            self.make(forward, "torch.ones(4, 3)", dynamic_axes={"x": {"-2": "N"}}),
            "where N (axis 0 of x) is 5 instead of 4, the saved program fails, and the module does not: ",
            "shape '[4, 3]' is invalid")

    def test_axes_are_moved_together_too(self):
        # Wrong only where both are larger.
        forward = "return x + 1 if len(x) > 2 and x.shape[1] > 3 else x"
        self.assert_refused(
            self.make(forward, "torch.ones(2, 3)", dynamic_axes={"x": {"0": "N", "1": "M"}}),
            "where N (axis 0 of x) is 3 instead of 2 and M (axis 1 of x) is 4 instead of 3, the saved program differs")

    def test_equal_names_are_equal_sizes(self):
        forward = "return x + ys[0] + len(ys[1])"
        inputs = "(torch.ones(4), [torch.ones(4), torch.ones(5)])"
        axes = {"x": {"0": "N"}, "ys.0": {"0": "N"}}
        made = self.make(forward, inputs, dynamic_axes=axes, parameters="x, ys")
        self.assertEqual(self.warnings(made), [])
        self.assert_refused(
            self.make(forward, inputs, dynamic_axes={**axes, "ys.1": {"0": "M"}}, parameters="x, ys"),
            "where M (axis 0 of ys.1) is 6 instead of 5", "output differs by up to 1")
        self.assert_refused(
            self.make(forward, inputs, dynamic_axes={**axes, "ys.1": {"0": "N"}}, parameters="x, ys"),
            "N is 4 and, as axis 0 of ys.1, 5; equal names mean equal sizes")

    def test_a_module_that_takes_multiples_only(self):
        forward = "return x.reshape(-1, 4) + len(x)"
        self.assert_refused(self.make(forward, "torch.ones(8)", dynamic_axes={"x": {"0": "N"}}),
                            "where N (axis 0 of x) is 16 instead of 8")

    def test_a_module_that_fails_at_other_sizes_is_a_warning(self):
        for form in ("trace", "script"):
            result = self.make("return x @ torch.ones(4, 2)", "torch.ones(3, 4)", form, {"x": {"1": "N"}})
            warning, = self.warnings(result)
            self.assertIn("where N (axis 1 of x) is 5 instead of 4, the module itself fails: "
                          "mat1 and mat2 shapes cannot be multiplied (3x5 and 4x2)", warning)
            self.assertIn("the check of frozen sizes is skipped", warning)

    def test_empty_examples(self):
        self.assertEqual(self.warnings(self.make("return x + 1", "torch.ones(0, 2)", dynamic_axes={"x": {"0": "N"}})), [])

    def test_exported_programs_have_the_axes(self):
        result = self.make("return x + ys[0]", "(torch.ones(2, 3), [torch.ones(3)])", "export",
                           {"x": {"0": "N", "-1": "M"}, "ys.0": {"0": "M"}}, parameters="x, ys")
        self.assertEqual(self.warnings(result), [])
        module = torch.export.load(self.program).module()
        self.assertEqual(module(torch.ones(5, 7), [torch.ones(7)]).shape, (5, 7))

    def test_exported_programs_have_the_names_of_the_axes(self):
        self.assert_made(self.make("return x + ys[0]", "(torch.ones(2, 3), [torch.ones(3)])", "export",
                                   {"x": {"-2": "N"}}, parameters="x, ys"))
        extra = {"dynamic_axes.json": ""}
        torch.export.load(self.program, extra_files=extra)
        self.assertEqual(json.loads(extra["dynamic_axes.json"]), [{"0": "N"}, None])

    def test_axes_that_are_not_there(self):
        self.assert_refused(self.make("return x", "torch.ones(2)", dynamic_axes={"y": {"0": "N"}}),
                            "dynamic_axes names y; forward takes x")
        self.assert_refused(self.make("return x", "torch.ones(2)", dynamic_axes={"x": {"1": "N"}}),
                            "dynamic_axes names axis 1 of x, which has 1 axes")


class ValuesTest(MakeTorchModelTest):
    def test_frozen_values_are_found(self):
        for forward, inputs in (("return x * x.max().item()", "torch.rand(4)"),
                                ("return x * x.item()", "torch.tensor(0.5)"),
                                ("return x + x.sum().item()", "torch.zeros(3)"),
                                ("return x * float(x.max())", "torch.rand(4).half()"),
                                ("return x + x.real.max().item()", "torch.randn(4, dtype=torch.complex64)"),
                                ("return x * int(x[0])", "torch.arange(100)"),
                                ("return x * x.max().item()", "torch.randn(2, 3, 64, 64)"),
                                ("return x - x.min().item()", "torch.randint(0, 256, (3, 64, 64))"),
                                ("return x if x.min() < -2.9 else x * 2", "torch.tensor([-3.0, 1.0, 1.0])")):
            self.assert_refused(self.make(forward, inputs), "on a second set of inputs the saved program differs from "
                                "the module", "Tracing freezes values that Python reads")

    def test_values_stay_within_the_range_of_the_example(self):
        forward = ("if not bool((x >= 2).all() and (x <= 3).all() and (y > 0).all() and (y <= 1).all() and n.item() == 3):\n"
                   "    raise ValueError(f'outside: {x} {y} {n}')\n"
                   "return x.sum() + y + n")
        for dtype in ("float64", "float32", "float16", "bfloat16"):
            inputs = f"(torch.tensor([2.0, 2.1, 3.0]).to(torch.{dtype}), torch.ones(2), torch.tensor(3))"
            self.assertEqual(self.warnings(self.make(forward, inputs, parameters="x, y, n")), [])

    def test_inputs_that_have_no_range(self):
        nan = "torch.tensor([float('nan'), float('inf')])"
        inputs = f"({nan}, torch.ones(0), torch.tensor([2**63 - 1, -2**63]), 1.5)"
        forward = "return x + y.sum() + n.sum() + s"
        self.assertEqual(self.warnings(self.make(forward, inputs, parameters="x, y, n, s: float", form="script")), [])

    def test_a_module_that_fails_on_them_is_a_warning(self):
        inputs = "torch.eye(3) * 2 - 0.5"
        for form in ("trace", "script", "export"):
            warning, = self.warnings(self.make("return torch.linalg.cholesky(x)", inputs, form))
            self.assertIn("on a second set of inputs, which torch_model makes, the module fails: linalg.cholesky: ", warning)
            self.assertTrue(warning.endswith("; the check of frozen values is skipped"), warning)


class FailureTest(MakeTorchModelTest):
    def lines(self, result):
        self.assert_refused(result)
        return result.stderr.splitlines()

    def test_the_authors_frames_alone_are_told(self):
        forward = "y = x + 1\nreturn y @ torch.ones(7, 2)"
        for form in ("trace", "script", "export"):
            lines = self.lines(self.make(forward, "torch.ones(4, 4)", form))
            self.assertEqual(lines[:4], ["torch_model: net:build fails",
                                         "Traceback of the author's code (most recent call last):",
                                         '  File "net.py", line 7, in forward',
                                         "    return y @ torch.ones(7, 2)"])
            self.assertRegex(lines[-1], "^RuntimeError: .*4")
            self.assertLessEqual(len(lines), 6)

    def test_the_error_has_its_whole_message(self):
        text = "\n".join(self.lines(self.make("return sorted(globals())", "torch.ones(4)", "script")))
        self.assertIn("return sorted(globals())\n                      ~~~~~~~ <--- HERE", text)
        self.assertNotIn("site-packages", text)

    def test_errors_that_others_come_from(self):
        forward = "try:\n    return {}['key']\nexcept KeyError as error:\n    raise ValueError('nothing found') from error"
        text = "\n".join(self.lines(self.make(forward, "torch.ones(4)")))
        self.assertRegex(text, r"(?s)line 7, in forward.*KeyError: 'key'\n\nand then\n\n.*line 9, in forward.*ValueError: nothing found$")

    def test_the_place_of_an_error_without_the_authors_frames(self):
        text = "\n".join(self.lines(self.make("return x", "'text'")))
        self.assertRegex(text, r"\nraised in torch/[\w/]+\.py, line \d+$")

    def test_syntax_errors(self):
        lines = self.lines(self.make("return (x", "torch.ones(4)"))
        self.assertIn('  File "net.py", line 6', lines)
        self.assertIn("SyntaxError: '(' was never closed", lines)


if __name__ == "__main__":
    unittest.main()
