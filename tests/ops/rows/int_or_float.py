"""Numbers that are ints or floats, as the run decides (exporter/torch, convert_numbers)."""

from typing import Optional, Union

import torch
from torch import Tensor

from case import Case, T

SCRIPT = ("script",)
X = T("f32", 3, N=0)
I = T("i64", 3, N=0)


def of_a_branch(x: Tensor, c: bool):
    n: Union[int, float] = 3
    if c:
        n = 0.5
    return x * n, x + n, torch.clamp(x, max=n)


def of_two_branches(x: Tensor, k: int):
    n: Union[int, float] = 2
    if k > 2:
        n = 0.5
    if k > 4:
        n = k
    return x * n


def asked(x: Tensor, k: int):
    n: Union[int, float] = 0
    for i in range(k):
        if i == 1:
            n = 1.5
        elif i == 3:
            n = i
    if isinstance(n, int):
        return x * n + 1
    return x * 0.5 * n


def items(x: Tensor, y: Tensor, c: bool):
    if c:
        n = x.sum().item()
    else:
        n = y.sum().item()
    m = n * 2 + 1
    return x * n, float(m), int(n), n > 1, max(float(-n), 0.5)


def items_in_a_loop(x: Tensor, y: Tensor, k: int):
    n = y.sum().item()
    for i in range(k):
        n = n * 2 - x.sum().item()
    return x * n, float(n), n == 0


def of_ints(x: Tensor, c: bool):
    n: Union[int, float] = 3
    if c:
        n = 0.5
    return (x * n).float(), (x + n > 2)


def of_ints_in_a_branch(x: Tensor, k: int):
    n: Union[int, float] = 3
    if k > 1:
        n = 0.5
    y = x * n
    if y.is_floating_point():
        y = y.round()
    return y.to(torch.int64)


def filled(x: Tensor, c: bool):
    n = x.sum().item() if c else x.size(0)
    return torch.full([2], float(n)), x / n, x.new_full([2], n).float()


def none_int_or_float(x: Tensor, c: bool):
    n: Optional[Union[int, float]] = None
    if c:
        n = 2
    else:
        n = 0.5
    return torch.clamp(x, max=n)


def in_a_tuple(x: Tensor, k: int):
    n: Union[int, float] = 1
    if k > 1:
        n = 0.25
    pair = (n, x)
    for i in range(k):
        pair = (pair[0], pair[1] * pair[0])
    return pair[1], float(pair[0])


def given(x: Tensor, n: Union[int, float], c: bool):
    if c:
        n = float(n) * 0.5
    return x * n


COUNTS = (0, 1, 2, 3, 4, 5, 6)

def numbers_of_a_dtype(x: Tensor, end: Tensor):
    up = torch.arange(end, dtype=torch.int64)
    steps = torch.arange(x.size(0), end, 1.5, dtype=torch.int32)
    full = torch.full((2, 3), end, dtype=torch.float64)
    return up, steps, full, torch.full_like(x, end, dtype=torch.int64), torch.full((2,), end, dtype=torch.uint8)


ROWS = [
    Case("numbers_of_a_dtype", numbers_of_a_dtype, [X, torch.tensor(8.5)], more=[[X, torch.tensor(5.0)]], modes=SCRIPT),
    Case("numbers_of_a_dtype_int", numbers_of_a_dtype, [X, torch.tensor(8)], more=[[X, torch.tensor(5)]], modes=SCRIPT),
    *[Case(f"{fn.__name__}_{c}", fn, [x, c], more=[[x, not c]], modes=SCRIPT)
      for fn, x in ((of_a_branch, X), (of_ints, I), (none_int_or_float, X), (filled, X)) for c in (True, False)],
    *[Case(f"{fn.__name__}_{k}", fn, [x, k], more=[[x, other] for other in COUNTS], modes=SCRIPT)
      for fn, x in ((of_two_branches, X), (asked, X), (of_ints_in_a_branch, I), (in_a_tuple, X))
      for k in (0, 3)],
    *[Case(f"items_{c}", items, [X, I, c], more=[[X, I, not c]], tol=(1e-5, 1e-6), modes=SCRIPT)
      for c in (True, False)],
    *[Case(f"items_in_a_loop_{k}", items_in_a_loop, [X, I, k], more=[[X, I, other] for other in (0, 1, 3)],
           tol=(1e-5, 1e-6), modes=SCRIPT) for k in (0, 2)],
    *[Case(f"given_{c}", given, [X, 3, c], more=[[X, 4, not c], [X, 2, c]], modes=SCRIPT) for c in (True, False)],
]
