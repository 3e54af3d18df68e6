// Bunch and Kaufman's factorization of symmetric matrices from the lower triangle, with the pivots
// that LAPACK's sytrf takes: A = P₀·L₀·P₁·L₁·… · D · …·L₁ᵀ·P₁ᵀ·L₀ᵀ·P₀ᵀ, D with blocks of 1 or 2.
#include <cmath>

#include "exporter/lowering/expr.h"
#include "exporter/lowering/loop.h"
#include "exporter/lowering/lu.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// Values of a step: numbers [B, 1], rows of the matrix [B, n], places [B, 1] int64.
class Step {
 public:
  // `matrix` [B, n, n] is symmetric.
  Step(Builder& b, Val matrix)
      : b_(b), matrix_(matrix), rows_(b.Unsqueeze(Iota(b, b.Size(matrix, 1)), {0})) {}

  Val rows() const { return rows_; }
  Expr Row(Val place) const {
    const Val is_row = b_.Equal(b_.Unsqueeze(rows_, {2}), b_.Unsqueeze(place, {2}));
    return Sum(b_.Where(is_row, matrix_, Zero()), {1}, false);
  }
  Expr At(Expr row, Val place) const {
    return Sum(b_.Where(b_.Equal(rows_, place), row.val(), Zero()), {1}, true);
  }
  // The elements of a row for which the condition holds, others 0.
  Expr Kept(Val condition, Expr row) const { return Select(condition, row, 0.0); }
  Expr Largest(Expr row) const { return {b_, b_.Reduce("ReduceMax", row.val(), {1}, true)}; }

 private:
  Val Zero() const { return b_.Scalar(0, matrix_.dtype()); }
  Expr Sum(Val x, const std::vector<int64_t>& axes, bool keepdims) const {
    return {b_, b_.Reduce("ReduceSum", x, axes, keepdims)};
  }

  Builder& b_;
  Val matrix_, rows_;
};

struct Choice {
  Val partner;  // the place that comes to the end of the block
  Val is_pair;  // bool: a block of 2
  Val is_zero;  // bool: the column is 0
};

// (1 + √17) / 8, which bounds the growth of elements.
const double kAlpha = (1 + std::sqrt(17.0)) / 8;

Choice Choose(Builder& b, const Step& step, Val k) {
  const Expr column = step.Row(k);
  const Expr own = Abs(step.At(column, k));
  const Expr below = step.Kept(b.Greater(step.rows(), k), Abs(column));
  const Expr largest = step.Largest(below);
  const Val place = b.Max(b.ArgMax(below.val(), 1, /*keepdims=*/true), k);
  const Expr other = step.Row(place);
  const Val others = b.And(b.GreaterOrEqual(step.rows(), k), b.Not(b.Equal(step.rows(), place)));
  const Expr row_largest = step.Largest(step.Kept(others, Abs(other)));
  const Val is_zero = b.And(own == 0, largest == 0);
  const Val stays = b.Or(own >= kAlpha * largest, own * row_largest >= kAlpha * largest * largest);
  const Val fits = Abs(step.At(other, place)) >= kAlpha * row_largest;
  const Val keeps = b.Or(is_zero, stays);
  return {b.Where(keeps, k, place), b.And(b.Not(keeps), b.Not(fits)), is_zero};
}

// What the elimination of one block gives.
struct Eliminated {
  Val matrix;         // what is left
  Val first, second;  // columns of LD; the second one of a block of 2 only
};

Val Outer(Builder& b, Expr x, Expr y) {
  return b.Mul(b.Unsqueeze(x.val(), {2}), b.Unsqueeze(y.val(), {1}));
}

Eliminated Eliminate(Builder& b, Val matrix, Val k, const Choice& choice) {
  const Step step(b, matrix);
  const Val next = b.Add(k, b.Int(1));
  const Val end = b.Where(choice.is_pair, next, k);
  const Expr x = step.Row(k), y = step.Row(next);
  const Val behind = b.Greater(step.rows(), end);
  const Expr x_behind = step.Kept(behind, x), y_behind = step.Kept(behind, y);
  const Expr d = step.At(x, k);
  // A block of 1: x / d.
  const Expr single = x_behind / Select(b.Or(choice.is_zero, choice.is_pair), 1.0, d);
  // A block of 2, (d e; e f): its inverse times the two columns.
  const Expr e = Select(choice.is_pair, step.At(x, next), 1.0);
  const Expr f = step.At(y, next) / e, g = d / e;
  const Expr scale = 1 / Select(choice.is_pair, f * g - 1, 1.0) / e;
  const Expr first = Select(choice.is_pair, scale * (f * x_behind - y_behind), single);
  const Expr second = Select(choice.is_pair, scale * (g * y_behind - x_behind), 0.0);
  const Val left = b.Sub(b.Sub(matrix, Outer(b, x_behind, first)), Outer(b, y_behind, second));
  const Val in_block = b.And(b.GreaterOrEqual(step.rows(), k), b.Not(behind));
  const Val is_next = b.Equal(step.rows(), next);
  return {left, Select(in_block, x, first).val(), Select(is_next, y, second).val()};
}

