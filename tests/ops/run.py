#!/usr/bin/env python3
"""Runs operator rows through the exporter and ONNX Runtime, against eager PyTorch.

    tests/ops/run.py --exporter build/bin/onnx-export [--family shape] [--case REGEX] [--opsets 11,18]
                     [--modes export,dynamic] [--jobs 2] [--keep DIR] [--update-gaps]

A row (see case.py) is exported in each mode at each opset and run; where ONNX Runtime has no kernel
for an operator, in ONNX's reference evaluator, and known_gaps.txt must list it. Modes:
    export    torch.export with fixed sizes
    dynamic   torch.export with the row's dynamic axes; run with two sets of sizes
    core      torch.export with fixed sizes, after run_decompositions()
    trace     torch.jit.trace with the row's dynamic axes, if it has any; run with two sets of sizes
    script    torch.jit.script, in the same way; only rows that ask for it
Ends with counts; exit status 1 if anything failed or the list of gaps is not exact.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import dataclasses
import importlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback
import warnings
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
GAPS = HERE / "known_gaps.txt"
MODES = ("export", "dynamic", "core", "trace", "script")
MOVING = ("dynamic", "trace", "script")  # run with two sets of sizes
# Opsets at which many forms change, and the newest one, in mode export and where a row needs it.
OPSETS = (9, 11, 13, 16, 18, 23)
NEWEST = 28


@dataclasses.dataclass(frozen=True)
class Gap:
    """ONNX Runtime lacks a kernel: family, row, and its message cut down to operator and types."""

    family: str
    case: str
    reason: str

    def line(self) -> str:
        return f"{self.family}/{self.case}: {self.reason}"


@dataclasses.dataclass
class Outcome:
    label: str
    status: str  # pass, refused (as it should be), gap, or a failure: fail, refusal, mismatch, …
    message: str = ""
    gap: Gap | None = None

    @property
    def failed(self) -> bool:
        return self.status not in ("pass", "refused", "gap")


# ---------------------------------------------------------------- exporting


def save_program(case: Any, mode: str, folder: pathlib.Path) -> list[str]:
    """Writes the program; the exporter's arguments for it."""
    import torch
    from case import as_module

    module, inputs = as_module(case.fn), case.make_inputs(second=False)
    if mode in ("trace", "script"):
        program = (torch.jit.script(case.fn) if mode == "script"
                   else torch.jit.trace(module, inputs, check_trace=False))
        program.save(str(folder / "m.pt"))
        torch.save(inputs, folder / "i.pt")
        axes = [{str(i): name for i, name in axis.items()} or None for axis in case.dynamic_axes()]
        return ["--model", str(folder / "m.pt"), "--inputs", str(folder / "i.pt"),
                "--dynamic-axes", json.dumps(axes)]
    shapes = case.dynamic_shapes() if mode == "dynamic" else None
    program = torch.export.export(module, inputs, dynamic_shapes=shapes, strict=False)
    if mode == "core":
        program = program.run_decompositions()
    torch.export.save(program, folder / "m.pt2")
    return ["--model", str(folder / "m.pt2")]


