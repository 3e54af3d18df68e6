"""Makes a PyTorch program from an author's module; see torch_model in defs.bzl.

The same sources give the same bytes wherever this runs: sources are compiled
under the relative path that they are named with, installed packages under
their path below site-packages, since PyTorch writes file names into programs.
"""

import _thread
import argparse
import copy
import gc
import importlib
import importlib.abc
import importlib.util
import inspect
import json
import logging
import os
import queue
import random
import re
import sys
import sysconfig
import traceback
import types

import numpy
import torch


class Error(Exception):
    """A fault of the author's module, told in one line."""


class SourceFinder(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Imports modules from the listed sources only, by file name or dotted path."""

    def __init__(self, sources):
        self.path_of = {}
        self.packages = set()
        for source in sources:
            path = re.sub(r"^(bazel-out/[^/]+/bin/|external/[^/]+/)+", "", os.path.normpath(source))
            parts = path[: -len(".py")].strip("/.").split("/")
            if parts[-1] == "__init__":
                parts.pop()
            for start in range(len(parts)):
                self.path_of.setdefault(".".join(parts[start:]), source)
                for end in range(start + 1, len(parts)):
                    self.packages.add(".".join(parts[start:end]))

    def find_spec(self, name, path, target=None):
        if name in self.path_of:
            source = self.path_of[name]
            is_package = source.endswith("__init__.py") or name in self.packages
            return importlib.util.spec_from_file_location(
                name, source, loader=self,
                submodule_search_locations=[] if is_package else None)
        if name in self.packages and path is not None or name in self.top_packages():
            return importlib.machinery.ModuleSpec(name, None, is_package=True)
        return None

    def top_packages(self):
        """Packages that no installed one is hidden by."""
        return {name for name in self.packages
                if "." not in name and importlib.machinery.PathFinder.find_spec(name) is None}

    def get_filename(self, name):
        return self.path_of[name]

    def get_data(self, path):
        with open(path, "rb") as file:
            return file.read()

    def path_stats(self, path):
        raise OSError("no byte code is cached")


def load_entry(entry, sources):
    """The function that MODULE:FUNCTION names."""
    module_name, function_name = entry.split(":")
    finder = SourceFinder(sources)
    if module_name not in finder.path_of:
        raise Error(f"entry {entry}: no module {module_name} among {', '.join(sources)}")
    sys.meta_path.insert(0, finder)
    module = importlib.import_module(module_name)
    function = getattr(module, function_name, None)
    if not callable(function):
        raise Error(f"entry {entry}: {finder.path_of[module_name]} has no function {function_name}")
    return function


def positional(module, inputs):
    """Inputs as the tuple of forward's positional arguments.

    As for torch.onnx, a dict in the last place holds keyword arguments.
    """
    if not isinstance(inputs, (tuple, list)):
        inputs = (inputs,)
    inputs = tuple(inputs)
    if not inputs or not isinstance(inputs[-1], dict):
        return inputs
    keywords = inputs[-1]
    if not keywords:
        return inputs[:-1]
    try:
        bound = inspect.signature(module.forward).bind(*inputs[:-1], **keywords)
    except TypeError as error:
        raise Error(f"example inputs do not fit forward: {error}") from None
    bound.apply_defaults()
    if bound.kwargs:
        raise Error(f"forward takes {', '.join(bound.kwargs)} by keyword only; a program has positional inputs")
    return bound.args


def set_seed(seed):
    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def set_training(module, training):
    if training != "preserve":
        module.train(training == "train")


def portable_path(path):
    """The path below site-packages; this script's name; else the path."""
    if path == __file__:
        return os.path.basename(path)
    return path.rpartition("/site-packages/")[2]


def portable_code(code):
    return code.replace(
        co_filename=portable_path(code.co_filename),
        co_consts=tuple(portable_code(c) if isinstance(c, types.CodeType) else c for c in code.co_consts))


def name_code_portably():
    """Renames the code of installed packages and of this script; for the tracer, which records every caller."""
    for candidate in gc.get_objects():
        if type(candidate) is types.FunctionType and portable_path(candidate.__code__.co_filename) != candidate.__code__.co_filename:
            candidate.__code__ = portable_code(candidate.__code__)


def on_own_stack(function, *arguments):
    """Calls the function with no caller on its stack, for the same reason."""
    results = queue.SimpleQueue()

    def call():
        try:
            results.put((function(*arguments), None))
        except BaseException as error:
            results.put((None, error))

    _thread.start_new_thread(call, ())
    result, error = results.get()
    if error is not None:
        raise error
    return result


def name_stacks_portably(program):
    """The same for the stacks that torch.export keeps with each node."""
    for module in program.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            if "stack_trace" in node.meta:
                node.meta["stack_trace"] = re.sub(
                    r'File "([^"]*)"', lambda match: f'File "{portable_path(match[1])}"', node.meta["stack_trace"])


def bind(module, inputs):
    """The inputs by the names of forward's parameters."""
    try:
        return inspect.signature(module.forward).bind(*inputs)
    except TypeError as error:
        raise Error(f"example inputs do not fit forward: {error}") from None


def map_leaves(function, value, path):
    """A nested value with function(path, leaf) in the place of each leaf."""
    if isinstance(value, (tuple, list)):
        items = [map_leaves(function, item, f"{path}.{i}") for i, item in enumerate(value)]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: map_leaves(function, item, f"{path}.{key}") for key, item in value.items()}
    return function(path, value)


