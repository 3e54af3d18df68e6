"""Rows of index.cc, gather.cc, scatter.cc, mask.cc, segment.cc and embedding_bag.cc."""

import torch

from case import Case, T

aten = torch.ops.aten
X = T("f32", 4, 3, 5, N=0, W=2)
M = T("f32", 4, 6, N=0)
V = T("f32", 6, N=0)
S = T("f32")


def ix(*shape, n=3, **axes):
    """Indices into an axis of size n, negative ones too."""
    return T("i64", *shape, low=-n, high=n, **axes)


def positive(*shape, n=3, d="i64", **axes):
    return T(d, *shape, low=0, high=n, **axes)


def mask(*shape, **axes):
    return T("bool", *shape, **axes)


def assigned(x, where, value):
    x = x.clone()
    x[where] = value
    return x


def added(x, where, value):
    x = x.clone()
    x[where] += value
    return x


def where_of_selected(x):
    (places,) = torch.where(x > 0)
    (late,) = torch.where(x[x > 0] + places > 3)
    return late


def unique_rows(n, count, seed=0):
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed))[:count]


READ = [
    ("first", lambda x, i, j: x[i], None),
    ("second", lambda x, i, j: x[:, i], None),
    ("last", lambda x, i, j: x[..., i], None),
    ("two", lambda x, i, j: x[i, j], 9),
    ("two_apart", lambda x, i, j: x[i, :, j], 9),
    ("two_last", lambda x, i, j: x[:, i, j], 9),
    ("three", lambda x, i, j: x[i, j, i], 9),
    ("with_slice", lambda x, i, j: x[1:, i, j], 9),
    ("with_none", lambda x, i, j: x[i, None, j], 9),
    ("with_int", lambda x, i, j: x[2, ..., i], 9),
    ("matrix", lambda x, i, j: x[i.unsqueeze(1), j.unsqueeze(0)], 9),
    ("matrix_one", lambda x, i, j: x[:, torch.stack((i, j))], 9),
    ("mixture", lambda x, i, j: x[2, ..., i], 9),
    ("computed", lambda x, i, j: x[i * 0 + 1, (j + 1) % 3], 10),
    ("with_scalar", lambda x, i, j: x[i, j[0:1]], 9),
]

