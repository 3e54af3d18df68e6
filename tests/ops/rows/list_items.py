"""Writes to the tensors of lists whose length the inputs decide (exporter/passes, functionalize_items)."""

from typing import List, Tuple

import torch
from torch import Tensor

from case import Case, T

M = T("f32", 4, 6, N=0)


def multiples(x: Tensor) -> List[Tensor]:
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(x[i] * i)
    return rows


def first_and_last(x: Tensor):
    rows = multiples(x)
    rows[0] += 1
    rows[-1][1:] = 7
    rows[x.size(0) - 2].mul_(rows[0])
    return torch.stack(rows), rows[-1]


def each(x: Tensor):
    rows = multiples(x)
    for i in range(len(rows)):
        rows[i] += i
    for row in rows:
        row.mul_(2)
    for i, row in enumerate(rows):
        row[0] = float(i)
    return torch.stack(rows)


def while_appending(x: Tensor):
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(x[i] + 1)
        rows[-1] += i
        if i > 1:
            rows[i - 1][0] = 3.
    return torch.stack(rows)


def known_by_another_name(x: Tensor):
    rows = [x[0] * 2]
    for i in range(x.size(0)):
        y = x[i] + 1
        rows.append(y)
        y += i
    first = rows[0]
    first.add_(1)
    rows.append(x[0])
    first.add_(1)
    return torch.stack(rows), first


def known_before(x: Tensor):
    a = x[0] * 2
    v = a[:2]
    rows = [a]
    for i in range(x.size(0)):
        rows.append(x[i] * i)
    rows[0] += 1
    v *= 3
    return torch.stack(rows), a, v


def popped(x: Tensor):
    rows = multiples(x)
    last = rows.pop()
    last.add_(1)
    rows[0].sub_(last)
    return torch.stack(rows), last


def queue(x: Tensor):
    waiting: List[Tensor] = []
    for i in range(x.size(0)):
        waiting.append(x[i] * i)
        if len(waiting) > 2:
            waiting.pop(0).zero_()
        for row in waiting:
            row.add_(1)
    return torch.stack(waiting)


def caches(x: Tensor):
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(torch.zeros(3, 6))
    for t in range(3):
        for i in range(x.size(0)):
            rows[i][t] = x[i] * t
    return torch.stack(rows)


def replaced_and_written(x: Tensor):
    rows = [torch.zeros(6) for _ in range(x.size(0))]
    for t in range(3):
        for i in range(len(rows)):
            rows[i] = rows[i] * 0.5 + x[i]
            rows[i] += t
    return torch.stack(rows)


def two_lists(x: Tensor):
    hs: List[Tensor] = []
    cs: List[Tensor] = []
    h, c = x[0] * 1, x[0] * 2
    for i in range(x.size(0)):
        h = h * 0.5 + x[i]
        c = c + h
        hs.append(h)
        cs.append(c)
    for i in range(len(hs)):
        hs[i] += cs[i]
        cs[i][0] = 0.
    return torch.stack(hs), torch.stack(cs)


def carried_and_kept(x: Tensor):
    hs: List[Tensor] = []
    h = x[0] * 1
    for i in range(x.size(0)):
        h = h * 0.5 + x[i]
        h += 1
        hs.append(h)
    return torch.stack(hs), h


def in_a_branch(x: Tensor):
    rows = multiples(x)
    view = rows[1][:2]
    if x.size(0) > 4:
        rows[0].fill_(3)
        rows.append(x[0] * 2)
        view += 1
    return torch.stack(rows), view


def that_a_branch_adds_to(x: Tensor):
    rows = [x[0] * 1, x[1] * 2]
    if x.size(0) > 4:
        rows.append(x[2] * 3)
    rows[0] += 1
    for row in rows:
        row *= 2
    return torch.stack(rows)


def with_continue(x: Tensor):
    rows = multiples(x)
    i = 0
    while i < len(rows):
        row = rows[i]
        i += 1
        row.add_(i)
        if i == 3:
            row.mul_(2)
            continue
        row[0] = 9.
    return torch.stack(rows)


def of_tuples(x: Tensor):
    states: List[Tuple[Tensor, Tensor]] = []
    for i in range(x.size(0)):
        states.append((x[i] + 1, x[i] - 1))
    for h, c in states:
        h.mul_(c)
    states[0][1].add_(5)
    return torch.stack([h for h, _ in states]), torch.stack([c for _, c in states])


def from_the_end(x: Tensor):
    rows = multiples(x)
    last = rows[-1]
    rows.append(x[0] * 0.5)
    rows[-1] = last
    return torch.stack(rows)


def of_parts(x: Tensor):
    y = x.clone()
    rows = y.unbind(0)
    for i in range(len(rows)):
        rows[i].mul_(i)
    z = x.clone()
    parts = z.split(1, 0)
    for i in range(len(parts)):
        parts[i].add_(i)
    parts[-1].neg_()
    return y, z


ROWS = [
    Case(fn.__name__, fn, [M], modes=("script",), dynamic_since=since) for fn, since in (
        (first_and_last, 10), (each, 9), (while_appending, 10), (known_by_another_name, 9), (known_before, 9),
        (popped, 9), (queue, 11), (caches, 9), (replaced_and_written, 9), (two_lists, 9), (carried_and_kept, 9),
        (in_a_branch, 11), (that_a_branch_adds_to, 13), (with_continue, 10), (of_tuples, 9), (of_parts, 11), (from_the_end, 9))
]