def run_exporter(exporter: str, arguments: list[str], opsets: list[int],
                 folder: pathlib.Path) -> tuple[bool, str]:
    command = [exporter, "export", *arguments, "--output", str(folder / "m.{opset}.onnx")]
    for opset in opsets:
        command += ["--opset", str(opset)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode == 0, (done.stderr or done.stdout).strip()


# ---------------------------------------------------------------- running


def feeds_for(input_names: list[str], inputs: list[Any]) -> dict[str, Any]:
    import torch

    def array(tensor: Any) -> Any:
        if not isinstance(tensor, torch.Tensor):
            return torch.tensor(tensor, dtype=torch.float64 if isinstance(tensor, float) else None).numpy()
        if tensor.dtype == torch.bfloat16:
            import ml_dtypes
            return tensor.float().numpy().astype(ml_dtypes.bfloat16)
        return tensor.detach().numpy()

    return {name: array(value) for name, value in zip(input_names, inputs)}


def cut_reason(message: str) -> str | None:
    """"Where(9) tensor(int16)" of a message about a missing kernel; None for other messages."""
    found = re.search(r"Could not find an implementation for (\w+)\((\d+)\)", message)
    if found:
        return found.group(1)
    if "This is an invalid model" in message or "Type Error" in message:
        return None
    return "opset" if re.search(r"opset \d+ is under development|not supported.*opset", message) else None


class OnnxRuntime:
    def __init__(self, path: str):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])

    def run(self, inputs: list[Any]) -> list[Any]:
        names = [value.name for value in self.session.get_inputs()]
        return self.session.run(None, feeds_for(names, inputs))


class Reference:
    def __init__(self, path: str):
        from onnx import load
        from onnx.reference import ReferenceEvaluator

        self.evaluator = ReferenceEvaluator(load(path))

    def run(self, inputs: list[Any]) -> list[Any]:
        return self.evaluator.run(None, feeds_for(list(self.evaluator.input_names), inputs))


def compare(case: Any, results: list[Any], expected: list[Any]) -> str:
    """What differs; empty if nothing does."""
    import numpy
    import torch

    if len(results) != len(expected):
        return f"{len(results)} outputs, expected {len(expected)}"
    for i, (got, want) in enumerate(zip(results, expected)):
        if not isinstance(want, torch.Tensor):
            want = torch.tensor(want, dtype=torch.float64 if isinstance(want, float) else None)
        value = numpy.asarray(got)
        kind = str(want.dtype).removeprefix("torch.")
        if str(value.dtype) != kind:
            return f"output {i} is {value.dtype}, expected {kind}"
        if tuple(value.shape) != tuple(want.shape):
            return f"output {i} has shape {list(value.shape)}, expected {list(want.shape)}"
        wide = want.detach().double().numpy() if want.is_floating_point() else want.numpy()
        rtol, atol = case.tol or TOLERANCES.get(kind, (0, 0))
        if want.is_floating_point():
            close = numpy.allclose(value.astype(numpy.float64), wide, rtol, atol, equal_nan=True)
        elif case.tol and want.dtype != torch.bool:  # integers a step apart
            close = numpy.abs(value.astype(numpy.int64) - wide.astype(numpy.int64)).max(initial=0) <= atol
        else:
            close = numpy.array_equal(value, wide)
        if not close:
            return f"output {i} differs: {value.flatten()[:6]} expected {wide.flatten()[:6]}"
    return ""


TOLERANCES = {"float16": (2e-3, 2e-3), "bfloat16": (2e-2, 2e-2), "float32": (1e-5, 1e-6),
              "float64": (1e-12, 1e-13)}


def check_model(case: Any, path: str, sets: list[Any]) -> tuple[str, str, str | None]:
    """(status, message, reason of a gap) of one ONNX file."""
    from case import flatten

    reason = None
    try:
        runner: Any = OnnxRuntime(path)
    except Exception as error:  # noqa: BLE001: ONNX Runtime has a class for each of its codes
        reason = cut_reason(str(error))
        if reason is None:
            return "load", str(error), None
        try:
            runner = Reference(path)
        except NotImplementedError:  # neither has the operator: the checker's word stands alone
            return "gap", "", reason
    for inputs, expected in sets:
        try:
            results = flatten(list(runner.run(flatten(list(inputs)))))
            results = [result for result in results if result is not None]
        except Exception as error:  # noqa: BLE001
            return "run", f"{type(runner).__name__}: {error}", None
        difference = compare(case, results, expected)
        if difference:
            return "mismatch", f"{type(runner).__name__}: {difference}", None
    return ("gap" if reason else "pass"), "", reason


# ---------------------------------------------------------------- one row


