R"py("  # C++ reads this file too, as a raw string: see script.cc.
"""Runs ONNX models on stored inputs and compares with stored outputs.

Of outputs that depend on random numbers, type and shape are compared only.
Optional outputs that are None have no output_i.pb; results name them. The final states of buffers
have none either, and are not compared.
NaN equals NaN; results hold the share of it among the expected values of an output, and a warning
where an output has no finite value, and so says little.
Exit status 0: all equal; 1: not; 2: cannot run.
"""

import argparse
import glob
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from onnx_models import Model, compare, compare_types, fail, numpy, onnx, read_tensors, text_of
import first_difference

# How outputs begin that --state-outputs adds: the original program does not give them.
STATE = "final_state."


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
    outputs = [(index, value) for index, value in outputs
               if value is not None and not model.outputs[index].startswith(STATE)]
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


def locate(results, searches, rtol, atol):
    for search in searches:
        position, folder = search.split("=", 1)
        result = results[int(position)]
        try:
            result["first_difference"] = first_difference.find(result["model"], result["folder"],
                                                               folder, rtol, atol)
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
    lines = [("in", difference["scope"]), ("at", difference["location"]),
             *(("inside", surroundings_text(outer)) for outer in difference["inside"]),
             ("ONNX", ", ".join(difference["onnx_nodes"])), ("value", difference["problem"])]
    if difference["max_error"] is not None:
        lines.append(("error", f"{difference['max_error']:.3g}"))
    for label, text in lines:
        if text:
            print(f"  {label + ':':8}{text}")


def surroundings_text(outer):
    """Such as: iteration 2 (from 0) of prim::Loop at net.py:8: for i in range(n)"""
    text = outer["op"]
    if outer["iteration"] is not None:
        text = f"iteration {outer['iteration']} (from 0) of {text}"
    elif outer["branch"]:
        text = f"the {outer['branch']} branch of {text}"
    return text + (f" at {outer['location']}" if outer["location"] else "")


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
