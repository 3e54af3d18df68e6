"""Rows of control_flow.cc, and of what capture and the passes make of scripted programs: dicts, writes to
tensors that are one of several, values whose type the inputs decide."""

from collections import OrderedDict
from enum import Enum
from typing import Dict, List, Optional, Tuple, Union

import torch
from torch import Tensor

from case import Case, T, counted

M = T("f32", 4, 6, N=0)
SCRIPT = ("script",)


# ---------------------------------------------------------------- dicts


def key_in_one_branch(x: Tensor, ones: Tensor):
    n = ones.sum()
    d: Dict[str, Tensor] = {"a": x}
    if bool(n > 1):
        d["b"] = x * 2
    y = d["a"]
    if "b" in d:
        y = y + d["b"]
    return y, len(d), d.get("b", x * 5)


def keys_of_both_branches(x: Tensor, ones: Tensor):
    n = ones.sum()
    d: Dict[str, Tensor] = {}
    if bool(n > 1):
        d["a"] = x
        d["b"] = x * 2
    else:
        d["b"] = x * 3
        d["a"] = x * 5
    return d["a"] - d["b"], len(d)


def key_taken_in_a_branch(x: Tensor, ones: Tensor):
    n = ones.sum()
    d: Dict[str, Tensor] = {"a": x, "b": x * 2}
    if bool(n > 1):
        del d["b"]
    y = d.pop("b", x * 7)
    return y, d["a"], "b" in d, len(d)


def key_in_a_loop(x: Tensor, ones: Tensor):
    n = ones.sum()
    d: Dict[str, Tensor] = {"a": x}
    for i in range(int(n)):
        d["t"] = x + i
        if i == 1:
            d["u"] = d["t"] * 2
    y = d["a"]
    if "t" in d:
        y = y + d["t"]
    return y, len(d), d.get("u", x - 1), d.setdefault("v", x * 4)


def key_taken_in_a_loop(x: Tensor, ones: Tensor):
    n = ones.sum()
    d: Dict[str, Tensor] = {"a": x, "b": x * 2}
    total = x
    for i in range(int(n)):
        total = total + d.pop("b", x * i)
    return total, "b" in d, len(d)


def made_dicts(x: Tensor, ones: Tensor):
    pairs = [("b", x), ("a", x * 2), ("b", x * 3)]
    d = dict(pairs)
    e = OrderedDict([("u", x * 5), ("t", x * 6)])
    f = torch.jit.annotate(Dict[str, Tensor], OrderedDict())
    for name in ["q", "p"]:
        f[name] = x + len(f)
    if bool(ones.sum() > 1):
        f["p"] = f["p"] * 7
    g = {str(i) + name: value * i for i, (name, value) in enumerate(d.items())}
    copied = dict(d)
    copied["a"] = x * 9
    return list(d.values()), e, f, g["1a"], copied["a"], len(copied)


def dict_bound_anew_in_a_loop(x: Tensor, ones: Tensor):
    n = ones.sum()
    d = {"a": x, "b": x[0]}
    for i in range(int(n)):
        d = {"a": d["a"] + i, "b": d["b"] * d["a"][1]}
    return d["a"], d["b"]


def dict_operators(x: Tensor):
    d: Dict[str, Tensor] = {"a": x, "b": x * 2}
    d.update({"c": x * 3, "a": x * 4})
    popped = d.pop("b")
    first, second = d.setdefault("q", x * 7), d.setdefault("a", x * 8)
    total = torch.zeros_like(x)
    for key in d:
        total = total * 2 + d[key]
    for key, value in d.items():
        if key != "c":
            total = total + value
    copy = d.copy()
    d.clear()
    return total, popped, first, second, len(d), len(copy), list(copy.values())[1]


def number_keys(x: Tensor, ones: Tensor):
    n = ones.sum()
    d = {0: x, 1: x + 1, 2: x - 1, 3: x * 2, 9: x * 7}
    d[5] = x * 5
    k = int(n)
    return d[k], d.get(k + 1, x - 1), k in d, k + 1 in d, sum(d.keys())


