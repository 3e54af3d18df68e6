// Gamma and Dirichlet distributions, by Marsaglia and Tsang's rejection.
#include <limits>

#include "exporter/lowering/expr.h"
#include "exporter/lowering/loop.h"
#include "exporter/lowering/norm.h"
#include "exporter/lowering/random.h"
#include "exporter/lowering/registry.h"

namespace rules_onnx::lowering {
namespace {

// With d = α − 1/3 and c = 1 / √(9 · d), a normal x and a uniform u: d · v for v = (1 + c · x)³ is
// taken where v > 0 and log u < x² / 2 + d · (1 − v + log v). Below α = 1: of α + 1, times u^(1/α).
// NaN at the first draw where α is NaN or has no d.
Expr Gamma(Expr alpha) {
  Builder& b = alpha.b();
  const DType dtype = alpha.val().dtype();
  const Val shape = b.ShapeOf(alpha.val());
  const Val is_small = alpha < 1.0;
  const Expr d = Select(is_small, alpha + 1, alpha) - 1.0 / 3;
  const Expr c = 1 / Sqrt(9 * d);
  const Val pending = b.Cast(b.ConstantOfShape(shape, 1, dtype), DType::kBool);
  const Val drawn = b.ConstantOfShape(shape, 0, dtype);
  const Val result = Repeat(b, {}, {}, {drawn, pending}, [&](Val, const Vals& carried) {
    const Expr x(b, Normal(b, shape, dtype)), u(b, Uniform(b, shape, dtype));
    const Expr root = 1 + c * x;
    const Val is_low = root <= 0.0;
    const Expr v = Select(is_low, 1.0, root * root * root);
    // A comparison with NaN rejects nothing.
    const Val is_high = Log(u) >= x * x / 2 + d * (1 - v + Log(v));
    const Val left = b.And(carried[1], b.Or(is_low, is_high));
    const Val taken = b.And(carried[1], b.Not(left));
    return LoopStep{{b.Where(taken, (d * v).val(), carried[0]), left}, Any(b, left)};
  })[0];
  const Expr share(b, Uniform(b, shape, dtype));
  return Expr(b, result) * Select(is_small, Pow(share, 1 / alpha), 1.0);
}

Expr GammaOf(Op& op) { return Gamma({op.b, op.Tensor("self", Wide(op.OutDType()))}); }

double SmallestNormal(DType dtype) {
  if (dtype == DType::kFloat16) return 0x1p-14;
  if (dtype == DType::kFloat64) return std::numeric_limits<double>::min();
  return std::numeric_limits<float>::min();
}

// Not below the smallest normal number, which NaN becomes too.
void StandardGamma(Op& op) {
  const Expr x = GammaOf(op);
  if (!x.val()) return;
  const Expr smallest = x.Number(SmallestNormal(op.OutDType()));
  op.Return(op.b.Cast(Select(x > smallest, x, smallest).val(), op.OutDType()));
}

// Gamma numbers over their sum along the last axis.
void Dirichlet(Op& op) {
  const Expr x = GammaOf(op);
  if (!x.val()) return;
  const Expr sum(op.b, op.b.Reduce("ReduceSum", x.val(), {x.val().rank() - 1}, /*keepdims=*/true));
  op.Return(op.b.Cast((x / sum).val(), op.OutDType()));
}

}  // namespace

extern const Family kRandomGamma;
const Family kRandomGamma = {"random_gamma",
                             {
                                 {"aten::_standard_gamma", StandardGamma, 9, kRandomNote},
                                 {"aten::_sample_dirichlet", Dirichlet, 9, kRandomNote},
                             }};

}  // namespace rules_onnx::lowering
