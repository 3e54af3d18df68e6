#include "exporter/lowering/lu.h"

#include <algorithm>

#include "exporter/lowering/loop.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {

using Ints = std::vector<int64_t>;

// ---------------------------------------------------------------- batches

Val AsBatch(Builder& b, Val x) {
  if (!x || x.rank() == 3) return x;
  if (x.rank() == 2) return b.Unsqueeze(x, {0});
  const Val rows = b.Size(x, -2), columns = b.Size(x, -1);
  Vals lead;
  for (int i = 0; i + 2 < x.rank(); ++i) lead.push_back(b.Size(x, i));
  const std::optional<Shape> known = Shape{Dim::Unknown(), x.dim(-2), x.dim(-1)};
  return b.Reshape(x, {Product(b, lead), rows, columns}, known);
}

Val FromBatch(Builder& b, Val batch, Val like) {
  if (!batch || !like || like.rank() == 3) return batch;
  if (like.rank() == 2) return b.Squeeze(batch, {0});
  Vals sizes;
  Shape known;
  for (int i = 0; i + 2 < like.rank(); ++i) {
    sizes.push_back(b.Size(like, i));
    known.push_back(like.dim(i));
  }
  for (int i = 1; i < batch.rank(); ++i) {
    sizes.push_back(b.Size(batch, i));
    known.push_back(batch.dim(i));
  }
  return b.Reshape(batch, sizes, known);
}

namespace {

Vals LeadingSizes(Builder& b, Val x) {
  Vals sizes;
  for (int i = 0; i + 2 < x.rank(); ++i) sizes.push_back(b.Size(x, i));
  return sizes;
}

Val ExpandBatch(Builder& b, Val x, Val like) {
  Vals sizes = LeadingSizes(b, like);
  if (sizes.empty()) return x;
  sizes.push_back(b.Int(1));
  sizes.push_back(b.Int(1));
  return b.Expand(x, b.Vector(sizes));
}

bool SameBatch(Val x, Val y) {
  if (x.rank() != y.rank()) return false;
  for (int i = 0; i + 2 < x.rank(); ++i) {
    if (!x.dim(i).Equals(y.dim(i))) return false;
  }
  return true;
}

}  // namespace

MatrixPair BroadcastBatches(Builder& b, Val x, Val y) {
  if (!x || !y) return {};
  if (SameBatch(x, y)) return {x, y};
  return {ExpandBatch(b, x, y), ExpandBatch(b, y, x)};
}

Val Transposed(Builder& b, Val x) { return b.SwapAxes(x, -2, -1); }

Val Identity(Builder& b, Val n, DType dtype) {
  const Val places = Iota(b, n);
  return b.Cast(b.Equal(b.Unsqueeze(places, {1}), b.Unsqueeze(places, {0})), dtype);
}

namespace {

// [n, 1] and [1, m]: the indices of rows and columns.
Val Rows(Builder& b, Val x) { return b.Unsqueeze(Iota(b, b.Size(x, -2)), {1}); }
Val Columns(Builder& b, Val x) { return b.Unsqueeze(Iota(b, b.Size(x, -1)), {0}); }

}  // namespace

Val UpperPart(Builder& b, Val x, int64_t offset) {
  const Val keep = b.GreaterOrEqual(b.Sub(Columns(b, x), Rows(b, x)), b.Int(offset));
  return b.Where(keep, x, b.ScalarInt(0, x.dtype()));
}

Val LowerPart(Builder& b, Val x, int64_t offset) {
  const Val keep = b.LessOrEqual(b.Sub(Columns(b, x), Rows(b, x)), b.Int(offset));
  return b.Where(keep, x, b.ScalarInt(0, x.dtype()));
}

Val Diagonal(Builder& b, Val x) {
  const Val zero = b.ScalarInt(0, x.dtype());
  const Val same = b.Equal(Columns(b, x), Rows(b, x));
  const Dim rows = x.dim(-2), columns = x.dim(-1);
  const bool wide = rows.is_number() && columns.is_number() && rows.value() < columns.value();
  const Val kept = b.Where(same, x, zero);
  return b.Reduce("ReduceSum", kept, {wide ? -1 : -2}, /*keepdims=*/false);
}

// ---------------------------------------------------------------- LU

