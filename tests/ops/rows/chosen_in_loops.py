"""Rows of capture: lists, dicts and objects that a loop's iterations take
in turn, and that are written to and read under other names as well."""

from typing import Dict, List, Optional

import torch
from torch import Tensor

from case import T, counted
from rows.chosen import Holder

M = T("f32", 4, 6, N=0)


def branch_in_a_loop(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1, x + 2]
    m = [x + 3, x + 4]
    for i in range(int(n)):
        if i % 2 == 0:
            y = l
        else:
            y = m
        y[0] = y[1] * 2 + i
        y[1] = y[0] + 1
    return l[0], m[0], l[1], m[1]


def carried_choice(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1, x + 2]
    m = [x + 3, x + 4]
    y = l
    for i in range(int(n)):
        y[0] = y[0] + 1
        if i % 3 == 0:
            y = m
        else:
            y = l
    y[1] = x * 7
    return l[0], m[0], l[1], m[1]


def carried_once(x: Tensor, ones: Tensor):
    n = ones.sum()
    first = [x]
    second = [x * 2]
    c = first
    for i in range(int(n)):
        c[0] = c[0] + 1
        c = second
    return first[0], second[0]


def entry_in_a_loop(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1]
    m = [x + 2]
    d = {"a": l}
    for i in range(int(n)):
        d["a"][0] = d["a"][0] + 1
        d["a"] = m
    d["a"][0] = x * 5
    return l[0], m[0], d["a"][0]


def entry_of_a_branch_in_a_loop(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1]
    m = [x + 2]
    d = {"a": l}
    for i in range(int(n)):
        if i % 2 == 0:
            d["a"] = m
        else:
            d["a"] = l
        d["a"][0] = d["a"][0] + 1 + i
    l[0] = l[0] * 3
    return l[0], m[0], d["a"][0]


def two_carried(x: Tensor, ones: Tensor):
    n = ones.sum()
    a = [x + 1]
    b = [x + 2]
    for i in range(int(n)):
        b = a
        b[0] = b[0] + i
    b[0] = x * 5
    return a[0], b[0]


def swap(x: Tensor, ones: Tensor):
    n = ones.sum()
    a = [x + 1]
    b = [x + 2]
    l, m = a, b
    for i in range(int(n)):
        l, m = m, l
        l[0] = l[0] + i
    return a[0], b[0], l[0], m[0]


def loop_read_only(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1, x + 2]
    m = [x + 3, x + 4]
    y = l
    for i in range(int(n)):
        x = x + y[0]
        y = m
        m[0] = x * 2
    return x, y[0]


def appended_in_a_loop(x: Tensor, ones: Tensor):
    n = ones.sum()
    # lists chosen in a loop and appended, then joined
    small: List[Tensor] = [x]
    big: List[Tensor] = [x]
    for i in range(int(n)):
        if i % 2 == 0:
            out = small
        else:
            out = big
        out.append(x + i)
    return torch.stack(small), torch.stack(big), len(small)


def dict_of_lists_loop(x: Tensor, ones: Tensor):
    n = ones.sum()
    d: Dict[str, List[Tensor]] = {"a": [x], "b": [x * 2]}
    for i in range(int(n)):
        k = d["a"] if i % 2 == 0 else d["b"]
        k.append(x * i)
    return torch.stack(d["a"]), torch.stack(d["b"])


def int_lookup_loop(x: Tensor, ones: Tensor):
    n = ones.sum()
    d: Dict[int, List[Tensor]] = {0: [x], 1: [x * 2]}
    for i in range(int(n)):
        d[i % 2].append(x * i)
        d[i % 2][0] = d[i % 2][0] + 1
    return torch.stack(d[0]), torch.stack(d[1])


def list_lookup_loop(x: Tensor, ones: Tensor):
    n = ones.sum()
    d = [[x], [x * 2], [x * 3]]
    for i in range(int(n)):
        d[i % 3][0] = d[i % 3][0] + i
    return d[0][0], d[1][0], d[2][0], d[-1][0]


def dict_of_dicts(x: Tensor, ones: Tensor):
    n = ones.sum()
    d: Dict[int, Dict[str, Tensor]] = {0: {"v": x}, 1: {"v": x * 2}}
    for i in range(int(n)):
        d[i % 2]["v"] = d[i % 2]["v"] + i
    return d[0]["v"], d[1]["v"]


def nested_loops(x: Tensor, ones: Tensor):
    n = ones.sum()
    a = [x]
    b = [x * 2]
    y = a
    for i in range(int(n)):
        for j in range(int(n) % 3):
            y[0] = y[0] + j
            if (i + j) % 2 == 0:
                y = b
            else:
                y = a
        y[0] = y[0] * 2
    return a[0], b[0], y[0]


def while_choice(x: Tensor, ones: Tensor):
    n = ones.sum()
    a = [x]
    b = [x * 2]
    y = a
    i = 0
    while i < int(n) and bool(y[0].sum() < 100):
        y[0] = y[0].abs() * 2
        y = b if i % 2 == 0 else a
        i += 1
    return a[0], b[0], y[0], i


def optional_in_loop(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x]
    y: Optional[List[Tensor]] = None
    for i in range(int(n)):
        if y is not None:
            y[0] = y[0] + i
        if i == 1:
            y = l
    return l[0]


def dict_entry_in_loop(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x]
    d: Dict[str, List[Tensor]] = {}
    for i in range(int(n)):
        if "a" in d:
            d["a"][0] = d["a"][0] + i
        if i == 1:
            d["a"] = l
    return l[0], len(d)


def tuple_in_loop(x: Tensor, ones: Tensor):
    n = ones.sum()
    a = [x]
    b = [x * 2]
    t = (a, 1)
    for i in range(int(n)):
        t[0][0] = t[0][0] + t[1]
        if i % 2 == 0:
            t = (b, i)
    return a[0], b[0], t[1]


def objects_in_loop(x: Tensor, ones: Tensor):
    n = ones.sum()
    g = Holder([x], {"a": [x * 2]})
    k = Holder([x * 3], {"a": [x * 4]})
    h = g
    for i in range(int(n)):
        h.l[0] = h.l[0] + i
        h = k if i % 2 == 0 else g
    return g.l[0], k.l[0], h.l[0]


PROGRAMS = (
    (branch_in_a_loop, 10), (carried_choice, 10), (carried_once, 9), (entry_in_a_loop, 9),
    (entry_of_a_branch_in_a_loop, 10), (two_carried, 9), (swap, 9), (loop_read_only, 9),
    (appended_in_a_loop, 10), (dict_of_lists_loop, 10), (int_lookup_loop, 10), (list_lookup_loop, 10),
    (dict_of_dicts, 10), (nested_loops, 10), (while_choice, 10), (optional_in_loop, 9),
    (dict_entry_in_loop, 9), (tuple_in_loop, 10), (objects_in_loop, 10))

# The number that decides: example, and what it is in the second input set.
NUMBERS = ((3, 0), (1, 6))


ROWS = [row for fn, since in PROGRAMS for row in counted(fn, NUMBERS, M, since=since)]
