"""Rows of capture: lists, dicts and objects that are one of several, as the inputs decide, and
are written to and read under other names as well."""

from typing import Dict, List, Optional

import torch
from torch import Tensor

from case import T, counted

M = T("f32", 4, 6, N=0)


class Holder:
    def __init__(self, l: List[Tensor], d: Dict[str, List[Tensor]]):
        self.l = l
        self.d = d


torch.jit.script(Holder)


# ---------------------------------------------------------------- entries of dicts, lists, tuples and objects


def dict_entry_written(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1, x + 2]
    m = [x + 3, x + 4]
    d: Dict[str, List[Tensor]] = {}
    if bool(n > 1):
        d["a"] = l
    else:
        d["a"] = m
    d["a"][0] = x * 7
    return l[0], m[0], d["a"][0]


def dict_entry_append(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1, x + 2]
    m = [x + 3, x + 4]
    d: Dict[str, List[Tensor]] = {}
    if bool(n > 1):
        d["a"] = l
    else:
        d["a"] = m
    d["a"].append(x * 7)
    return len(l), len(m), torch.stack(l), torch.stack(m), torch.stack(d["a"])


def dict_entry_other_way(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1, x + 2]
    m = [x + 3, x + 4]
    d: Dict[str, List[Tensor]] = {"a": m}
    if bool(n > 1):
        d["a"] = l
    l[0] = x * 9
    m[1] = x * 8
    return d["a"][0], d["a"][1]


def list_entry(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1, x + 2]
    m = [x + 3, x + 4]
    ll = [m, l]
    if bool(n > 1):
        ll[0] = l
    ll[0][0] = x * 7
    return l[0], m[0], ll[0][0], ll[1][0]


def tuple_entry(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1, x + 2]
    m = [x + 3, x + 4]
    t = (l, x)
    if bool(n > 1):
        t = (m, x * 2)
    t[0][0] = x * 7
    return l[0], m[0], t[0][0], t[1]


def same_content(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x, x]
    m = [x, x]
    if bool(n > 1):
        y = l
    else:
        y = m
    y[0] = x * 7
    return l[0], m[0], y[0]


def tensor_of_an_entry(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1, x + 2]
    m = [x + 3, x + 4]
    d: Dict[str, List[Tensor]] = {}
    if bool(n > 1):
        d["a"] = l
    else:
        d["a"] = m
    d["a"][0].add_(10)
    return l[0], m[0], d["a"][0]