namespace {

// The column or row k of [B, n, m].
Val Column(Builder& b, Val x, Val k) { return b.Gather(x, k, 2); }
Val Row(Builder& b, Val x, Val k) { return b.Gather(x, k, 1); }

// [B, n]: 0, 1, … with place k and, in each matrix, place `other` [B, 1] swapped.
Val SwapIndex(Builder& b, Val places, Val k, Val other) {
  const Val moved = b.Where(b.Equal(places, other), k, places);
  return b.Where(b.Equal(places, k), other, moved);
}

Val SmallerSide(Builder& b, Val x) {
  const Val rows = b.Size(x, -2), columns = b.Size(x, -1);
  return rows == columns ? rows : b.Min(rows, columns);
}

}  // namespace

Val Reordered(Builder& b, Val x, Val index) {
  if (x.numel() == 0) return x;
  if (x.rank() == 2) return b.GatherElements(x, index, 1);
  Vals sizes = {b.Int(1), b.Int(1), b.Size(x, 2)};
  return b.GatherElements(x, b.Expand(b.Unsqueeze(index, {2}), b.Vector(sizes)), 1);
}

Val WithRowsSwapped(Builder& b, Val x, Val first, Val second) {
  const Val places = b.Unsqueeze(Iota(b, b.Size(x, 1)), {0});
  return Reordered(b, x, SwapIndex(b, places, first, second));
}

bool IsVector(Val a, Val rhs) {
  if (rhs.rank() == 1) return true;
  if (rhs.rank() != a.rank() - 1) return false;
  for (int i = 0; i < rhs.rank(); ++i) {
    if (!rhs.dim(i).Equals(a.dim(i))) return false;
  }
  return true;
}

LuResult LuOf(Builder& b, Val a, bool pivot) {
  if (!a || b.failed()) return {};
  const Val x = AsBatch(b, a);
  const DType dtype = x.dtype();
  const Val count = SmallerSide(b, x);
  const Val rows = b.Unsqueeze(Iota(b, b.Size(x, 1)), {0});      // [1, n]
  const Val columns = b.Unsqueeze(Iota(b, b.Size(x, 2)), {0});   // [1, m]
  const Val steps = b.Unsqueeze(Iota(b, count), {0});            // [1, k]
  const Val zero = b.Scalar(0, dtype);
  const auto batched = [&](Val row) {
    return b.Expand(row, b.Vector({b.Size(x, 0), b.Int(1)}));
  };
  const Vals start = {x, batched(rows), batched(b.Add(steps, b.Int(1))),
                      batched(b.Mul(steps, b.Int(0)))};
  const Vals result = Repeat(b, count, {}, start, [&](Val k, const Vals& carried) {
    Val lu = carried[0], order = carried[1], pivots = carried[2];
    if (pivot) {
      const Val size = b.Unary("Abs", Column(b, lu, k));
      const Val open = b.Where(b.Less(rows, k), b.Scalar(-1, dtype), size);
      const Val best = b.ArgMax(open, 1, /*keepdims=*/true);  // [B, 1]
      const Val index = SwapIndex(b, rows, k, best);
      lu = Reordered(b, lu, index);
      order = Reordered(b, order, index);
      pivots = b.Where(b.Equal(steps, k), b.Add(best, b.Int(1)), pivots);
    }
    const Val row = Row(b, lu, k), column = Column(b, lu, k);
    const Val head = b.Unsqueeze(b.Gather(row, k, 1), {1});  // [B, 1]
    const Val is_zero = b.Equal(head, zero);
    const Val safe = b.Where(is_zero, b.Scalar(1, dtype), head);
    const Val below = b.Greater(rows, k);
    const Val factors = b.Where(below, b.Div(column, safe), zero);
    const Val right = b.Where(b.Greater(columns, k), row, zero);
    const Val eliminated = b.Sub(lu, b.Mul(b.Unsqueeze(factors, {2}), b.Unsqueeze(right, {1})));
    const Val in_column = b.And(b.Unsqueeze(below, {2}),
                                b.Unsqueeze(b.Equal(columns, k), {1}));
    const Val next = b.Where(in_column, b.Unsqueeze(factors, {2}), eliminated);
    const Val zeros = b.Where(b.Equal(steps, k), b.Cast(is_zero, DType::kInt64), carried[3]);
    return LoopStep{{next, order, pivots, zeros}, {}};
  });
  // The first step with a zero pivot, from 1.
  const Val none = b.Int(0);
  const Val later = b.Sub(count, steps);
  const Val rank = b.Reduce("ReduceMax", b.Mul(result[3], later), {1}, /*keepdims=*/true);
  const Val info = b.Where(b.Greater(rank, none), b.Sub(b.Add(count, b.Int(1)), rank), none);
  const auto unbatched = [&](Val v) { return FromBatch(b, v, a); };
  const Val info32 = b.Cast(unbatched(info), DType::kInt32);
  return {unbatched(result[0]), b.Cast(unbatched(result[2]), DType::kInt32),
          unbatched(result[1]), b.Squeeze(info32, {-1})};
}