# ---------------------------------------------------------------- one of several tensors


def item_written(x: Tensor, ones: Tensor):
    n = ones.sum()
    shared = x * 2
    items = [x + 0, shared, x * 3, shared]
    item = items[int(n) % 4]
    item.add_(1)
    items[int(n) % 2][0].mul_(3)
    return torch.cat(items), item, shared


def item_added_to(x: Tensor, ones: Tensor):
    n = ones.sum()
    items = [x + 0, x * 2, x * 3]
    items[int(n) % 3] += 5
    items[-1] *= 2
    return torch.cat(items)


def items_written_in_a_loop(x: Tensor, ones: Tensor):
    n = ones.sum()
    items = [x + 0, x * 2, x * 3]
    for i in range(int(n)):
        items[i % 3].add_(i)
        items[1] += items[0]
        items[(i + 1) % 3] -= 1
    return torch.cat(items)


def views_in_items(x: Tensor, ones: Tensor):
    n = ones.sum()
    base = x.clone()
    items = [base[0], base[1], base[:, 1]]
    items[int(n) % 2].mul_(2)
    item = items[int(n) % 2]
    base.add_(1)
    return base, item


def item_of_other_size(x: Tensor, ones: Tensor):
    n = ones.sum()
    items = [x, x[:1], x[:, :2]]
    pairs = [(x, x + 1), (x * 2, x * 3)]
    pair = pairs[int(n) % 2]
    return items[int(n) % 3] * 2, pair[0] - pair[1]


def view_from_a_branch(x: Tensor, ones: Tensor):
    n = ones.sum()
    base = x.clone()
    if bool(n > 1):
        view = base[0]
    else:
        view = base[1]
    view.add_(1)
    base[0].mul_(2)
    return base, view


def tensor_from_a_branch(x: Tensor, ones: Tensor):
    n = ones.sum()
    base, other = x.clone(), x * 3
    one = base if bool(n > 1) else other
    new = base if bool(n > 4) else x * 7
    one.add_(1)
    new[0] = 5
    other.mul_(2)
    return base, other, one, new


def tensor_from_nested_branches(x: Tensor, ones: Tensor):
    n = ones.sum()
    a, b, c = x + 1, x + 2, x + 3
    y, z = c, a
    if bool(n > 1):
        y = b
        if bool(n > 4):
            y, z = a, b
        y.mul_(2)
    y.add_(5)
    z[0] = 7
    c.sub_(1)
    return a, b, c, y, z


def item_in_a_branch(x: Tensor, ones: Tensor):
    n = ones.sum()
    items = [x + 1, x + 2]
    other = x + 3
    y = other
    if bool(n > 1):
        y = items[int(n) % 2]
    y.add_(5)
    return items[0], items[1], other, y


def base_bound_anew(x: Tensor, ones: Tensor):
    n = ones.sum()
    base = x.clone()
    view = base[0]
    if bool(n > 1):
        base = x * 5
    view.add_(1)
    return base, view


def base_bound_anew_in_a_loop(x: Tensor, ones: Tensor):
    n = ones.sum()
    base = x.clone()
    for i in range(int(n)):
        view = base[i % 2]
        if i % 2 == 0:
            view.add_(1)
        else:
            base = base * 2
    return base


# ---------------------------------------------------------------- types that the inputs decide


def dtype_of_a_branch(x: Tensor, ones: Tensor):
    n = ones.sum()
    if bool(n > 1):
        y = (x * 3).int()
    else:
        y = x
    z = y * 2
    items = [z, z + 1]
    return z.float() - 1, y > 0, torch.cat(items).double()


def dtype_of_an_entry(x: Tensor, ones: Tensor):
    n = ones.sum()
    d: Dict[str, Tensor] = {"a": x}
    if bool(n > 1):
        d["a"] = x.int()
    y = d["a"] * 2
    z = d.pop("a").double() + 1
    return z, y.float(), len(d)


