"""Rows of what torch.export writes of control flow that is a function of functions, and of torch.vmap."""

import torch
from torch import Tensor, nn
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

from case import Case, T

M = T("f32", 4, 6, N=0)
EXPORTED = ("export", "dynamic", "core")
vmap = torch.vmap


# ---------------------------------------------------------------- control flow


class Branches(nn.Module):
    """Weights, a buffer that is written to between, and a size, seen from inside."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.linear = nn.Linear(6, 6)
        self.register_buffer("total", torch.ones(6))

    def forward(self, x: Tensor):
        total = self.total * 2
        n = x.shape[0]
        return torch.cond(x.sum() > 0, lambda x: self.linear(x) + total * n, lambda x: x - total, (x,))


def nested(x: Tensor):
    def body(i, x):
        return i + 1, torch.cond(x.sum() > 0, lambda x: x - 1.0, lambda x: x + i, (x,))

    return while_loop(lambda i, x: i < 4, body, (torch.tensor(0), x))


def in_a_dict(x: Tensor):
    def body(state):
        return ({"i": state["i"] + 1, "x": [state["x"][1] + 1, state["x"][0] * 2]},)

    return list(while_loop(lambda state: state["i"] < 3, body, ({"i": torch.tensor(0), "x": [x, x * 2]},))[0]["x"])


def reverse_scan(x: Tensor):
    return scan(lambda c, row: (c + row.sum(), row * c), torch.zeros([]), x, dim=1, reverse=True)


def scan_in_a_map(x: Tensor):
    return torch_map(lambda row: scan(lambda c, item: (c + item, c * item), torch.zeros([]), row)[1], x)


def map_of_pairs(x: Tensor, y: Tensor):
    mapped = torch_map(lambda row, s: {"a": row["x"] * s, "b": row["y"].sum()}, {"x": x, "y": y}, torch.tensor(2.0))
    return mapped["a"], mapped["b"]


def running_recurrence(x: Tensor, y: Tensor):
    def combine(a, b):
        return a[0] * b[0], b[0] * a[1] + b[1]

    return associative_scan(combine, (x.abs(), y), dim=1, combine_mode="generic")


# ---------------------------------------------------------------- vmap


def ranks(x: Tensor):
    return vmap(lambda row, s: row * s + x[0])(x, x[:, 0]), vmap(lambda s, row: s - row)(x[:, 0], x)


def types(x: Tensor):
    n = torch.arange(x.shape[0])
    return (vmap(lambda row, s: row * s)(x.half(), x[:, 0]), vmap(lambda s: s * 2.5)(n),
            vmap(lambda s, row: s / row)(n, x.double()), vmap(lambda s, t: s * t)(x[:, 0].half(), x[:, 0].double()))


def moves(x: Tensor):
    return vmap(lambda row: (row[None], row.expand(2, 6), row.unsqueeze(-1), row.flip(0), row[1:4], row.select(0, -1),
                             row.sum(0), row.softmax(-1), row.new_ones(2), x[0]))(x)


def by_matrices(y: Tensor, x: Tensor):
    return vmap(lambda m, row: (m @ m + row.sum(), row[0:1].expand(3), m.transpose(0, 1).reshape(-1)))(y, x)


def written_inside(x: Tensor):
    def own(row):
        y = row.clone()
        y.add_(1)
        y[1:].mul_(2)
        return y, y > 0

    return vmap(own)(x)


def attention_mask(padding: Tensor, queries: Tensor):
    def visible(b, h, q, k):
        return q.new_ones((), dtype=torch.bool) & (k <= q) & padding[b, k] | (k < 1)

    for axes in ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None)):
        visible = vmap(visible, in_dims=axes)
    positions = [torch.arange(n) for n in (padding.shape[0], 2, queries.shape[0], padding.shape[1])]
    with TransformGetItemToIndex():
        return visible(*positions)


ROWS = [
    Case("branches", Branches(), [M], modes=EXPORTED),
    Case("nested", nested, [M], modes=EXPORTED),
    Case("in_a_dict", in_a_dict, [M], modes=EXPORTED),
    Case("reverse_scan", reverse_scan, [M], modes=EXPORTED),
    Case("scan_in_a_map", scan_in_a_map, [M], modes=EXPORTED),
    Case("map_of_pairs", map_of_pairs, [M, T("f32", 4, 2, N=0)], modes=EXPORTED),
    Case("running_recurrence", running_recurrence, [T("f32", 4, 6), T("f32", 4, 6)], modes=EXPORTED),
    Case("ranks", ranks, [M], modes=EXPORTED),
    Case("types", types, [M], modes=EXPORTED),
    Case("elements_of_nothing", lambda x: vmap(lambda row: row.sin() * 2 + 1)(x), [M], second={"N": 0},
         modes=EXPORTED),
    Case("nested_maps", lambda x: vmap(vmap(lambda a, b: a <= b, in_dims=(None, 0)), in_dims=(0, None))(x[:, 0], x[0]),
         [M], modes=EXPORTED),
    Case("moves", moves, [M], modes=EXPORTED),
    Case("by_matrices", by_matrices, [T("f32", 4, 3, 3, N=0), M], modes=EXPORTED),
    Case("written_inside", written_inside, [M], modes=EXPORTED),
    # Not in mode export and dynamic: torch has no name for the operator that this makes before decomposition.
    Case("attention_mask", attention_mask, [T("bool", 3, 5, B=0, K=1), T("f32", 4, Q=0)], modes=("core",)),
]
