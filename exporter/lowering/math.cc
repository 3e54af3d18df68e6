// One-operand mathematics, and two-operand functions that promote integers to floats.
#include "exporter/lowering/math.h"

#include <cmath>
#include <limits>

#include "exporter/lowering/arithmetic.h"
#include "exporter/lowering/registry.h"

namespace rules_onnx::lowering {
namespace {

// The operand in the result's dtype: integers given to a float function become floats.
Val Self(Op& op) { return op.Tensor("self", op.OutDType()); }

Val Constant(Op& op, double value) { return op.b.Scalar(value, op.OutDType()); }

// A function that ONNX has by the same meaning. ONNX names are template arguments, so that a row
// is all it takes.
template <const char* kOnnxOp>
void Same(Op& op) {
  op.Return(op.b.Unary(kOnnxOp, Self(op)));
}

#define ONNX_NAME(name) inline constexpr char k##name[] = #name
ONNX_NAME(Abs);
ONNX_NAME(Acos);
ONNX_NAME(Acosh);
ONNX_NAME(Asin);
ONNX_NAME(Asinh);
ONNX_NAME(Atan);
ONNX_NAME(Atanh);
ONNX_NAME(Cos);
ONNX_NAME(Cosh);
ONNX_NAME(Erf);
ONNX_NAME(Exp);
ONNX_NAME(Log);
ONNX_NAME(Neg);
ONNX_NAME(Reciprocal);
ONNX_NAME(Sin);
ONNX_NAME(Sinh);
ONNX_NAME(Sqrt);
ONNX_NAME(Tan);
#undef ONNX_NAME

// Integers are whole already.
template <typename Function>
void RoundWith(Op& op, Function round) {
  const Val x = op.Tensor("self");
  op.Return(ir::IsFloat(x.dtype()) ? round(x) : x);
}

void Ceil(Op& op) {
  RoundWith(op, [&](Val x) { return op.b.Unary("Ceil", x); });
}
void Floor(Op& op) {
  RoundWith(op, [&](Val x) { return op.b.Unary("Floor", x); });
}

void Trunc(Op& op) {
  RoundWith(op, [&](Val x) { return Truncated(op.b, x); });
}

void Round(Op& op) {
  const int64_t decimals = op.Has("decimals") ? op.Int("decimals") : 0;
  RoundWith(op, [&](Val x) {
    if (decimals == 0) return Rounded(op.b, x);
    const Val scale = op.b.Scalar(std::pow(10.0, std::abs(decimals)), x.dtype());
    if (decimals > 0) return op.b.Div(Rounded(op.b, op.b.Mul(x, scale)), scale);
    return op.b.Mul(Rounded(op.b, op.b.Div(x, scale)), scale);
  });
}

void Frac(Op& op) {
  const Val x = op.Tensor("self");
  op.Return(op.b.Sub(x, Truncated(op.b, x)));
}

void Sign(Op& op) {
  const Val x = op.Tensor("self");
  op.Return(x.dtype() == DType::kBool ? x : SignOf(op.b, x));
}

void Square(Op& op) {
  const Val x = Self(op);
  op.Return(op.b.Mul(x, x));
}

void Rsqrt(Op& op) { op.Return(op.b.Unary("Reciprocal", op.b.Unary("Sqrt", Self(op)))); }

// log(x) · factor, the factor being 1 / log(base).
void LogBase(Op& op, double base) {
  op.Return(op.b.Div(op.b.Unary("Log", Self(op)), Constant(op, std::log(base))));
}
void Log2(Op& op) { LogBase(op, 2); }
void Log10(Op& op) { LogBase(op, 10); }

void Log1pOp(Op& op) { op.Return(Log1p(op.b, Self(op))); }
void Expm1Op(Op& op) { op.Return(Expm1(op.b, Self(op))); }

void Exp2(Op& op) { op.Return(op.b.Pow(Constant(op, 2), Self(op))); }

void Deg2rad(Op& op) { op.Return(op.b.Mul(Self(op), Constant(op, M_PI / 180))); }
void Rad2deg(Op& op) { op.Return(op.b.Mul(Self(op), Constant(op, 180 / M_PI))); }

// sin(πx) / (πx), and 1 at 0.
void Sinc(Op& op) {
  Builder& b = op.b;
  const Val x = Self(op);
  const Val zero = b.Equal(x, Constant(op, 0));
  const Val angle = b.Mul(b.Where(zero, Constant(op, 1), x), Constant(op, M_PI));
  op.Return(b.Where(zero, Constant(op, 1), b.Div(b.Unary("Sin", angle), angle)));
}

// log(x / (1 − x)), x clamped to [eps, 1 − eps] where eps is given.
void Logit(Op& op) {
  Builder& b = op.b;
  Val x = Self(op);
  if (op.Has("eps")) {
    const double eps = op.Float("eps");
    x = b.Clip(x, Constant(op, eps), Constant(op, 1 - eps));
  }
  op.Return(b.Unary("Log", b.Div(x, b.Sub(Constant(op, 1), x))));
}

Val IntegerPower(Builder& b, Val x, Val y) {
  if (b.opset() >= 12) return b.Pow(x, y);
  return b.CastLike(b.Pow(b.Cast(x, DType::kFloat64), b.Cast(y, DType::kFloat64)), x);
}

// A negative power of an integer, which ONNX leaves open, is 0 but for 1 and −1.
Val AnyIntegerPower(Builder& b, Val x, Val y) {
  const auto number = [&](int64_t value) { return b.ScalarInt(value, x.dtype()); };
  const Val negative = b.Less(y, number(0));
  const Val odd = b.Unary("Abs", b.Sub(y, b.Mul(b.Div(y, number(2)), number(2))));
  const Val unit = b.Equal(b.Unary("Abs", x), number(1));
  const Val power = IntegerPower(b, x, b.Where(negative, odd, y));
  return b.Where(b.And(negative, b.Not(unit)), number(0), power);
}

void Pow(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const absl::string_view self = "self", exponent_name = "exponent";
  const Val x = op.Tensor(self, dtype);
  const auto exponent = op.KnownFloat(exponent_name);
  if (exponent == 1.0 && x.has_shape() && op.OutShape() &&
      x.shape().size() == op.OutShape()->size()) {
    return op.Return(x);
  }
  if (exponent == 2.0) return op.Return(b.Mul(x, x));
  if (exponent == 0.5) return op.Return(b.Unary("Sqrt", x));
  const Val y = op.Tensor(exponent_name, dtype);
  if (ir::IsFloat(dtype)) return op.Return(b.Pow(x, y));
  const bool may_be_negative = dtype != DType::kUInt8 && !(exponent && *exponent >= 0);
  op.Return(may_be_negative ? AnyIntegerPower(b, x, y) : IntegerPower(b, x, y));
}

// The angle of the point (x = other, y = self), in all four quadrants and at signed infinities.
void Atan2(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Val y = op.Tensor("self", dtype), x = op.Tensor("other", dtype);
  const Val zero = Constant(op, 0);
  const Val x_zero = b.Equal(x, zero), y_zero = b.Equal(y, zero);
  const Val ratio = b.Div(b.Unary("Abs", y), b.Where(x_zero, Constant(op, 1), b.Unary("Abs", x)));
  Val angle = b.Unary("Atan", ratio);
  angle = b.Where(x_zero, Constant(op, M_PI / 2), angle);
  angle = b.Where(b.And(IsInfinity(b, x), IsInfinity(b, y)), Constant(op, M_PI / 4), angle);
  angle = b.Where(y_zero, zero, angle);
  angle = b.Where(IsNegative(b, x), b.Sub(Constant(op, M_PI), angle), angle);
  const Val nan = b.Or(b.Unary("IsNaN", x), b.Unary("IsNaN", y));
  const Val signed_angle = b.Where(IsNegative(b, y), b.Unary("Neg", angle), angle);
  op.Return(b.Where(nan, b.Add(x, y), signed_angle));
}

void Hypot(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Val x = b.Unary("Abs", op.Tensor("self", dtype));
  const Val y = b.Unary("Abs", op.Tensor("other", dtype));
  const Val larger = b.Max(x, y), smaller = b.Min(x, y);
  const Val infinity = Constant(op, std::numeric_limits<double>::infinity());
  const Val zero = b.Equal(larger, Constant(op, 0));
  const Val ratio = b.Div(smaller, b.Where(zero, Constant(op, 1), larger));
  const Val length = b.Mul(larger, b.Unary("Sqrt", b.Add(Constant(op, 1), b.Mul(ratio, ratio))));
  // One infinite side decides, whatever the other is.
  const Val infinite = b.Or(b.Equal(x, infinity), b.Equal(y, infinity));
  op.Return(b.Where(infinite, infinity, b.Where(zero, larger, length)));
}

// self + value · tensor1 · tensor2, or self + value · (tensor1 / tensor2).
template <Val (Builder::*kCombine)(Val, Val)>
void AddCombined(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  Val product = (b.*kCombine)(op.Tensor("tensor1", dtype), op.Tensor("tensor2", dtype));
  if (op.KnownFloat("value") != 1.0) product = b.Mul(product, op.Scalar("value", dtype));
  op.Return(b.Add(op.Tensor("self", dtype), product));
}

void LerpOp(Op& op) {
  const DType dtype = op.OutDType();
  op.Return(Lerp(op.b, op.Tensor("self", dtype), op.Tensor("end", dtype),
                 op.Tensor("weight", dtype)));
}

// x · log(y), 0 where x is 0, NaN where y is.
void Xlogy(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Val x = op.Tensor("self", dtype), y = op.Tensor("other", dtype);
  const Val zero = Constant(op, 0);
  const Val product = b.Mul(x, b.Unary("Log", y));
  const Val result = b.Where(b.Equal(x, zero), zero, product);
  op.Return(b.Where(b.Unary("IsNaN", y), y, result));
}

// max + log(1 + exp(−|a − b|)), in base e or 2; equal infinities give themselves.
void LogAddExp(Op& op, double base) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Val x = op.Tensor("self", dtype), y = op.Tensor("other", dtype);
  const Val larger = b.Max(x, y);
  const Val distance = b.Unary("Neg", b.Unary("Abs", b.Sub(x, y)));
  const Val factor = Constant(op, std::log(base));
  const Val power = b.Unary("Exp", b.Mul(distance, factor));
  const Val sum = b.Add(larger,
                        b.Div(b.Unary("Log", b.Add(Constant(op, 1), power)), factor));
  const Val same = b.And(b.Equal(x, y), b.Equal(b.Unary("Abs", x),
      Constant(op, std::numeric_limits<double>::infinity())));
  op.Return(b.Where(same, x, sum));
}
void LogAddExpE(Op& op) { LogAddExp(op, std::exp(1.0)); }
void LogAddExp2(Op& op) { LogAddExp(op, 2); }

}  // namespace

