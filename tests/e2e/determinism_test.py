"""The same program gives the same bytes: in Bazel, in CMake, on the command line; anywhere."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from tests.e2e.projects import BIN, INPUT, NETWORK, BazelProject, CMakeProject, checked, digest, run

LAYOUTS = ("none", "single", "per_tensor", "shared")
OPSETS = (13, 18, 21)


def digests(folder, base="net"):
    """file name -> digest of everything that an export wrote."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob(base + ".*")):
        if "CMakeFiles" in path.parts or path.suffix == ".unused_inputs":
            continue
        if path.is_file():
            found[str(path.relative_to(folder))] = digest(path)
        elif path.is_dir():
            found.update({str(file.relative_to(folder)): digest(file) for file in sorted(path.iterdir())})
    return found


class DeterminismTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bazel = BazelProject()
        cls.addClassCleanup(cls.bazel.close)
        cls.bazel.write("net/net.py", NETWORK)
        cls.bazel.write_build(f'''\
torch_model(name = "net_pt", srcs = ["net.py"], entry = "net:build")

onnx_export(
    name = "net",
    model = ":net_pt",
    inputs = ["{INPUT}"],
    opsets = {list(OPSETS)},
    external_data = "{','.join(LAYOUTS)}",
    output_names = ["y"],
)
''')
        cls.bazel.build("//net", "--output_groups=+graph")
        cls.folder = cls.bazel.output("net")
        cls.program = cls.folder / "net_pt.pt"

    def export(self, layout, environment=None, umask=0o022):
        """Digests of `onnx-export export` in a folder of its own."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="rules_onnx_export_"))
        self.addCleanup(shutil.rmtree, folder)
        command = [BIN / "onnx-export", "export", "--model", self.program, "--inputs", INPUT, "--external-data", layout,
                   "--output-names", "y", "--output", "net.opset{opset}." + layout + ".onnx"]
        for opset in OPSETS:
            command += ["--opset", opset]
        if layout == "shared":
            command += ["--weights-name", "net.weights"]
        checked(run(command, folder, env={**os.environ, **(environment or {})}, umask=umask))
        return digests(folder)

    def test_bazel_and_command_line(self):
        built = digests(self.folder)
        for layout in LAYOUTS:
            for name, value in self.export(layout).items():
                self.assertEqual(built.get(name), value, name)

    def test_threads_and_umask(self):
        first = self.export("single", {"OMP_NUM_THREADS": "1"}, 0o022)
        second = self.export("single", {"OMP_NUM_THREADS": "2"}, 0o077)
        self.assertEqual(len(first), 2 * len(OPSETS), "a model and its data for each opset")
        self.assertEqual(first, second)

    def test_bazel_and_cmake(self):
        project = CMakeProject("Ninja", prefix=self.installed_prefix())
        self.addCleanup(project.close)
        (project.source / "net").mkdir()
        (project.source / "net/net.py").write_text(NETWORK)
        project.write_build(f'''\
add_torch_model(net_pt SRCS net/net.py ENTRY net:build)
add_onnx_model(net
  MODEL net_pt
  INPUTS "{INPUT}"
  OPSETS {' '.join(map(str, OPSETS))}
  EXTERNAL_DATA {' '.join(LAYOUTS)}
  OUTPUT_NAMES y)
''')
        checked(project.configure())
        project.build()
        self.assertEqual(digest(self.program), digest(project.output("net_pt.pt")))
        self.assertEqual(digests(self.folder), digests(project.binary))

    def installed_prefix(self):
        prefix = pathlib.Path(tempfile.mkdtemp(prefix="rules_onnx_install_"))
        self.addCleanup(shutil.rmtree, prefix)
        checked(run(["cmake", "--install", BIN.parent, "--prefix", prefix], prefix))
        return prefix


class ProgramsTest(unittest.TestCase):
    def test_onnx_export_needs_no_libtorch(self):
        needed = subprocess.run(["readelf", "-d", BIN / "onnx-export"], check=True, capture_output=True, text=True).stdout
        self.assertIn("(NEEDED)", needed)
        for library in ("torch", "c10", "python"):
            self.assertNotIn(f"[lib{library}", needed)


if __name__ == "__main__":
    unittest.main()
