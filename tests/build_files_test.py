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

    def test_same_repositories_for_module_and_workspace(self):
        declared = set(re.findall(r'name = "(rules_onnx_\w+)"', (ROOT / "rules/repositories.bzl").read_text()))
        used = set(re.findall(r'^    "(rules_onnx_\w+)",', (ROOT / "MODULE.bazel").read_text(), re.MULTILINE))
        self.assertEqual(declared, used)

    def test_folders_depend_on_the_libraries_that_they_include(self):
        headers = {"simdjson": r"simdjson\.h", "protobuf": r"google/protobuf/", "xxhash": r"xxhash\.h", "cli11": r"CLI/",
                   "minizip": r"minizip/", "onnx": r"onnx/", "absl": r"absl/", "torch": r"(torch|ATen|c10)/"}
        for path in [*(ROOT / "exporter").rglob("CMakeLists.txt"), *(ROOT / "cache").rglob("CMakeLists.txt")]:
            library = re.search(r"^rules_onnx_library\(([^)]*)\)", path.read_text(), re.MULTILINE)
            if not library:
                continue
            words = library[1].split()
            if list(path.parent.glob("*.proto")):
                words.insert(0, "third_party/protobuf")  # of itself, see RulesOnnxFolder.cmake
            at = words.index("TEST_DEPS") if "TEST_DEPS" in words else len(words)
            for is_test, listed in ((False, words[:at]), (True, words)):
                texts = [file.read_text() for file in path.parent.iterdir() if file.suffix in (".cc", ".h")
                         and bool(re.search(r"_test(_util)?\.", file.name)) == is_test and file.name != "main.cc"]
                for name, pattern in headers.items():
                    included = any(re.search(rf"#include [<\"]{pattern}", text) for text in texts)
                    if included:
                        self.assertIn(f"third_party/{name}", listed, f"{path}, {'tests' if is_test else 'library'}")
                    elif not is_test and f"third_party/{name}" in library[1].split()[:at]:
                        main = path.with_name("main.cc")
                        used = main.exists() and re.search(rf"#include [<\"]{pattern}", main.read_text())
                        self.assertTrue(used, f"{path} does not include {name}")

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