// With u = 1 + x: log(u) · x / (u − 1).
Val Log1p(Builder& b, Val x) {
  const auto constant = [&](double value) { return b.Scalar(value, x.dtype()); };
  const Val one = constant(1);
  const Val u = b.Add(x, one);
  const Val rest = b.Sub(u, one);
  const Val is_small = b.Equal(rest, constant(0));
  const Val infinite = b.Equal(u, constant(std::numeric_limits<double>::infinity()));
  const Val corrected = b.Mul(b.Unary("Log", u), b.Div(x, b.Where(is_small, one, rest)));
  return b.Where(is_small, x, b.Where(infinite, u, corrected));
}

// With u = exp(x): (u − 1) · x / log(u).
Val Expm1(Builder& b, Val x) {
  const auto constant = [&](double value) { return b.Scalar(value, x.dtype()); };
  const Val one = constant(1);
  const Val u = b.Unary("Exp", x);
  const Val rest = b.Sub(u, one);
  const Val near_one = b.Less(b.Unary("Abs", x), constant(0.5));
  const Val same = b.Equal(u, one);
  const Val logarithm = b.Unary("Log", b.Where(b.And(near_one, b.Not(same)), u, constant(2)));
  const Val corrected = b.Div(b.Mul(rest, x), logarithm);
  return b.Where(same, x, b.Where(near_one, corrected, rest));
}

