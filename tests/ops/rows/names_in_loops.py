"""Tensors that a loop carries under several names, and writes to (exporter/passes, functionalize_loops)."""

from typing import List

import torch
from torch import Tensor

from case import Case, T, counted

M = T("f32", 4, 6, N=0)


def returned_early(x: Tensor):
    y = x.clone()
    for i in range(y.size(0)):
        y[i] = float(i)
        if bool(y.sum() > 2):
            return y
    return y * 2


def returned_from_an_inner_loop(x: Tensor):
    y = x.clone()
    for i in range(y.size(0)):
        for j in range(y.size(1)):
            y[i, j] += float(j)
            if bool(y[i, j] > 2.5):
                return y
    return y + 1


def double_buffered(x: Tensor):
    a, b = x.clone(), x * 2
    for i in range(x.size(0)):
        b.copy_(a * 0.5 + 1)
        b[i] = 3.
        a, b = b, a
    return a, b


def rotated(x: Tensor):
    a, b, c = x.clone(), x * 2, x * 3
    for i in range(x.size(0)):
        a[i] += 1
        b.mul_(0.5)
        a, b, c = b, c, a
        if i % 2 == 1:
            c[0] = a[0] + b[1]
    return a, b, c


def best_of_all(x: Tensor):
    y = x.clone()
    best = y
    for i in range(y.size(0)):
        y[i] += 1
        if bool(y[i].sum() > 0):
            best = y
        else:
            best = y * 2
    y[0] = 9.
    return best, y


def previous(x: Tensor):
    y = x.clone()
    prev = y
    for i in range(y.size(0)):
        cur = prev * 0.9
        cur[i] += 1
        if i % 2 == 0:
            prev = cur
        else:
            prev = y
        y[0] += 1
    return prev, y


def written_under_either_name(x: Tensor):
    y, z = x.clone(), x * 2
    target = z
    for i in range(y.size(0)):
        target[i] += 5
        target = y if i % 2 == 0 else z
    target.add_(1)
    return y, z, target


def kept_before_it_is_made_anew(x: Tensor):
    h = x.clone()
    last = h
    for i in range(x.size(0)):
        h[i] *= 2
        last = h
        if i % 3 == 2:
            h = h + 1
    last.sub_(1)
    return h, last


def replaced_or_written(x: Tensor):
    y = x.clone()
    first = y
    for i in range(x.size(0)):
        y = y + 1 if i % 2 == 0 else y.mul_(2)
        first[0] += 1
    return y, first


def in_nested_loops(x: Tensor):
    a, b = x.clone(), x * 2
    for i in range(x.size(0)):
        for j in range(3):
            a[i, j] += b[i, j + 1]
            a, b = b, a
        a, b = b, a
        b[i] -= 1
    return a, b


def until(x: Tensor):
    a, b = x.clone(), torch.zeros_like(x)
    steps = 0
    while bool((a - b).abs().max() > 0.5) and steps < 20:
        b.copy_(a)
        a = a * 0.5
        a[0] += 0.1
        a, b = b, a
        steps += 1
    return a, b, steps


def given_from_the_loop(x: Tensor, ones: Tensor):
    y = x.clone()
    for i in range(int(ones.sum())):
        y[i % y.size(0)] = i
        if bool(y.sum() > 3):
            return y
    return y * 2


def given_from_a_nested_loop(x: Tensor, ones: Tensor):
    y = x.clone()
    for i in range(int(ones.sum())):
        y += i
        for j in range(x.size(0)):
            y[j] += 1
            if bool(y.sum() > 60):
                return y
        if i == 4:
            return y * 2
    return y


def kept_at_the_break(x: Tensor, ones: Tensor):
    y, found = x.clone(), x * 0
    for i in range(int(ones.sum())):
        y += i
        if bool(y.sum() > 40):
            found = y
            break
    return y, found


def sorted_by_exchange(x: Tensor, ones: Tensor):
    y = (x[:, 0] * ones.sum()).clone()
    for i in range(y.size(0)):
        swapped = False
        for j in range(y.size(0) - 1 - i):
            if bool(y[j] > y[j + 1]):
                larger = y[j].clone()
                y[j] = y[j + 1]
                y[j + 1] = larger
                swapped = True
        if not swapped:
            return y, i
    return y, x.size(0)


def moved_on(x: Tensor, ones: Tensor):
    previous, current = torch.zeros_like(x), x.clone()
    for i in range(int(ones.sum())):
        following = current * 2 - previous
        following[0] = i
        previous = current
        current = following
    return previous, current


def moved_on_in_nested_loops(x: Tensor, ones: Tensor):
    a, b = x.clone(), x * 2
    for i in range(int(ones.sum())):
        for j in range(x.size(0) - 2):
            fresh = a * j
            fresh[0] = 1
            b = a
            a = fresh
        b = b * 2 + i
    return a, b


def bound_to_two_names(x: Tensor, ones: Tensor):
    a, b = x * 0, x * 1
    for i in range(int(ones.sum())):
        fresh = x * i
        a = fresh if i % 2 == 0 else b
        b = fresh
        b[0] = 9
    return a, b


def fresh_in_a_list(x: Tensor, ones: Tensor):
    rows: List[Tensor] = []
    y = x.clone()
    for i in range(int(ones.sum())):
        y = y * 2
        y[0] = i
        rows.append(y)
    return torch.cat(rows), y


COUNTED = {given_from_the_loop: 10, given_from_a_nested_loop: 11, kept_at_the_break: 9, sorted_by_exchange: 11,
           moved_on: 9, moved_on_in_nested_loops: 9, bound_to_two_names: 10, fresh_in_a_list: 9}

ROWS = [
    *[Case(fn.__name__, fn, [M], modes=("script",), dynamic_since=since) for fn, since in (
        (returned_early, 11), (returned_from_an_inner_loop, 11), (double_buffered, 9), (rotated, 11), (best_of_all, 9),
        (previous, 11), (written_under_either_name, 11), (kept_before_it_is_made_anew, 11), (in_nested_loops, 9),
        (replaced_or_written, 11), (until, 9))],
    *[row for program, since in COUNTED.items()
      for row in counted(program, ((2, 5), (5, 1), (3, 2)), M, since=since)],
]
