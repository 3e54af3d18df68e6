// Inverse trigonometric and hyperbolic functions: ONNX's operators, but of float64, in which ONNX
// Runtime has none of them, by roots, exponentials and logarithms.
#include "exporter/lowering/trigonometry.h"

#include <cmath>
#include <vector>

#include "exporter/lowering/expr.h"
#include "exporter/lowering/math.h"
#include "exporter/lowering/registry.h"

namespace rules_onnx::lowering {
namespace {

constexpr double kLarge = 1e100;  // x² + 1 is x² long before

Expr Log1pOf(Expr x) { return {x.b(), Log1p(x.b(), x.val())}; }
Expr Expm1Of(Expr x) { return {x.b(), Expm1(x.b(), x.val())}; }

// tan(a / 2) of tan(a) ≥ 0
Expr HalfTangent(Expr tangent) { return tangent / (1 + Sqrt(1 + tangent * tangent)); }

// Of the reciprocal where x is above 1, and of a quarter of the angle, where a few terms of the
// series are enough.
Expr AtanOf(Expr x) {
  const Expr size = Abs(x);
  const Val steep = size > 1;
  const Expr low = Select(steep, 1 / Select(steep, size, 1), size);
  const Expr quarter = HalfTangent(HalfTangent(low));
  std::vector<double> series;
  for (int k = 0; k < 13; ++k) series.push_back((k % 2 == 0 ? 4.0 : -4.0) / (2 * k + 1));
  const Expr angle = quarter * Polynomial(quarter * quarter, series);
  const Expr whole = Select(steep, M_PI / 2 - angle, angle);
  return Select(x < 0, -whole, Select(x == 0, x, whole));
}

Expr AsinOf(Expr x) { return AtanOf(x / Sqrt((1 - x) * (1 + x))); }
Expr AcosOf(Expr x) { return 2 * AtanOf(Sqrt((1 - x) / (1 + x))); }

Expr AsinhOf(Expr x) {
  const Expr size = Abs(x), near = Min(size, kLarge);
  const Expr square = near * near;
  const Expr low = Log1pOf(near + square / (1 + Sqrt(1 + square)));
  const Expr whole = Select(size > kLarge, Log(size) + std::log(2.0), low);
  return Select(x < 0, -whole, Select(x == 0, x, whole));
}

Expr AcoshOf(Expr x) {
  const Expr above = Min(x, kLarge) - 1;
  const Expr low = Log1pOf(above + Sqrt(above * (above + 2)));
  return Select(x > kLarge, Log(x) + std::log(2.0), low);
}

Expr AtanhOf(Expr x) {
  const Expr size = Abs(x);
  const Expr whole = 0.5 * Log1pOf(2 * size / (1 - size));
  return Select(x < 0, -whole, Select(x == 0, x, whole));
}

// exp(|x|) / 2 where exp(|x|) itself may be too large.
Expr HalfExp(Expr size) {
  const Expr root = Exp(size / 2);
  return root * 0.5 * root;
}

Expr SinhOf(Expr x) {
  const Expr size = Abs(x);
  const Expr part = Expm1Of(Min(size, 30));
  const Expr whole = Select(size > 30, HalfExp(size), (part + part / (part + 1)) / 2);
  return Select(x < 0, -whole, Select(x == 0, x, whole));
}

Expr CoshOf(Expr x) {
  const Expr size = Abs(x);
  return HalfExp(size) + Exp(-size) / 2;
}

Expr TanOf(Expr x) { return Sin(x) / Cos(x); }

template <const char* kOnnxOp, Expr (*kComposed)(Expr)>
void Function(Op& op) {
  const Val x = op.Tensor("self", op.OutDType());
  if (!x) return;
  op.Return(x.dtype() == DType::kFloat64 ? kComposed(Expr(op.b, x)).val()
                                         : op.b.Unary(kOnnxOp, x));
}

constexpr char kAcos[] = "Acos", kAcosh[] = "Acosh", kAsin[] = "Asin", kAsinh[] = "Asinh",
               kAtan[] = "Atan", kAtanh[] = "Atanh", kCosh[] = "Cosh", kSinh[] = "Sinh",
               kTan[] = "Tan";

}  // namespace

Val Atan(Builder& b, Val x) {
  return x.dtype() == DType::kFloat64 ? AtanOf(Expr(b, x)).val() : b.Unary("Atan", x);
}

extern const Family kTrigonometry;
const Family kTrigonometry = {"trigonometry", {
    {"aten::acos", Function<kAcos, AcosOf>},
    {"aten::arccos", Function<kAcos, AcosOf>},
    {"aten::acosh", Function<kAcosh, AcoshOf>},
    {"aten::arccosh", Function<kAcosh, AcoshOf>},
    {"aten::asin", Function<kAsin, AsinOf>},
    {"aten::arcsin", Function<kAsin, AsinOf>},
    {"aten::asinh", Function<kAsinh, AsinhOf>},
    {"aten::arcsinh", Function<kAsinh, AsinhOf>},
    {"aten::atan", Function<kAtan, AtanOf>},
    {"aten::arctan", Function<kAtan, AtanOf>},
    {"aten::atanh", Function<kAtanh, AtanhOf>},
    {"aten::arctanh", Function<kAtanh, AtanhOf>},
    {"aten::cosh", Function<kCosh, CoshOf>},
    {"aten::sinh", Function<kSinh, SinhOf>},
    {"aten::tan", Function<kTan, TanOf>},
}};

}  // namespace rules_onnx::lowering