Val Lerp(Builder& b, Val start, Val end, Val weight) {
  const auto constant = [&](double value) { return b.Scalar(value, start.dtype()); };
  const Val distance = b.Sub(end, start);
  const Val low = b.Add(start, b.Mul(weight, distance));
  const Val high = b.Sub(end, b.Mul(distance, b.Sub(constant(1), weight)));
  return b.Where(b.Less(b.Unary("Abs", weight), constant(0.5)), low, high);
}

Val SignOf(Builder& b, Val x) {
  const Val sign = b.Unary("Sign", x);
  if (!ir::IsFloat(x.dtype())) return sign;
  return b.Where(b.Unary("IsNaN", x), b.Scalar(0, x.dtype()), sign);
}

// ONNX has Round from opset 11; before, floor(x), and one more where x is nearer to that, or half
// way and floor(x) is odd.
Val Rounded(Builder& b, Val x) {
  if (b.opset() >= 11) return b.Unary("Round", x);
  const auto constant = [&](double value) { return b.Scalar(value, x.dtype()); };
  const Val floor = b.Unary("Floor", x);
  const Val rest = b.Sub(x, floor), half = b.Mul(floor, constant(0.5));
  const Val odd = b.Not(b.Equal(b.Unary("Floor", half), half));
  const Val up = b.Or(b.Greater(rest, constant(0.5)), b.And(b.Equal(rest, constant(0.5)), odd));
  return b.Add(floor, b.Cast(up, x.dtype()));
}

