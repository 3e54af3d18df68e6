#!/usr/bin/env python3
"""Exports whole networks from both front ends and compares them with eager PyTorch.

    run.py --export build/bin/onnx-export [--only REGEX] [--fronts pt,pt2] [--opsets 13,18]

One export gives all opsets of a network; each file runs in ONNX Runtime at three sizes: the
example, a second one, and one with all dynamic axes moved at once by odd amounts. Ends with a
line `N passed, N failed`.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")

import numpy as np
import onnx
import onnx.reference
import onnxruntime as ort
import torch
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

import networks

OPSETS = (9, 11, 13, 17, 18, 21, 23, 28)


def save_program(network, module, inputs, front, folder):
    if front == "pt":
        path = folder / "model.pt"
        torch.jit.trace(module, inputs, check_trace=False).save(path)
        return path
    dims = {}
    shapes = tuple(
        {axis: dims.setdefault(name, torch.export.Dim.DYNAMIC) for axis, name in axes.items()}
        for axes in network.axes
    )
    path = folder / "model.pt2"
    program = torch.export.export(module, inputs, dynamic_shapes=shapes, strict=False)
    torch.export.save(program, path)
    return path


def run_export(binary, model, network, opsets, folder):
    axes = [{str(axis): name for axis, name in a.items()} for a in network.axes]
    command = [binary, "export", "--model", str(model), "--inputs", str(folder / "inputs.pt"),
               "--dynamic-axes", json.dumps(axes), "--output", str(folder / "out.opset{opset}.onnx")]
    if len(opsets) == 1:
        command[-1] = command[-1].format(opset=opsets[0])
    for opset in opsets:
        command += ["--opset", str(opset)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(f"export failed:\n{result.stderr.strip()}")


def sizes_to_try(network):
    names = sorted({name for axes in network.axes for name in axes.values()})
    step = {"H": 32, "W": 64}  # image axes stay multiples of what a network halves
    moved = {name: network.sizes[name] + step.get(name, 1 + 2 * i) for i, name in enumerate(names)}
    first = {names[0]: moved[names[0]]}
    smaller = {name: max(2, size // 2) for name, size in network.sizes.items() if name in names and name not in step}
    return [network.sizes, network.sizes | first, network.sizes | moved, network.sizes | smaller]


def load(path):
    """ONNX Runtime; ONNX's reference evaluator where the runtime lacks a kernel."""
    try:
        return ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except ort_errors.NotImplemented:
        return onnx.reference.ReferenceEvaluator(str(path))


def compare(path, network, cases):
    session = load(path)
    names = [value.name for value in onnx.load(path, load_external_data=False).graph.input]
    for inputs, expected in cases:
        got = session.run(None, {n: t.numpy() for n, t in zip(names, inputs)})
        for value, want in zip(got, expected, strict=True):
            np.testing.assert_allclose(value, want.numpy(), rtol=1e-3, atol=network.atol)
            assert value.dtype == want.numpy().dtype, (value.dtype, want.dtype)


def flat(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def check(binary, network, front, opsets, report):
    torch.manual_seed(0)
    module = network.build().eval()
    with torch.no_grad():
        cases = []
        for sizes in sizes_to_try(network):
            inputs = network.inputs(sizes)
            cases.append((inputs, flat(module(*inputs))))
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            model = save_program(network, module, cases[0][0], front, folder)
            torch.save(cases[0][0], folder / "inputs.pt")
            try:
                run_export(binary, model, network, opsets, folder)
            except RuntimeError as error:
                for opset in opsets:
                    report(f"{network.name} {front} opset {opset}", error)
                return
            for opset in opsets:
                error = None
                try:
                    compare(folder / f"out.opset{opset}.onnx", network, cases)
                except Exception as e:  # noqa: BLE001  (every kind is a failed row)
                    error = e
                report(f"{network.name} {front} opset {opset}", error)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--export", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--fronts", default="pt2,pt")
    parser.add_argument("--opsets", default=",".join(map(str, OPSETS)))
    options = parser.parse_args()
    counts = {"passed": 0, "failed": 0}

    def report(name, error):
        counts["failed" if error else "passed"] += 1
        if error:
            text = str(error).strip()
            print(f"FAIL {name}: {text[:1500]}", flush=True)

    for network in networks.all_networks():
        if not re.search(options.only, network.name):
            continue
        opsets = [int(o) for o in options.opsets.split(",") if int(o) >= network.min_opset]
        for front in options.fronts.split(","):
            if front not in network.fronts:
                continue
            try:
                check(options.export, network, front, opsets, report)
            except Exception as error:  # noqa: BLE001
                report(f"{network.name} {front}", error)
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    sys.exit(1 if counts["failed"] or not counts["passed"] else 0)


if __name__ == "__main__":
    main()
