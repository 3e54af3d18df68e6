R"py("  # C++ reads this file too, as a raw string: see script.cc.
"""Runs ONNX models on stored inputs and compares with stored outputs.

A case is a folder in the form of ONNX's backend tests: input_0.pb, input_1.pb, … and output_0.pb, …
Models run in ONNX Runtime; where it has no kernel for a node, in ONNX's reference evaluator.
Of outputs that depend on random numbers, type and shape are compared only.
Optional outputs that are None have no output_i.pb; results name them.
NaN equals NaN; results hold the share of it among the expected values of an output, and a warning
where an output has no finite value, and so says little.
Given the values that a model must have inside (exporter/cli/first_difference.h), finds the first
that it has not.
Needs numpy, onnx and onnxruntime. Exit status 0: all equal; 1: not; 2: cannot run.
"""

import argparse
import functools
import glob
import itertools
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


def used_names(node):
    """The values that a node reads, those that its inner graphs read included."""
    yield from node.input
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from used_names(inner)
        for output in attribute.g.output:
            yield output.name


RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
          "RandomUniformLike"}


def draws(node):
    """Whether a node, or one of its inner graphs, makes random numbers."""
    if node.domain in ("", "ai.onnx"):
        # Dropout does in training mode, which is an input.
        if node.op_type in RANDOM or (node.op_type == "Dropout" and any(node.input[2:])):
            return True
    return any(draws(inner) for attribute in node.attribute for inner in attribute.g.node)


SIZED_BY_VALUES = {"Compress", "ConstantOfShape", "NonMaxSuppression", "NonZero", "Range", "Unique"}


def random_values(graph):
    """The values that depend on random numbers: name -> whether their sizes may too."""
    found = {}
    for node in graph.node:
        inputs = [name for name in used_names(node) if name in found]
        sized = any(found[name] for name in inputs)
        if node.op_type in ("Shape", "Size") and not sized:
            continue
        if draws(node) or inputs:
            sized = sized or bool(inputs) and node.op_type in SIZED_BY_VALUES
            found.update(dict.fromkeys(node.output, sized))
    return found


def keep_only(graph, outputs):
    """Leaves the outputs, and the nodes that they need."""
    needed, kept = set(outputs), []
    for node in reversed(graph.node):
        if not needed.isdisjoint(filter(None, node.output)):
            kept.append(node)
            needed.update(used_names(node))
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in reversed(kept)]
    del graph.node[:], graph.output[:]
    graph.node.extend(nodes)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)


def start_session(path, outputs=None):
    """(session, names of inputs, runtime) of a model file; `outputs` in the place of its own."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    content = path
    if outputs is not None:
        model = onnx.load(path, load_external_data=False)
        keep_only(model.graph, outputs)
        content = model.SerializeToString()
        options.add_session_config_entry("session.model_external_initializers_file_folder_path",
                                         os.path.dirname(os.path.abspath(path)))
    try:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        return session, [value.name for value in session.get_inputs()], "onnxruntime"
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        if outputs is None:
            session = onnx.reference.ReferenceEvaluator(path)
        else:
            onnx.load_external_data_for_model(model, os.path.dirname(os.path.abspath(path)))
            session = onnx.reference.ReferenceEvaluator(model)
        return session, list(session.input_names), "reference"


class Model:
    """A model file, ready to run; `outputs` in the place of its own."""

    def __init__(self, path, outputs=None):
        self.path = path
        self.session, self.inputs, self.runtime = start_session(path, outputs)

    @functools.cached_property
    def outputs(self):
        """The names of its outputs."""
        return list(getattr(self.session, "output_names", None) or [
            value.name for value in self.session.get_outputs()])

    @functools.cached_property
    def random_outputs(self):
        """Of the outputs that depend on random numbers: position -> whether their sizes may too."""
        graph = onnx.load(self.path, load_external_data=False).graph
        names = random_values(graph)
        return {index: names[output.name] for index, output in enumerate(graph.output)
                if output.name in names}

    def arranged(self, outputs):
        """(position of the output, tensor) of all tensors in PyTorch's order: a list of tuples is an output
        for each field, with that of all items."""
        arranged = []
        for _, group in itertools.groupby(range(len(outputs)),
                                          lambda index: prefix_of(self.outputs[index])):
            columns = [[(index, value) for value in flatten([outputs[index]])] for index in group]
            arranged += [pair for row in zip(*columns, strict=True) for pair in row]
        return arranged

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


def prefix_of(name):
    """"out." of the columns out.*.0 and out.*.1; a name of no column as it is."""
    return name.partition("*")[0] if "*" in name else name


def flatten(values):
    """Sequences count as their elements."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from flatten(value)
        else:
            yield value


def compare_types(name, actual, expected, random_size=False):
    """How dtype or shape, or with random_size the rank, differ, or None."""
    if actual.dtype != expected.dtype:
        return f"{name} is {actual.dtype}, expected {expected.dtype}"
    if actual.ndim != expected.ndim or (not random_size and actual.shape != expected.shape):
        return f"{name} has shape {list(actual.shape)}, expected {list(expected.shape)}"
    return None