Val Truncated(Builder& b, Val x) {
  return b.Mul(b.Unary("Sign", x), b.Unary("Floor", b.Unary("Abs", x)));
}

Val IsNegative(Builder& b, Val x) {
  const Val zero = b.Scalar(0, x.dtype());
  const Val negative_zero = b.And(b.Equal(x, zero), b.Less(b.Unary("Reciprocal", x), zero));
  return b.Or(b.Less(x, zero), negative_zero);
}

Val IsInfinity(Builder& b, Val x) {
  return b.Equal(b.Unary("Abs", x),
                 b.Scalar(std::numeric_limits<double>::infinity(), x.dtype()));
}

Val IsFiniteNumber(Builder& b, Val x) {
  return b.Equal(b.Sub(x, x), b.Scalar(0, x.dtype()));
}

extern const Family kMath;
const Family kMath = {"math", {
    {"aten::abs", Same<kAbs>},
    {"aten::absolute", Same<kAbs>},
    {"aten::acos", Same<kAcos>},
    {"aten::arccos", Same<kAcos>},
    {"aten::acosh", Same<kAcosh>},
    {"aten::arccosh", Same<kAcosh>},
    {"aten::asin", Same<kAsin>},
    {"aten::arcsin", Same<kAsin>},
    {"aten::asinh", Same<kAsinh>},
    {"aten::arcsinh", Same<kAsinh>},
    {"aten::atan", Same<kAtan>},
    {"aten::arctan", Same<kAtan>},
    {"aten::atanh", Same<kAtanh>},
    {"aten::arctanh", Same<kAtanh>},
    {"aten::cos", Same<kCos>},
    {"aten::cosh", Same<kCosh>},
    {"aten::erf", Same<kErf>},
    {"aten::special_erf", Same<kErf>},
    {"aten::exp", Same<kExp>},
    {"aten::log", Same<kLog>},
    {"aten::neg", Same<kNeg>},
    {"aten::negative", Same<kNeg>},
    {"aten::reciprocal", Same<kReciprocal>},
    {"aten::sin", Same<kSin>},
    {"aten::sinh", Same<kSinh>},
    {"aten::sqrt", Same<kSqrt>},
    {"aten::tan", Same<kTan>},
    {"aten::ceil", Ceil},
    {"aten::floor", Floor},
    {"aten::trunc", Trunc},
    {"aten::fix", Trunc},
    {"aten::round", Round},
    {"aten::special_round", Round},
    {"aten::frac", Frac},
    {"aten::sign", Sign},
    {"aten::square", Square},
    {"aten::rsqrt", Rsqrt},
    {"aten::log2", Log2},
    {"aten::log10", Log10},
    {"aten::log1p", Log1pOp},
    {"aten::special_log1p", Log1pOp},
    {"aten::expm1", Expm1Op},
    {"aten::special_expm1", Expm1Op},
    {"aten::exp2", Exp2},
    {"aten::special_exp2", Exp2},
    {"aten::deg2rad", Deg2rad},
    {"aten::rad2deg", Rad2deg},
    {"aten::sinc", Sinc},
    {"aten::special_sinc", Sinc},
    {"aten::logit", Logit},
    {"aten::special_logit", Logit},
    {"aten::pow", Pow},
    {"aten::float_power", Pow},
    {"aten::atan2", Atan2},
    {"aten::arctan2", Atan2},
    {"aten::hypot", Hypot},
    {"aten::addcmul", AddCombined<&Builder::Mul>},
    {"aten::addcdiv", AddCombined<&Builder::Div>},
    {"aten::lerp", LerpOp},
    {"aten::xlogy", Xlogy},
    {"aten::special_xlogy", Xlogy},
    {"aten::logaddexp", LogAddExpE},
    {"aten::logaddexp2", LogAddExp2},
}};

}  // namespace rules_onnx::lowering
