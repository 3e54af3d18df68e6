// The error function's relatives.
#include <cmath>
#include <limits>

#include "exporter/lowering/registry.h"
#include "exporter/lowering/math.h"
#include "exporter/lowering/special.h"
#include "exporter/lowering/special_tables.h"

namespace rules_onnx::lowering {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Expr ScaledErfc(Expr x) {
  const Expr t = 2 / (x + 2);
  return t * Exp(Polynomial(2 * t - 1, kLogErfcxRatio));
}

Expr Erfc(Expr x) {
  const Expr right = ScaledErfc(Abs(x)) * Exp(-(x * x));
  return Select(x < 0, 2 - right, right);
}

namespace {

void Erfcx(Op& op) {
  const Expr x = Double(op, "self");
  const Expr right = ScaledErfc(Abs(x));
  ReturnRounded(op, Select(x < 0, 2 * Exp(x * x) - right, right));
}

void ErfcOp(Op& op) { ReturnRounded(op, Erfc(Double(op, "self"))); }

// The normal distribution's share below x.
void Ndtr(Op& op) {
  ReturnRounded(op, 0.5 * Erfc(Double(op, "self") * -std::sqrt(0.5)));
}

void LogNdtr(Op& op) {
  Builder& b = op.b;
  const Expr x = Double(op, "self");
  const Val left = x < -1;
  const Expr low = Log(0.5 * ScaledErfc(Abs(x) * std::sqrt(0.5))) - 0.5 * (x * x);
  const Expr share = -0.5 * Erfc(Select(left, 0.0, x) * std::sqrt(0.5));
  ReturnRounded(op, Select(left, low, Expr(b, Log1p(b, share.val()))));
}

// erfinv(x) / x where w = −log(1 − x²) ≥ 0
Expr ErfinvRatio(Expr w) {
  const Expr root = Sqrt(Max(w, 4));
  const Expr centre = Polynomial(0.5 * Min(w, 4) - 1, kErfinvCentre);
  const Expr middle = Polynomial(Min(root, 4) - 3, kErfinvMiddle);
  const Expr tail = Polynomial((2 * Max(Min(root, 9), 4) - 13) / 5, kErfinvTail);
  const Expr far = Polynomial((2 * Max(Min(root, 28), 9) - 37) / 19, kErfinvFar);
  return Select(w <= 4, centre, Select(root <= 4, middle, Select(root <= 9, tail, far)));
}

// NaN for x outside [−1, 1].
Expr Erfinv(Expr x, Expr one_less_square) {
  const Expr w = -Log(one_less_square);
  const Val edge = one_less_square == 0;
  const Expr inside = Select(edge, Sign(x) * kInfinity, x * ErfinvRatio(Select(edge, 1.0, w)));
  return Select(one_less_square < 0, kNan, inside);
}

void ErfinvOp(Op& op) {
  const Expr x = Double(op, "self");
  ReturnRounded(op, Erfinv(x, (1 - x) * (1 + x)));
}

// √2 · erfinv(2p − 1); 1 − (2p − 1)² as a product that small p do not vanish from.
void Ndtri(Op& op) {
  const Expr p = Double(op, "self");
  const Expr result = std::sqrt(2) * Erfinv(2 * p - 1, 4 * p * (1 - p));
  const Val inside = op.b.And(p >= 0, p <= 1);
  ReturnRounded(op, Select(inside, result, kNan));
}

// −x · log x; 0 at 0, −∞ below.
void Entr(Op& op) {
  const Expr x(op.b, op.Tensor("self", op.OutDType()));
  const Expr positive = -(x * Log(x));
  const Expr rest = Select(x == 0, 0.0, Select(x < 0, -kInfinity, x));
  op.Return(Select(x > 0, positive, rest).val());
}

}  // namespace

extern const Family kErrorFunction;
const Family kErrorFunction = {"error_function", {
    {"aten::special_erfcx", Erfcx},
    {"aten::erfc", ErfcOp},
    {"aten::special_erfc", ErfcOp},
    {"aten::special_ndtr", Ndtr},
    {"aten::special_log_ndtr", LogNdtr},
    {"aten::erfinv", ErfinvOp},
    {"aten::special_erfinv", ErfinvOp},
    {"aten::special_ndtri", Ndtri},
    {"aten::special_entr", Entr},
}};

}  // namespace rules_onnx::lowering