def compare(name, actual, expected, rtol, atol):
    """(largest absolute difference, problem or None)."""
    actual = numpy.asarray(actual)
    if problem := compare_types(name, actual, expected):
        return None, problem
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


def text_of(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def share_where(condition, expected):
    """The share of the expected values that a condition of floats holds for; 0 for other types."""
    if expected.size == 0 or expected.dtype.kind in "biuOSU":
        return 0.0
    kind = numpy.complex128 if expected.dtype.kind == "c" else numpy.float64
    return float(condition(expected.astype(kind)).mean())


def new_result(path, label, folder, runtime, problem=None):
    """nan: output -> share of NaN, where it is above 0."""
    return {"model": path, "case": label, "runtime": runtime, "max_error": None, "problem": problem,
            "random": [], "nan": {}, "none": [], "warning": None, "first_difference": None,
            "folder": folder}


def run_case(model, label, folder, rtol, atol):
    result = new_result(model.path, label, folder, model.runtime)
    try:
        outputs = model.arranged(model.run(read_tensors(folder, "input")))
    except Exception as error:  # whatever a runtime throws is the result
        result["problem"] = text_of(error)
        return result
    result["none"] = list(dict.fromkeys(model.outputs[index] for index, value in outputs
                                        if value is None))
    outputs = [(index, value) for index, value in outputs if value is not None]
    random = [model.random_outputs.get(index) for index, _ in outputs]
    actual = [value for _, value in outputs]
    expected = read_tensors(folder, "output")
    if len(actual) != len(expected):
        result["problem"] = f"{len(actual)} outputs, expected {len(expected)}"
        return result
    errors, not_finite = [], []
    for index, (value, (name, wanted)) in enumerate(zip(actual, expected)):
        name = name or f"output {index}"
        if random[index] is not None:
            error, problem = None, compare_types(name, numpy.asarray(value), wanted, random[index])
            result["random"].append(name)
        else:
            error, problem = compare(name, value, wanted, rtol, atol)
            if share := share_where(numpy.isnan, wanted):
                result["nan"][name] = share
            if share_where(lambda values: ~numpy.isfinite(values), wanted) == 1:
                not_finite.append(name)
        errors += [error] if error is not None and numpy.isfinite(error) else []
        result["problem"] = result["problem"] or problem
    result["max_error"] = max(errors, default=None)  # of those that are numbers
    if not_finite:
        result["warning"] = (f"no finite value was compared of {', '.join(not_finite)}: give inputs "
                             "for which the program computes numbers")
    return result


class Search:
    """Looks for the first value that a model has otherwise than it must."""

    def __init__(self, path, case, folder, rtol, atol):
        self.path, self.case, self.folder, self.rtol, self.atol = path, case, folder, rtol, atol
        self.inputs = read_tensors(case, "input")
        graph = onnx.load(path, load_external_data=False).graph
        nodes = {node.name: node for node in graph.node}
        random = random_values(graph)
        with open(os.path.join(folder, "plan.json"), encoding="utf-8") as file:
            plan = json.load(file)
        self.steps = []
        for step in plan:
            step["expected"] = [value for _, value in read_tensors(folder, step["value"])]
            names = [self.name_of(nodes, part) for part in step["parts"]]
            if (len(names) == len(step["expected"]) and names and None not in names
                    and random.keys().isdisjoint(names)):
                self.steps.append({**step, "names": names})

    @staticmethod
    def name_of(nodes, part):
        """The value that a node of the model makes, or None."""
        node = nodes.get(part[0]) if part else None
        return node.output[part[1]] if node and part[1] < len(node.output) else None

    def difference(self, step, names, error, problem):
        return {"op": step["op"], "scope": step["scope"], "location": step["location"],
                "onnx_nodes": step["nodes"], "onnx_value": names, "max_error": error,
                "problem": problem}

    def check(self, step, values):
        for name, actual, expected in zip(step["names"], values, step["expected"]):
            error, problem = compare(name, numpy.asarray(actual), expected, self.rtol, self.atol)
            if problem:
                return self.difference(step, name, error, problem)
        return None

    def first(self, steps):
        """The first difference among the steps; None where there is none."""
        if not steps:
            return None
        names = sorted({name for step in steps for name in step["names"]})
        try:
            values = dict(zip(names, Model(self.path, names).run(self.inputs)))
        except Exception as error:  # the model fails on the way to one of them
            if len(steps) == 1:
                return self.difference(steps[0], steps[0]["names"][0], None, text_of(error))
            middle = len(steps) // 2
            return self.first(steps[:middle]) or self.first(steps[middle:])
        for step in steps:
            found = self.check(step, [values[name] for name in step["names"]])
            if found:
                return found
        return None

    def run(self):
        """The first difference, or why there is none."""
        size = 100  # so that not all values are in memory at once
        for start in range(0, len(self.steps), size):
            if found := self.first(self.steps[start:start + size]):
                return found
        return {"op": None, "problem": self.explain()}

    def explain(self):
        if not self.steps:
            return "no value of the model could be compared: it was not made from this program"
        wanted = read_tensors(self.case, "output")
        captured = read_tensors(self.folder, "output")
        if not captured and wanted:
            return "every value up to where LibTorch fails is as it must be"
        if len(captured) == len(wanted) and all(
                compare("", a, e, self.rtol, self.atol)[1] is None
                for (_, a), (_, e) in zip(captured, wanted)):
            return ("every value that can be compared is as it must be; what differs is an output "
                    "itself, or comes from the runtime's own rewriting of the model")
        return ("the model gives what the captured graph gives; that differs from the program, "
                "which may be random")


def locate(results, searches, rtol, atol):
    for search in searches:
        position, folder = search.split("=", 1)
        result = results[int(position)]
        try:
            result["first_difference"] = Search(result["model"], result["folder"], folder, rtol,
                                                atol).run()
        except Exception as error:
            print(f"warning: the first difference cannot be found: {text_of(error)}",
                  file=sys.stderr)


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
            problem = "cannot be loaded: " + text_of(error)
            results.append(new_result(path, "", None, "", problem))
            continue
        if not cases:
            results.append(new_result(path, "", None, model.runtime, "there is no case to run"))
        results += [run_case(model, label, case, rtol, atol) for label, case in cases]
    return results


def mismatches(results):
    """The first wrong case of each model, for a search."""
    found, models = [], set()
    for position, result in enumerate(results):
        if not result["problem"] or not result["folder"] or result["model"] in models:
            continue
        models.add(result["model"])
        imports = onnx.load(result["model"], load_external_data=False).opset_import
        opset = next((entry.version for entry in imports if entry.domain in ("", "ai.onnx")), 0)
        found.append({"result": position, "opset": opset, "case": result["folder"]})
    return found


def result_text(result):
    notes = []
    if result["random"] and not result["problem"]:
        notes.append(f"random, of which type and shape are compared: {', '.join(result['random'])}")
    if result["nan"]:
        shares = ", ".join(f"{100 * share:.3g}% of {name}" for name, share in result["nan"].items())
        notes.append(f"expected NaN: {shares}")
    if result["none"]:
        notes.append(f"None: {', '.join(result['none'])}")
    return (result["problem"] or "ok") + (f" ({'; '.join(notes)})" if notes else "")


def print_table(results):
    rows = [("model", "case", "runtime", "max error", "result")]
    for result in results:
        error = "" if result["max_error"] is None else f"{result['max_error']:.3g}"
        rows.append((os.path.basename(result["model"]), result["case"], result["runtime"], error,
                     result_text(result)))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[4]]))
    for result in results:
        if result["first_difference"]:
            print_difference(result, result["first_difference"])


