"""The two descriptions of the build agree."""

import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(os.environ["RULES_ONNX_ROOT"])


class BuildFilesTest(unittest.TestCase):
    def test_build_files_are_generated(self):
        result = subprocess.run([ROOT / "tools/generate_build_files", "--check"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_same_third_party_libraries(self):
        cmake = (ROOT / "cmake/RulesOnnxThirdParty.cmake").read_text()
        targets = set(re.findall(r"^ *rules_onnx_third_party\((\w+)", cmake, re.MULTILINE)) | {"onnx"}
        bazel = (ROOT / "third_party/BUILD.bazel").read_text()
        names = set(re.findall(r'^        "(\w+)",', bazel, re.MULTILINE))
        self.assertEqual(targets, names)

    def test_same_abseil_archives(self):
        cmake = (ROOT / "cmake/RulesOnnxThirdParty.cmake").read_text()
        bazel = (ROOT / "rules/repositories.bzl").read_text()
        self.assertEqual(sorted(set(re.findall(r"\babsl_\w+", cmake))), sorted(set(re.findall(r'"(absl_\w+)"', bazel))))

    def test_only_torch_folders_see_torch(self):
        for path in (ROOT / "exporter").rglob("*"):
            if path.suffix in (".cc", ".h") and "exporter/torch/" not in str(path):
                self.assertNotRegex(path.read_text(), r"#include [<\"](torch|ATen|c10)/", str(path))

    def test_only_onnx_folder_sees_onnx(self):
        for path in (ROOT / "exporter").rglob("*"):
            if path.suffix in (".cc", ".h") and "exporter/onnx/" not in str(path):
                self.assertNotRegex(path.read_text(), r"#include [<\"]onnx/", str(path))


if __name__ == "__main__":
    unittest.main()
