"""Rows of container.cc and scalar.cc: lists, tuples and numbers in scripted functions."""

import math
from typing import List, Optional, Tuple

import torch

from case import Case, T

M = T("f32", 4, 6, N=0)
SCRIPT = ("script",)


def list_of_sizes(x: torch.Tensor):
    size = x.size()
    return x.reshape([size[1], size[0]]) * len(size)


def list_index(x: torch.Tensor):
    parts = [x, x + 1, x * 2]
    return parts[1] + parts[-1]


def list_slice(x: torch.Tensor):
    parts = [x, x + 1, x * 2, x * 3]
    return torch.cat(parts[1:3]) + len(parts[::2])


def list_add(x: torch.Tensor):
    return torch.cat([x, x + 1] + [x * 2], 1)


def list_unpack(x: torch.Tensor):
    a, b, c = x.split(2, 1)
    return a * b - c


def list_contains(x: torch.Tensor):
    if x.dim() in [1, 2]:
        return x + 1
    return x - 1


def list_equal(x: torch.Tensor):
    if [x.dim(), 3] == [2, 3]:
        return x + 1
    return x - 1


def tuple_parts(x: torch.Tensor):
    pair = (x + 1, (x * 2, 3))
    return pair[0] * pair[1][0] + pair[1][1]


def tuple_result(x: torch.Tensor) -> Tuple[torch.Tensor, List[torch.Tensor]]:
    return x + 1, [x, x * 2]


def optional_none(x: torch.Tensor):
    y: Optional[torch.Tensor] = None
    if x.dim() > 5:
        y = x * 2
    if y is None:
        return x + 1
    return x + y


def numbers(x: torch.Tensor):
    n = x.size(0)
    m = n // 3 + n % 3 - n * 2
    return x * m + (-n // 3) + (-n % 3)


def floats(x: torch.Tensor):
    n = float(x.size(0))
    return x * (n / 3.0) + n ** 2.0 - int(n / 3.0)


def comparisons(x: torch.Tensor):
    n = x.size(0)
    if n > 3 and not (n == 5 or n <= 1):
        return x + 1
    return x - 1


def minmax(x: torch.Tensor):
    n = x.size(0)
    return x * max(n, 5) - min(n, 6) + abs(3 - n)


def dtype_question(x: torch.Tensor):
    if x.is_floating_point():
        return x.to(torch.int64)
    return x


def item_number(x: torch.Tensor, y: torch.Tensor):
    return x * int(y) + float(y)


def chunks_computed(x: torch.Tensor):
    parts = x.chunk(x.size(0), 1)
    return parts[0] + parts[1]


def divided(x: torch.Tensor):
    n = x.size(0)
    return x * (n / 2.5) + float(n) / 7 + n / 4 + 2.5 / n + (n // 2.5) + n % 2.5


def mixed_numbers(x: torch.Tensor):
    n, f = x.size(0), float(x.size(0)) / 3
    if n > f and f <= n and n != f and not n == f and n >= f and f < n:
        x = x + 1
    return x + (n + f) * (n - f) - f * n + n ** f + max(f, float(n))


def functions(x: torch.Tensor):
    n, f = x.size(0), float(x.size(0)) / 40
    y = math.atan2(n, f) + math.log10(n) + math.tanh(f) + math.log(n, 3) + math.asin(f) + math.acos(f) + math.atan(n)
    y += math.sinh(f) + math.cosh(f) + math.asinh(n) + math.acosh(n) + math.atanh(f) + math.expm1(f) + math.log1p(f)
    y += math.degrees(f) + math.radians(n) + math.copysign(f, -n) + math.fabs(-n) + math.erf(f) + math.erfc(f)
    return x + y + math.lgamma(n) + math.fmod(n, 2.5)


def greatest_divisor(x: torch.Tensor):
    return x + math.gcd(x.size(0) * 6, 21)


def shifted(x: torch.Tensor):
    n = x.size(0)
    return x + (n << 3) + (n >> 1) + (-n >> 1)


def frobenius(x: torch.Tensor):
    return torch.norm(x, p="fro", dim=0, keepdim=False)


def early_return(x: torch.Tensor, n: torch.Tensor):
    if bool(n > 4):
        return x * 2
    for i in range(int(n)):
        if i == 2:
            return x + i
    return x - 1


def break_and_continue(x: torch.Tensor, n: torch.Tensor):
    total = torch.zeros_like(x)
    for i in range(int(n)):
        if i % 2 == 0:
            continue
        if i > 6:
            break
        total = total + x * i
    return total


def break_without_end(x: torch.Tensor):
    i = 0
    while True:
        i += 1
        x = x + i
        if bool(x.sum() > 40) or i > 20:
            break
    return x, i


def optional_loop(x: torch.Tensor, n: torch.Tensor):
    y: Optional[torch.Tensor] = None
    for i in range(int(n)):
        if y is None:
            y = x
        else:
            y = y + i
    if y is not None:
        return y + 1
    return x


def optional_number(x: torch.Tensor, n: torch.Tensor):
    k: Optional[int] = None
    if bool(n > 1):
        k = int(n)
    return x * (k if k is not None else 7)


def tensor_of_growing_list(x: torch.Tensor, n: torch.Tensor):
    numbers: List[int] = []
    floats: List[float] = []
    for i in range(int(n)):
        numbers.append(i * 3)
        floats.append(i / 2)
    return x.sum() + torch.tensor(floats), torch.tensor(numbers)


ROWS = [
    *[Case(fn.__name__, fn, [M], modes=SCRIPT) for fn in
      (list_of_sizes, list_index, list_slice, list_add, list_unpack, list_contains, list_equal, tuple_parts,
       tuple_result, optional_none, minmax, comparisons, dtype_question)],
    *[Case(f"{fn.__name__}_{n}", fn, [T("f32", 4, 6), T("i64", low=n, high=n + 1)], since=since, modes=SCRIPT)
      for fn, since in ((early_return, 9), (break_and_continue, 11), (optional_loop, 9), (optional_number, 9))
      for n in (0, 3, 9)],
    Case("frobenius", frobenius, [M], modes=SCRIPT),
    Case("break_without_end", break_without_end, [M], modes=SCRIPT),
    Case("numbers", numbers, [M], dynamic_since=10, modes=SCRIPT),
    Case("floats", floats, [M], modes=SCRIPT, tol=(1e-5, 1e-5)),
    *[Case(fn.__name__, fn, [M], dynamic_since=since, modes=SCRIPT, tol=(1e-5, 1e-5))
      for fn, since in ((divided, 10), (mixed_numbers, 9), (functions, 10), (greatest_divisor, 10), (shifted, 9))],
    Case("chunks_computed", chunks_computed, [M], dynamic_since=11, second={"N": 3}, modes=SCRIPT),
    Case("tensor_of_growing_list", tensor_of_growing_list, [M, T("i64", low=3, high=4)], modes=SCRIPT),
    Case("item_number", item_number, [M, T("i64")], modes=SCRIPT),
]