def int_lists(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [1, 2]
    m = [3, 4]
    d = {"a": m}
    if bool(n > 1):
        d["a"] = l
    d["a"][0] = 10
    d["a"].append(3)
    return l[0], m[0], len(l), len(m), x * sum(l)


def dicts_in_dict(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = {"p": x + 1}
    m = {"p": x + 2}
    d = {"a": l}
    if bool(n > 1):
        d["a"] = m
    d["a"]["p"] = x * 6
    d["a"]["q"] = x * 7
    return l["p"], m["p"], "q" in l, len(m)


def list_of_lists_chosen(x: Tensor, ones: Tensor):
    n = ones.sum()
    a = [x + 1]
    b = [x + 2]
    l = [a, b]
    m = [b, a]
    if bool(n > 1):
        y = l
    else:
        y = m
    y[0].append(x * 3)
    y[1][0] = x * 4
    return len(a), len(b), a[0], b[0]


def object_entry(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1]
    m = [x + 2]
    held = Holder(l, {"k": m})
    if bool(n > 1):
        held.l = m
    held.l[0] = x * 5
    held.l.append(x)
    return l[0], m[0], len(l), len(m)


def nested_entries(x: Tensor, ones: Tensor):
    n = ones.sum()
    d: Dict[str, Dict[str, List[Tensor]]] = {"p": {"a": [x]}, "q": {"a": [x * 2]}}
    if bool(n > 1):
        d["p"] = d["q"]
    d["p"]["a"][0] = x * 5
    if bool(n > 2):
        d["q"]["a"] = [x * 7]
    d["p"]["a"].append(x)
    return d["p"]["a"][0], d["q"]["a"][0], len(d["q"]["a"])


def item_at_unknown_place(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1]
    m = [x + 2]
    k = [x + 3]
    lists = [l, m]
    lists[int(n) % 2] = k
    k[0] = x * 5
    l[0] = x * 6
    m[0] = x * 7
    return lists[0][0], lists[1][0]

# ---------------------------------------------------------------- results of branches and lookups


def chosen_list(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1, x + 2]
    m = [x + 3, x + 4]
    if bool(n > 1):
        y = l
    else:
        y = m
    y[0] = x * 7
    y.append(x)
    return l[0], m[0], y[0], len(l), len(m), torch.stack(m)


def chosen_dict(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = {"a": x + 1}
    m = {"b": x + 2}
    if bool(n > 1):
        y = l
    else:
        y = m
    y["a"] = x * 7
    return l["a"], m.get("a", x), len(l), len(m), y["a"]


def fresh_or_outer(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1, x + 2]
    if bool(n > 1):
        y = l
    else:
        y = [x * 5]
    y[0] = x * 7
    y.append(x * 8)
    return l[0], torch.cat(y), len(l)


def nested_if(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1, x + 2]
    m = [x + 3, x + 4]
    k = [x + 5]
    if bool(n > 1):
        if bool(n > 4):
            y = l
        else:
            y = m
    else:
        y = k
    y[0] = x * 7
    return l[0], m[0], k[0], y[0]


def fresh_twice_if(x: Tensor, ones: Tensor):
    n = ones.sum()
    a = [x + 1]
    b = [x + 2]
    if bool(n > 1):
        a = [x * 3]
        b = a
    b[0] = x * 5
    return a[0], b[0]


def optional_list(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1]
    y: Optional[List[Tensor]] = None
    if bool(n > 1):
        y = l
    if y is not None:
        y.append(x)
        y[0] = x * 4
    return len(l), l[0]


def get_default(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1]
    m = [x + 2]
    d: Dict[str, List[Tensor]] = {}
    if bool(n > 1):
        d["a"] = l
    d.get("a", m)[0] = x * 6
    return l[0], m[0]


def setdefault_append(x: Tensor, ones: Tensor):
    n = ones.sum()
    d: Dict[str, List[Tensor]] = {}
    if bool(n > 1):
        d["a"] = [x + 1]
    q = d.setdefault("a", [x * 2])
    q.append(x * 3)
    return torch.cat(d["a"]), len(q)


def guarded_index(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1]
    m = [x + 2, x + 3]
    if bool(n > 1):
        y = l
    else:
        y = m
    y[0] = x * 6
    z = x
    if len(y) > 1:
        z = y[1]
        y[1] = x * 9
    return l[0], m[0], m[1], z


def dyn_lists_chosen(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1]
    m = [x + 2]
    for i in range(int(n)):
        l.append(x + i)
    if bool(n > 1):
        y = l
    else:
        y = m
    y.append(x * 6)
    y[0] = x * 9
    return torch.stack(l), torch.stack(m), len(y)


def iterate(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1]
    m = [x + 2, x + 3]
    if bool(n > 1):
        y = l
    else:
        y = m
    y[0] = x * 6
    t = torch.zeros_like(x)
    for e in y:
        t = t * 2 + e
    for j, e in enumerate(y):
        t = t * 2 + e * j
    return l[0], m[0], t, torch.cat(y)


def dtype_choice(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1]
    m = [(x * 2).int()]
    if bool(n > 1):
        y = l
    else:
        y = m
    y.append(y[0])
    z = y[0].double() + 1
    return len(l), len(m), z, l[0], m[0]


def object_of_a_branch(x: Tensor, ones: Tensor):
    n = ones.sum()
    a = Holder([x + 1], {"k": [x]})
    b = Holder([x + 2], {"k": [x]})
    if bool(n > 1):
        y = a
    else:
        y = b
    y.l = [x * 6]
    return a.l[0], b.l[0], y.l[0]


def new_objects(x: Tensor, ones: Tensor):
    n = ones.sum()
    if bool(n > 1):
        h = Holder([x], {"a": [x * 2]})
    else:
        h = Holder([x * 3], {"a": [x * 4], "b": [x]})
    h.l.append(x)
    h.d["a"][0] = x * 5
    return torch.stack(h.l), h.d["a"][0], len(h.d)


def in_branch_writes(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1, x + 2]
    m = [x + 3, x + 4]
    if bool(n > 1):
        y = l
    else:
        y = m
    if bool(x.sum() > 0):
        y[0] = x * 7
    else:
        y = l
    y[1] = x * 8
    return l[0], m[0], l[1], m[1]


def choice_in_list(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [x + 1]
    m = [x + 2]
    if bool(n > 1):
        y = l
    else:
        y = m
    ll = [y, l]
    t = (y, m)
    ll[0][0] = x * 5
    t[0].append(x)
    z = torch.cat(ll[0])
    return l[0], m[0], z, len(l)


def chosen_in_both(x: Tensor, ones: Tensor):
    n = ones.sum()
    a = [x]
    b = [x * 2]
    c = [x * 3]
    y = a if bool(n > 1) else b
    z = b if bool(n > 2) else c
    y[0] = y[0] + 1
    z[0] = z[0] * 2
    y.append(z[0])
    z.append(y[0])
    w = y if bool(n > 3) else z
    w[0] = w[0] - 5
    return a[0], b[0], c[0], len(a), len(b), len(c), w[0]


def dict_del(x: Tensor, ones: Tensor):
    n = ones.sum()
    a = {"p": x, "q": x * 2}
    b = {"q": x * 3}
    y = a if bool(n > 1) else b
    del y["q"]
    y["r"] = x * 5
    y.update({"s": x})
    return "q" in a, "q" in b, len(a), len(b), a.get("r", x * 9), b.get("s", x * 8)


def slice_of(x: Tensor, ones: Tensor):
    n = ones.sum()
    a = [x, x * 2]
    b = [x * 3, x * 4]
    y = a if bool(n > 1) else b
    z = y[1:]
    z.append(x)
    w = y + z
    w[0] = x * 50
    y[1] = x * 9
    return a[1], b[1], torch.stack(z), torch.stack(w), torch.stack(list(y))


def sizes_of_one(x: Tensor, ones: Tensor):
    n = ones.sum()
    a = [1, 6]
    b = [2, 3]
    y = a if bool(n > 1) else b
    b[0] = 3
    b[1] = 2
    return x[:, :y[1]] * y[0]


def none_or(x: Tensor, ones: Tensor):
    n = ones.sum()
    a = [x, x * 2]
    b: Optional[List[Tensor]] = None
    if bool(n > 2):
        b = a
    elif bool(n > 0):
        b = [x * 5]
    if b is None:
        b = [x * 6]
    b[0] = x * 7
    return a[0], b[0], len(b)


def stored_attr(x: Tensor, ones: Tensor):
    n = ones.sum()
    a = [x]
    b = [x * 3]
    h = Holder(a, {"k": b})
    y = h.l if bool(n > 1) else h.d["k"]
    y.append(x * 2)
    h.d["k"][0] = x * 8
    if bool(n > 4):
        h.l = h.d["k"]
    h.l[0] = x * 11
    return len(a), len(b), b[0], a[0], h.l[0]


def new_lists_in_branches(x: Tensor, ones: Tensor):
    n = ones.sum()
    a = [[x], [x * 2]]
    if bool(n > 1):
        a.append([x * 3])
        a[0] = a[1]
    else:
        a.append([x * 4])
    a[1][0] = x * 9
    a[2].append(x)
    return a[0][0], a[1][0], len(a[2]), a[2][0]


def ret_in_branch(x: Tensor, ones: Tensor):
    n = ones.sum()
    a = [x]
    b = [x * 2]
    y = a
    if bool(n > 3):
        y = b
        y[0] = x * 5
        return a[0], b[0], y[0]
    elif bool(n > 1):
        y = b
    y[0] = x * 6
    return a[0], b[0], y[0]


def dict_lookup(x: Tensor, ones: Tensor):
    n = ones.sum()
    first = [x]
    second = [x * 2]
    lists = {0: first, 1: second}
    lists[int(n) % 2].append(x + 1)
    return len(first), len(second), torch.cat(first)


def list_lookup(x: Tensor, ones: Tensor):
    n = ones.sum()
    first = [x]
    second = [x * 2]
    lists = [first, second]
    lists[int(n) % 2].append(x + 1)
    lists[int(n) % 2][0] = x * 9
    return len(first), len(second), torch.cat(first), second[0]


def list_of_dicts(x: Tensor, ones: Tensor):
    n = ones.sum()
    d: List[Dict[str, Tensor]] = [{"v": x}, {"v": x * 2}]
    y = d[int(n) % 2]["v"]
    d[int(n) % 2]["v"] = x * 7
    return d[0]["v"], d[1]["v"], y


def made_alike_in_branches(x: Tensor, ones: Tensor):
    n = ones.sum()
    if bool(n > 1):
        y = [x]
    else:
        y = [x]
    if bool(n > 2):
        y.append(x * 2)
    return len(y), torch.stack(y)


def none_or_empty(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [1]
    b: Optional[List[int]] = None
    if bool(n > 2):
        b = torch.jit.annotate(List[int], [])
    if b is None:
        b = l
    b.append(2)
    return x + len(l), len(b)


def empty_or_none(x: Tensor, ones: Tensor):
    n = ones.sum()
    l = [1]
    b: Optional[List[int]] = torch.jit.annotate(List[int], [])
    if bool(n > 2):
        b = None
    if b is None:
        b = l
    b.append(2)
    return x + len(l), len(b)


def grown_in_a_branch(x: Tensor, ones: Tensor):
    n = ones.sum()
    d: Dict[str, List[Tensor]] = {}
    y = [x * 3]
    if bool(n > 1):
        l: List[Tensor] = []
        for i in range(int(n)):
            l.append(x * i)
        d["a"] = l
        y = l
    else:
        d["a"] = [x * 5]
    y.append(x)
    return len(y), len(d["a"]), torch.stack(y), torch.stack(d["a"])


PROGRAMS = (
    (dict_entry_written, 9), (dict_entry_append, 11), (dict_entry_other_way, 9), (list_entry, 9),
    (tuple_entry, 9), (same_content, 9), (tensor_of_an_entry, 9), (int_lists, 11), (dicts_in_dict, 9),
    (list_of_lists_chosen, 11), (object_entry, 11), (nested_entries, 13), (item_at_unknown_place, 10),
    (chosen_list, 11), (chosen_dict, 11), (fresh_or_outer, 13), (nested_if, 9), (fresh_twice_if, 11),
    (optional_list, 13), (get_default, 9), (setdefault_append, 13), (guarded_index, 9),
    (dyn_lists_chosen, 11), (iterate, 9), (dtype_choice, 9), (object_of_a_branch, 9), (new_objects, 13),
    (in_branch_writes, 9), (choice_in_list, 11), (chosen_in_both, 11), (dict_del, 11), (slice_of, 9),
    (sizes_of_one, 9), (none_or, 11), (stored_attr, 11), (new_lists_in_branches, 9), (ret_in_branch, 9),
    (dict_lookup, 10), (list_lookup, 10), (list_of_dicts, 10), (made_alike_in_branches, 11), (none_or_empty, 11),
    (empty_or_none, 11), (grown_in_a_branch, 11))

# The number that decides: example, and what it is in the second input set.
NUMBERS = ((3, 0), (1, 6))


ROWS = [row for fn, since in PROGRAMS for row in counted(fn, NUMBERS, M, since=since)]
