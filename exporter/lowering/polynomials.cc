// Orthogonal polynomials by their three-term recurrences.
#include "exporter/lowering/registry.h"
#include "exporter/lowering/loop.h"
#include "exporter/lowering/special.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// p₀ = 1, p₁ = first(x), p₍ₖ₊₁₎ = next(x, k, pₖ, p₍ₖ₋₁₎).
struct Recurrence {
  Expr (*first)(Expr x);
  Expr (*next)(Expr x, Expr k, Expr p, Expr before);
  bool shifted = false;  // x stands for 2x − 1
};

Expr Chebyshev(Expr x, Expr, Expr p, Expr before) { return 2 * x * p - before; }

// Degrees below 0 give 0. Each element has its own degree; the loop runs to the largest.
Expr Evaluate(const Recurrence& recurrence, Expr x, Val degree) {
  Builder& b = x.b();
  const Val none = b.Max(degree, b.Int(0));
  // A 0 beside them: of no degrees there is no largest one.
  const Val some = b.Concat({b.Flatten1D(none), b.Vector({b.Int(0)})}, 0);
  const Val last = b.Reduce("ReduceMax", some, {}, /*keepdims=*/false);
  const Expr one = x.Number(1);
  const auto expand = [&](Expr v) { return Broadcast(b, {v.val(), degree})[0]; };
  const Vals start = {expand(x * 0 + 1), expand(recurrence.first(x))};
  const Vals result = Repeat(
      b, b.Sub(last, b.Int(1)), {}, start, [&](Val iteration, const Vals& carried) {
        const Expr k = Expr(b, b.Cast(iteration, x.val().dtype())) + 1;
        const Val active = b.Less(b.Add(iteration, b.Int(1)), degree);
        const Expr before(b, carried[0]), p(b, carried[1]);
        const Expr next = recurrence.next(x, k, p, before);
        return LoopStep{{Select(active, p, before).val(), Select(active, next, p).val()}, {}};
      });
  const Expr positive = Select(b.Less(degree, b.Int(1)), one, Expr(b, result[1]));
  return Select(b.Less(degree, b.Int(0)), 0.0, positive);
}

template <const Recurrence& kRecurrence>
void PolynomialOp(Op& op) {
  Builder& b = op.b;
  Expr x = Double(op, "x");
  if (kRecurrence.shifted) x = 2 * x - 1;
  const Val degree = b.Cast(op.Tensor("n"), DType::kInt64);
  if (!x.val() || !degree) return;
  ReturnRounded(op, Evaluate(kRecurrence, x, degree));
}

const Recurrence kT = {[](Expr x) { return x; }, Chebyshev};
const Recurrence kU = {[](Expr x) { return 2 * x; }, Chebyshev};
const Recurrence kV = {[](Expr x) { return 2 * x - 1; }, Chebyshev};
const Recurrence kW = {[](Expr x) { return 2 * x + 1; }, Chebyshev};
const Recurrence kShiftedT = {kT.first, Chebyshev, true};
const Recurrence kShiftedU = {kU.first, Chebyshev, true};
const Recurrence kShiftedV = {kV.first, Chebyshev, true};
const Recurrence kShiftedW = {kW.first, Chebyshev, true};

const Recurrence kHermite = {
    [](Expr x) { return 2 * x; },
    [](Expr x, Expr k, Expr p, Expr before) { return 2 * (x * p - k * before); }};
const Recurrence kHermiteE = {
    [](Expr x) { return x; },
    [](Expr x, Expr k, Expr p, Expr before) { return x * p - k * before; }};
const Recurrence kLaguerre = {
    [](Expr x) { return 1 - x; },
    [](Expr x, Expr k, Expr p, Expr before) {
      return ((2 * k + 1 - x) * p - k * before) / (k + 1);
    }};
const Recurrence kLegendre = {
    [](Expr x) { return x; },
    [](Expr x, Expr k, Expr p, Expr before) {
      return ((2 * k + 1) * x * p - k * before) / (k + 1);
    }};

}  // namespace

extern const Family kPolynomials;
const Family kPolynomials = {"polynomials", {
    {"aten::special_chebyshev_polynomial_t", PolynomialOp<kT>},
    {"aten::special_chebyshev_polynomial_u", PolynomialOp<kU>},
    {"aten::special_chebyshev_polynomial_v", PolynomialOp<kV>},
    {"aten::special_chebyshev_polynomial_w", PolynomialOp<kW>},
    {"aten::special_shifted_chebyshev_polynomial_t", PolynomialOp<kShiftedT>},
    {"aten::special_shifted_chebyshev_polynomial_u", PolynomialOp<kShiftedU>},
    {"aten::special_shifted_chebyshev_polynomial_v", PolynomialOp<kShiftedV>},
    {"aten::special_shifted_chebyshev_polynomial_w", PolynomialOp<kShiftedW>},
    {"aten::special_hermite_polynomial_h", PolynomialOp<kHermite>},
    {"aten::special_hermite_polynomial_he", PolynomialOp<kHermiteE>},
    {"aten::special_laguerre_polynomial_l", PolynomialOp<kLaguerre>},
    {"aten::special_legendre_polynomial_p", PolynomialOp<kLegendre>},
}};

}  // namespace rules_onnx::lowering
