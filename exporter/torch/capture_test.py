"""Captures programs and runs the captured graphs against eager PyTorch, at several sizes.

Usage: RULES_ONNX_BIN=<folder of onnx-capture-torch> capture_test.py [name ...]. Each case is
captured traced and scripted where it can be, and the one graph is run at the example sizes, at a
second size for each dynamic axis, and with all of them moved at once.
"""
import json
import os
import subprocess
import sys
import tempfile
import warnings

import onnx
import onnx.numpy_helper
import torch

from capture_cases import CASES

warnings.filterwarnings("ignore")


def leaves(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (bool, int, float)):
        yield torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
    elif isinstance(value, dict):
        for each in value.values():
            yield from leaves(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from leaves(each)


def rebuild(like, tensors):
    """`like` with its tensors and numbers taken from the iterator `tensors`."""
    if isinstance(like, torch.Tensor):
        return next(tensors)
    if isinstance(like, (bool, int, float)):
        return type(like)(next(tensors).item())
    if isinstance(like, dict):
        return {key: rebuild(each, tensors) for key, each in like.items()}
    if isinstance(like, (list, tuple)):
        return type(like)(rebuild(each, tensors) for each in like)
    return like


def read(folder, kind):
    tensors = []
    while os.path.exists(path := os.path.join(folder, f"{kind}_{len(tensors)}.pb")):
        with open(path, "rb") as file:
            proto = onnx.TensorProto.FromString(file.read())
        tensors.append(torch.from_numpy(onnx.numpy_helper.to_array(proto).copy()))
    return tensors


def call(program, *arguments):
    result = subprocess.run([program, *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        raise AssertionError((result.stderr or f"status {result.returncode}").strip()[-600:])
    return result.stderr


def compare(program, case, arguments, folder, sizes):
    saved = torch.jit.load(f"{folder}/m.pt")  # anew: a call may change its buffers
    out = os.path.join(folder, "out")
    os.makedirs(out, exist_ok=True)
    for name in os.listdir(out):
        os.remove(os.path.join(out, name))
    call(program, "run", "--graph", f"{folder}/g", "--weights", f"{folder}/w", "--inputs",
         f"{folder}/in.pt", "--output-dir", out, *arguments,
         *[f"--sizes={symbol}={size}" for symbol, size in sizes.items()])
    given, keywords = list(rebuild(tuple(case.inputs), iter(read(out, "input")))), {}
    if case.keywords:
        keywords = given.pop()
    torch.manual_seed(0)
    with torch.no_grad():
        wanted = list(leaves(saved(*given, **keywords)))
    got = read(out, "output")
    if len(got) != len(wanted):
        raise AssertionError(f"{len(got)} outputs, expected {len(wanted)} at {sizes}")
    for i, (a, b) in enumerate(zip(got, wanted)):
        if a.dtype != b.dtype or a.shape != b.shape:
            raise AssertionError(f"output {i} is {a.dtype}{list(a.shape)}, expected "
                                 f"{b.dtype}{list(b.shape)} at {sizes}")
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)


def run_case(program, case, form):
    module = case.make()
    if isinstance(module, torch.nn.Module):
        module.eval()
    with tempfile.TemporaryDirectory() as folder:
        with torch.no_grad():
            if form == "trace":
                saved = torch.jit.trace(module, case.inputs, check_trace=False, strict=False)
            else:
                saved = torch.jit.script(module)
        saved.save(f"{folder}/m.pt")
        torch.save(case.inputs, f"{folder}/in.pt")
        arguments = ["--dynamic-axes", json.dumps(case.dynamic)] if case.dynamic else []
        files = ["--graph", f"{folder}/g", "--weights", f"{folder}/w", "--debug", f"{folder}/d"]
        capture = ["capture", "--model", f"{folder}/m.pt", "--inputs", f"{folder}/in.pt"]
        if case.refused:
            try:
                call(program, *capture, *arguments, *files)
            except AssertionError as error:
                if case.refused not in str(error):
                    raise AssertionError(f"refused with {error}, expected {case.refused}")
                return
            raise AssertionError("captured, although it should be refused")
        messages = call(program, *capture, *arguments, *files)
        if case.warned not in messages:
            raise AssertionError(f"no warning {case.warned!r} in {messages!r}")
        text = subprocess.run([program, *capture, *arguments, "--graph-stage", "raw"],
                              capture_output=True, text=True).stdout
        for wanted in case.graph:
            if wanted not in text:
                raise AssertionError(f"no {wanted!r} in the graph\n{text}")
        for sizes in [{}, *case.sizes]:
            compare(program, case, arguments, folder, sizes)


def check_files(program):
    """What is no TorchScript program is refused with what it is. Returns the failures."""
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/m.pt"
        layer = torch.nn.Linear(2, 2)

        def legacy(): torch.save(layer.state_dict(), path, _use_new_zipfile_serialization=False)
        def exported():
            torch.export.save(torch.export.export(layer, (torch.randn(1, 2),)), f"{folder}/e.pt2")
            os.rename(f"{folder}/e.pt2", path)
        for save, wanted in [(lambda: torch.save(layer.state_dict(), path), "a state dict"),
                             (lambda: torch.save({"a": 1}, path), "not a program"),
                             (legacy, "a state dict"), (exported, "ExportedProgram")]:
            save()
            try:
                call(program, "capture", "--model", path, "--inputs", "x:float32[1,2]", "--graph",
                     f"{folder}/g", "--weights", f"{folder}/w", "--debug", f"{folder}/d")
                message = "captured"
            except AssertionError as error:
                message = str(error)
            if wanted not in message or "\n" in message or os.path.exists(f"{folder}/g"):
                failures += 1
                print(f"FAILED file that is {wanted!r}: {message}")
    return failures


def main():
    program = os.path.join(os.environ["RULES_ONNX_BIN"], "onnx-capture-torch")
    names = sys.argv[1:]
    failures = runs = 0
    for case in CASES:
        if names and case.name not in names:
            continue
        for form in case.forms:
            runs += 1
            try:
                run_case(program, case, form)
            except Exception as error:  # every case is reported
                failures += 1
                print(f"FAILED {case.name} ({form}): {type(error).__name__}: {str(error)[:700]}")
    if not names:
        failures += check_files(program)
    print(f"{failures} failures in {runs} captures")
    sys.exit(1 if failures or not runs else 0)


if __name__ == "__main__":
    main()
