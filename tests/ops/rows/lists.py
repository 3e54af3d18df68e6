"""Rows of dynamic_list.cc and list_changes.cc: lists whose length the inputs decide, in scripted functions."""

from typing import List, Tuple

import torch
from torch import Tensor

from case import Case, T

M = T("f32", 4, 6, N=0)
SCRIPT = ("script",)


def stacked(x: Tensor):
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(x + i)
    return torch.stack(rows), torch.stack(rows, 1), torch.stack(rows, -1), len(rows)


def joined(x: Tensor):
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(x * i)
    return torch.cat(rows), torch.cat(rows, 1), torch.cat(rows, -2)


def sums_of_parts(x: Tensor):
    parts = x.split(2, 0)
    sums: List[Tensor] = []
    for i in range(len(parts)):
        sums += [parts[i].sum(0, False)]
    return torch.stack(sums), torch.cat(sums)


def growing_from_one(x: Tensor):
    rows = [x]
    for i in range(x.size(0)):
        rows.append(rows[-1] + rows[i])
    return torch.stack(rows), rows[0], rows[-2], rows[x.size(0) - 1]


def of_growing_tensors(x: Tensor):
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(x[:i + 1])
    return torch.cat(rows), len(rows)


def of_masked_tensors(x: Tensor):
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(x[i][x[i] > 0])
    return torch.cat(rows)


def from_a_branch(x: Tensor):
    rows = [x]
    if x.size(0) > 5:
        rows.append(x + 1)
    return torch.stack(rows), len(rows)


def of_tuples(x: Tensor):
    pairs: List[Tuple[Tensor, int]] = []
    for i in range(x.size(0)):
        pairs.append((x + i, i * 2))
    total = torch.zeros_like(x)
    for rows, factor in pairs:
        total = total + rows * factor
    return total, pairs[-1][0], pairs[x.size(0) - 1][1]


def of_lists(x: Tensor):
    pairs = [[x, x + 1]]
    for i in range(x.size(0)):
        pairs.append([x + i, x * i])
    total = torch.zeros_like(x)
    for pair in pairs:
        total = total + pair[0] * pair[1]
    return total, torch.cat(pairs[-1])


def enumerated_pairs(x: Tensor):
    first: List[Tensor] = []
    second: List[Tensor] = []
    for i in range(x.size(0)):
        first.append(x + i)
        second.append(x * i)
    total = torch.zeros_like(x)
    for i, (a, b) in enumerate(zip(first, second)):
        total = total + a * i - b
    return total


def of_empty_tensors(x: Tensor):
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(x[:, :0] + i)
    return torch.stack(rows), torch.cat(rows)


ROWS = [
    *[Case(fn.__name__, fn, [M], dynamic_since=since, modes=SCRIPT) for fn, since in (
        (stacked, 9), (joined, 9), (sums_of_parts, 11), (growing_from_one, 9), (of_growing_tensors, 13),
        (of_masked_tensors, 13), (from_a_branch, 11), (of_tuples, 9), (of_lists, 9), (enumerated_pairs, 9),
        (of_empty_tensors, 9))],
]