class DynamicAxes:
    """The command line's dynamic axes, for the inputs of a module.

    axes: {tensor: {axis: name}}; sizes: the example's, by name. A tensor in a list x is x.0.
    """

    def __init__(self, bound, axes_json):
        self.bound = bound
        self.axes, self.sizes = {}, {}
        tensors = {path: value for name, argument in bound.arguments.items()
                   for path, value in leaves(argument, name) if isinstance(value, torch.Tensor)}
        self.tensors = list(tensors)
        for path, names in json.loads(axes_json or "{}").items():
            if path not in tensors:
                raise Error(f"dynamic_axes names {path}; forward takes {', '.join(tensors) or 'no tensor'}")
            self.axes[path] = {self.add(path, tensors[path], int(axis), name): name for axis, name in names.items()}

    def add(self, path, tensor, axis, name):
        """The axis, counted from the front."""
        if not -tensor.dim() <= axis < tensor.dim():
            raise Error(f"dynamic_axes names axis {axis} of {path}, which has {tensor.dim()} axes")
        size = tensor.shape[axis]
        if self.sizes.setdefault(name, size) != size:
            raise Error(f"dynamic_axes: {name} is {self.sizes[name]} and, as axis {axis} of {path}, {size}; "
                        "equal names mean equal sizes")
        return axis % tensor.dim()

    def by_tensor(self):
        """The command line's list: for each tensor of the flattened inputs its named axes, or None."""
        return [self.axes.get(path) for path in self.tensors]

    def shapes(self):
        """torch.export's form."""
        if not self.axes:
            return None
        dims = {name: torch.export.Dim(name) for name in self.sizes}

        def shape(path, _):
            return {axis: dims[name] for axis, name in self.axes[path].items()} if path in self.axes else None

        return {name: map_leaves(shape, value, name) for name, value in self.bound.arguments.items()}

    def resized(self, sizes):
        """Inputs of those sizes, by name: the example cropped or repeated."""
        def resize(path, value):
            for axis, name in self.axes.get(path, {}).items():
                if name in sizes:
                    value = resized_axis(value, axis, sizes[name])
            return value

        arguments = {name: map_leaves(resize, value, name) for name, value in self.bound.arguments.items()}
        return inspect.BoundArguments(self.bound.signature, arguments).args

    def other_sizes(self):
        """For each name, and for all of them: sizes to try until the module takes them."""
        groups = [[name] for name in self.sizes] + ([list(self.sizes)] if len(self.sizes) > 1 else [])
        for group in groups:
            yield [{name: self.sizes[name] + 1 for name in group},
                   {name: max(2 * self.sizes[name], self.sizes[name] + 2) for name in group}]

    def describe(self, sizes):
        def places(name):
            return ", ".join(f"axis {axis} of {path}" for path, axes in self.axes.items()
                             for axis, other in axes.items() if other == name)

        return " and ".join(f"{name} ({places(name)}) is {size} instead of {self.sizes[name]}"
                            for name, size in sizes.items())


def resized_axis(tensor, axis, size):
    if tensor.shape[axis] == 0:
        return tensor.new_zeros([*tensor.shape[:axis], size, *tensor.shape[axis + 1:]])
    return tensor.index_select(axis, torch.arange(size) % tensor.shape[axis])


def trace(module, inputs):
    with torch.no_grad():
        return torch.jit.trace(module, inputs, check_trace=False, strict=False)


def make_program(module, inputs, form, axes):
    if form == "trace":
        name_code_portably()
        return on_own_stack(trace, module, inputs)
    if form == "script":
        return torch.jit.script(module)
    program = torch.export.export(module, inputs, dynamic_shapes=axes.shapes())
    name_stacks_portably(program)
    return program


