"""What runs, and what does not, in a CMake project that uses rules_onnx."""

import pathlib
import shutil
import tempfile
import time
import unittest

from tests.e2e.projects import BIN, INPUT, NETWORK, ROOT, CMakeProject, checked, run, save_again

TORCH_MODEL = "add_torch_model(net_pt SRCS net.py ENTRY net:build SEED {seed})\n"


def rules(seed=0, model="net_pt", opsets="13 18 21", external_data="none shared"):
    made = TORCH_MODEL.format(seed=seed) if model == "net_pt" else ""
    return made + f'''\
add_onnx_model(net
  MODEL {model}
  INPUTS "{INPUT}"
  OPSETS {opsets}
  EXTERNAL_DATA {external_data})
onnx_model_install(net DESTINATION models)
onnx_model_test(net_test EXPORT net)
'''


class Installed:
    """rules_onnx as `cmake --install` gives it, moved to another place."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rules_onnx_install_"))
        checked(run(["cmake", "--install", BIN.parent, "--prefix", self.folder / "first"], self.folder))
        self.prefix = self.folder / "moved"
        (self.folder / "first").rename(self.prefix)

    def close(self):
        shutil.rmtree(self.folder)


class CMakeTest:
    """The tests, for one generator."""

    generator = None

    @classmethod
    def setUpClass(cls):
        installed = Installed()
        cls.addClassCleanup(installed.close)
        cls.prefix = installed.prefix
        cls.project = CMakeProject(cls.generator, installed.prefix)
        cls.addClassCleanup(cls.project.close)

    def setUp(self):
        self.given(NETWORK, rules())

    def given(self, network, build):
        # Makefiles compare whole seconds of some file systems.
        time.sleep(1.1)
        for name, text in (("net.py", network),):
            path = self.project.source / name
            if not path.exists() or path.read_text() != text:
                path.write_text(text)
        self.project.write_build(build)
        checked(self.project.configure())

    def test_first_build_runs_everything_once_and_the_second_nothing(self):
        self.given(NETWORK.replace("200", "201"), rules())
        self.assertEqual(self.project.build(), {"Making": 1, "Capturing": 1, "Lowering": 6})
        self.assertEqual(self.project.build(), {})

    def test_another_opset_is_one_lowering(self):
        self.given(NETWORK, rules(external_data="shared"))
        self.project.build()
        self.given(NETWORK, rules(opsets="13 15 18 21", external_data="shared"))
        self.assertEqual(self.project.build(), {"Lowering": 1})

    def test_changed_weights_are_lowered_only_where_they_are_copied(self):
        self.project.build()
        self.given(NETWORK, rules(seed=1))
        self.assertEqual(self.project.build(), {"Making": 1, "Capturing": 1, "Lowering": 3})

    def test_a_comment_in_the_source_lowers_nothing(self):
        self.project.build()
        self.given("# A comment moves every line.\n" + NETWORK, rules())
        self.assertEqual(self.project.build(), {"Making": 1, "Capturing": 1})
        self.assertEqual(self.project.build(), {})

    def test_the_same_model_saved_again_lowers_nothing(self):
        self.project.build()
        saved = self.project.source / "saved.pt"
        shutil.copyfile(self.project.output("net_pt.pt"), saved)
        self.given(NETWORK, rules(model="saved.pt"))
        self.project.build()
        time.sleep(1.1)
        save_again(saved)
        self.assertEqual(self.project.build(), {"Capturing": 1})
        self.assertEqual(self.project.build(), {})

    def test_artifacts_are_run_in_onnx_runtime(self):
        self.project.build()
        checked(run(["ctest", "--test-dir", self.project.binary, "--output-on-failure"], self.project.folder))

    def test_installed_models_lie_beside_their_weights(self):
        self.project.build()
        target = self.project.folder / "installed"
        checked(run(["cmake", "--install", self.project.binary, "--prefix", target], self.project.folder))
        names = sorted(path.name for path in (target / "models").iterdir())
        self.assertEqual(names, sorted(
            [f"net.opset{opset}.{layout}.onnx" for opset in (13, 18, 21) for layout in ("none", "shared")] + ["net.weights"]))


class NinjaTest(CMakeTest, unittest.TestCase):
    generator = "Ninja"


class MakefileTest(CMakeTest, unittest.TestCase):
    generator = "Unix Makefiles"


class ReplaceChangedTest(unittest.TestCase):
    def replace(self, folder):
        script = ROOT / "cmake/RulesOnnxReplaceChanged.cmake"
        return run(["cmake", f"-DFRESH={folder}/fresh", f"-DBASE={folder}/net", "-P", script], folder).returncode

    def test_the_stamp_says_that_all_files_are_in_place(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        fresh = folder / "fresh"
        fresh.mkdir()
        (fresh / "graph").write_text("new")
        self.assertNotEqual(self.replace(folder), 0, "there is no weights file")
        self.assertFalse((fresh / "stamp").exists())
        for part in ("graph", "weights", "debug"):
            (fresh / part).write_text("new")
        (folder / "net.weights").write_text("new")
        before = (folder / "net.weights").stat().st_mtime_ns
        self.assertEqual(self.replace(folder), 0)
        stamp = (fresh / "stamp").stat().st_mtime_ns
        self.assertEqual((folder / "net.weights").stat().st_mtime_ns, before)
        self.assertGreaterEqual((folder / "net.debug").stat().st_mtime_ns, stamp)
        self.assertEqual((folder / "net.debug").read_text(), "new")


class CacheTest(unittest.TestCase):
    def test_a_fresh_build_folder_takes_captures_from_the_cache(self):
        installed = Installed()
        self.addCleanup(installed.close)
        cache = installed.folder / "cache"
        for _ in range(2):
            project = CMakeProject("Ninja", installed.prefix)
            self.addCleanup(project.close)
            project.write("net.py", NETWORK)
            project.write_build(f'set(RULES_ONNX_CACHE_DIR "{cache}")\n' + rules())
            checked(project.configure())
            project.build()
            # From here on a capture that is really made fails.
            (installed.prefix / "bin/onnx-capture-torch").chmod(0o644)


class SubdirectoryTest(unittest.TestCase):
    def setUp(self):
        self.project = CMakeProject("Ninja")
        self.addCleanup(self.project.close)
        self.project.write("net.py", NETWORK)

    def test_the_programs_of_the_subdirectory_are_used(self):
        self.project.write_build(rules())
        checked(self.project.configure())
        commands = checked(run(["ninja", "-C", self.project.binary, "-t", "commands", "net"], self.project.folder))
        program = str(self.project.binary / "rules_onnx/bin/onnx-export")
        self.assertIn(program + " capture", commands)
        self.assertEqual(commands.count(program + " lower"), 6)
        self.assertIn("-o rules_onnx/bin/onnx-export", commands)

    def test_fetch_content(self):
        self.project.write("CMakeLists.txt", f"""
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
include(FetchContent)
FetchContent_Declare(rules_onnx SOURCE_DIR "{ROOT}")
FetchContent_MakeAvailable(rules_onnx)
""" + rules())
        checked(self.project.configure())
        commands = checked(run(["ninja", "-C", self.project.binary, "-t", "commands", "net"], self.project.folder))
        self.assertIn("bin/onnx-export capture", commands)

    def test_the_flags_of_the_user_are_kept(self):
        self.project.write_build("")
        checked(self.project.configure("-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DOF_THE_USER"))
        commands = checked(run(["ninja", "-C", self.project.binary, "-t", "commands", "exporter_ir"], self.project.folder))
        self.assertIn(" -O1 -DOF_THE_USER ", commands)
        self.assertNotIn(" -O2 ", commands)

    def test_files_and_options_reach_the_commands_that_take_them(self):
        self.project.write_build("""