ROWS = [
    Case("rows_backwards", lambda x: x[torch.arange(x.shape[0] - 1, -1, -1)], [M]),
    *[Case(f"index_{name}", fn, [X, ix(2), ix(2)], since=since or 9,
           dynamic_since=9) for name, fn, since in READ],
    Case("index_4d_mixture", lambda x, i, j: x[2, ..., i, 1:4, j], [T("f32", 4, 2, 3, 5, 3, N=0), ix(2), ix(2)]),
    Case("index_dynamic", lambda x, i: x[i], [X, ix(7, K=0)]),
    Case("index_dynamic_two", lambda x, i, j: x[i, j], [X, ix(7, K=0), ix(7, K=0)]),
    Case("index_broadcast", lambda x, i, j: x[i, j], [X, ix(7, 1, K=0), ix(2)]),
    Case("index_i32", lambda x, i: (x[i], x[i, i], x[:, i]), [X, positive(2, d="i32")]),
    Case("index_empty", lambda x, i: x[i], [X, ix(0)]),
    Case("index_scalar_tensor", lambda x, i: x[i], [X, ix()]),
    Case("index_constant", lambda x: x[torch.tensor([0, 2, -1])], [X]),
    Case("index_constant_two", lambda x: x[torch.tensor([0, 2]), torch.tensor([[1], [0]])], [X]),
    Case("index_unsafe", lambda x, i: aten._unsafe_index(x, [None, i, None]), [X, positive(2)], modes=("export", "dynamic")),
    Case("index_mask", lambda x, m: x[m], [X, mask(4, 3, 5, N=0, W=2)]),
    Case("index_mask_rows", lambda x, m: x[m], [X, mask(4, N=0)]),
    Case("index_mask_middle", lambda x, m: x[:, m], [X, mask(3)]),
    Case("index_mask_two_axes", lambda x, m: x[:, m], [X, mask(3, 5, W=1)]),
    Case("index_mask_and_index", lambda x, m, i: x[m, :, i], [T("f32", 4, 3, 5, N=0), mask(4, N=0), ix(1)]),
    Case("index_mask_u8", lambda x, m: x[m.bool()], [X, positive(4, n=2, d="u8", N=0)]),
    Case("index_mask_computed", lambda x: x[x > 0], [X]),
    Case("index_types", lambda x, y, i: (x[i, i], y[i, i]), [T("i32", 4, 3), T("bool", 4, 3), ix(2)]),
    # ---- writing
    Case("put_first", lambda x, v: assigned(x, torch.tensor([0, -1]), v), [X, T("f32", 2, 3, 5, W=2)], since=11),
    Case("put_scalar", lambda x: assigned(x, torch.tensor([0, 2]), 7.0), [X], since=11),
    Case("put_two", lambda x, v: assigned(x, (torch.tensor([0, 2]), torch.tensor([1, -1])), v),
         [X, T("f32", 2, 5, W=1)], since=11),
    Case("put_apart", lambda x, v: assigned(x, (torch.tensor([0, 2]), slice(None), torch.tensor([1, -1])), v),
         [X, T("f32", 3)], since=11),
    Case("put_middle", lambda x, v: assigned(x, (slice(None), torch.tensor([2, 0])), v), [X, T("f32", 2, 1)], since=11),
    Case("put_last_two", lambda x, v: assigned(x, (slice(None), torch.tensor([2, 0]), torch.tensor([1, 0])), v),
         [X, T("f32", 2)], since=11),
    Case("put_matrix", lambda x, v: assigned(x, (torch.tensor([[0], [2]]), torch.tensor([1, 2])), v),
         [X, T("f32", 2, 2, 1)], since=11),
    Case("put_slices", lambda x, v: assigned(x, (slice(1, None), torch.tensor([0, 2]), slice(0, 2)), v),
         [X, T("f32", 2, 2)], since=11, modes=("export", "dynamic")),
    Case("put_mask", lambda x: assigned(x, x > 1, 0.5), [X]),
    Case("put_mask_values", lambda x, v: assigned(x, x > 10, v), [X, T("f32", 0)], since=11),
    Case("put_mask_rows", lambda x, m, v: assigned(x, m, v), [X, mask(4, N=0), T("f32", 3, 5, W=1)]),
    Case("put_mask_middle", lambda x, m, v: assigned(x, (slice(None), m), v), [X, mask(3), T("f32", 5, W=0)]),
    Case("put_mask_many", lambda x, v: assigned(x, torch.tensor([True, False, True, False]), v),
         [T("f32", 4, 3), T("f32", 2, 3)], since=11),
    Case("put_add", lambda x, v: x.index_put((torch.tensor([0, 2, 0]),), v, accumulate=True),
         [X, T("f32", 3, 3, 5, W=2)], since=11),
    Case("put_add_two", lambda x, v: x.index_put((torch.tensor([0, 2, 0]), torch.tensor([1, 1, 1])), v, accumulate=True),
         [X, T("f32", 3, 5, W=1)], since=11),
    Case("put_add_bool", lambda x, v: x.index_put((torch.tensor([0, 2, 0]),), v, accumulate=True),
         [T("bool", 4), T("bool", 3)], since=11),
    Case("put_add_mask", lambda x: x.index_put((x > 0,), torch.tensor(2.0), accumulate=True), [X]),
    Case("put_augmented", lambda x, v: added(x, torch.tensor([0, 2]), v), [X, T("f32", 2, 3, 5, W=2)], since=11),
    Case("put_i64", lambda x, v: assigned(x, torch.tensor([0, 2]), v), [T("i64", 4, 3, N=0), T("i64", 3)], since=11),
    Case("put_bool", lambda x: assigned(x, torch.tensor([0, 2]), True), [T("bool", 4, 3, N=0)], since=11),
    Case("put_unsafe", lambda x, v: aten._unsafe_index_put(x, [None, torch.tensor([2, 0])], v),
         [X, T("f32", 2, 5, W=1)], since=11, modes=("export", "dynamic")),
    Case("masked_index", lambda x, m, i, j: aten._unsafe_masked_index(x, m, [i, j], 0.5),
         [T("f32", 4, 3), mask(5), positive(5), positive(5)], modes=("export",)),
    Case("masked_index_put", lambda x, m, i, j, v: aten._unsafe_masked_index_put_accumulate(x, m, [i, j], v),
         [T("f32", 4, 3), mask(5), positive(5), positive(5), T("f32", 5)], modes=("export",), since=11),
    # ---- gather
    Case("index_select", lambda x, i: x.index_select(1, i), [X, positive(4)]),
    Case("index_select_scalar", lambda x: x.index_select(0, torch.tensor([0])) + 1, [S]),
    Case("index_select_i32", lambda x, i: x.index_select(-1, i), [X, positive(4, d="i32")]),
    Case("gather", lambda x, i: x.gather(1, i), [X, positive(4, 2, 5, N=0, W=2)]),
    Case("gather_smaller", lambda x, i: x.gather(0, i), [T("f32", 4, 3, 5, N=0), positive(6, 2, 4)]),
    Case("gather_scalar", lambda x: x.gather(0, torch.tensor(0)) + 1, [S]),
    Case("gather_vector", lambda x: x.gather(0, torch.tensor(2)), [V]),
    Case("gather_scalar_many", lambda x: x.gather(0, torch.tensor([0, 0])), [S]),
    Case("gather_last", lambda x, i: x.gather(-1, i), [T("i64", 4, 3, N=0), positive(4, 7, N=0, K=1)]),
    Case("take", lambda x, i: torch.take(x, i), [X, ix(2, 3, n=10)]),
    Case("take_along_dim", lambda x, i: torch.take_along_dim(x, i, 1), [T("f32", 4, 3, 5), positive(4, 2, 5)]),
    Case("take_along_dim_broadcast", lambda x, i: torch.take_along_dim(x, i, 1), [T("f32", 4, 3, 5), positive(1, 2, 1)]),
    Case("take_along_dim_flat", lambda x, i: torch.take_along_dim(x, i), [X, positive(2, 2)]),
    Case("take_along_dim_self", lambda x, i: torch.take_along_dim(x, i, -1), [T("f32", 1, 3, 5), positive(4, 3, 2)]),
    Case("embedding", lambda w, i: torch.nn.functional.embedding(i, w), [T("f32", 7, 3), positive(2, 4, n=7, N=0)]),
    Case("embedding_padding", lambda w, i: torch.nn.functional.embedding(i, w, padding_idx=1), [T("f32", 7, 3), positive(2, n=7, N=0)]),
    Case("one_hot", lambda i: torch.nn.functional.one_hot(i, 5), [positive(2, 3, n=5, N=0)]),
    Case("one_hot_scalar", lambda i: torch.nn.functional.one_hot(i, 5), [positive(n=5)]),
    Case("one_hot_counted", lambda i: torch.nn.functional.one_hot(i), [positive(2, 3, n=5, N=0)], modes=("trace",)),
    *[Case(f"embedding_bag_{m}", lambda w, i, o, m=m: torch.nn.functional.embedding_bag(i, w, o, mode=m),
           [T("f32", 7, 3), positive(9, n=7, N=0), torch.tensor([0, 3, 3, 5])]) for m in ("sum", "mean", "max")],
    *[Case(f"embedding_bag_padding_{m}", lambda w, i, o, m=m: torch.nn.functional.embedding_bag(i, w, o, mode=m, padding_idx=2),
           [T("f32", 7, 3), positive(9, n=7, N=0), torch.tensor([0, 3, 3, 9])]) for m in ("sum", "mean", "max")],
    Case("embedding_bag_matrix", lambda w, i: torch.nn.functional.embedding_bag(i, w), [T("f32", 7, 3), positive(2, 4, n=7)]),
    Case("embedding_bag_last_offset", lambda w, i, o: torch.nn.functional.embedding_bag(i, w, o, include_last_offset=True, mode="sum"),
         [T("f32", 7, 3), positive(9, n=7), torch.tensor([0, 3, 9])]),
    Case("embedding_bag_weights", lambda w, i, o, p: torch.nn.functional.embedding_bag(i, w, o, mode="sum", per_sample_weights=p),
         [T("f32", 7, 3), positive(9, n=7), torch.tensor([0, 3, 8]), T("f32", 9)]),
    *[Case(f"embedding_renorm_{p:.0f}", lambda w, i, p=p: aten.embedding_renorm(w, i, 2.0, p), [T("f32", 7, 3), positive(5, n=7)],
           modes=("export",)) for p in (1.0, 2.0)],
    Case("repeat_interleave", lambda x: (x.repeat_interleave(2), x.repeat_interleave(3, 1)), [M]),
    Case("repeat_interleave_tensor", lambda x: x.repeat_interleave(torch.tensor([1, 0, 3, 2, 0, 1]), 1, output_size=7), [M]),
    Case("repeat_interleave_places", lambda r: torch.repeat_interleave(r, output_size=8), [torch.tensor([3, 0, 4, 1])]),
    Case("repeat_interleave_size", lambda x: (x.repeat_interleave(x.shape[1], 0) + 1).chunk(2, 1), [M]),
    Case("repeat_interleave_moving", lambda x: x.repeat_interleave(x.shape[0], 1), [M]),
    Case("repeat_interleave_one", lambda x: x.repeat_interleave(torch.tensor([2]), 0), [M], modes=("trace",)),
    # ---- scatter
    Case("scatter", lambda x, i, v: x.scatter(1, i, v), [T("f32", 4, 7, N=0), torch.stack([unique_rows(7, 3, s) for s in range(4)]), T("f32", 4, 3)], modes=("export", "core")),
    Case("scatter_first", lambda x, v: x.scatter(0, torch.tensor([[2, 0, 1]]), v), [T("f32", 4, 3, N=0), T("f32", 2, 3)]),
    Case("scatter_value", lambda x, i: x.scatter(1, i, 2.5), [T("f32", 4, 6, N=0), positive(4, 2, N=0)]),
    Case("scatter_scalar", lambda x, v: x.scatter(0, torch.tensor(0), v) + 1, [S, S]),
    Case("scatter_add_form", lambda x, i, v: x.scatter(1, i, v, reduce="add"), [M, positive(4, 5, N=0), T("f32", 4, 5, N=0)]),
    Case("scatter_multiply", lambda x, i, v: x.scatter(1, i, v, reduce="multiply"), [M, positive(4, 5, N=0), T("f32", 4, 5, N=0)]),
    Case("scatter_value_reduce", lambda x, i: x.scatter(1, i, 2.0, reduce="multiply"), [M, positive(4, 5, N=0)]),
    Case("scatter_add", lambda x, i, v: x.scatter_add(1, i, v), [M, positive(4, 5, N=0), T("f32", 4, 8, N=0)]),
    Case("scatter_add_i64", lambda x, i, v: x.scatter_add(0, i, v), [T("i64", 6), positive(9, n=6, N=0), T("i64", 9, N=0)]),
    *[Case(f"scatter_reduce_{r}_{s}", lambda x, i, v, r=r, s=s: x.scatter_reduce(1, i, v, r, include_self=s),
           [M, positive(4, 5, N=0), T("f32", 4, 5, N=0)])
      for r in ("sum", "prod", "mean", "amax", "amin") for s in (True, False)],
    *[Case(f"scatter_reduce_i64_{r}", lambda x, i, v, r=r: x.scatter_reduce(1, i, v, r, include_self=False),
           [T("i64", 4, 6, N=0), positive(4, 5, N=0), T("i64", 4, 5, N=0)])
      for r in ("sum", "prod", "mean", "amax", "amin")],
    *[Case(f"index_reduce_{r}_{s}", lambda x, i, v, r=r, s=s: x.index_reduce(1, i, v, r, include_self=s),
           [T("f32", 4, 6, 2, N=0), positive(5), T("f32", 4, 5, 2, N=0)])
      for r in ("prod", "mean", "amax", "amin") for s in (True, False)],
    Case("index_add", lambda x, i, v: x.index_add(1, i, v), [T("f32", 4, 6, 2, N=0), positive(5), T("f32", 4, 5, 2, N=0)], since=11),
    Case("index_add_alpha", lambda x, i, v: x.index_add(0, i, v, alpha=2), [M, positive(2), T("f32", 2, 6)], since=11),
    Case("index_add_scalar", lambda x, v: x.index_add(0, torch.tensor([0]), v) + 1, [S, S], since=11),
    Case("scatter_add_negative_axis", lambda x, i, v: x.scatter_add(-2, i, v), [T("f32", 4, 3, 5), positive(4, 6, 4), T("f32", 4, 6, 4)]),
    Case("scatter_add_scalar", lambda x, v: x.scatter_add(0, torch.tensor(0), v) + 1, [S, S]),
    Case("scatter_add_empty", lambda x, i, v: x.scatter_add(1, i, v), [M, positive(4, 0, N=0), T("f32", 4, 0, N=0)]),
    Case("scatter_add_bool", lambda x, i, v: x.scatter_add(1, i, v), [T("bool", 4, 6, N=0), positive(4, 5, N=0), T("bool", 4, 5, N=0)]),
    *[Case(f"scatter_reduce_nan_{r}", lambda x, i, v, r=r: x.scatter_reduce(1, i, torch.where(v > 2, float("nan"), v), r),
           [torch.tensor([[1.0, float("nan"), -1.0, 0.5]] * 4), positive(4, 5), T("f32", 4, 5)]) for r in ("amax", "amin")],
    Case("scatter_reduce_scalar", lambda x, v: x.scatter_reduce(0, torch.tensor(0), v, "amax") + 1, [S, S]),
    Case("scatter_reduce_dynamic_axis", lambda x, i, v: x.scatter_reduce(0, i, v, "prod"), [V, positive(7, n=6, K=0), T("f32", 7, K=0)]),
    *[Case(f"scatter_reduce_{d}", lambda x, i, v: (x.scatter_reduce(1, i, v, "amin"), x.scatter_reduce(1, i, v, "sum")),
           [T(d, 4, 6, N=0), positive(4, 5, N=0), T(d, 4, 5, N=0)])
      for d in ("f64", "i32", "u8", "f16")],
    *[Case(f"index_add_{d}", lambda x, i, v: x.index_add(-1, i, v), [T(d, 4, 6, N=0), positive(5, n=6), T(d, 4, 5, N=0)], since=11)
      for d in ("f64", "i32", "i64", "bool", "f16")],
    Case("index_add_dynamic", lambda x, i, v: x.index_add(0, i, v), [T("f32", 4, 3), positive(7, n=4, K=0), T("f32", 7, 3, K=0)], since=11),
    Case("index_add_empty", lambda x, i, v: x.index_add(1, i, v), [M, positive(0), T("f32", 4, 0, N=0)], since=11),
    Case("index_reduce_scalar", lambda x, v: x.index_reduce(0, torch.tensor([0]), v, "mean") + 1, [S, S]),
    Case("index_copy", lambda x, v: x.index_copy(1, torch.tensor([2, 0]), v), [T("f32", 4, 6, 2, N=0), T("f32", 4, 2, 2, N=0)], since=11),
    Case("index_copy_scalar", lambda x, v: x.index_copy(0, torch.tensor(2), v), [V, S], since=11),
    Case("index_fill", lambda x, i: x.index_fill(1, i, 2.5), [X, ix(2)]),
    Case("index_fill_tensor", lambda x, i, v: x.index_fill(0, i, v), [X, ix(2), S]),
    Case("index_fill_scalar", lambda x: x.index_fill(0, torch.tensor(0), 1.5) + 1, [S]),
    Case("index_fill_bool", lambda x, i: x.index_fill(0, i, True), [T("bool", 4, 3), ix(2)], modes=("export", "dynamic", "core")),
    Case("put", lambda x, v: x.put(torch.tensor([0, -2]), v), [X, T("f32", 2)]),
    Case("put_accumulate", lambda x, v: x.put(torch.tensor([[0, -2], [0, 1]]), v, accumulate=True), [X, T("f32", 2, 2)]),
    # ---- segments
    *[Case(f"segment_reduce_{r}", lambda x, r=r: (torch.segment_reduce(x, r, lengths=torch.tensor([2, 0, 3])),
                                                  torch.segment_reduce(x, r, lengths=torch.tensor([1, 0, 4]), initial=2.5)),
           [T("f32", 5, 3, W=1)], since=11) for r in ("sum", "mean", "max", "min", "prod")],
    Case("segment_reduce_offsets", lambda x, o: torch.segment_reduce(x, "sum", offsets=o), [T("f32", 7), torch.tensor([0, 2, 2, 7])]),
    Case("segment_reduce_batches", lambda x, n: torch.segment_reduce(x, "max", lengths=n, axis=1, unsafe=True),
         [T("f64", 2, 5, 3), torch.tensor([[2, 3, 0], [1, 1, 3]])], since=11),
    Case("segment_reduce_batch_offsets", lambda x, o: torch.segment_reduce(x, "mean", offsets=o, axis=1, initial=1),
         [T("f32", 2, 5), torch.tensor([[0, 2, 5, 5], [0, 1, 2, 5]])]),
    # ---- masks
    Case("masked_fill", lambda x, m: x.masked_fill(m, -1.5), [X, mask(4, 1, 5, N=0, W=2)]),
    Case("masked_fill_tensor", lambda x, m, v: x.masked_fill(m, v), [X, mask(3, 1), S]),
    Case("masked_fill_i64", lambda x, m: x.masked_fill(m, 3), [T("i64", 4, 3, N=0), mask(4, 3, N=0)]),
    Case("masked_fill_inf", lambda x, m: x.masked_fill(m, float("-inf")), [X, mask(4, 3, 5, N=0, W=2)]),
    Case("masked_fill_bool", lambda x, m: x.masked_fill(m, True), [mask(4, 3), mask(4, 3)], modes=("export", "dynamic", "core")),
    Case("masked_scatter", lambda x, m, v: x.masked_scatter(m, v), [M, mask(4, 6, N=0), T("f32", 9, 6)], since=11),
    Case("masked_scatter_broadcast", lambda x, m, v: x.masked_scatter(m, v), [M, mask(6), T("f32", 9, 6)], since=11),
    Case("masked_select", lambda x, m: x.masked_select(m), [X, mask(4, 3, 5, N=0, W=2)]),
    Case("masked_select_broadcast", lambda x, m: x.masked_select(m), [M, mask(4, 1, N=0)]),
    Case("where", lambda c, x, y: torch.where(c, x, y), [mask(4, 6, N=0), M, T("f32", 6)]),
    Case("where_types", lambda c, x, y: torch.where(c, x, y), [mask(4, 6, N=0), T("i64", 4, 6, N=0), T("f32", 6)]),
    Case("where_numbers", lambda c, x: (torch.where(c, x, 0.0), torch.where(c, 1, x), torch.where(c, 1.0, 2.0)), [mask(4, 6, N=0), M]),
    Case("where_bool", lambda c, x, y: torch.where(c, x, y), [mask(4, 6), mask(4, 6), mask(6)]),
    Case("where_i64", lambda c, x: torch.where(c, x, 3), [mask(4, 6, N=0), T("i64", 4, 6, N=0)]),
    Case("where_condition", lambda x: torch.where(x > 0), [M]),
    Case("where_of_selected", where_of_selected, [V]),
    Case("nonzero", lambda x: torch.nonzero(x > 0), [X]),
    *[Case(f"nonzero_{d}", lambda x: torch.nonzero(x), [T(d, 4, 6, low=0, high=2, N=0)]) for d in ("i64", "f64", "i32", "i8", "f16")],
    Case("nonzero_scalar", lambda x: torch.nonzero(x), [S], modes=("trace",)),
    Case("nonzero_tuple", lambda x: torch.nonzero(x > 0, as_tuple=True), [M]),
    Case("nonzero_static", lambda x: torch.nonzero_static(x > 0, size=5), [T("f32", 4, 6, N=0)]),
    Case("nonzero_static_fill", lambda x: torch.nonzero_static(x > 3, size=30, fill_value=-7), [T("f32", 4, 6)]),
    Case("argwhere", lambda x: torch.argwhere(x > 0), [M]),
]
