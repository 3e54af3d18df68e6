"""What a row of the operator tests is.

A row file rows/<family>.py holds ROWS, a list of Case. Helpers make inputs: values come from a
seed that is fixed for each row, so that a row gives the same inputs in every run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

DTYPES = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "bool": torch.bool,
}


@dataclasses.dataclass
class Input:
    """A tensor to be made: dtype by its short name, shape, range of the values.

    `axes` names dynamic axes, {axis: name}; axes of one name have one size. The second input set
    has another size there: `size + 3`, or what the row's `second` says.
    """

    dtype: str
    shape: tuple[int, ...]
    low: float = -4
    high: float = 4
    axes: dict[int, str] = dataclasses.field(default_factory=dict)

    def make(self, generator: torch.Generator, sizes: dict[str, int]) -> torch.Tensor:
        shape = [sizes.get(self.axes.get(i), size) for i, size in enumerate(self.shape)]
        dtype = DTYPES[self.dtype]
        if dtype == torch.bool:
            return torch.randint(0, 2, shape, generator=generator).bool()
        if dtype.is_floating_point:
            values = torch.rand(shape, generator=generator, dtype=torch.float64)
            return (values * (self.high - self.low) + self.low).to(dtype)
        low = max(int(self.low), 0) if dtype == torch.uint8 else int(self.low)
        return torch.randint(low, max(int(self.high), low + 1), shape, generator=generator).to(dtype)


def T(dtype: str, *shape: int, low: float = -4, high: float = 4, **axes: int) -> Input:
    """T("f32", 2, 3, N=0): a float32 [2, 3] with values in [-4, 4) whose axis 0 is the dynamic N.

    Two axes of one size and name: T("f32", 3, 3, N=(0, 1)).
    """
    names: dict[int, str] = {}
    for name, where in axes.items():
        for axis in where if isinstance(where, tuple) else (where,):
            names[axis] = name
    return Input(dtype, shape, low, high, names)


@dataclasses.dataclass
class Case:
    """One row: a function of tensors, and inputs for it.

    name     unique in the family, a valid file name
    fn       a function or torch.nn.Module; expected values are what it gives when called
    inputs   Input, tensors, or lists and tuples of these; numbers belong into the function
    since    the first opset that can express it; at the newest tested opset below, it must be
             refused. `dynamic_since`: the same where sizes are dynamic
    second   sizes of dynamic axes in the second input set; default: first size + 3
    tol      (rtol, atol); None: exact for integers, (1e-5, 1e-6) for float32, by dtype otherwise
    modes    None: all; else the names of those to run
    more     further inputs, of other numbers: the exported model is run at these as well
    by_field the result holds lists of unknown length of tuples or dicts: an output for each field
    """

    name: str
    fn: Callable[..., Any]
    inputs: list[Any] = dataclasses.field(default_factory=list)
    since: int = 9
    second: dict[str, int] = dataclasses.field(default_factory=dict)
    tol: tuple[float, float] | None = None
    modes: tuple[str, ...] | None = None
    dynamic_since: int = 0
    more: list[list[Any]] = dataclasses.field(default_factory=list)
    by_field: bool = False

    def first_opset(self, mode: str) -> int:
        moves = mode in ("dynamic", "trace", "script") and self.is_dynamic()
        return max(self.since, self.dynamic_since) if moves else self.since

    def sizes(self, second: bool) -> dict[str, int]:
        result: dict[str, int] = {}
        for value in flatten(self.inputs):
            if isinstance(value, Input):
                for axis, name in value.axes.items():
                    result[name] = value.shape[axis] + (3 if second else 0)
        return {name: self.second.get(name, size) if second else size for name, size in result.items()}

    def is_dynamic(self) -> bool:
        return bool(self.sizes(False))

    def make_inputs(self, second: bool, inputs: list[Any] | None = None) -> tuple[Any, ...]:
        """`inputs`: those of `more`, in place of the first."""
        generator = torch.Generator().manual_seed(20 + second)
        sizes = self.sizes(second)

        def make(value: Any) -> Any:
            if isinstance(value, Input):
                return value.make(generator, sizes)
            if isinstance(value, (list, tuple)):
                return type(value)(make(item) for item in value)
            if isinstance(value, dict):
                return {key: make(item) for key, item in value.items()}
            return value

        return tuple(make(value) for value in inputs or self.inputs)

    def dynamic_axes(self) -> list[dict[int, str]]:
        """For each tensor of the flattened inputs."""
        return [
            value.axes if isinstance(value, Input) else {}
            for value in flatten(self.inputs)
            if isinstance(value, (Input, torch.Tensor))
        ]

    def dynamic_shapes(self) -> tuple[Any, ...]:
        """As torch.export takes them."""
        first, second = self.sizes(False), self.sizes(True)
        dims = {name: torch.export.Dim(name, min=min(first[name], second[name])) for name in first}

        def shapes(value: Any) -> Any:
            if isinstance(value, Input):
                return {axis: dims[name] for axis, name in value.axes.items()} or None
            if isinstance(value, (list, tuple)):
                return type(value)(shapes(item) for item in value)
            return None

        return (tuple(shapes(value) for value in self.inputs),)


def counted(fn: Callable[..., Any], numbers: tuple[tuple[int, int], ...], *inputs: Any, since: int = 9) -> list[Case]:
    """Scripted rows of a program whose last input holds ones: how many there are decides what it does.

    A row for each of `numbers`: how many in the example, and in the second input set.
    """
    name = getattr(fn, "__name__", type(fn).__name__)
    return [Case(f"{name}_{example}", fn, [*inputs, T("i64", example, low=1, high=2, K=0)], since=since,
                 second={"K": other}, modes=("script",)) for example, other in numbers]


def flatten(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flatten(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in flatten(item)]
    return [value]


def by_field(value: Any) -> Any:
    """Lists of tuples or dicts as a list for each of their fields."""
    if isinstance(value, list) and value and isinstance(value[0], (tuple, dict)):
        rows = [item.values() if isinstance(item, dict) else item for item in value]
        return [by_field(list(column)) for column in zip(*rows, strict=True)]
    if isinstance(value, (list, tuple)):
        return [by_field(item) for item in value]
    if isinstance(value, dict):
        return [by_field(item) for item in value.values()]
    return value


def plain(value: Any) -> Any:
    """Named tuples as tuples: torch.export.save has no name for most of PyTorch's own."""
    if isinstance(value, (list, tuple)):
        return (list if isinstance(value, list) else tuple)(plain(item) for item in value)
    return value


class Wrapper(torch.nn.Module):
    """A function or module as one with positional inputs."""

    def __init__(self, fn: Callable[..., Any]):
        super().__init__()
        self.fn = fn

    def forward(self, *args: Any) -> Any:
        return plain(self.fn(*args))


def as_module(fn: Callable[..., Any]) -> torch.nn.Module:
    return Wrapper(fn).eval()