add_onnx_model(net MODEL net.pt INPUTS x.npy "n:str=a.npy" TRAINING preserve ALLOW_FROZEN_SHAPES ON DO_CONSTANT_FOLDING OFF
  OPERATOR_EXPORT_TYPE fallthrough DYNAMIC_AXES x:0:N PLUGINS p.so OP_MAPPING m.json TORCH_LIBRARIES l.so)
onnx_model_test(net_test EXPORT net)
""")
        checked(self.project.configure())
        source = self.project.source
        commands = checked(run(["ninja", "-C", self.project.binary, "-t", "commands", "net"], self.project.folder))
        test = (self.project.binary / "CTestTestfile.cmake").read_text().replace('" "', " ")
        lines = {"verify": test}
        for command in ("capture", "lower"):
            lines[command] = next(line for line in commands.splitlines() if f"onnx-export {command} " in line)
        for words, takers in [
            (f"--inputs {source}/x.npy --inputs n:str=a.npy", {"capture", "verify"}),
            ("--training preserve", {"capture", "verify"}),
            ("--allow-frozen-shapes true", {"capture", "verify"}),
            ("--do-constant-folding false", {"capture", "verify"}),
            ("--operator-export-type fallthrough", {"lower", "verify"}),
            (f"--plugins {source}/p.so", {"lower", "verify"}),
            (f"--op-mapping {source}/m.json", {"lower", "verify"}),
            (f"--torch-libraries {source}/l.so", {"capture", "verify"}),
            ("--dynamic-axes", {"capture", "verify"}),
        ]:
            self.assertEqual(takers, {command for command, line in lines.items() if words in line}, words)

    def test_values_of_options_may_be_any_of_cmakes(self):
        for value, word in [("TRUE", "true"), ("on", "true"), ("Yes", "true"), ("1", "true"),
                            ("FALSE", "false"), ("off", "false"), ("No", "false"), ("0", "false")]:
            self.project.write_build(f"add_onnx_model(net MODEL net.pt CHECK {value})")
            checked(self.project.configure())
            commands = checked(run(["ninja", "-C", self.project.binary, "-t", "commands", "net"], self.project.folder))
            self.assertIn(f"--check {word} ", commands, value)

    def test_without_enable_testing_a_warning_names_the_tests(self):
        self.project.write_build("add_onnx_model(net MODEL net.pt)\nonnx_model_test(one EXPORT net)\nonnx_model_test(two EXPORT net)")
        build = self.project.source / "CMakeLists.txt"
        enabled = build.read_text()
        warning = "onnx_model_test: one, two will not run, since enable_testing() is not called"
        for text, options, warned in [
            (enabled, [], False),
            (enabled.replace("enable_testing()", ""), [], True),
            (enabled.replace("enable_testing()", "") + "\nenable_testing()\n", [], False),
            (enabled.replace("enable_testing()", "include(CTest)"), ["-DBUILD_TESTING=OFF"], False),
        ]:
            build.write_text(text)
            said = " ".join(checked(self.project.configure(*options)).split())
            self.assertEqual(warning in said, warned, text)

    def test_faults_are_named(self):
        for text, message in [
            ("add_onnx_model(net)", "add_onnx_model: MODEL is missing"),
            ("add_onnx_model(net MODEL net.pt OPSET 18)", "add_onnx_model: unknown option OPSET"),
            ("add_onnx_model(net MODEL net.pt OPSETS 13 18 OUTPUT net.onnx)", "must hold {opset}"),
            ("add_onnx_model(net MODEL net.pt DYNAMIC_AXES x:N)", "'x:N' is not INPUT:AXIS:NAME"),
            ("add_torch_model(net_pt SRCS net.py)", "add_torch_model: ENTRY is missing"),
            ("add_torch_model(net_pt SRCS net.py ENTRY net:build FORM traced)", "FORM: 'traced' is none of trace, script, export"),
            ("add_onnx_model(net MODEL net.pt OPSET 13)", "add_onnx_model: unknown option OPSET "),
            ("add_onnx_model(net MODEL net.pt INPUTS OUTPUT CHECK ON)", "add_onnx_model: no value is given for INPUTS, OUTPUT"),
            ("add_onnx_model(net MODEL net.pt CHECK flase)", "add_onnx_model: CHECK: 'flase' is neither true nor false"),
            ("add_onnx_model(net MODEL net.pt STRIP_DOC_STRING of)", "STRIP_DOC_STRING: 'of' is neither true nor false"),
            ("add_onnx_model(net MODEL net.pt ALLOW_FROZEN_SHAPES 2)", "ALLOW_FROZEN_SHAPES: '2' is neither true nor false"),
            ("add_onnx_model(net MODEL net.pt EXTERNAL_DATA shard)", "'shard' is none of none, single, per_tensor, shared"),
            ("add_onnx_model(net MODEL net.pt EXTERNAL_DATA none none)", "EXTERNAL_DATA: none is given twice"),
            ("add_onnx_model(net MODEL net.pt TRAINING Train)", "TRAINING: 'Train' is none of eval, preserve, train"),
            ("add_onnx_model(net MODEL net.pt OPERATOR_EXPORT_TYPE aten_fall)", "OPERATOR_EXPORT_TYPE: 'aten_fall' is none of onnx, "),
            ("add_onnx_model(net MODEL net.pt OPSETS 13 13)", "OPSETS: 13 is given twice"),
            ("add_onnx_model(net MODEL net.pt OPSETS 8)", "OPSETS: 8 is not within 9..28"),
            ("add_onnx_model(net MODEL net.pt OPSETS 18 29)", "OPSETS: 29 is not within 9..28"),
            ("add_onnx_model(net MODEL net.pt OPSETS 1x)", "OPSETS: '1x' is no number"),
            ("add_custom_target(net_pt)\nadd_onnx_model(net MODEL net_pt)", "'net_pt' was not made by add_torch_model"),
            ("onnx_model_test(net_test EXPORT net)", "onnx_model_test: there is no target 'net' (add_onnx_model has to come first)"),
            ("onnx_model_install(net DESTINATION models)", "onnx_model_install: there is no target 'net' "),
        ]:
            self.project.write_build(text)
            result = self.project.configure()
            self.assertNotEqual(result.returncode, 0, text)
            self.assertIn(message, " ".join(result.stdout.split()))


if __name__ == "__main__":
    unittest.main()