def dtype_of_nested_branches(x: Tensor, ones: Tensor):
    n = ones.sum()
    y = x
    if bool(n > 1):
        if bool(n > 4):
            y = (x * 3).long()
        y = y * 2
    k = 0
    for i in range(int(n)):
        k += i
    return (y + x.double()).sum(0) + k


def dtype_of_first_iteration(x: Tensor, ones: Tensor):
    n = ones.sum()
    y = (x * 3).int()
    for i in range(int(n)):
        y = y * 0.5 + i
    return y.float() + 1


def rank_of_a_branch(x: Tensor, ones: Tensor):
    n = ones.sum()
    if bool(n > 1):
        y = x.unsqueeze(0)
    else:
        y = x
    z = y.transpose(-1, -2).reshape(-1)
    return z * 2, y.sum(), y.sum(-1).max()


# ---------------------------------------------------------------- numbers


def places_of_numbers(x: Tensor, ones: Tensor):
    n = ones.sum()
    items = [3, 5, 7, int(n) + 20, 5]
    items.remove(5)
    grown = [i * 2 for i in range(int(n) + 4)]
    grown.remove(2)
    grown.remove(0)
    return items.index(5), items.index(int(n) + 20), torch.tensor(items), grown.index(4), torch.tensor(grown)


def quotients(ones: Tensor):
    n = ones.sum()
    k = int(n)
    return divmod(k, 3), divmod(-k, 3), divmod(k, -2), divmod(k * 0.5, 2)


def numbers_of_a_tensor(x: Tensor, ones: Tensor):
    n = ones.sum()
    floats: List[float] = x[:, 0].tolist()
    number: int = n.tolist()
    total = 0.5
    for value in floats:
        total += value * number
    return total, torch.tensor(floats), len(floats)


class SelfAttention(torch.nn.Module):
    """MultiheadAttention asks whether query, key and value are one tensor."""

    def __init__(self, need_weights: bool, **options):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(6, 2, **options).eval()
        self.need_weights = need_weights

    def forward(self, x: Tensor, y: Tensor):
        one, weights = self.attention(x, x, x, need_weights=self.need_weights)
        other, _ = self.attention(x, y, y, need_weights=False)
        third, _ = self.attention(x, y, x + 1, need_weights=False)
        return one, other, third, x if weights is None else weights


class AttentionOfLayers(torch.nn.Module):
    """A decoder's layers keep attention's weights, which nobody asked for, in tuples."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Transformer(6, 2, 1, 1, 8, batch_first=True).eval()

    def forward(self, x: Tensor, y: Tensor):
        return self.layers(x, y)


class GreedyDecoder(torch.nn.Module):
    """A decoder that ends early: what the branches behind its end would read is never set."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.embedding = torch.nn.Embedding(9, 6)
        self.layer = torch.nn.TransformerDecoderLayer(6, 2, 12, batch_first=True, dropout=0.0)
        self.out = torch.nn.Linear(6, 9)

    def forward(self, memory: Tensor, ones: Tensor):
        tokens = torch.ones(memory.size(0), 1, dtype=torch.long)
        for i in range(int(ones.sum())):
            length = tokens.size(1)
            mask = torch.triu(torch.ones(length, length, dtype=torch.bool), 1)
            hidden = self.layer(self.embedding(tokens), memory, tgt_mask=mask)
            following = self.out(hidden[:, -1]).argmax(-1, keepdim=True)
            tokens = torch.cat([tokens, following], 1)
            if bool((following == 0).all()):
                break
        return tokens


class CachedByDevice(torch.nn.Module):
    cache: Dict[str, Tensor]

    def __init__(self):
        super().__init__()
        self.cache = {}

    def forward(self, x: Tensor):
        key = str(x.device)
        if key not in self.cache:
            self.cache[key] = torch.ones(1) * 3
        return self.cache[key] + x


def sum_of_all(x: Union[Tensor, List[Tensor]]):
    if isinstance(x, list):
        return torch.stack(x).sum()
    else:
        return x[:, 1:].sum()


