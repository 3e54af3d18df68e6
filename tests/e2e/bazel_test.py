"""What runs, and what does not, in a Bazel workspace that uses rules_onnx."""

import shutil
import unittest

from tests.e2e.projects import INPUT, NETWORK, BazelProject, checked, digest, save_again, save_exported_program

TORCH_MODEL = '''\
torch_model(
    name = "net_pt",
    srcs = ["net.py"],
    entry = "net:build",
    seed = {seed},
)
'''

EXPORT = '''\
onnx_export(
    name = "net",
    model = "{model}",
    inputs = ["{input}"],
    opsets = {opsets},
    external_data = "{external_data}",
)
'''


def rules(seed=0, model=":net_pt", opsets=(13, 18, 21), external_data="none,shared"):
    made = TORCH_MODEL.format(seed=seed) if model == ":net_pt" else ""
    return made + EXPORT.format(model=model, input=INPUT, opsets=list(opsets), external_data=external_data)


class BazelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.project = BazelProject()
        cls.addClassCleanup(cls.project.close)

    def setUp(self):
        self.project.write("net/net.py", NETWORK)
        self.project.write_build(rules())

    def test_first_build_runs_everything_once_and_the_second_nothing(self):
        self.project.write("net/net.py", NETWORK.replace("200", "201"))
        self.assertEqual(self.project.build("//net"), {"TorchModel": 1, "OnnxCapture": 1, "OnnxLower": 6})
        self.assertEqual(self.project.build("//net"), {})

    def test_inputs_of_actions(self):
        actions = [action for action in self.project.actions("//net:net") if action[0].startswith("Onnx")]
        kinds = sorted(kind for kind, _, _ in actions if kind != "OnnxVerify")
        self.assertEqual(kinds, ["OnnxCapture"] + ["OnnxLower"] * 6)
        shared = 0
        for kind, inputs, arguments in actions:
            if kind == "OnnxLower":
                self.assertFalse([path for path in inputs if "torch" in path], arguments)
                is_shared = arguments[arguments.index("--external-data") + 1] == "shared"
                shared += is_shared
                self.assertEqual(not is_shared, any(path.endswith(".weights") for path in inputs), arguments)
            for argument in arguments:
                self.assertFalse(argument.startswith("/"), argument)
        self.assertEqual(shared, 3)

    def test_another_opset_is_one_lowering(self):
        self.project.write_build(rules(external_data="shared"))
        self.project.build("//net")
        self.project.write_build(rules(opsets=(13, 15, 18, 21), external_data="shared"))
        self.assertEqual(self.project.build("//net"), {"OnnxLower": 1})

    def test_changed_weights_are_lowered_only_where_they_are_copied(self):
        self.project.build("//net")
        self.project.write_build(rules(seed=1))
        self.assertEqual(self.project.build("//net"), {"TorchModel": 1, "OnnxCapture": 1, "OnnxLower": 3})

    def test_a_comment_in_the_source_lowers_nothing(self):
        self.project.build("//net")
        self.project.write("net/net.py", "# A comment moves every line.\n" + NETWORK)
        self.assertEqual(self.project.build("//net"), {"TorchModel": 1, "OnnxCapture": 1})

    def test_the_same_model_saved_again_lowers_nothing(self):
        self.project.build("//net:net_pt")
        saved = self.project.workspace / "net/saved.pt"
        shutil.copyfile(self.project.output("net/net_pt.pt"), saved)
        self.project.write_build(rules(model="saved.pt"))
        self.project.build("//net")
        save_again(saved)
        self.assertEqual(self.project.build("//net"), {"OnnxCapture": 1})

    def test_attributes_take_select(self):
        self.project.write_build('''\
config_setting(name = "small", values = {"define": "size=small"})

''' + TORCH_MODEL.format(seed=0) + '''\
onnx_export(
    name = "net",
    model = ":net_pt",
    inputs = select({":small": ["x:float32[N=1,3,8,8]"], "//conditions:default": ["x:float32[N=2,3,8,8]"]}),
    opsets = select({":small": [17], "//conditions:default": [18]}),
    external_data = select({":small": "none", "//conditions:default": "shared"}),
    metadata = select({":small": {"size": "small"}, "//conditions:default": {}}),
    dynamic_axes = select({":small": {"x": ["0:N"]}, "//conditions:default": {}}),
    check = select({":small": False, "//conditions:default": True}),
)
''')
        arguments = {kind: words for kind, _, words in self.project.actions("//net:net")}
        self.assertNotIn("--metadata", arguments["OnnxLower"])
        checked(self.project.bazel("build", "--define=size=small", "--nobuild", "//net"))

    def test_artifacts_are_run_in_onnx_runtime(self):
        self.project.write_build(rules() + 'onnx_export_test(name = "net_test", export = ":net")\n')
        checked(self.project.bazel("test", "//net:net_test"))

    def test_test_data(self):
        self.project.write_build(rules() + 'onnx_test_data(name = "net_data", export = ":net")\n')
        self.assertEqual(self.project.build("//net:net_data")["OnnxVerify"], 1)
        files = {path.name for path in self.project.output("net/net.test_data").rglob("*.pb")}
        self.assertTrue({"input_0.pb", "output_0.pb"} <= files, files)
        self.assertEqual(self.project.build("--output_groups=test_data", "//net").get("OnnxVerify", 0), 0)

    def test_two_workspaces_give_the_same_bytes(self):
        self.project.build("//net")
        other = BazelProject()
        try:
            other.write("net/net.py", NETWORK)
            other.write_build(rules())
            other.build("//net")
            for name in ("net_pt.pt", "net.graph", "net.weights", "net.debug", "net.opset13.none.onnx", "net.opset21.shared.onnx"):
                self.assertEqual(digest(self.project.output("net/" + name)), digest(other.output("net/" + name)), name)
        finally:
            other.close()

    def test_a_file_that_is_no_program_is_named(self):
        self.project.write("net/notes.pt", "no program\n")
        self.project.write_build(rules(model="notes.pt"))
        result = self.project.bazel("build", "//net")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("notes.pt", result.stdout)
        self.assertFalse(self.project.output("net/net.graph").exists())

    def test_a_value_that_tracing_froze_is_found(self):
        self.project.write("net/net.py", '''\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return x * x.max().item()


def build():
    return Net(), (torch.randn(2, 3, 8, 8),)
''')
        result = self.project.bazel("build", "//net:net_pt")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("on a second set of inputs the saved program differs from the module", result.stdout)


class WithoutPythonTest(unittest.TestCase):
    def test_a_pt2_program_is_exported_without_a_python_toolchain(self):
        project = BazelProject(python=False)
        self.addCleanup(project.close)
        project.write("net/net.py", NETWORK)
        save_exported_program(project.workspace / "net")
        project.write_build(rules(model="net.pt2"))
        self.assertEqual(project.build("//net"), {"OnnxCapture": 1, "OnnxLower": 6})
        project.write_build(rules(model="net.pt2") + 'onnx_test_data(name = "net_data", export = ":net")\n')
        result = project.bazel("build", "//net:net_data")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("//net:net has no test data: running artifacts needs", result.stdout)


if __name__ == "__main__":
    unittest.main()