def input_sets(case: Any, mode: str) -> list[Any]:
    import torch
    from case import as_module, by_field, flatten

    moves = case.is_dynamic() and mode in MOVING
    sets = []
    given = [(second, case.inputs) for second in ((False, True) if moves else (False,))]
    for second, values in [*given, *((False, more) for more in case.more)]:
        inputs = case.make_inputs(second, values)
        with torch.no_grad():
            result = as_module(case.fn)(*case.make_inputs(second, values))
        if case.by_field:
            result = by_field(result)
        sets.append((inputs, [leaf for leaf in flatten([result]) if leaf is not None and not isinstance(leaf, str)]))
    return sets


def opsets_for(case: Any, mode: str) -> list[int]:
    since = case.first_opset(mode)
    newest = mode == "export" or since > OPSETS[-1]
    return [*OPSETS, NEWEST] if newest else list(OPSETS)


def run_case(family: str, index: int, exporter: str, modes: list[str], opsets: list[int] | None,
             keep: str | None) -> list[Outcome]:
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    case = importlib.import_module(f"rows.{family}").ROWS[index]
    outcomes: list[Outcome] = []
    for mode in modes:
        if case.modes is not None and mode not in case.modes:
            continue
        if mode == "dynamic" and not case.is_dynamic():
            continue
        if mode == "script" and case.modes is None:  # most rows are lambdas
            continue
        label = f"{family}/{case.name} {mode}"
        with contextlib.ExitStack() as stack:
            if keep:
                folder = pathlib.Path(keep) / family / case.name / mode
                folder.mkdir(parents=True, exist_ok=True)
            else:
                folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
            try:
                with contextlib.redirect_stderr(io.StringIO()):
                    arguments = save_program(case, mode, folder)
                    sets = input_sets(case, mode)
            except Exception as error:  # noqa: BLE001: whatever PyTorch raises
                lines = str(error).strip().splitlines() or [type(error).__name__]
                outcomes.append(Outcome(label, "torch", lines[0]))
                continue
            tried = opsets or opsets_for(case, mode)
            if opsets is None and tried[-1] < case.first_opset(mode):
                outcomes.append(Outcome(label, "fail", "needs an opset beyond those that are tried"))
            outcomes += run_mode(family, case, mode, exporter, arguments, tried, sets, folder)
    return outcomes


def run_mode(family: str, case: Any, mode: str, exporter: str, arguments: list[str],
             opsets: list[int], sets: list[Any], folder: pathlib.Path) -> list[Outcome]:
    outcomes = []
    label, since = f"{family}/{case.name} {mode}", case.first_opset(mode)
    wanted = [opset for opset in opsets if opset >= since]
    ok, message = run_exporter(exporter, arguments, wanted, folder) if wanted else (True, "")
    for opset in wanted:
        name = f"{label} opset {opset}"
        if not ok:  # which of them it was
            one_ok, one_message = run_exporter(exporter, arguments, [opset], folder)
            if not one_ok:
                outcomes.append(Outcome(name, "refusal", one_message))
                continue
        path = str(folder / f"m.{opset}.onnx")
        status, text, reason = check_model(case, path, sets)
        gap = Gap(family, case.name, reason) if status == "gap" else None
        outcomes.append(Outcome(name, status, text, gap))
    below = [opset for opset in opsets if opset < since]
    if below:
        ok, message = run_exporter(exporter, arguments, below[-1:], folder)
        name = f"{label} opset {below[-1]}"
        if ok:
            outcomes.append(Outcome(name, "fail", f"not refused below opset {since}"))
        elif "unsupported-form" not in message and "needs opset" not in message and "at opset" not in message:
            outcomes.append(Outcome(name, "fail", f"refused for another reason: {message}"))
        else:
            outcomes.append(Outcome(name, "refused"))
    return outcomes


# ---------------------------------------------------------------- all of them