def one_or_several(x: Tensor):
    return sum_of_all(x), sum_of_all([x, x * 2])


def one_tensor(x: Tensor):
    y, z = x, x.contiguous()
    return x + int(x is y) + int(x is not z) * 2 + int(x is x + 0) * 4 + int(y + 0 is not z) * 8


def compound_while(x: Tensor, ones: Tensor):
    n = ones.sum()
    i, j = 0, 10
    while i < int(n) and j > 5 or i == 0:
        i += 1
        j -= 2
        if i % 2 == 0 and not j == 6:
            x = x + 1
        else:
            x = x * 2
    return x, i, j


def changed_after_a_change(x: Tensor, ones: Tensor):
    last = torch.jit.annotate(Optional[int], None)
    changes = 0
    for i in range(int(ones.sum())):
        if last is None:
            last = i
        else:
            changes += last + 1
    return x, changes


# ---------------------------------------------------------------- enums, forks, numbers


class Kind(Enum):
    SUM = 1
    MEAN = 5
    NONE = 7


class Name(Enum):
    LEFT = "left"
    RIGHT = "right"


def enum_of_a_branch(x: Tensor, ones: Tensor):
    kind = Kind.SUM
    if bool(ones.sum() > 2):
        kind = Kind.MEAN
    if kind == Kind.MEAN:
        x = x * 2
    if kind is not Kind.NONE:
        x = x + kind.value
    return x, kind != Kind.SUM, kind == Kind.NONE


def enum_of_a_loop(x: Tensor, ones: Tensor):
    kind = Kind.NONE
    for i in range(int(ones.sum())):
        if kind == Kind.SUM:
            kind = Kind.MEAN
        elif kind == Kind.NONE:
            kind = Kind.SUM
        x = x * kind.value
    return x


def known_enums(x: Tensor):
    kinds = {"a": Kind.SUM, "b": Kind.MEAN}
    side = Name.RIGHT
    total = 0
    for kind in Kind:
        total += kind.value
    if side.value == "right" and side.name == "RIGHT" and kinds["b"] == Kind.MEAN and kinds["a"] is Kind.SUM:
        x = x + kinds["b"].value
    return x * total


def forked(x: Tensor):
    futures: List[torch.jit.Future[Tensor]] = []
    for i in range(3):
        futures.append(torch.jit.fork(scaled, x, i))
    y = torch.jit.wait(torch.jit.fork(forking, x))
    for future in futures:
        y = y + torch.jit.wait(future)
    return y


def scaled(x: Tensor, factor: int):
    return x * factor


def forking(x: Tensor):
    future = torch.jit.fork(scaled, x, 7)
    return torch.jit.wait(future) - 1


def common_divisor(ones: Tensor):
    a, b = int(ones.sum()) * 12, 30
    while b:
        a, b = b, a % b
    return a, int(abs(ones.sum() - 4))


# ---------------------------------------------------------------- loops that only a return ends


def returned_number(x: Tensor, ones: Tensor):
    i = 0
    while True:
        if i * i > int(ones.sum()):
            return i, x
        i += 1
        if i >= x.size(0):
            return -1, x * 2


def returned_tensor(x: Tensor, ones: Tensor):
    i = 0
    while True:
        if i > int(ones.sum()):
            return x
        x = x * 2 - i
        i += 1
        if i >= 4:
            return x - 1


def returned_from_nested_loops(x: Tensor, ones: Tensor):
    i, n = 0, int(ones.sum())
    while True:
        j = 0
        while True:
            if j >= x.size(0):
                break
            if i * j == n:
                return i, j
            j += 1
        i += 1
        if i >= x.size(1):
            return -1, -1


def returned_from_a_counted_loop(x: Tensor, ones: Tensor):
    i, n = 0, int(ones.sum())
    while True:
        for j in range(n):
            if i + j > 6:
                return i * 10 + j
        i += 1
        if i >= x.size(0):
            return -1


# ---------------------------------------------------------------- order of a dict's keys


