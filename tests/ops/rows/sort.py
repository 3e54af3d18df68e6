"""Rows of sort.cc, unique.cc, histogram.cc and running.cc."""

import torch

from case import Case, T

X = T("f32", 4, 3, 5, N=0, W=2)
M = T("f32", 4, 6, N=0)
V = T("f32", 6, N=0)
S = T("f32")
FEW = T("i64", 5, 6, low=0, high=4, N=0)


def values_of(pair):
    return pair[0]


def with_nan(x):
    return torch.where(x > 2, torch.full_like(x, float("nan")), x)


ROWS = [
    Case("sort", lambda x: torch.sort(x), [X], dynamic_since=10),
    Case("sort_descending", lambda x: torch.sort(x, 0, descending=True), [X], dynamic_since=10),
    Case("sort_stable", lambda x: torch.sort(x, dim=1, stable=True), [T("i64", 3, 9, low=0, high=3, N=0)], since=11),
    Case("sort_stable_descending", lambda x: torch.sort(x, dim=1, descending=True, stable=True),
         [T("i64", 3, 9, low=0, high=3, N=0)], since=11),
    Case("sort_stable_f32", lambda x: torch.sort(x.round(), dim=1, descending=True, stable=True), [T("f32", 3, 9, N=0)]),
    Case("sort_dynamic_axis", lambda x: torch.sort(x, 0), [V], dynamic_since=10),
    Case("sort_scalar", lambda x: (torch.sort(x)[0] + 1, torch.sort(x)[1]), [S]),
    *[Case(f"sort_{d}", lambda x: torch.sort(x, stable=True), [T(d, 4, 6, N=0)])
      for d in ("f64", "i32", "i8", "u8", "bool", "f16")],
    Case("argsort", lambda x: torch.argsort(x, 1), [X]),
    Case("argsort_stable", lambda x: torch.argsort(x, dim=1, stable=True), [T("f32", 3, 4)]),
    Case("msort", lambda x: torch.msort(x), [M], dynamic_since=10),
    Case("topk", lambda x: torch.topk(x, 2), [X]),
    Case("topk_smallest", lambda x: torch.topk(x, 2, 1, largest=False), [X]),
    Case("topk_dynamic", lambda x: torch.topk(x, x.shape[0] - 1, 0), [M], dynamic_since=10),
    Case("topk_i64", lambda x: values_of(torch.topk(x, 2)), [FEW], since=11),
    Case("topk_scalar", lambda x: torch.topk(x, 1)[0] + 1, [S]),
    Case("kthvalue", lambda x: torch.kthvalue(x, 2), [X]),
    Case("kthvalue_keepdim", lambda x: torch.kthvalue(x, 3, 1, keepdim=True), [X]),
    Case("kthvalue_scalar", lambda x: torch.kthvalue(x, 1)[0] + 1, [S]),
    Case("median", lambda x: torch.median(x), [M], dynamic_since=10),
    Case("median_dim", lambda x: torch.median(x, 1), [X]),
    Case("median_even", lambda x: torch.median(x, 0, keepdim=True), [T("f32", 4, 3)]),
    Case("median_nan", lambda x: (torch.median(with_nan(x)), values_of(torch.median(with_nan(x), 1))), [M], dynamic_since=10),
    Case("median_i64", lambda x: torch.median(x), [FEW], since=11),
    Case("nanmedian", lambda x: torch.nanmedian(with_nan(x)), [M], dynamic_since=10),
    Case("nanmedian_dim", lambda x: values_of(torch.nanmedian(with_nan(x), 1)), [M]),
    Case("nanmedian_all", lambda x: values_of(torch.nanmedian(x * float("nan"), 1)), [M]),
    Case("mode", lambda x: torch.mode(x), [FEW]),
    Case("mode_f32", lambda x: torch.mode(x.round(), 0), [T("f32", 7, 3)]),
    Case("mode_keepdim", lambda x: torch.mode(x, 0, keepdim=True), [FEW], modes=("export",)),
    *[Case(f"quantile_{i}", lambda x, i=i: torch.quantile(x, 0.3, 1, interpolation=i), [M])
      for i in ("linear", "lower", "higher", "midpoint")],
    Case("quantile_nearest", lambda x: torch.quantile(x, 0.3, 1, interpolation="nearest"), [M], since=11),
    Case("quantile_many", lambda x: torch.quantile(x, torch.tensor([0.1, 0.5, 1.0]), 1, keepdim=True), [M]),
    Case("quantile_flat", lambda x: torch.quantile(x, torch.tensor([0.1, 0.5])), [M], modes=("export", "trace"), dynamic_since=10),
    Case("quantile_flat_keepdim", lambda x: torch.quantile(x, 0.7, keepdim=True), [M], modes=("export", "trace"), dynamic_since=10),
    Case("quantile_nan", lambda x: torch.quantile(with_nan(x), 0.4, 1), [M]),
    Case("nanquantile", lambda x: torch.nanquantile(with_nan(x), torch.tensor([0.2, 0.9]), 1), [M]),
    Case("nanquantile_flat", lambda x: torch.nanquantile(with_nan(x), 0.5), [M], modes=("export", "trace"), dynamic_since=10),
    # ---- unique
    Case("unique", lambda x: torch.unique(x), [FEW], since=11),
    Case("unique_all", lambda x: torch.unique(x, return_inverse=True, return_counts=True), [FEW], since=11),
    Case("unique_f32", lambda x: torch.unique(x.round(), return_inverse=True), [M], since=11),
    Case("unique_i32", lambda x: torch.unique(x, return_counts=True), [T("i32", 4, 6, N=0)], since=11),
    Case("unique_dim", lambda x: torch.unique(x, return_inverse=True, return_counts=True, dim=0),
         [T("i64", 9, 2, low=0, high=2, N=0)], since=11),
    Case("unique_dim_1", lambda x: torch.unique(x, dim=1), [T("i64", 2, 9, low=0, high=2)], since=11),
    Case("unique_consecutive", lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True), [FEW], since=11),
    Case("unique_consecutive_plain", lambda x: torch.unique_consecutive(x), [FEW], since=11),
    Case("unique_consecutive_dim", lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True, dim=0),
         [T("i64", 9, 1, low=0, high=2, N=0)], since=11),
    Case("unique_consecutive_empty", lambda x: torch.unique_consecutive(x, return_counts=True), [T("i64", 0)], since=11),
    # ---- histograms
    Case("histc", lambda x: torch.histc(x, 5, -3, 3), [M]),
    Case("histc_range", lambda x: torch.histc(x, 4), [M]),
    Case("histc_one_point", lambda x: torch.histc(x * 0, 4), [M]),
    Case("histogram", lambda x: torch.histogram(x, 5, range=(-3.0, 3.0)), [T("f32", 4, 6)], modes=("export",)),
    Case("histogram_range", lambda x: torch.histogram(x, 4), [T("f32", 4, 6)], modes=("export",)),
    Case("histogram_edges", lambda x, e: torch.histogram(x, e), [T("f32", 4, 6), torch.tensor([-2.0, 0.0, 3.0])], modes=("export",)),
    Case("histogram_density", lambda x, w: torch.histogram(x, 4, weight=w, density=True),
         [T("f32", 4, 6), T("f32", 4, 6, low=0, high=2)], modes=("export",)),
    Case("histogramdd_empty", lambda x: torch.ops.aten.histogramdd(x, [3, 1]), [torch.zeros(0, 2)], modes=("export",)),
    Case("histogramdd", lambda x: torch.ops.aten.histogramdd(x, [3, 4]), [T("f32", 9, 2)], modes=("export",)),
    Case("bincount", lambda x: torch.bincount(x.flatten()), [T("i64", 3, 4, low=0, high=6, N=0)], modes=("trace",)),
    Case("bincount_minlength", lambda x: torch.bincount(x, minlength=9), [T("i64", 12, low=0, high=6, N=0)], modes=("trace",)),
    Case("bincount_weights", lambda x, w: torch.bincount(x, w, 9), [T("i64", 12, low=0, high=6, N=0), T("f32", 12, N=0)], modes=("trace",)),
    Case("bucketize", lambda x: torch.bucketize(x, torch.tensor([-2.0, 0.0, 1.0, 3.0])), [M]),
    Case("bucketize_right", lambda x: torch.bucketize(x.round(), torch.tensor([-2.0, 0.0, 1.0, 3.0]), right=True), [M]),
    Case("bucketize_i32", lambda x: torch.bucketize(x, torch.tensor([0, 2]), out_int32=True), [FEW]),
    Case("bucketize_nan", lambda x: torch.bucketize(with_nan(x), torch.tensor([0.0, 2.0])), [M]),
    Case("searchsorted", lambda s, x: torch.searchsorted(s.sort(-1)[0], x), [T("f32", 4, 7, N=0), T("f32", 4, 3, N=0)]),
    Case("searchsorted_vector", lambda x: torch.searchsorted(torch.tensor([0.0, 1.0, 2.0]), x.round(), side="right"), [M]),
    Case("searchsorted_number", lambda s: torch.searchsorted(s.sort()[0], 0.5, right=True), [V], dynamic_since=10),
    Case("searchsorted_sorter", lambda s, x: torch.searchsorted(s, x, sorter=torch.argsort(s)), [T("f32", 4, 7, N=0), T("f32", 4, 3, N=0)], dynamic_since=9),
    # ---- running extremes
    Case("cummax", lambda x: torch.cummax(x, 0), [X]),
    Case("cummin", lambda x: torch.cummin(x, 1), [X]),
    Case("cummax_equal", lambda x: torch.cummax(x.round(), -1), [X]),
    Case("cummax_i64", lambda x: torch.cummax(x, 0), [FEW]),
    Case("cummax_nan", lambda x: torch.cummax(with_nan(x), 1), [M]),
    Case("cummax_scalar", lambda x: torch.cummax(x, 0)[0] + 1, [S]),
    Case("cummin_bool", lambda x: torch.cummin(x, 0), [T("bool", 4, 3)]),
]
