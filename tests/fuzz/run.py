#!/usr/bin/env python3
"""Exports random programs and compares them with PyTorch.

  tests/fuzz/run.py --exporter build/bin/onnx-export --seed 1 --count 100
  tests/fuzz/run.py --exporter build/bin/onnx-export --form export --seed 17 --count 1 --show

A failure prints its form and seed, which give the same program again. A refusal is a failure unless
its reason stands in UNSAYABLE.
"""

import argparse
import collections
import functools
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnx.reference
import onnxruntime
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import programs  # noqa: E402

warnings.filterwarnings("ignore")

# What no ONNX graph can say: a pattern of the message, and why.
UNSAYABLE = {
    r"axis \w+ is frozen at|axis \w+ can only be": "the tracer made a size a number: the file does not hold the program",
    r"whether both share memory is not known before run time|carries one tensor to the next iteration under two names":
        "a write whose effect depends on which names share memory, and that on the inputs: ONNX has values, no memory",
    r"the program fails on the given inputs: .*unsupported operation": "PyTorch refuses the write, on a way that the inputs tried do not take",
    r"writes through the view aten::expand": "a write to one of many names of the same element",
}


class Skipped(Exception):
    """PyTorch itself does not do it."""


class Mismatch(Exception):
    """The model gives something else than the program."""


class Program:
    """One random program, saved in a folder."""

    def __init__(self, form, seed, folder):
        self.form, self.folder = form, folder
        self.path = folder / ("program.pt2" if form == "export" else "program.pt")
        if form == "control":
            self.make_control(seed)
        else:
            self.make_straight(seed)

    def make_straight(self, seed):
        net = programs.Straight(*programs.straight(seed)).eval()
        self.source, self.call = net.source, net
        self.cases = [tuple(programs.straight_inputs(size, seed).values()) for size in programs.SIZES]
        example = tuple(value.clone() for value in self.cases[0])
        self.options = ["--inputs", f"x:float32[N={programs.SIZES[0]},6]", "--inputs", f"y:int64[3,N={programs.SIZES[0]}]",
                        "--inputs", "index:int64[2]=0..1"]
        try:
            if self.form == "trace":
                torch.jit.trace(net, example, check_trace=False).save(self.path)
                return
            size = torch.export.Dim.DYNAMIC
            torch.export.save(torch.export.export(net, example, dynamic_shapes=({0: size}, {1: size}, None)), self.path)
            self.options = []
        except Exception as error:
            raise Skipped(str(error)) from error

    def make_control(self, seed):
        class Empty(torch.nn.Module):  # of its own, as TorchScript knows modules by their class
            pass

        self.source = programs.Control(seed).source
        self.call = functools.partial(programs.function(self.source), None)
        self.cases = [(programs.control_inputs(seed), count) for count in range(5)]
        try:
            wanted = [self.expected(case) for case in self.cases]
            scripted = torch.jit.script(Empty())
            scripted.define(self.source)
            scripted.save(self.path)
            given = [self.expected(case, scripted) for case in self.cases]
        except Exception as error:
            raise Skipped(str(error)) from error
        # TorchScript's own optimizer drops some writes.
        if not all(numpy.allclose(w, g, equal_nan=True) for one in zip(wanted, given) for w, g in zip(*one)):
            raise Skipped("TorchScript computes something else than Python")
        self.options = ["--inputs", "x:float32[4,4]", "--inputs", "n:int=3"]

    def expected(self, case, call=None):
        given = [value.clone() if isinstance(value, torch.Tensor) else value for value in case]
        with torch.no_grad():
            return [value.numpy() for value in (call or self.call)(*given)]


def start(model):
    """What runs a model: arrays by input name -> arrays."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        session = onnx.reference.ReferenceEvaluator(str(model))
        return session.input_names, lambda feeds: session.run(None, feeds)
    return [value.name for value in session.get_inputs()], lambda feeds: session.run(None, feeds)


def compare(program, model):
    names, run = start(model)
    position = {"x": 0, "y": 1, "n": 1, "index": 2}
    for case in program.cases:
        wanted = program.expected(case)
        feeds = {name: numpy.asarray(case[position[name]]) for name in names}
        actual = run(feeds)
        if len(actual) != len(wanted):
            raise Mismatch(f"{len(actual)} outputs instead of {len(wanted)}")
        for index, (a, w) in enumerate(zip(actual, wanted)):
            if (a.dtype, a.shape) != (w.dtype, w.shape):
                raise Mismatch(f"output {index} is {a.dtype}{list(a.shape)} instead of {w.dtype}{list(w.shape)}")
            rtol, atol = (1e-2, 1e-2) if w.dtype == numpy.float16 else (1e-3, 1e-4)
            if not numpy.allclose(a.astype(float), w.astype(float), rtol=rtol, atol=atol, equal_nan=True):
                raise Mismatch(f"output {index} differs")


def check(exporter, form, seed, folder):
    """(what became of it, message, source)."""
    try:
        program = Program(form, seed, folder)
    except Skipped as error:
        return "skipped", str(error), ""
    model = folder / "model.onnx"
    done = subprocess.run([exporter, "export", "--model", program.path, *program.options, "--output", model],
                          capture_output=True, text=True)
    if done.returncode:
        result = "refused" if done.returncode == 1 else "crashed"
        if any(re.search(pattern, done.stderr) for pattern in UNSAYABLE):
            result = "unsayable"
        return result, done.stderr.strip(), program.source
    try:
        compare(program, model)
    except Mismatch as error:
        return "different", str(error), program.source
    except Exception as error:  # whatever a runtime throws
        return "fails", str(error).strip().splitlines()[0], program.source
    return "equal", "", program.source


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exporter", required=True, help="the program onnx-export")
    parser.add_argument("--form", action="append", choices=["export", "trace", "control"])
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--count", type=int, default=20, help="programs of each form")
    parser.add_argument("--show", action="store_true", help="prints the programs that are not equal")
    arguments = parser.parse_args()
    total, wrong = collections.Counter(), 0
    for form in arguments.form or ["export", "trace", "control"]:
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            with tempfile.TemporaryDirectory() as folder:
                result, message, source = check(arguments.exporter, form, seed, pathlib.Path(folder))
            total[form, result] += 1
            if result in ("equal", "skipped", "unsayable"):
                continue
            wrong += 1
            print(f"{result}: --form {form} --seed {seed} --count 1\n  " + message.replace("\n", "\n  "), flush=True)
            if arguments.show:
                print(source, flush=True)
    for (form, result), count in sorted(total.items()):
        print(f"{form}: {count} {result}")
    compared = sum(count for (_, result), count in total.items() if result == "equal")
    sys.exit(1 if wrong or not compared else 0)


if __name__ == "__main__":
    main()
