"""Rows of reduce.cc."""

import torch

from case import Case, T

X = T("f32", 3, 4, 5, N=0)
I = T("i64", 3, 4, 5, N=0)
B = T("bool", 3, 4, N=0)
WITH_NAN = torch.tensor([[1.0, float("nan"), 3.0], [float("inf"), 2.0, -1.0], [0.0, 0.0, 0.0]])
TIES = torch.tensor([[3.0, 1.0, 3.0], [2.0, 2.0, 1.0]])
EMPTY = T("f32", 0, 3)
AXES = {"all": {}, "last": {"dim": -1}, "first": {"dim": 0}, "two": {"dim": (0, 2)}, "kept": {"dim": 1, "keepdim": True}}


def over(name, fn, x, forms=tuple(AXES), **kwargs):
    return [Case(f"{name}_{form}", lambda v, f=form: fn(v, **AXES[f]), [x], **kwargs) for form in forms]


ONE = ("all", "last", "first", "kept")

ROWS = [
    *over("sum", torch.sum, X, tol=(1e-4, 1e-5)),
    *over("sum_i64", torch.sum, I),
    Case("sum_bool", lambda x: x.sum(), [B]),
    Case("sum_i32_to_i64", lambda x: x.sum(0), [T("i32", 3, 4, N=0)]),
    Case("sum_dtype", lambda x: x.sum(-1, dtype=torch.float64), [I]),
    Case("sum_empty_dims", lambda x: x.sum([]), [X], tol=(1e-4, 1e-5)),
    Case("sum_nothing", lambda x: x.sum(0), [EMPTY]),
    Case("sum_zero_dim", lambda x: x.sum(0), [torch.tensor(3.0)]),
    *over("mean", torch.mean, X, tol=(1e-4, 1e-5)),
    Case("mean_scalar", lambda x: (x.mean(0), x.mean(-1, keepdim=True)), [torch.tensor(2.5)]),
    Case("mean_nothing", lambda x: x.mean(0), [EMPTY]),
    Case("mean_f64", lambda x: x.mean(), [T("f64", 3, 4, N=0)]),
    Case("mean_dtype", lambda x: x.mean(-1, dtype=torch.float32), [I]),
    Case("prod", lambda x: x.prod(), [T("f32", 3, 4, N=0)], tol=(1e-4, 1e-5)),
    Case("prod_dim", lambda x: x.prod(-1, keepdim=True), [I]),
    Case("prod_bool", lambda x: x.prod(), [B]),
    *over("amax", torch.amax, X),
    *over("amin", torch.amin, X),
    Case("amax_i32", lambda x: x.amax(0), [T("i32", 3, 4, N=0)]),
    Case("amax_u8", lambda x: x.amax(1), [T("u8", 3, 4, N=0)]),
    Case("amax_bool", lambda x: x.amax(1), [B]),
    Case("amax_nan", lambda x: x.amax(1), [WITH_NAN]),
    Case("max_all", lambda x: x.max(), [X]),
    Case("max_all_nan", lambda x: x.max(), [WITH_NAN]),
    Case("max_dim", lambda x: x.max(1), [X]),
    Case("max_dim_kept", lambda x: x.max(-1, keepdim=True), [X]),
    Case("max_dim_i64", lambda x: x.max(0), [I]),
    Case("max_ties", lambda x: x.max(1), [TIES]),
    Case("max_nan", lambda x: x.max(1), [WITH_NAN]),
    Case("max_zero_dim", lambda x: x.max(0), [torch.tensor(3.0)]),
    Case("min_dim", lambda x: x.min(1), [X]),
    Case("min_nan", lambda x: x.min(1), [WITH_NAN]),
    Case("aminmax", lambda x: torch.aminmax(x, dim=1, keepdim=True), [X]),
    Case("aminmax_all", lambda x: torch.aminmax(x), [X]),
    Case("argmax", lambda x: x.argmax(), [X]),
    Case("argmax_dim", lambda x: x.argmax(-1), [X]),
    Case("argmax_kept", lambda x: x.argmax(0, keepdim=True), [X]),
    Case("argmax_all_kept", lambda x: torch.argmax(x, keepdim=True), [X]),
    Case("argmax_ties", lambda x: x.argmax(1), [TIES]),
    Case("argmax_nan", lambda x: x.argmax(1), [WITH_NAN]),
    Case("argmax_i64", lambda x: x.argmax(1), [I]),
    Case("argmin_ties", lambda x: x.argmin(1), [TIES]),
    Case("argmax_zero_dim", lambda x: x.argmax(0), [torch.tensor(3.0)]),
    *over("any", torch.any, X, ("all", "last", "kept")),
    *over("all", torch.all, X, ("all", "last", "kept")),
    Case("all_dims", lambda x: torch.all(x, dim=(0, 1)), [B]),
    Case("any_u8", lambda x: torch.any(x, dim=1), [T("u8", 3, 4, low=0, high=2, N=0)]),
    Case("any_nothing", lambda x: torch.any(x), [EMPTY]),
    Case("all_nothing", lambda x: torch.all(x), [EMPTY]),
    *over("logsumexp", torch.logsumexp, X, ("last", "two", "kept"), tol=(1e-4, 1e-5)),
    Case("logsumexp_infinite", lambda x: torch.logsumexp(x, 0), [torch.tensor([-float("inf"), -float("inf")])]),
    Case("logsumexp_large", lambda x: torch.logsumexp(x * 100, 1), [X], tol=(1e-4, 1e-4)),
    *[row for name in ("var", "std") for row in over(name, getattr(torch, name), X, tol=(1e-4, 1e-5))],
    Case("var_biased", lambda x: x.var(1, unbiased=False), [X], tol=(1e-4, 1e-5)),
    Case("var_correction", lambda x: torch.var(x, dim=(0, 1), correction=3), [X], tol=(1e-4, 1e-5)),
    Case("var_of_one", lambda x: x.var(0), [T("f32", 1, 3)]),
    Case("var_mean", lambda x: torch.var_mean(x, dim=1, keepdim=True), [X], tol=(1e-4, 1e-5)),
    Case("std_mean", lambda x: torch.std_mean(x), [X], tol=(1e-4, 1e-5)),
    *[Case(f"norm_{p}", lambda x, p=p: torch.linalg.vector_norm(x, p, dim=1), [X], tol=(1e-4, 1e-5))
      for p in (0, 0.5, 1, 2, 3, float("inf"), -float("inf"))],
    Case("norm_all", lambda x: x.norm(), [X], tol=(1e-4, 1e-5)),
    Case("norm_fro", lambda x: x.norm("fro", (1, 2), keepdim=True), [X], tol=(1e-4, 1e-5)),
    Case("cumsum", lambda x: x.cumsum(1), [X], since=11, tol=(1e-4, 1e-5)),
    Case("cumsum_negative_axis", lambda x: x.cumsum(-3), [I], since=11),
    Case("cumsum_dtype", lambda x: x.cumsum(0, dtype=torch.float64), [I], since=11),
    Case("cumsum_bool", lambda x: x.cumsum(0), [B], since=11),
    Case("cumsum_zero_dim", lambda x: x.cumsum(0), [torch.tensor(3.0)]),
    Case("nansum", lambda x: x.nansum(1), [WITH_NAN]),
    Case("nanmean", lambda x: x.nanmean(1), [WITH_NAN]),
    Case("count_nonzero", lambda x: torch.count_nonzero(x, dim=1), [I]),
    Case("count_nonzero_all", lambda x: torch.count_nonzero(x), [I]),
    # an empty list of axes is none of them here, and all of them elsewhere
    Case("no_axes", lambda x: (torch.any(x, dim=()), torch.all(x, dim=())), [B]),
    Case("empty_axes", lambda x: (x.sum(dim=()), x.amax(dim=()), x.mean(dim=()), x.var(dim=())), [X]),
    # neither sums nor counts of half types fit into them
    *[Case(f"{f.__name__}_f16", lambda x, f=f: f(x, dim=0), [T("f16", 300, 3, low=200, high=900, N=0)])
      for f in (torch.mean, torch.var, torch.std)],
    Case("mean_f16_all", lambda x: x.mean(), [T("f16", 300, 300, low=1, high=2, N=0)]),
    Case("norm_f16", lambda x: torch.linalg.vector_norm(x, 3, dim=0), [T("f16", 300, 3, low=-30, high=30, N=0)]),
]
