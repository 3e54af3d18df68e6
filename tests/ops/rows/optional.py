"""Rows of values that are None or not, as the inputs decide: ONNX's optional values among the outputs,
flags beside values inside (control_flow.cc)."""

from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor

from case import T, counted

M = T("f32", 4, 6, N=0)


class Found(NamedTuple):
    where: Tensor
    scores: Optional[Tensor]
    label: Optional[str]
    count: Optional[int]


# ---------------------------------------------------------------- outputs


def of_one_branch(x: Tensor, ones: Tensor) -> Optional[Tensor]:
    y: Optional[Tensor] = None
    if bool(ones.sum() > 2):
        y = x * 2
    return y


def numbers(x: Tensor, ones: Tensor):
    n = ones.sum()
    a: Optional[int] = None
    b: Optional[float] = None
    c: Optional[bool] = None
    if bool(n > 2):
        a, c = x.size(0), bool(n > 4)
    else:
        b = x.size(0) * 0.5
    d: Optional[int] = None if a is None else 7
    return a, b, c, d


def early_returns(x: Tensor, ones: Tensor) -> Optional[Tensor]:
    n = int(ones.sum())
    if n < 2:
        return None
    for i in range(n):
        if i == 4:
            return x + i
        x = x * 2
        if i == 2:
            return None
    return x


def tuples(x: Tensor, ones: Tensor):
    n = ones.sum()
    pair: Optional[Tuple[Tensor, int]] = None
    if bool(n > 2):
        pair = (x, int(n))
    return pair, x


def named_tuple(x: Tensor, ones: Tensor):
    n = int(ones.sum())
    scores: Optional[Tensor] = None
    if n > 3:
        scores = x.sum(0)
    return Found(x, scores, None, 3)


def tuple_of_optionals(x: Tensor, ones: Tensor):
    n = int(ones.sum())
    found: Optional[Found] = None
    if n > 1:
        count: Optional[int] = None
        if n > 2:
            count = n
        found = Found(x, None, None, count)
    return found


def dict_values(x: Tensor, ones: Tensor):
    d: Dict[str, Optional[Tensor]] = {"a": x, "b": None, "c": None}
    if bool(ones.sum() > 2):
        d["b"] = x.mean()
    return d


def dict_key(x: Tensor, ones: Tensor):
    d: Dict[str, Tensor] = {"a": x}
    for i in range(int(ones.sum())):
        if i > 1:
            d["b"] = x.mean() * i
    return d


def lists(x: Tensor, ones: Tensor):
    n = int(ones.sum())
    known: Optional[List[Tensor]] = None
    if n > 2:
        known = [x, x + 1]
    grown: Optional[List[Tensor]] = None
    if n < 5:
        rows: List[Tensor] = []
        for i in range(n):
            rows.append(x[: i + 1] * i)
        grown = rows
    numbers: Optional[List[int]] = None
    if grown is not None:
        numbers = [len(grown)]
        for row in grown:
            numbers.append(row.size(0))
    return known, grown, numbers


def dtypes(x: Tensor, ones: Tensor):
    n = ones.sum()
    whole: Optional[Tensor] = None
    sign: Optional[Tensor] = None
    wide: Optional[Tensor] = None
    if bool(n > 2):
        whole = x.to(torch.int32)
        sign = x > 0
        wide = x.double()
    return whole, sign, wide


def of_an_input(x: Tensor, ones: Tensor):
    y: Optional[Tensor] = None
    if bool(ones.sum() > 2):
        y = x
    return y, y, [x, y]


def of_rank_that_varies(x: Tensor, ones: Tensor):
    y: Optional[Tensor] = None
    n = int(ones.sum())
    if n > 2:
        y = x if n > 4 else x[0]
    return y if y is None or y.dim() == 2 else y.unsqueeze(0)


def larger_ones(x: Tensor, ones: Tensor):
    n = ones.sum()
    a: Optional[Tensor] = None
    b: Optional[Tensor] = None
    if bool(n > 2):
        a = x.sum() * torch.ones(20, 30)
    if bool(n > 3):
        b = torch.ones(20, 30) - x.sum()
    c = torch.zeros(20, 30) if a is None else a + 1
    return a, b, c


# ---------------------------------------------------------------- loops


def best_of_a_loop(x: Tensor, ones: Tensor):
    best: Optional[Tensor] = None
    for i in range(int(ones.sum())):
        if i % 3 == 2:
            best = x + i
    return best


def none_again(x: Tensor, ones: Tensor):
    held: Optional[Tensor] = None
    freed = 0
    for i in range(int(ones.sum())):
        if held is None:
            held = x + i
        else:
            freed += 1
            held = None
    return held, freed


def last_of_a_while(ones: Tensor):
    last: Optional[int] = None
    n = int(ones.sum())
    while n > 1:
        if n % 2 == 0:
            last = n
        n -= 1
    return last


def pair_of_nested_loops(x: Tensor, ones: Tensor):
    best: Optional[Tuple[Tensor, int]] = None
    for i in range(int(ones.sum())):
        for j in range(i):
            if best is None:
                best = (x[j], i)
            else:
                row, count = best
                if count < j + 2:
                    best = (row + x[0], count + 1)
    return best


# ---------------------------------------------------------------- asked for inside


def unwrapped_after_a_loop(x: Tensor, ones: Tensor):
    best: Optional[Tensor] = None
    for i in range(int(ones.sum())):
        if best is None:
            best = x
        else:
            best = torch.maximum(best, x * (i - 1))
    return x - 1 if best is None else best


def asserted(x: Tensor, ones: Tensor):
    y: Optional[Tensor] = None
    if bool(ones.sum() > -1):
        y = x * 2
    assert y is not None
    return y


def refined_by_or(x: Tensor, ones: Tensor):
    y: Optional[Tensor] = None
    if bool(ones.sum() > 2):
        y = x * 2
    if y is None or bool(y[0, 0] > 0):
        return x - 1
    return y


def in_a_list(x: Tensor, ones: Tensor):
    items = torch.jit.annotate(List[Optional[Tensor]], [])
    for i in range(3):
        y: Optional[Tensor] = None
        if bool(ones.sum() > i):
            y = x * i
        items.append(y)
    there = 0
    for item in items:
        if item is not None:
            there += item.size(0)
    return there


OUTPUTS = (of_one_branch, numbers, early_returns, tuples, named_tuple, tuple_of_optionals, dict_values,
           dict_key, lists, dtypes, of_an_input, of_rank_that_varies, larger_ones, best_of_a_loop,
           none_again, pair_of_nested_loops)
INSIDE = ((unwrapped_after_a_loop, 9), (asserted, 11), (refined_by_or, 11), (in_a_list, 11))

# The number that decides: example, and what it is in the second input set.
NUMBERS = ((3, 1), (1, 5), (2, 4))


ROWS = [
    *[row for fn in OUTPUTS for row in counted(fn, NUMBERS, M, since=16)],
    *[row for fn, since in INSIDE for row in counted(fn, NUMBERS, M, since=since)],
    *counted(last_of_a_while, NUMBERS, since=16),
]
