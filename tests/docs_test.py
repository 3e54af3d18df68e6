"""Generated pages are current."""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(os.environ["RULES_ONNX_ROOT"])
EXPORTER = os.path.join(os.environ["RULES_ONNX_BIN"], "onnx-export")


class DocsTest(unittest.TestCase):
    def test_operators(self):
        subprocess.run([sys.executable, ROOT / "tools/generate_operator_docs.py", EXPORTER, "--check"], check=True)

    def test_rules(self):
        subprocess.run([sys.executable, ROOT / "tools/generate_rule_docs.py", "--check"], check=True)

    def test_grammar_of_specs(self):
        header = (ROOT / "exporter/inputs/spec.h").read_text()
        grammar = re.search(r"^//   spec .*?^//   size, second .*?$", header, re.MULTILINE | re.DOTALL)[0]
        grammar = "".join(line.removeprefix("//   ") + "\n" for line in grammar.splitlines())
        self.assertIn(f"```\n{grammar}```\n", (ROOT / "docs/inputs.md").read_text())

    def test_operators_of_the_recipe_have_schemas(self):
        schemas = (ROOT / "exporter/ir/aten_schemas.cc").read_text()
        text = (ROOT / "CONTRIBUTING.md").read_text()
        names = set(re.findall(r'[`"](aten::\w+)', text))
        self.assertTrue(names)
        for name in names:
            self.assertRegex(schemas, rf'"{name}[.(]', name)
        for schema in re.findall(r"`(aten::\w+\([^`]*\))`", text):
            self.assertIn(f'"{schema} -> ', schemas)

    def test_rows_name_the_lowerings_that_they_serve(self):
        served = set()
        for path in (ROOT / "tests/ops/rows").glob("*.py"):
            served.update(re.findall(r"\b(\w+\.cc)\b", re.match(r'"""(.*?)"""', path.read_text(), re.DOTALL)[1]))
        lowerings = {path.name: path.read_text() for path in (ROOT / "exporter/lowering").glob("*.cc")}
        families = {name for name, text in lowerings.items() if re.search(r"^const Family k", text, re.MULTILINE)}
        self.assertEqual(families - served, set(), "named by no file of rows")
        self.assertEqual(served - set(lowerings), set(), "there are no such files")

    def test_table(self):
        rows = json.loads(subprocess.run([EXPORTER, "ops", "--json"], check=True, capture_output=True, text=True).stdout)
        by_op = {}
        for row in rows:
            for overload in row["overloads"]:
                key = (row["op"], overload)
                self.assertNotIn(key, by_op, "two rows for one overload")
                by_op[key] = row
        self.assertEqual(by_op["aten::relu", ""]["family"], "activation")
        self.assertIn(("aten::add", "Tensor"), by_op)
        self.assertNotIn(("aten::add", "out"), by_op)
        text = subprocess.run([EXPORTER, "ops"], check=True, capture_output=True, text=True).stdout
        self.assertIn("  torchvision::nms  opset 10\n", text)


if __name__ == "__main__":
    unittest.main()
