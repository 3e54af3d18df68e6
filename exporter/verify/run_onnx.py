R"py("  # C++ reads this file too, as a raw string: see script.cc.
"""Runs ONNX models on stored inputs and compares with stored outputs.

A case is a folder in the form of ONNX's backend tests: input_0.pb, input_1.pb, … and output_0.pb, …
Models run in ONNX Runtime; where it has no kernel for a node, in ONNX's reference evaluator.
Needs numpy, onnx and onnxruntime. Exit status 0: all equal; 1: not; 2: cannot run.
"""

import argparse
import glob
import json
import os
import sys


def fail(message):
    print(f"error: {message}", file=sys.stderr)
    sys.exit(2)


try:
    import numpy
    import onnx
    import onnx.numpy_helper
    import onnx.reference
    import onnxruntime
except ImportError as error:
    fail(f"{sys.executable} cannot verify: {error}; name a Python that has onnxruntime, onnx and "
         "numpy with --python")


def read_tensors(folder, kind):
    """(name, array) of input_0.pb, input_1.pb, …"""
    tensors = []
    while os.path.exists(path := os.path.join(folder, f"{kind}_{len(tensors)}.pb")):
        tensor = onnx.TensorProto()
        with open(path, "rb") as file:
            tensor.ParseFromString(file.read())
        tensors.append((tensor.name, onnx.numpy_helper.to_array(tensor)))
    return tensors


class Model:
    """A model file, ready to run."""

    def __init__(self, path):
        self.path = path
        self.runtime = "onnxruntime"
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        try:
            self.session = onnxruntime.InferenceSession(
                path, options, providers=["CPUExecutionProvider"])
            self.inputs = [value.name for value in self.session.get_inputs()]
        except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented as error:
            self.runtime = "reference"
            self.note = str(error).strip().splitlines()[0]
            self.session = onnx.reference.ReferenceEvaluator(path)
            self.inputs = list(self.session.input_names)

    def run(self, tensors):
        feeds = {}
        for position, (name, value) in enumerate(tensors):
            if name not in self.inputs and position < len(self.inputs):
                name = self.inputs[position]
            feeds[name] = value
        missing = [name for name in self.inputs if name not in feeds]
        if missing:
            raise ValueError(f"no value for input {', '.join(missing)}")
        return self.session.run(None, feeds)


def flatten(values):
    """Sequences count as their elements."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from flatten(value)
        else:
            yield value


def compare(name, actual, expected, rtol, atol):
    """(largest absolute difference, problem or None)."""
    actual = numpy.asarray(actual)
    if actual.dtype != expected.dtype:
        return None, f"{name} is {actual.dtype}, expected {expected.dtype}"
    if actual.shape != expected.shape:
        return None, f"{name} has shape {list(actual.shape)}, expected {list(expected.shape)}"
    if actual.size == 0:
        return 0.0, None
    if actual.dtype.kind in "biuOSU":
        wrong = actual != expected
        error = float(wrong.any())
        if actual.dtype.kind in "iu":
            error = float(numpy.abs(actual.astype(float) - expected.astype(float)).max())
    else:
        a, e = actual.astype(numpy.float64), expected.astype(numpy.float64)
        same = (a == e) | (numpy.isnan(a) & numpy.isnan(e))
        with numpy.errstate(invalid="ignore"):
            difference = numpy.where(same, 0.0, numpy.abs(a - e))
            near = numpy.isfinite(e) & (difference <= atol + rtol * numpy.abs(e))
        wrong = ~(same | near)
        error = float(difference.max())
    if not wrong.any():
        return error, None
    place = tuple(int(i) for i in numpy.argwhere(wrong)[0])
    return error, (f"{name}{list(place)} is {actual[place]}, expected {expected[place]} "
                   f"({int(wrong.sum())} of {wrong.size} differ)")


def run_case(model, label, folder, rtol, atol):
    result = {"model": model.path, "case": label, "runtime": model.runtime, "max_error": None,
              "problem": None}
    try:
        actual = list(flatten(model.run(read_tensors(folder, "input"))))
    except Exception as error:  # whatever a runtime throws is the result
        result["problem"] = str(error).strip().splitlines()[0]
        return result
    expected = read_tensors(folder, "output")
    if len(actual) != len(expected):
        result["problem"] = f"{len(actual)} outputs, expected {len(expected)}"
        return result
    errors = []
    for index, (value, (name, wanted)) in enumerate(zip(actual, expected)):
        error, problem = compare(name or f"output {index}", value, wanted, rtol, atol)
        errors += [error] if error is not None and numpy.isfinite(error) else []
        result["problem"] = result["problem"] or problem
    result["max_error"] = max(errors, default=None)  # of those that are numbers
    return result


def suites(folders):
    """(model, [(label, case)]) of every folder that holds a model.onnx and test_data_sets."""
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "**", "model.onnx"), recursive=True)):
            cases = sorted(glob.glob(os.path.join(os.path.dirname(path), "test_data_set_*")))
            yield path, [(os.path.basename(case), case) for case in cases]


def run_all(jobs, rtol, atol):
    results = []
    for path, cases in jobs:
        try:
            model = Model(path)
        except Exception as error:
            results.append({"model": path, "case": "", "runtime": "", "max_error": None,
                            "problem": "cannot be loaded: " + str(error).strip().splitlines()[0]})
            continue
        if not cases:
            results.append({"model": path, "case": "", "runtime": model.runtime, "max_error": None,
                            "problem": "there is no case to run"})
        results += [run_case(model, label, case, rtol, atol) for label, case in cases]
    return results


def print_table(results):
    rows = [("model", "case", "runtime", "max error", "result")]
    for result in results:
        error = "" if result["max_error"] is None else f"{result['max_error']:.3g}"
        rows.append((os.path.basename(result["model"]), result["case"], result["runtime"], error,
                     result["problem"] or "ok"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[4]]))


def main():
    parser = argparse.ArgumentParser(
        description="Runs ONNX models on stored inputs and compares with stored outputs.")
    parser.add_argument("--model", action="append", default=[], help="an .onnx file")
    parser.add_argument("--case", action="append", default=[], help="a folder, for every --model")
    parser.add_argument("--label", action="append", default=[],
                        help="what to call the --case of the same position")
    parser.add_argument("--suite", action="append", default=[],
                        help="a folder of folders that hold model.onnx and test_data_set_*")
    parser.add_argument("--rtol", type=float, default=1e-4)
    parser.add_argument("--atol", type=float, default=1e-5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    labels = arguments.label + [os.path.basename(case)
                                for case in arguments.case[len(arguments.label):]]
    cases = list(zip(labels, arguments.case))
    jobs = [(model, cases) for model in arguments.model] + list(suites(arguments.suite))
    results = run_all(jobs, arguments.rtol, arguments.atol)
    if arguments.json:
        print(json.dumps(results, indent=1))
    else:
        print_table(results)
    if not results:
        fail("there is nothing to verify")
    sys.exit(1 if any(result["problem"] for result in results) else 0)


if __name__ == "__main__":
    main()
#)py"