def save_program(program, path, axes):
    if path.endswith(".pt2"):
        # The format loses the names of axes; onnx-export looks for them there.
        extra = {"dynamic_axes.json": json.dumps(axes.by_tensor(), sort_keys=True)} if axes.axes else {}
        torch.export.save(program, path, extra_files=extra)
    else:
        torch.jit.save(program, path)


def load_program(path):
    if path.endswith(".pt2"):
        return torch.export.load(path).module()
    return torch.jit.load(path)


def other_tensor(value, generator):
    """Another tensor of the same form whose values lie within the range of the given ones.

    They stay away from its ends by an eighth of it, so that the least and the largest value differ
    from those of the given ones too. Floats that are all the same move up to halfway to 0, or from
    0 up to 1: that keeps them positive, or probabilities, where they are. Numbers that are not
    finite do not count.
    """
    if value.layout != torch.strided or value.numel() == 0:
        return value
    if value.dtype == torch.bool:
        return torch.rand(value.shape, generator=generator) < 0.5
    if value.is_complex():
        parts = [other_tensor(part, generator).to(value.real.dtype) for part in (value.real, value.imag)]
        return torch.complex(*parts)
    if value.is_floating_point():
        known = value.detach().to(torch.float64)
        known = known[known.isfinite()]
        if known.numel() == 0:
            return value
        low, high = known.min(), known.max()
        if low == high:
            low, high = (low / 2, high) if low != 0 else (low, high + 1)
        share = 0.125 + 0.75 * torch.rand(value.shape, dtype=torch.float64, generator=generator)
        return (low * (1 - share) + high * share).to(value.dtype)
    known = value.to(torch.int64)
    low, high = int(known.min()), int(known.max())
    margin = (high - low) // 8
    above = min(high - margin + 1, torch.iinfo(torch.int64).max)
    return torch.randint(low + margin, max(above, low + margin + 1), value.shape, generator=generator).to(value.dtype)


def other_values(values, generator):
    """Inputs of the same form with other values in their tensors."""
    def other(_, leaf):
        return other_tensor(leaf, generator) if isinstance(leaf, torch.Tensor) else leaf

    return map_leaves(other, values, "")


def leaves(value, path="output"):
    """(path, leaf) of nested outputs."""
    if isinstance(value, (tuple, list)):
        return [leaf for i, item in enumerate(value) for leaf in leaves(item, f"{path}.{i}")]
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in leaves(item, f"{path}.{key}")]
    return [(path, value)]


def difference(expected, actual):
    """What differs between two results, or None."""
    expected, actual = leaves(expected), leaves(actual)
    if len(expected) != len(actual):
        return f"{len(expected)} outputs became {len(actual)}"
    for (path, left), (_, right) in zip(expected, actual):
        if isinstance(left, torch.Tensor):
            if not isinstance(right, torch.Tensor) or left.dtype != right.dtype:
                return f"{path} is of type {getattr(right, 'dtype', type(right).__name__)} instead of {left.dtype}"
            if left.shape != right.shape:
                return f"{path} has shape {list(right.shape)} instead of {list(left.shape)}"
            if not torch.allclose(left, right, rtol=1e-3, atol=1e-4, equal_nan=True):
                return f"{path} differs by up to {(left.to(torch.float64) - right.to(torch.float64)).abs().max():.3g}"
        elif left != right and isinstance(right, (bool, int, float, str)):
            return f"{path} is {right} instead of {left}"
    return None


VALUES_HINT = {"trace": (
    "Tracing freezes values that Python reads (.item(), int(x), if x): "
    "use form = \"script\", or torch.jit.script for that function")}
SIZES_HINT = {"trace": (
    "Tracing freezes sizes that Python makes a number of (int(x.shape[0]), len(x), if x.shape[0] > 1): "
    "use x.shape[0] as it is, form = \"script\", or torch.jit.script for that function")}


def warn(text):
    print(f"torch_model: warning: {text}", file=sys.stderr)