def gap_failures(outcomes: list[Outcome], families: list[str], complete: bool) -> list[str]:
    """Gaps that are not listed, and listed ones that are none any more."""
    found = {outcome.gap.line() for outcome in outcomes if outcome.gap}
    listed = {line for line in GAPS.read_text().splitlines()
              if line and not line.startswith("#")} if GAPS.exists() else set()
    problems = [f"gap not listed: {line}" for line in sorted(found - listed)]
    if complete:
        own = {line for line in listed if line.split("/")[0] in families}
        problems += [f"gap is listed but closed: {line}" for line in sorted(own - found)]
    return problems


def update_gaps(outcomes: list[Outcome], families: list[str]) -> None:
    lines = GAPS.read_text().splitlines() if GAPS.exists() else []
    kept = [line for line in lines if line.startswith("#") or line.split("/")[0] not in families]
    found = sorted({outcome.gap.line() for outcome in outcomes if outcome.gap})
    head = [line for line in kept if line.startswith("#")]
    body = sorted([line for line in kept if line and not line.startswith("#")] + found)
    GAPS.write_text("\n".join(head + body) + "\n")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--exporter", default=os.environ.get("ONNX_EXPORT", "build/bin/onnx-export"))
    parser.add_argument("--family", action="append", help="a file of rows/, without .py; repeatable")
    parser.add_argument("--case", default="", help="regular expression on the row's name")
    parser.add_argument("--opsets", help=f"default: {', '.join(map(str, OPSETS))}; in mode export {NEWEST} too")
    parser.add_argument("--modes", default="export,dynamic")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", help="keeps programs and models in this folder")
    parser.add_argument("--update-gaps", action="store_true", help="rewrites known_gaps.txt")
    parser.add_argument("--shard", default="0/1", help="i/n: each n-th row from the i-th on")
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    modes = options.modes.split(",")
    for mode in modes:
        if mode not in MODES:
            sys.exit(f"--modes: {mode} is none of {', '.join(MODES)}")
    opsets = sorted(int(opset) for opset in options.opsets.split(",")) if options.opsets else None
    families = options.family or sorted(path.stem for path in (HERE / "rows").glob("[a-z]*.py"))
    shard, shards = (int(part) for part in options.shard.split("/"))
    jobs = []
    for family in families:
        rows = importlib.import_module(f"rows.{family}").ROWS
        names = [row.name for row in rows]
        if len(set(names)) != len(names):
            sys.exit(f"rows/{family}.py: two rows have one name: "
                     f"{sorted({name for name in names if names.count(name) > 1})}")
        jobs += [(family, i) for i, row in enumerate(rows) if re.search(options.case, row.name)]
    if not jobs:
        sys.exit(f"--case: no row of {', '.join(families)} matches {options.case}")
    jobs = jobs[shard::shards]
    outcomes: list[Outcome] = []
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        running = {pool.submit(run_case, family, i, options.exporter, modes, opsets, options.keep):
                   f"{family}/{i}" for family, i in jobs}
        for future in concurrent.futures.as_completed(running):
            try:
                outcomes += future.result()
            except Exception:  # noqa: BLE001: a row that breaks the runner is a failure of the row
                outcomes.append(Outcome(running[future], "crash", traceback.format_exc()))
    outcomes.sort(key=lambda outcome: outcome.label)
    for outcome in outcomes:
        if outcome.failed:
            print(f"{outcome.status:9}{outcome.label}: {outcome.message[:600]}")
    if options.update_gaps:
        update_gaps(outcomes, families)
    complete = not options.case and shards == 1 and {"export"} <= set(modes) and opsets is None
    problems = gap_failures(outcomes, families, complete)
    for problem in problems:
        print(problem)
    counts: dict[str, int] = {}
    for outcome in outcomes:
        counts[outcome.status] = counts.get(outcome.status, 0) + 1
    print(f"{len(jobs)} rows, {len(outcomes)} checks:",
          ", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    return 1 if problems or any(outcome.failed for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