// x with its rows and columns at two places swapped.
Val Swapped(Builder& b, Val x, Val first, Val second) {
  const Val rows = WithRowsSwapped(b, x, first, second);
  return b.Transpose(WithRowsSwapped(b, b.Transpose(rows, {0, 2, 1}), first, second), {0, 2, 1});
}

struct Factors {
  Val ld, pivots, info;  // of a batch
};

Factors FactorsOf(Builder& b, Val a) {
  const Val lower = LowerPart(b, a, 0), strict = LowerPart(b, a, -1);
  const Val matrix = b.Add(lower, b.Transpose(strict, {0, 2, 1}));
  const Val n = b.Size(a, 1), one = b.Int(1);
  const Val places = b.Unsqueeze(Iota(b, n), {0});  // [1, n]
  const Val none = b.Expand(b.Int(0), b.Vector({b.Size(a, 0), one}));
  const Val pivots = b.Expand(b.Int(0), b.Vector({b.Size(a, 0), n}));
  const Val ld = b.ConstantOfShape(b.ShapeOf(a), 0, a.dtype());
  const Vals result =
      Repeat(b, n, {}, {matrix, ld, pivots, none, none}, [&](Val, const Vals& carried) {
        const Val k = carried[3];
        const Val active = b.Less(k, n);
        const Step step(b, carried[0]);
        const Choice choice = Choose(b, step, k);
        const Val is_pair = b.And(choice.is_pair, active);
        const Val end = b.Where(is_pair, b.Add(k, one), k);
        // Behind the last column nothing is swapped.
        const Val last = b.Sub(n, one);
        const Val moved = Swapped(b, carried[0], b.Min(end, last), b.Min(choice.partner, last));
        const Eliminated block = Eliminate(b, moved, k, {choice.partner, is_pair, choice.is_zero});
        const auto at = [&](Val place) { return b.Unsqueeze(b.Equal(places, place), {1}); };
        const Val with_first = b.Where(at(k), b.Unsqueeze(block.first, {2}), carried[1]);
        const Val second = b.And(at(b.Add(k, one)), b.Unsqueeze(is_pair, {2}));
        const Val columns = b.Where(second, b.Unsqueeze(block.second, {2}), with_first);
        const Val named = b.Add(choice.partner, one);
        const Val pivot = b.Where(is_pair, b.Unary("Neg", named), named);
        const Val in_block = b.And(b.GreaterOrEqual(places, k), b.LessOrEqual(places, end));
        const Val first_zero = b.And(b.And(choice.is_zero, active), b.Equal(carried[4], b.Int(0)));
        return LoopStep{{b.Where(b.Unsqueeze(active, {2}), block.matrix, carried[0]), columns,
                         b.Where(in_block, pivot, carried[2]), b.Add(end, one),
                         b.Where(first_zero, b.Add(k, one), carried[4])},
                        {}};
      });
  return {result[1], result[2], result[4]};
}

template <bool kWithInfo>
void LdlFactor(Op& op) {
  Builder& b = op.b;
  const Val self = op.Tensor("self");
  if (!self) return;
  const Factors factors = FactorsOf(b, AsBatch(b, self));
  const Val pivots = b.Cast(factors.pivots, DType::kInt32);
  const Val column = b.Unsqueeze(pivots, {2});
  Vals results = {FromBatch(b, factors.ld, self),
                  b.Squeeze(FromBatch(b, column, self), {self.rank() - 1})};
  if (kWithInfo) {
    const Val info = b.Unsqueeze(b.Cast(factors.info, DType::kInt32), {2});
    results.push_back(b.Squeeze(FromBatch(b, info, self), {self.rank() - 2, self.rank() - 1}));
  }
  op.Return(results);
}

}  // namespace

extern const Family kLdlFactor;
const Family kLdlFactor = {"ldl_factor",
                           {
                               {"aten::linalg_ldl_factor", LdlFactor<false>, 11},
                               {"aten::linalg_ldl_factor_ex", LdlFactor<true>, 11},
                           }};

}  // namespace rules_onnx::lowering
