// Symmetric indefinite systems, from factors as LAPACK's sytrf makes them from the lower triangle:
// A = P₀·L₀·P₁·L₁·… · D · …·L₁ᵀ·P₁ᵀ·L₀ᵀ·P₀ᵀ, with blocks of 1 or 2 on D's diagonal.
#include "exporter/lowering/loop.h"
#include "exporter/lowering/lu.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// What the pivots say, [B, n] each. They count from 1 and are negative, both of them, for a block
// of 2.
struct Blocks {
  Val first, second;  // bool: the place is that of a block of 2
  Val row, partner;   // the rows that change places before column k is eliminated
};

Blocks BlocksOf(Builder& b, Val pivots) {
  const Val one = b.Int(1);
  const Val places = b.Expand(b.Unsqueeze(Iota(b, b.Size(pivots, 1)), {0}), b.ShapeOf(pivots));
  const Val paired = b.Less(pivots, b.Int(0));
  const Val before = b.CumSum(b.Cast(paired, DType::kInt64), 1, /*exclusive=*/true);
  const Val odd = b.Equal(b.Mod(before, b.Int(2), /*fmod=*/false), one);
  Blocks blocks;
  blocks.first = b.And(paired, b.Not(odd));
  blocks.second = b.And(paired, odd);
  blocks.row = b.Where(blocks.first, b.Add(places, one), places);
  const Val named = b.Sub(b.Unary("Abs", pivots), one);
  blocks.partner = b.Where(blocks.second, places, named);
  return blocks;
}

Val Column(Builder& b, Val x, Val k) { return b.Unsqueeze(b.Gather(x, k, 1), {1}); }

// Column k of L below its block, [B, n, 1].
Val Factors(Builder& b, Val ld, const Blocks& blocks, Val k) {
  const Val rows = b.Unsqueeze(Iota(b, b.Size(ld, 1)), {0});
  const Val below = b.Greater(rows, Column(b, blocks.row, k));
  return b.Unsqueeze(b.Where(below, b.Gather(ld, k, 2), b.Scalar(0, ld.dtype())), {2});
}

// x with the rows swapped that the block at k swaps.
Val Swapped(Builder& b, Val x, const Blocks& blocks, Val k) {
  return WithRowsSwapped(b, x, Column(b, blocks.row, k), Column(b, blocks.partner, k));
}

Val Forward(Builder& b, Val ld, const Blocks& blocks, Val rhs) {
  return Repeat(b, b.Size(ld, 1), {}, {rhs}, [&](Val k, const Vals& carried) {
    const Val x = Swapped(b, carried[0], blocks, k);
    const Val row = b.Unsqueeze(b.Gather(x, k, 1), {1});  // [B, 1, r]
    return LoopStep{{b.Sub(x, b.Mul(Factors(b, ld, blocks, k), row))}, {}};
  })[0];
}

Val Backward(Builder& b, Val ld, const Blocks& blocks, Val rhs) {
  const Val n = b.Size(ld, 1);
  const Val rows = b.Unsqueeze(Iota(b, n), {1});  // [n, 1]
  return Repeat(b, n, {}, {rhs}, [&](Val step, const Vals& carried) {
    const Val k = b.Sub(b.Sub(n, b.Int(1)), step), x = carried[0];
    const Val sum = b.Reduce("ReduceSum", b.Mul(Factors(b, ld, blocks, k), x), {1}, true);
    const Val solved = b.Where(b.Equal(rows, k), b.Sub(x, sum), x);
    return LoopStep{{Swapped(b, solved, blocks, k)}, {}};
  })[0];
}

// Rows of a block of 2, (d e; e f): x = (f/e · x/e − y/e) / (d/e · f/e − 1) with y the other row.
Val DividedByBlocks(Builder& b, Val ld, const Blocks& blocks, Val rhs) {
  const Val one = b.Int(1);
  const Val rows = b.Unsqueeze(Iota(b, b.Size(ld, 1)), {1}), columns = b.SwapAxes(rows, 0, 1);
  const Val places = b.Expand(columns, b.ShapeOf(blocks.row));
  const Val zero = b.Scalar(0, ld.dtype()), unit = b.Scalar(1, ld.dtype());
  const Val paired = b.Or(blocks.first, blocks.second);
  const Val after = b.Where(blocks.first, b.Add(places, one), places);
  const Val other = b.Where(blocks.second, b.Sub(places, one), after);
  const Val is_below = b.Equal(rows, b.Add(columns, one));
  const Val below = b.Reduce("ReduceSum", b.Where(is_below, ld, zero), {1}, /*keepdims=*/false);
  const Val e = b.Where(paired, Reordered(b, below, b.Min(places, other)), unit);
  const Val own_diagonal = Diagonal(b, ld);
  const Val d = b.Div(own_diagonal, e), f = b.Div(Reordered(b, own_diagonal, other), e);
  const auto wide = [&](Val v) { return b.Unsqueeze(v, {2}); };
  const Val x = b.Div(rhs, wide(e)), y = b.Div(Reordered(b, rhs, other), wide(e));
  const Val minor = wide(b.Where(paired, b.Sub(b.Mul(d, f), unit), unit));
  const Val of_two = b.Div(b.Sub(b.Mul(wide(f), x), y), minor);
  return b.Where(wide(paired), of_two, b.Div(rhs, wide(own_diagonal)));
}

void LdlSolve(Op& op) {
  Builder& b = op.b;
  const Val ld = op.Tensor("LD"), rhs = op.Tensor("B");
  const Val pivots = op.Tensor("pivots", DType::kInt64);
  if (!ld || !rhs || !pivots) return;
  if (rhs.numel() == 0) return op.Return(rhs);
  const MatrixPair pair = BroadcastBatches(b, ld, rhs);
  const Val orders = BroadcastBatches(b, b.Unsqueeze(pivots, {-1}), pair.y).x;
  const Blocks blocks = BlocksOf(b, b.Squeeze(AsBatch(b, orders), {2}));
  const Val matrix = AsBatch(b, pair.x);
  const Val half = Forward(b, matrix, blocks, AsBatch(b, pair.y));
  const Val x = Backward(b, matrix, blocks, DividedByBlocks(b, matrix, blocks, half));
  op.Return(FromBatch(b, x, pair.y));
}

}  // namespace

extern const Family kLdl;
const Family kLdl = {"ldl", {
    {"aten::linalg_ldl_solve", LdlSolve, 11},
}};

}  // namespace rules_onnx::lowering
