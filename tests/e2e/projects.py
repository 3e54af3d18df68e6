"""Small user projects around a small network, for the end-to-end tests of both build systems."""

import collections
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(os.environ["RULES_ONNX_ROOT"])
BIN = pathlib.Path(os.environ["RULES_ONNX_BIN"])

NETWORK = '''\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3)
        self.norm = torch.nn.BatchNorm2d(8)
        self.linear = torch.nn.Linear(8, 200)

    def forward(self, x):
        x = torch.relu_(self.norm(self.conv(x)))
        return self.linear(x.mean((2, 3)))


def build():
    return Net(), (torch.randn(2, 3, 8, 8),)
'''

INPUT = "x:float32[N=2,3,8,8]"


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def run(command, folder, **options):
    """The finished process; its output is part of the failure."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **options}
    return subprocess.run([str(word) for word in command], cwd=folder, text=True, **options)


def checked(result):
    if result.returncode:
        raise AssertionError(f"{' '.join(result.args)} failed with {result.returncode}:\n{result.stdout}")
    return result.stdout


def save_again(path):
    """Writes an equal program as another file: its archive has another name."""
    import torch

    other = path.with_name("saved_again.pt")
    torch.jit.save(torch.jit.load(str(path)), str(other))
    if digest(other) == digest(path):
        raise AssertionError("the program was saved as the same bytes; the test would show nothing")
    other.replace(path)


def save_exported_program(folder):
    """Writes net.pt2 of the net.py beside it."""
    import torch

    scope = {}
    exec((folder / "net.py").read_text(), scope)
    module, inputs = scope["build"]()
    batch = torch.export.Dim("N")
    torch.export.save(torch.export.export(module.eval(), inputs, dynamic_shapes=({0: batch},)), folder / "net.pt2")


class BazelProject:
    """A workspace that uses rules_onnx with prebuilt programs; python: and with its Python toolchains."""

    def __init__(self, python=True):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rules_onnx_bazel_"))
        self.workspace = self.folder / "workspace"
        self.workspace.mkdir()
        without_python = 'register_toolchains("@rules_onnx//rules/toolchains/without_python:all")'
        self.write("WORKSPACE", f'''\
workspace(name = "user")

local_repository(name = "rules_onnx", path = "{ROOT}")

new_local_repository(
    name = "prebuilt",
    build_file_content = 'exports_files(["onnx-export", "onnx-capture-torch"])',
    path = "{BIN}",
)

load("@rules_onnx//rules:repositories.bzl", "rules_onnx_bazel_repositories", "rules_onnx_repositories", "rules_onnx_toolchains")

{"rules_onnx_repositories" if python else "rules_onnx_bazel_repositories"}()

register_toolchains("//toolchains:exporter_toolchain")

{"rules_onnx_toolchains()" if python else without_python}
''')
        self.write("toolchains/BUILD.bazel", '''\
load("@rules_onnx//rules:defs.bzl", "onnx_exporter_toolchain")

onnx_exporter_toolchain(
    name = "exporter",
    exporter = "@prebuilt//:onnx-export",
    torch_capture = "@prebuilt//:onnx-capture-torch",
)

toolchain(
    name = "exporter_toolchain",
    toolchain = ":exporter",
    toolchain_type = "@rules_onnx//rules:exporter_toolchain_type",
)
''')

    def write(self, name, text):
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def write_build(self, rules):
        self.write("net/BUILD.bazel", '''\
load("@rules_onnx//rules:defs.bzl", "onnx_export", "onnx_export_test", "onnx_test_data", "torch_model")

''' + rules)

    def bazel(self, command, *arguments, **run_options):
        startup = ["bazel", "--nohome_rc", f"--output_base={self.folder / 'output'}", "--max_idle_secs=60"]
        options = ["--jobs=2", "--nosandbox_debug", "--sandbox_default_allow_network=false"]
        return run([*startup, command, *options, *arguments], self.workspace, **run_options)

    def build(self, *targets):
        """Counter of the kinds of actions that ran."""
        log = self.folder / "log.json"
        checked(self.bazel("build", f"--execution_log_json_file={log}", *targets))
        text = log.read_text()
        decoder = json.JSONDecoder()
        kinds = collections.Counter()
        at = 0
        while at < len(text):
            spawn, at = decoder.raw_decode(text, at)
            kinds[spawn["mnemonic"]] += 1
            at = re.compile(r"\s*").match(text, at).end()
        return {kind: count for kind, count in kinds.items() if kind in ("TorchModel", "OnnxCapture", "OnnxLower", "OnnxVerify")}

    def actions(self, expression):
        """The actions of a query, as (mnemonic, paths of inputs, arguments)."""
        graph = json.loads(checked(self.bazel("aquery", "--output=jsonproto", expression, stderr=subprocess.DEVNULL)))
        fragments = {part["id"]: part for part in graph["pathFragments"]}

        def path(fragment_id):
            part = fragments[fragment_id]
            parent = path(part["parentId"]) + "/" if "parentId" in part else ""
            return parent + part["label"]

        paths = {artifact["id"]: path(artifact["pathFragmentId"]) for artifact in graph["artifacts"]}
        sets = {depset["id"]: depset for depset in graph["depSetOfFiles"]}

        def inputs(set_id):
            depset = sets[set_id]
            found = {paths[artifact] for artifact in depset.get("directArtifactIds", [])}
            for transitive in depset.get("transitiveDepSetIds", []):
                found |= inputs(transitive)
            return found

        return [
            (action["mnemonic"],
             set().union(*(inputs(set_id) for set_id in action.get("inputDepSetIds", []))),
             action.get("arguments", []))
            for action in graph["actions"]
        ]

    def output(self, name):
        return self.workspace / "bazel-bin" / name

    def close(self):
        self.bazel("shutdown")
        run(["chmod", "-R", "u+w", self.folder], "/")
        shutil.rmtree(self.folder)


class CMakeProject:
    """A project that uses rules_onnx by find_package, or by add_subdirectory."""

    def __init__(self, generator, prefix=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rules_onnx_cmake_"))
        self.source = self.folder / "source"
        self.source.mkdir()
        self.binary = self.folder / "binary"
        self.generator = generator
        self.prefix = prefix

    def write(self, name, text):
        (self.source / name).write_text(text)

    def write_build(self, text):
        find = "find_package(rules_onnx REQUIRED)" if self.prefix else f'add_subdirectory("{ROOT}" rules_onnx EXCLUDE_FROM_ALL)'
        languages = "NONE" if self.prefix else "C CXX"
        self.write("CMakeLists.txt", f"cmake_minimum_required(VERSION 3.25)\nproject(user LANGUAGES {languages})\nenable_testing()\n{find}\n{text}")

    def configure(self, *options):
        import sys

        options = [f"-DRULES_ONNX_PYTHON={sys.executable}", *options]
        if self.prefix:
            options.append(f"-DCMAKE_PREFIX_PATH={self.prefix}")
        return run(["cmake", "-S", self.source, "-B", self.binary, "-G", self.generator, *options], self.folder)

    def build(self, *arguments):
        """Counter of the steps that ran: Making, Capturing, Lowering."""
        text = checked(run(["cmake", "--build", self.binary, "--parallel", "2", *arguments], self.folder))
        return dict(collections.Counter(re.findall(r"^\[[^]]*\] +(Making|Capturing|Lowering) ", text, re.MULTILINE)))

    def output(self, name):
        return self.binary / name

    def close(self):
        shutil.rmtree(self.folder)