Val PivotSign(Builder& b, Val pivots, DType dtype) {
  if (!pivots) return {};
  const Val own = b.Add(Iota(b, b.Size(pivots, -1)), b.Int(1));
  const Val swaps = b.Not(b.Equal(b.Cast(pivots, DType::kInt64), own));
  const Val count = b.Reduce("ReduceSum", b.Cast(swaps, DType::kInt64), {-1}, false);
  const Val odd = b.Sub(count, b.Mul(b.Div(count, b.Int(2)), b.Int(2)));
  return b.Cast(b.Sub(b.Int(1), b.Mul(odd, b.Int(2))), dtype);
}

Val PermutationOf(Builder& b, Val pivots, Val n) {
  if (!pivots || !n) return {};
  const Val like = b.Unsqueeze(pivots, {-2});  // [..., 1, k]
  const Val flat = b.Squeeze(AsBatch(b, like), {1});
  const Val rows = b.Unsqueeze(Iota(b, n), {0});
  const Val start = b.Expand(rows, b.Vector({b.Size(flat, 0), b.Int(1)}));
  const Val partners = b.Sub(b.Cast(flat, DType::kInt64), b.Int(1));
  const Val order = Repeat(b, b.Size(flat, 1), {}, {start}, [&](Val k, const Vals& carried) {
    const Val other = b.Unsqueeze(b.Gather(partners, k, 1), {1});
    return LoopStep{{Reordered(b, carried[0], SwapIndex(b, rows, k, other))}, {}};
  })[0];
  return FromBatch(b, order, like);
}

// ---------------------------------------------------------------- solving

Val SolveTriangular(Builder& b, Val a, Val rhs, bool upper, bool unit) {
  if (!a || !rhs || b.failed()) return {};
  const MatrixPair pair = BroadcastBatches(b, a, rhs);
  const Val matrix = AsBatch(b, pair.x), start = AsBatch(b, pair.y);
  const DType dtype = matrix.dtype();
  const Val n = b.Size(matrix, 1);
  const Val rows = b.Unsqueeze(Iota(b, n), {0});
  const Val result = Repeat(b, n, {}, {start}, [&](Val step, const Vals& carried) {
    const Val k = upper ? b.Sub(b.Sub(n, b.Int(1)), step) : step;
    const Val column = Column(b, matrix, k);  // [B, n]
    Val row = Row(b, carried[0], k);          // [B, r]
    if (!unit) row = b.Div(row, b.Unsqueeze(b.Gather(column, k, 1), {1}));
    const Val open = upper ? b.Less(rows, k) : b.Greater(rows, k);
    const Val factors = b.Where(open, column, b.Scalar(0, dtype));
    const Val rest = b.Sub(carried[0],
                           b.Mul(b.Unsqueeze(factors, {2}), b.Unsqueeze(row, {1})));
    const Val own = b.Unsqueeze(b.Equal(rows, k), {2});
    return LoopStep{{b.Where(own, b.Unsqueeze(row, {1}), rest)}, {}};
  })[0];
  return FromBatch(b, result, pair.y);
}

Val SolveLu(Builder& b, Val lu, Val permutation, Val rhs) {
  if (!lu || !permutation || !rhs || b.failed()) return {};
  const MatrixPair pair = BroadcastBatches(b, lu, rhs);
  const MatrixPair orders = BroadcastBatches(b, b.Unsqueeze(permutation, {-1}), pair.y);
  const Val index = b.Squeeze(AsBatch(b, orders.x), {2});
  const Val ordered = FromBatch(b, Reordered(b, AsBatch(b, pair.y), index), pair.y);
  const Val half = SolveTriangular(b, pair.x, ordered, /*upper=*/false, /*unit=*/true);
  return SolveTriangular(b, pair.x, half, /*upper=*/true, /*unit=*/false);
}

Val Solve(Builder& b, Val a, Val rhs) {
  const LuResult lu = LuOf(b, a);
  return SolveLu(b, lu.lu, lu.permutation, rhs);
}

Val InverseOf(Builder& b, Val a) {
  if (!a || b.failed() || a.numel() == 0) return a;
  return Solve(b, a, Identity(b, b.Size(a, -1), a.dtype()));
}

}  // namespace rules_onnx::lowering
