"""Operators on each tensor of a list (`torch._foreach_*`), which passes expand."""

import torch
from torch import Tensor

from case import Case, T

X = T("f32", 4, 3, N=0)
Y = T("f32", 5)
POSITIVE = T("f32", 4, 3, low=0.5, high=3, N=0)
INTS = T("i64", 2, 3, low=-5, high=5)


def unary(name):
    return Case(name, lambda x, y: getattr(torch, f"_foreach_{name}")([x, y]), [POSITIVE, T("f32", 5, low=0.5, high=2)])


def unary_in_place(name):
    def fn(x, y):
        a = [x.clone(), y.clone()]
        getattr(torch, f"_foreach_{name}_")(a)
        return a[0], a[1]
    return Case(f"{name}_", fn, [POSITIVE, T("f32", 5, low=0.5, high=2)], modes=("export", "dynamic", "trace"))


def in_place(x: Tensor, y: Tensor):
    a = [x.clone(), y * 2]
    torch._foreach_add_(a, 1)
    torch._foreach_mul_(a, [x, y])
    torch._foreach_sub_(a, a, alpha=0.5)
    torch._foreach_div_(a, [2.0, 4.0])
    return a[0], a[1]


def through_views(x: Tensor, y: Tensor):
    z = x.clone()
    rows = [z[0], z[1], z[:, 1]]
    torch._foreach_mul_(rows, 3.0)
    torch._foreach_copy_([rows[0]], [x[2]])
    torch._foreach_zero_([y])
    return z, y, rows[2]


def one_tensor_twice(x: Tensor, y: Tensor):
    a = x.clone()
    both = [a, a]
    torch._foreach_add_(both, [x, x])
    return a, both[0], y


def in_a_loop(x: Tensor, y: Tensor):
    a = [x.clone(), y.clone()]
    for i in range(x.size(0)):
        torch._foreach_mul_(a, 0.5)
        torch._foreach_add_(a, i)
    return a[0], a[1]


def results(x: Tensor, y: Tensor):
    scaled = torch._foreach_mul([x, y], [2.0, 3.0])
    moved = torch._foreach_add(scaled, [x, y], alpha=2)
    return torch._foreach_lerp(moved, [x, y], 0.25)


def clamps(x: Tensor, y: Tensor):
    low = torch._foreach_clamp_min([x, y], -0.5)
    high = torch._foreach_minimum(low, [x * 0, y * 0 + 1])
    return torch._foreach_maximum(high, [0.1, 0.2])


def combined(x: Tensor, y: Tensor):
    a = [x.clone(), y.clone()]
    torch._foreach_addcmul_(a, [x, y], [x, y], 0.5)
    torch._foreach_addcdiv_(a, [x, y], [x * x + 1, y * y + 1], [1.0, 2.0])
    return torch._foreach_norm(a), a[0]


def powers(x: Tensor, y: Tensor):
    squares = torch._foreach_pow([x, y], 2)
    return torch._foreach_pow(2.0, [x, y]), torch._foreach_pow(squares, [0.5, 2.0]), squares


def of_integers(n: Tensor):
    return torch._foreach_add([n, n * 2], 1.5), torch._foreach_abs([n]), torch._foreach_sqrt([n.abs()])


PROGRAMS = (in_place, through_views, one_tensor_twice, combined)
LISTS = (results, clamps, powers)  # TorchScript does not take their arguments

ROWS = [
    *[unary(name) for name in ("abs", "exp", "log", "neg", "sqrt", "rsqrt", "reciprocal", "sigmoid", "tanh", "floor",
                               "sign")],
    *[unary_in_place(name) for name in ("exp", "neg", "sqrt", "zero")],
    *[Case(fn.__name__, fn, [X, Y]) for fn in PROGRAMS],
    *[Case(fn.__name__, fn, [X, Y], modes=("export", "dynamic")) for fn in LISTS],
    Case("in_a_loop", in_a_loop, [T("f32", 4, 3), Y]),
    Case("of_integers", of_integers, [INTS]),
]
