"""examples/plugin by CMake: plugins are built, loaded, and rebuild what depends on them."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import onnx
import torch

ROOT = pathlib.Path(os.environ["RULES_ONNX_ROOT"])
BIN = os.environ["RULES_ONNX_BIN"]
DOMAIN = "com.example.mylib"


class PluginExampleTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        shutil.copytree(ROOT / "examples/plugin", self.folder / "plugin")
        (self.folder / "CMakeLists.txt").write_text(f"""
cmake_minimum_required(VERSION 3.25)
project(top LANGUAGES CXX)
foreach(program onnx-export onnx-capture-torch)
  add_executable(rules_onnx::${{program}} IMPORTED GLOBAL)
  set_target_properties(rules_onnx::${{program}} PROPERTIES IMPORTED_LOCATION "{BIN}/${{program}}")
endforeach()
enable_testing()
set(RULES_ONNX_DEFAULT_PYTHON "{sys.executable}")
include("{ROOT}/cmake/RulesOnnxModel.cmake")
add_subdirectory(plugin)
""")
        subprocess.run(["cmake", "-S", self.folder, "-B", self.folder / "build", "-G", "Ninja",
                        f"-DCMAKE_PREFIX_PATH={torch.utils.cmake_prefix_path}"], check=True, capture_output=True)

    def build(self):
        return subprocess.run(["cmake", "--build", self.folder / "build"], check=True, capture_output=True,
                              text=True).stdout

    def operators(self, name):
        model = onnx.load(self.folder / f"build/plugin/{name}.onnx")
        return [node.op_type for node in model.graph.node if not node.domain or node.domain == DOMAIN]

    def test_example(self):
        log = self.build()
        self.assertIn("Captured gate_with_plugins.graph", log)
        self.assertNotIn("cmake -E", log)
        self.assertEqual(self.operators("gate_with_plugins"), ["Softsign", "Mul", "Mul", "Sigmoid", "Mul"])
        self.assertEqual(self.operators("gate_with_mapping")[0], "ScaledSoftsign")
        self.assertIn("no work to do", self.build())
        subprocess.run(["ctest", "--test-dir", self.folder / "build", "--output-on-failure", "--no-tests=error"], check=True)

        mapping = self.folder / "plugin/mapping.json"
        mapping.write_text(mapping.read_text().replace("::ScaledSoftsign", "::Softsign2"))
        log = self.build()
        self.assertIn("Lowering gate_with_mapping", log)
        self.assertNotIn("Capturing", log)
        self.assertNotIn("gate_with_plugins", log)
        self.assertEqual(self.operators("gate_with_mapping")[0], "Softsign2")

        source = self.folder / "plugin/gelu.cc"
        source.write_text(source.read_text().replace('"Sigmoid"', '"Tanh"'))
        log = self.build()
        self.assertIn("Lowering gate_with_plugins", log)
        self.assertNotIn("gate_with_mapping", log)
        self.assertIn("Tanh", self.operators("gate_with_plugins"))


if __name__ == "__main__":
    unittest.main()
