// Least squares, by the pseudo-inverse in float64.
#include <string>

#include "exporter/lowering/linear.h"
#include "exporter/lowering/lu.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/svd.h"

namespace rules_onnx::lowering {
namespace {

// Singular values below this count as 0, [B, 1].
Val Tolerance(Op& op, Val a, const Singular& singular) {
  Builder& b = op.b;
  const DType dtype = DType::kFloat64;
  const Val side = b.Cast(b.Max(b.Size(a, -2), b.Size(a, -1)), dtype);
  const Val rcond = op.Has("rcond") ? op.Scalar("rcond", dtype)
                                    : b.Mul(side, b.Scalar(Epsilon(a.dtype()), dtype));
  return b.Mul(rcond, b.Reduce("ReduceMax", singular.values, {1}, /*keepdims=*/true));
}

// [...]: how many singular values are above the tolerance.
Val RankOf(Builder& b, Val a, const Singular& singular, Val tolerance) {
  const Val counted = b.Cast(b.Greater(singular.values, tolerance), DType::kInt64);
  const Val sums = b.Unsqueeze(b.Reduce("ReduceSum", counted, {1}, /*keepdims=*/true), {2});
  return b.Squeeze(FromBatch(b, sums, a), {-2, -1});
}

// The sums of squares of B − A·X, [..., columns]. Drivers that find the rank give them where it is
// full only, and nothing otherwise.
Val Residuals(Op& op, Val a, Val x, Val rhs, Val rank) {
  Builder& b = op.b;
  const Val rest = b.Sub(rhs, MatMul(b, b.CastLike(a, x), x));
  const Val sums = b.Reduce("ReduceSum", b.Mul(rest, rest), {-2}, /*keepdims=*/false);
  if (!rank) return b.Cast(sums, a.dtype());
  if (!op.Require(a.rank() == 2, "residuals of a batch whose ranks the program finds")) return {};
  const Val full = b.Equal(rank, b.Size(a, -1));
  return b.Cast(b.Slice(sums, 0, b.Int(0), b.Where(full, b.Size(sums, 0), b.Int(0))), a.dtype());
}

void Lstsq(Op& op) {
  Builder& b = op.b;
  const Val a = op.Tensor("self");
  const Val given = op.Tensor("b", DType::kFloat64);
  if (!a || !given) return;
  const std::string driver = op.Has("driver") ? op.String("driver") : "gelsy";
  const bool finds_rank = driver != "gels", by_values = driver == "gelsd" || driver == "gelss";
  if (!op.Require(a.dim(-2).is_number() && a.dim(-1).is_number(),
                  "least squares of a matrix of unknown size")) {
    return;
  }
  const bool vector = IsVector(a, given);
  const Val rhs = vector ? b.Unsqueeze(given, {-1}) : given;
  const Singular singular = SingularOf(b, a, /*vectors=*/true);
  if (!singular.values) return;
  const Val tolerance = Tolerance(op, a, singular);
  const Val x = MatMul(b, FromBatch(b, PseudoInverse(b, singular, tolerance), a), rhs);
  const Val rank = finds_rank ? RankOf(b, a, singular, tolerance) : Val();
  const bool tall = a.dim(-2).value() > a.dim(-1).value();
  const Val none = b.Full(0, a.dtype(), {0});
  op.Return(Vals{b.Cast(vector ? b.Squeeze(x, {-1}) : x, a.dtype()),
                 tall && driver != "gelsy" ? Residuals(op, a, x, rhs, rank) : none,
                 finds_rank ? rank : b.Full(0, DType::kInt64, {0}),
                 by_values ? b.Cast(SingularValues(b, a), a.dtype()) : none});
}

}  // namespace

extern const Family kLstsq;
const Family kLstsq = {"lstsq", {
    {"aten::linalg_lstsq", Lstsq, 10},
}};

}  // namespace rules_onnx::lowering
