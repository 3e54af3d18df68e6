"""An option has one name: flag of onnx-export, attribute of onnx_export, keyword of add_onnx_model."""

import json
import os
import pathlib
import re
import subprocess
import types
import unittest

ROOT = pathlib.Path(os.environ["RULES_ONNX_ROOT"])


def flags():
    """name -> row of `onnx-export options`."""
    program = os.path.join(os.environ["RULES_ONNX_BIN"], "onnx-export")
    text = subprocess.run([program, "options"], check=True, capture_output=True, text=True).stdout
    return {row["name"]: row for row in json.loads(text)}


def options_bzl():
    """The names of options.bzl, which Python can read as well."""
    scope = {"struct": lambda **fields: types.SimpleNamespace(**fields)}
    exec((ROOT / "rules/private/options.bzl").read_text(), scope)
    return scope


def attributes():
    """stage -> {name -> option} of the tables of options.bzl."""
    scope = options_bzl()
    return {"capture": scope["CAPTURE_OPTIONS"], "lower": scope["LOWER_OPTIONS"]}


def keywords():
    """stage -> set of names of the lists of RulesOnnxModel.cmake."""
    text = (ROOT / "cmake/RulesOnnxModel.cmake").read_text()
    found = {"capture": {"dynamic_axes"}, "lower": set(), "verify": {"dynamic_axes"}}
    for stage, names in re.findall(r"^set\(_RULES_ONNX_(CAPTURE|LOWER|VERIFY)_\w+ ([A-Z_ ]+) CACHE", text, re.MULTILINE):
        found[stage.lower()].update(names.lower().split())
    return found


def default_text(option):
    if isinstance(option.default, bool):
        return "true" if option.default else "false"
    return option.default if isinstance(option.default, str) else ""


class OptionsTest(unittest.TestCase):
    def test_same_names(self):
        for stage in ("capture", "lower"):
            names = {name for name, row in flags().items() if row["stage"] == stage}
            self.assertEqual(names, set(attributes()[stage]), f"options.bzl, {stage}")
            self.assertEqual(names, keywords()[stage], f"RulesOnnxModel.cmake, {stage}")

    def test_verify_is_told_what_it_takes(self):
        taken = {name: row["stage"] for name, row in flags().items() if "verify" in row["commands"]}
        options = {name for name, stage in taken.items() if stage in ("capture", "lower")}
        files = {name for name, stage in taken.items() if stage == "input"} - {"model", "inputs"}
        self.assertEqual(options, set(options_bzl()["VERIFY_OPTIONS"]))
        self.assertEqual(files, set(options_bzl()["VERIFY_FILES"]))
        self.assertEqual(options | files, keywords()["verify"])

    def test_same_defaults_and_choices(self):
        rows = flags()
        for options in attributes().values():
            for name, option in options.items():
                self.assertEqual(rows[name]["default"], default_text(option), name)
                self.assertEqual(rows[name]["choices"], option.values, name)

    def test_cmake_knows_the_same_values(self):
        text = (ROOT / "cmake/RulesOnnxModelChecks.cmake").read_text()
        choices = {name: words.split() for name, words in re.findall(r"^set\(_RULES_ONNX_CHOICES_(\w+) ([a-z_ ]+) CACHE", text, re.MULTILINE)}
        torch_model = (ROOT / "rules/private/torch_model.bzl").read_text()
        forms = re.search(r'"form": attr\.string\([^)]*values = \[([^]]*)\]', torch_model)[1]
        self.assertEqual(choices.pop("FORM"), re.findall(r'"(\w+)"', forms))
        words = {name.upper(): row["choices"] for name, row in flags().items() if row["choices"] and name != "stage"}
        self.assertEqual(choices, words)

    def test_same_opsets(self):
        text = (ROOT / "cmake/RulesOnnxModelChecks.cmake").read_text()
        cmake = re.search(r"^set\(_RULES_ONNX_OPSET_RANGE (\d+) (\d+) ", text, re.MULTILINE)
        for first, last in (cmake.groups(), options_bzl()["OPSET_RANGE"]):
            self.assertIn(f"{first} to {last},", flags()["opsets"]["doc"])

    def test_inputs_of_the_rule_are_flags(self):
        rule = (ROOT / "rules/private/onnx_export.bzl").read_text()
        cmake = (ROOT / "cmake/RulesOnnxModel.cmake").read_text()
        for name, row in flags().items():
            if row["stage"] == "input":
                self.assertRegex(rule, rf'"{name}": attr\.', name)
                keyword = name.upper()
                self.assertRegex(cmake, rf"\barg_{keyword}\b|\(_RULES_ONNX_VERIFY_FILES .*\b{keyword}\b", name)

    def test_same_kinds_of_input_files(self):
        reader = (ROOT / "exporter/inputs/read_inputs.cc").read_text()
        kinds = set(re.findall(r'EndsWith\(item, "\.(\w+)"\)', reader))
        rule = (ROOT / "rules/private/onnx_export.bzl").read_text()
        attribute = re.search(r'"input_files": attr\.label_list\(\s*allow_files = \[([^]]*)\]', rule)[1]
        self.assertEqual(kinds, set(re.findall(r'"\.(\w+)"', attribute)))
        cmake = (ROOT / "cmake/RulesOnnxModel.cmake").read_text()
        self.assertEqual(kinds, set(re.search(r'if\(input MATCHES "[^(]*\(([\w|]+)\)', cmake)[1].split("|")))


if __name__ == "__main__":
    unittest.main()