def keys_added_together(x: Tensor, ones: Tensor):
    d: Dict[str, Tensor] = {}
    for i in range(int(ones.sum())):
        if i * i >= 1:
            d["a"] = x * i
            d["b"] = x + i
    if bool(ones.sum() > 3):
        d["a"] = x
    d["c"] = x * 3
    return d


# ---------------------------------------------------------------- inputs of one type of several


def tensor_or_list(x: Union[Tensor, List[Tensor]]):
    if isinstance(x, Tensor):
        return x * 2
    return x[0] - x[1]


def tensor_or_tuple(x: Union[Tensor, Tuple[Tensor, Tensor]]):
    if isinstance(x, Tensor):
        return x * 2
    return x[0] - x[1]


BRANCHES = (
    (returned_number, 11), (returned_tensor, 11), (returned_from_nested_loops, 9), (returned_from_a_counted_loop, 9),
    (key_in_one_branch, 11), (keys_of_both_branches, 9), (key_taken_in_a_branch, 11), (key_in_a_loop, 9),
    (key_taken_in_a_loop, 9), (dict_bound_anew_in_a_loop, 9), (number_keys, 9), (made_dicts, 9), (item_written, 10),
    (item_added_to, 10), (items_written_in_a_loop, 10), (views_in_items, 10), (item_of_other_size, 11),
    (view_from_a_branch, 9), (tensor_from_nested_branches, 9), (item_in_a_branch, 10), (dtype_of_an_entry, 9),
    (tensor_from_a_branch, 9), (base_bound_anew, 9), (base_bound_anew_in_a_loop, 10), (dtype_of_a_branch, 9),
    (dtype_of_nested_branches, 9), (dtype_of_first_iteration, 9), (rank_of_a_branch, 9),
    (places_of_numbers, 9), (numbers_of_a_tensor, 9), (compound_while, 10), (changed_after_a_change, 9),
    (enum_of_a_branch, 9), (enum_of_a_loop, 9))

# The number that decides: example, and what it is in the second input set.
NUMBERS = ((3, 9), (2, 0), (5, 1))


ROWS = [
    *[row for fn, since in BRANCHES for row in counted(fn, NUMBERS, M, since=since)],
    *counted(quotients, NUMBERS, since=10),
    *counted(keys_added_together, NUMBERS, M, since=16),
    Case("dict_operators", dict_operators, [M], modes=SCRIPT),
    Case("cached_by_device", CachedByDevice(), [M], modes=SCRIPT),
    Case("one_or_several", one_or_several, [M], modes=SCRIPT),
    Case("list_for_a_union", tensor_or_list, [[M, M]], modes=SCRIPT),
    Case("tensor_for_a_union", tensor_or_list, [M], modes=SCRIPT),
    Case("tuple_for_a_union", tensor_or_tuple, [(M, M)], modes=SCRIPT),
    Case("one_tensor", one_tensor, [M], modes=SCRIPT),
    Case("attention_of_layers", AttentionOfLayers(), [T("f32", 3, 4, 6, N=0), T("f32", 3, 5, 6, N=0)], tol=(1e-4, 1e-5),
         modes=SCRIPT),
    *[Case(f"self_attention_{name}", SelfAttention(weights, **options),
           [T("f32", 3, 4, 6, S=0), T("f32", 3, 4, 6, S=0)], modes=SCRIPT)
      for name, weights, options in (("weights", True, {}), ("batch_first", False, {"batch_first": True}),
                                     ("zero", True, {"add_zero_attn": True}), ("bias_kv", False, {"add_bias_kv": True}))],
    Case("greedy_decoder", GreedyDecoder(), [T("f32", 2, 3, 6, B=0, S=1), T("i64", 3, low=1, high=2, K=0)], modes=SCRIPT),
    Case("known_enums", known_enums, [M], modes=SCRIPT),
    Case("forked", forked, [M], modes=SCRIPT),
    *counted(common_divisor, NUMBERS, since=10),
]
