// Singular values and vectors by one-sided Jacobi rotations. A sweep turns every pair of columns
// once, in rounds of disjoint pairs as a tournament is drawn: those at i and i + half are turned,
// then all but the first move one place on round the two rows of halves.
#include <limits>

#include "exporter/lowering/expr.h"
#include "exporter/lowering/loop.h"
#include "exporter/lowering/lu.h"
#include "exporter/lowering/svd.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

constexpr int64_t kMaxSweeps = 40;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// Columns of [B, p, q] and, below them, what is turned along; an even number of columns, the last
// of them 0 where q is odd.
struct Drawn {
  Val stacked;  // [B, p + …, 2 · half]
  Val rows;     // p
  Val half;
};

Drawn Draw(Builder& b, Val x, bool vectors) {
  const Val n = b.Size(x, 2), two = b.Int(2);
  const Val half = b.Div(b.Add(n, b.Int(1)), two);
  Val stacked = x;
  if (vectors) {
    const Val sizes = b.Vector({b.Size(x, 0), b.Int(1), b.Int(1)});
    stacked = b.Concat({x, b.Expand(Identity(b, n, x.dtype()), sizes)}, 1);
  }
  const Val missing = b.Sub(b.Mul(half, two), n), none = b.Int(0);
  if (missing.int_value() != 0) {
    stacked = b.Pad(stacked, b.Vector({none, none, none, none, none, missing}));
  }
  return {stacked, b.Size(x, 1), half};
}

// Where the columns of the next round stand in this one.
Val NextRound(Builder& b, Val half) {
  const Val one = b.Int(1), count = b.Mul(half, b.Int(2)), places = Iota(b, count);
  const Val above = b.Where(b.Equal(places, one), half, b.Max(b.Sub(places, one), b.Int(0)));
  const Val last = b.Equal(places, b.Sub(count, one));
  const Val below = b.Where(last, b.Sub(half, one), b.Add(places, one));
  return b.Where(b.Or(b.Less(places, half), b.Equal(places, one)), above, below);
}

struct Rotation {
  Expr cosine, sine;  // [B, 1, half]
  Val turned;         // 0-d int64: how many pairs are not orthogonal yet
};

// The rotations that make columns orthogonal to their partners. Columns whose squares are not above
// `floor` [B, 1, 1] count as 0.
Rotation RotationOf(Builder& b, Val first, Val second, Val floor, Expr tolerance) {
  const auto sum = [&](Val x, Val y) {
    return Expr(b, b.Reduce("ReduceSum", b.Mul(x, y), {1}, /*keepdims=*/true));
  };
  const Expr alpha = sum(first, first), beta = sum(second, second), gamma = sum(first, second);
  const Val sizable = b.And(b.Greater(alpha.val(), floor), b.Greater(beta.val(), floor));
  const Val turn = b.And(sizable, Abs(gamma) > tolerance * Sqrt(alpha) * Sqrt(beta));
  const Expr zeta = (beta - alpha) / (2 * Select(turn, gamma, 1.0));
  const Expr sign = Select(zeta < 0, -1.0, zeta.Number(1));
  const Expr t = Select(turn, sign / (Abs(zeta) + Sqrt(zeta * zeta + 1)), 0.0);
  const Expr cosine = 1 / Sqrt(t * t + 1);
  const Val turned = b.Reduce("ReduceSum", b.Cast(turn, DType::kInt64), {}, /*keepdims=*/false);
  return {cosine, cosine * t, turned};
}

// The stacked columns, turned until all are orthogonal to each other.
Val Orthogonalized(Builder& b, const Drawn& drawn) {
  const Val zero = b.Int(0), one = b.Int(1), half = drawn.half;
  const Val count = b.Mul(half, b.Int(2));
  const Val rounds = b.Sub(count, one), next = NextRound(b, half);
  const auto own = [&](Val x) { return b.Slice(x, 1, zero, drawn.rows); };
  const Val start = own(drawn.stacked);
  const Val squares = b.Reduce("ReduceSum", b.Mul(start, start), {1, 2}, /*keepdims=*/true);
  const Val floor = b.Mul(squares, b.Scalar(kEpsilon * kEpsilon, start.dtype()));
  const Expr tolerance = Max(Expr(b, b.Cast(drawn.rows, start.dtype())), 4) * kEpsilon;
  return Repeat(
      b, b.Mul(rounds, b.Int(kMaxSweeps)), {}, {drawn.stacked, zero},
      [&](Val step, const Vals& carried) {
        const Val x = carried[0];
        const Val first = b.Slice(x, 2, zero, half), second = b.Slice(x, 2, half, count);
        const Rotation rotation = RotationOf(b, own(first), own(second), floor, tolerance);
        const Expr p(b, first), q(b, second), c = rotation.cosine, s = rotation.sine;
        const Val turned = b.Concat({(c * p - s * q).val(), (s * p + c * q).val()}, 2);
        // At the end of a sweep the question is whether it turned anything.
        const Val seen = b.Add(carried[1], rotation.turned);
        const Val ends = b.Equal(b.Mod(b.Add(step, one), rounds, /*fmod=*/false), zero);
        const Val go_on = b.Or(b.Not(ends), b.Greater(seen, zero));
        return LoopStep{{b.Gather(turned, next, 2), b.Where(ends, zero, seen)}, go_on};
      })[0];
}

// Whether Aᵀ has the columns to turn.
bool TurnsTransposed(Val x) {
  const Dim rows = x.dim(1), columns = x.dim(2);
  if (!rows.is_number()) return false;
  return !columns.is_number() || rows.value() < columns.value();
}

// 1, or what brings elements whose squares would be too large or too small near 1. [B, 1, 1]
Val ScaleOf(Builder& b, Val x) {
  const Expr sum(b, b.Reduce("ReduceSum", b.Unary("Abs", x), {1, 2}, /*keepdims=*/true));
  const Val small = b.And(sum < 1e-100, sum > 0);
  return Select(b.Or(small, sum > 1e100), sum, 1.0).val();
}

}  // namespace

Singular SingularOf(Builder& b, Val a, bool vectors) {
  if (!a || b.failed()) return {};
  const Val given = b.Cast(AsBatch(b, a), DType::kFloat64);
  const bool transposed = TurnsTransposed(given);
  const Val x = transposed ? Transposed(b, given) : given;
  const Val scale = ScaleOf(b, x);
  const Drawn drawn = Draw(b, b.Div(x, scale), vectors);
  const Val turned = b.Slice(Orthogonalized(b, drawn), 2, b.Int(0), b.Size(x, 2));
  const Val columns = b.Slice(turned, 1, b.Int(0), drawn.rows);
  const Val squares = b.Reduce("ReduceSum", b.Mul(columns, columns), {1}, /*keepdims=*/false);
  const Val lengths = b.Mul(b.Unary("Sqrt", squares), b.Squeeze(scale, {2}));
  const Val v = vectors ? b.Slice(turned, 1, drawn.rows, b.Size(turned, 1)) : Val();
  return {b.Mul(columns, scale), v, lengths, transposed};
}

}  // namespace rules_onnx::lowering