def reason(error):
    """An error's message in one line: the last one where TorchScript tells its traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return lines[-1 if any("Traceback of TorchScript" in line for line in lines) else 0]


class Check:
    """Compares a saved program with the module that it was made from."""

    def __init__(self, module, path, seed):
        self.module, self.path, self.seed = module, path, seed

    def expected(self, values):
        """What the module gives."""
        set_seed(self.seed)
        with torch.no_grad():
            return copy.deepcopy(self.module)(*copy.deepcopy(values))

    def compare(self, values, expected, where, hint):
        set_seed(self.seed)
        try:
            with torch.no_grad():
                actual = load_program(self.path)(*copy.deepcopy(values))
        except Exception as error:
            raise Error(f"{where} the saved program fails, and the module does not: {reason(error)}. {hint}".rstrip())
        if found := difference(expected, actual):
            raise Error(f"{where} the saved program differs from the module: {found}. {hint}".rstrip())


def check_values(check, inputs, form):
    """Runs module and saved program on the inputs and on others, which the module need not take."""
    hint = VALUES_HINT.get(form, "")
    check.compare(inputs, check.expected(inputs), "on the example inputs", hint)
    generator = torch.Generator().manual_seed(check.seed + 1)
    values = other_values(inputs, generator)
    try:
        expected = check.expected(values)
    except Exception as error:
        warn(f"on a second set of inputs, which torch_model makes, the module fails: {reason(error)}; "
             "the check of frozen values is skipped")
        return
    check.compare(values, expected, "on a second set of inputs", hint)


def check_sizes(check, axes, form):
    """Runs module and saved program at other sizes of the dynamic axes, one by one and all at once."""
    for alternatives in axes.other_sizes():
        failures = []
        for sizes in alternatives:
            where = f"where {axes.describe(sizes)},"
            values = axes.resized(sizes)
            try:
                expected = check.expected(values)
            except Exception as error:
                failures.append(f"{where} the module itself fails: {reason(error)}")
                continue
            check.compare(values, expected, where, SIZES_HINT.get(form, ""))
            break
        else:
            warn(f"{failures[0]}; the check of frozen sizes is skipped")


def is_authors(path, sources):
    """Whether code of that file is the author's: neither installed, nor Python's, nor of this script."""
    if path in sources:
        return True
    parts = path.split("/")
    return (path.startswith("/") and not {"site-packages", "dist-packages"}.intersection(parts)
            and not path.startswith(sysconfig.get_path("stdlib") + "/") and path != __file__)


def chain(error):
    """The error and those that it was raised from or after, the first one first."""
    errors = []
    while error is not None and error not in errors:
        errors.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return errors[::-1]


def authors_traceback(error, sources):
    """An error as Python tells it, with the author's frames only, or else the place that raised it."""
    parts, found = [], False
    for one in chain(error):
        frames = [frame for frame in traceback.extract_tb(one.__traceback__) if is_authors(frame.filename, sources)]
        found = found or bool(frames)
        if one is error or frames and str(one) not in str(error):
            stack = ["Traceback of the author's code (most recent call last):\n", *traceback.format_list(frames)]
            parts.append("".join([*(stack if frames else ()), *traceback.format_exception_only(one)]).rstrip("\n"))
    if not found:
        place = traceback.extract_tb(error.__traceback__)[-1]
        parts.append(f"raised in {portable_path(place.filename)}, line {place.lineno}")
        return "\n".join(parts)
    return "\n\nand then\n\n".join(parts)


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--entry", required=True)
    parser.add_argument("--form", choices=["trace", "script", "export"], default="trace")
    parser.add_argument("--training", choices=["eval", "preserve", "train"], default="eval")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dynamic-axes")
    parser.add_argument("--source", action="append", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--inputs", required=True)
    return parser.parse_args()


def run(arguments):
    torch.set_num_threads(1)
    build = load_entry(arguments.entry, arguments.source)
    set_seed(arguments.seed)
    built = build()
    if not isinstance(built, tuple) or len(built) != 2 or not isinstance(built[0], torch.nn.Module):
        raise Error(f"entry {arguments.entry} must return (torch.nn.Module, example inputs)")
    module, inputs = built
    inputs = positional(module, inputs)
    axes = DynamicAxes(bind(module, inputs), arguments.dynamic_axes)
    set_training(module, arguments.training)
    set_seed(arguments.seed)
    with torch.no_grad():
        program = make_program(copy.deepcopy(module), inputs, arguments.form, axes)
    save_program(program, arguments.program, axes)
    torch.save(inputs, arguments.inputs)
    check = Check(module, arguments.program, arguments.seed)
    check_values(check, inputs, arguments.form)
    check_sizes(check, axes, arguments.form)


def remove_outputs(arguments):
    for path in (arguments.program, arguments.inputs):
        if os.path.exists(path):
            os.remove(path)


def main():
    arguments = parse_arguments()
    # PyTorch logs tracebacks of its own beside the errors that it raises; TORCH_LOGS has them again.
    torch._logging.set_logs(all=logging.CRITICAL)
    try:
        run(arguments)
    except Error as error:
        remove_outputs(arguments)
        sys.exit(f"torch_model: {error}")
    except Exception as error:
        remove_outputs(arguments)
        sys.exit(f"torch_model: {arguments.entry} fails\n{authors_traceback(error, arguments.source)}")


if __name__ == "__main__":
    main()
