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
import os
import queue
import random
import re
import sys
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


def dynamic_shapes(module, axes_json):
    """torch.export's form of the command line's dynamic axes."""
    if not axes_json:
        return None
    axes = json.loads(axes_json)
    parameters = list(inspect.signature(module.forward).parameters)
    unknown = sorted(set(axes) - set(parameters))
    if unknown:
        raise Error(f"dynamic_axes names {', '.join(unknown)}; forward takes {', '.join(parameters)}")
    dims = {name: torch.export.Dim(name) for of_input in axes.values() for name in of_input.values()}
    return {
        parameter: {int(axis): dims[name] for axis, name in axes[parameter].items()} if parameter in axes else None
        for parameter in parameters
    }


def trace(module, inputs):
    with torch.no_grad():
        return torch.jit.trace(module, inputs, check_trace=False, strict=False)


def make_program(module, inputs, form, axes_json):
    if form == "trace":
        name_code_portably()
        return on_own_stack(trace, module, inputs)
    if form == "script":
        return torch.jit.script(module)
    program = torch.export.export(module, inputs, dynamic_shapes=dynamic_shapes(module, axes_json))
    name_stacks_portably(program)
    return program


def save_program(program, path):
    if path.endswith(".pt2"):
        torch.export.save(program, path)
    else:
        torch.jit.save(program, path)


def load_program(path):
    if path.endswith(".pt2"):
        return torch.export.load(path).module()
    return torch.jit.load(path)


def other_values(value, generator):
    """Inputs of the same form with other values, integers within the range of the given ones."""
    if isinstance(value, torch.Tensor):
        if value.is_floating_point() or value.is_complex():
            return torch.randn(value.shape, dtype=value.dtype, generator=generator)
        if value.numel() == 0:
            return value
        if value.dtype == torch.bool:
            return torch.rand(value.shape, generator=generator) < 0.5
        low, high = int(value.min()), int(value.max())
        return torch.randint(low, high + 1, value.shape, dtype=value.dtype, generator=generator)
    if isinstance(value, (tuple, list)):
        return type(value)(other_values(item, generator) for item in value)
    if isinstance(value, dict):
        return {key: other_values(item, generator) for key, item in value.items()}
    return value


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
            if not isinstance(right, torch.Tensor) or left.shape != right.shape or left.dtype != right.dtype:
                return f"{path} has another type or shape"
            if not torch.allclose(left, right, rtol=1e-3, atol=1e-4, equal_nan=True):
                return f"{path} differs by up to {(left.to(torch.float64) - right.to(torch.float64)).abs().max():.3g}"
        elif left != right and isinstance(right, (bool, int, float, str)):
            return f"{path} is {right} instead of {left}"
    return None


def check_program(module, path, inputs, seed):
    """Runs module and saved program on the inputs and on others."""
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for which, values in (("the example inputs", inputs), ("a second set of inputs", other_values(inputs, generator))):
            set_seed(seed)
            expected = copy.deepcopy(module)(*copy.deepcopy(values))
            set_seed(seed)
            found = difference(expected, load_program(path)(*copy.deepcopy(values)))
            if found:
                raise Error(
                    f"on {which} the saved program differs from the module: {found}. "
                    "Tracing freezes values that Python reads (.item(), int(x), if x): "
                    "use form = \"script\", or torch.jit.script for that function")


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
    set_training(module, arguments.training)
    set_seed(arguments.seed)
    with torch.no_grad():
        program = make_program(copy.deepcopy(module), inputs, arguments.form, arguments.dynamic_axes)
    save_program(program, arguments.program)
    torch.save(inputs, arguments.inputs)
    check_program(module, arguments.program, inputs, arguments.seed)


def main():
    arguments = parse_arguments()
    try:
        run(arguments)
    except Error as error:
        for path in (arguments.program, arguments.inputs):
            if os.path.exists(path):
                os.remove(path)
        sys.exit(f"torch_model: {error}")


if __name__ == "__main__":
    main()
