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

    def test_folders_depend_on_what_they_include(self):
        # Bazel's sandbox would find what is missing here, but not what is too much.
        cmake_files = [*(ROOT / "exporter").rglob("CMakeLists.txt"), *(ROOT / "cache").rglob("CMakeLists.txt")]
        folders = {}
        for path in cmake_files:
            library = re.search(r"^rules_onnx_library\(([^)]*)\)", path.read_text(), re.MULTILINE)
            if library:
                words = library[1].split()
                at = words.index("TEST_DEPS") if "TEST_DEPS" in words else len(words)
                names = [{word for word in part if "/" in word or word == "cache"} for part in (words[:at], words[at:])]
                folders[str(path.parent.relative_to(ROOT))] = names
        for folder, (deps, test_deps) in folders.items():
            included = {False: set(), True: set()}
            for path in (ROOT / folder).iterdir():
                if path.suffix in (".cc", ".h"):
                    is_test = bool(re.search(r"_test(_util)?\.", path.name))
                    headers = re.findall(r'#include "([^"]+)/[^/"]+"', path.read_text())
                    included[is_test] |= {name for name in headers if name in folders and name != folder}
            ours = {name for name in deps if not name.startswith("third_party/")}
            self.assertEqual(ours, included[False], f"DEPS of {folder}/CMakeLists.txt")
            needed = {name for name in included[True] - included[False] if not name.startswith("third_party/")}
            self.assertEqual({name for name in test_deps if not name.startswith("third_party/")}, needed,
                             f"TEST_DEPS of {folder}/CMakeLists.txt")

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