def print_difference(result, difference):
    print(f"{os.path.basename(result['model'])}, case {result['case']}: ", end="")
    if not difference["op"]:
        print(difference["problem"])
        return
    print(f"the first value that differs is that of {difference['op']}")
    for label, text in (("in", difference["scope"]), ("at", difference["location"]),
                        ("ONNX", ", ".join(difference["onnx_nodes"])),
                        ("value", difference["problem"])):
        if text:
            print(f"  {label + ':':7}{text}")
    if difference["max_error"] is not None:
        print(f"  {'error:':7}{difference['max_error']:.3g}")


def report(results, as_json):
    try:
        if as_json:
            print(json.dumps([{key: value for key, value in result.items() if key != "folder"}
                              for result in results], indent=1))
        else:
            print_table(results)
        sys.stdout.flush()
    except OSError as error:
        print(f"error: cannot write the standard output: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(2)  # at its usual end Python would try to write again
    for result in results:
        if result["warning"]:
            print(f"warning: {os.path.basename(result['model'])}, case {result['case']}: "
                  f"{result['warning']}", file=sys.stderr)
    if not results:
        fail("there is nothing to verify")
    sys.exit(1 if any(result["problem"] for result in results) else 0)


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
    parser.add_argument("--defer", help="a file for the results, which are printed only if nothing "
                                        "is wrong")
    parser.add_argument("--resume", help="prints the results of that file")
    parser.add_argument("--search", action="append", default=[],
                        help="with --resume: result=folder, the folder with that result's values")
    arguments = parser.parse_args()
    labels = arguments.label + [os.path.basename(case)
                                for case in arguments.case[len(arguments.label):]]
    cases = list(zip(labels, arguments.case))
    jobs = [(model, cases) for model in arguments.model] + list(suites(arguments.suite))
    if arguments.resume:
        with open(arguments.resume, encoding="utf-8") as file:
            results = json.load(file)["results"]
        locate(results, arguments.search, arguments.rtol, arguments.atol)
    else:
        results = run_all(jobs, arguments.rtol, arguments.atol)
    if arguments.defer:
        with open(arguments.defer, "w", encoding="utf-8") as file:
            json.dump({"results": results, "mismatches": mismatches(results)}, file)
        if any(result["problem"] for result in results):
            sys.exit(1)
    report(results, arguments.json)


if __name__ == "__main__":
    main()
#)py"
