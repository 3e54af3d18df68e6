// Signs, neighbours, divisors and approximate equality of numbers.
#include <cmath>
#include <limits>

#include "exporter/lowering/arithmetic.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/loop.h"
#include "exporter/lowering/math.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// ---------------------------------------------------------------- what a float format can hold

struct FloatFormat {
  int digits;        // of the significand
  int max_exponent;  // values are below 2^max_exponent
  int min_exponent;  // 2^min_exponent is the smallest positive value
};

FloatFormat FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return {11, 16, -24};
    case DType::kBFloat16: return {8, 128, -133};
    case DType::kFloat32: return {24, 128, -149};
    default: return {53, 1024, -1074};
  }
}

double LargestFinite(DType dtype) {
  const FloatFormat format = FormatOf(dtype);
  return std::ldexp(std::ldexp(1.0, format.digits) - 1, format.max_exponent - format.digits);
}

// ---------------------------------------------------------------- signs

// The sign of a NaN can't be seen: false.
void Signbit(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  if (x.dtype() == DType::kBool) {
    return op.Return(b.ConstantOfShape(b.ShapeOf(x), 0, DType::kBool));
  }
  if (!ir::IsFloat(x.dtype())) return op.Return(b.Less(x, b.ScalarInt(0, x.dtype())));
  op.Return(IsNegative(b, x));
}

void Copysign(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Val magnitude = b.Unary("Abs", op.Tensor("self", dtype));
  const Val negative = IsNegative(b, op.Tensor("other", dtype));
  op.Return(b.Where(negative, b.Unary("Neg", magnitude), magnitude));
}

void Sgn(Op& op) {
  const Val x = op.Tensor("self");
  op.Return(x.dtype() == DType::kBool ? x : SignOf(op.b, x));
}

// Of real numbers: 0 or π.
void Angle(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self", op.OutDType());
  const Val angle = b.Where(b.Less(x, b.Scalar(0, x.dtype())),
                            b.Scalar(M_PI, x.dtype()),
                            b.Scalar(0, x.dtype()));
  op.Return(b.Where(b.Unary("IsNaN", x), x, angle));
}

// The second argument where x is 0; NaN counts as not positive.
void Heaviside(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const DType computed = dtype == DType::kBool ? DType::kInt32 : dtype;
  const Val x = op.Tensor("self", computed), values = op.Tensor("values", computed);
  const Val zero = b.ScalarInt(0, computed);
  const Val step = b.Cast(b.Greater(x, zero), computed);
  op.Return(b.Cast(b.Where(b.Equal(x, zero), values, step), dtype));
}

// ---------------------------------------------------------------- special values

void NanToNum(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const DType dtype = x.dtype();
  if (!ir::IsFloat(dtype)) return op.Return(x);
  const double largest = LargestFinite(dtype);
  const double infinity = std::numeric_limits<double>::infinity();
  const auto value = [&](absl::string_view name, double otherwise) {
    return b.Scalar(op.OptFloat(name).value_or(otherwise), dtype);
  };
  const Val numbers = b.Where(b.Unary("IsNaN", x), value("nan", 0), x);
  const Val below = b.Where(b.Equal(x, b.Scalar(infinity, dtype)), value("posinf", largest),
                            numbers);
  op.Return(b.Where(b.Equal(x, b.Scalar(-infinity, dtype)), value("neginf", -largest), below));
}

void Isreal(Op& op) {
  op.Return(op.b.ConstantOfShape(op.b.ShapeOf(op.Tensor("self")), 1, DType::kBool));
}

// ---------------------------------------------------------------- exponents

// 2^n for whole n as far as float64 goes, its subnormals included, in two factors: one alone may
// overflow.
Val TimesPowerOfTwo(Builder& b, Val x, Val n) {
  const Val two = b.Scalar(2, x.dtype());
  const Val half = b.Unary("Floor", b.Mul(n, b.Scalar(0.5, x.dtype())));
  return b.Mul(b.Mul(x, b.Pow(two, half)), b.Pow(two, b.Sub(n, half)));
}

// x = mantissa · 2^exponent, 0.5 ≤ |mantissa| < 1, in float64; 0, infinities and NaN give
// themselves and 0. The estimate by logarithm may be one off.
struct Split {
  Val mantissa, exponent;
};

Split SplitExponent(Builder& b, Val x) {
  const auto constant = [&](double value) { return b.Scalar(value, DType::kFloat64); };
  const Val zero = constant(0), one = constant(1);
  const Val plain = b.And(IsFiniteNumber(b, x), b.Not(b.Equal(x, zero)));
  const Val safe = b.Where(plain, x, one);
  const Val log2 = b.Div(b.Unary("Log", b.Unary("Abs", safe)), constant(std::log(2.0)));
  Val exponent = b.Add(b.Unary("Floor", log2), one);
  const Val size = b.Unary("Abs", TimesPowerOfTwo(b, safe, b.Unary("Neg", exponent)));
  exponent = b.Add(exponent, b.Cast(b.GreaterOrEqual(size, one), DType::kFloat64));
  exponent = b.Sub(exponent, b.Cast(b.Less(size, constant(0.5)), DType::kFloat64));
  const Val mantissa = TimesPowerOfTwo(b, safe, b.Unary("Neg", exponent));
  return {b.Where(plain, mantissa, x), b.Where(plain, exponent, zero)};
}

void Frexp(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const Split split = SplitExponent(b, b.Cast(x, DType::kFloat64));
  op.Return(Vals{b.Cast(split.mantissa, x.dtype()), b.Cast(split.exponent, DType::kInt32)});
}

void Ldexp(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Val power = b.Pow(b.Scalar(2, dtype), op.Tensor("other", dtype));
  op.Return(b.Mul(op.Tensor("self", dtype), power));
}

// One unit in the last place on, in float64, where sums with it are exact.
void Nextafter(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const FloatFormat format = FormatOf(dtype);
  const auto constant = [&](double value) { return b.Scalar(value, DType::kFloat64); };
  const Val x = b.Cast(op.Tensor("self", dtype), DType::kFloat64);
  const Val y = b.Cast(op.Tensor("other", dtype), DType::kFloat64);
  const Val zero = constant(0), smallest = constant(std::ldexp(1.0, format.min_exponent));
  const Split split = SplitExponent(b, x);
  const Val outward = b.Equal(b.Less(x, y), b.Less(zero, x));
  // Below a power of two the numbers lie twice as close.
  const Val at_power = b.Equal(b.Unary("Abs", split.mantissa), constant(0.5));
  const Val closer = b.Cast(b.And(at_power, b.Not(outward)), DType::kFloat64);
  const Val place = b.Sub(b.Sub(split.exponent, constant(format.digits)), closer);
  const Val step = b.Max(TimesPowerOfTwo(b, constant(1), b.Max(place, constant(-1074))), smallest);
  const Val up = b.Less(x, y);
  Val next = b.Add(x, b.Where(up, step, b.Unary("Neg", step)));
  next = b.Where(b.Equal(x, zero), b.Where(up, smallest, b.Unary("Neg", smallest)), next);
  const Val largest = constant(LargestFinite(dtype));
  next = b.Where(IsInfinity(b, x), b.Where(up, b.Unary("Neg", largest), largest), next);
  next = b.Where(b.Equal(x, y), y, next);
  const Val nan = b.Or(b.Unary("IsNaN", x), b.Unary("IsNaN", y));
  op.Return(b.Cast(b.Where(nan, b.Add(x, y), next), dtype));
}

// ---------------------------------------------------------------- common divisors

// Euclid's algorithm on all elements at once.
Val GcdOf(Builder& b, Val x, Val y) {
  const Vals both = Broadcast(b, {b.Unary("Abs", x), b.Unary("Abs", y)});
  if (!both[0] || !both[1]) return {};
  const Val zero = b.ScalarInt(0, x.dtype()), one = b.ScalarInt(1, x.dtype());
  const auto unfinished = [&](Val rest) { return Any(b, b.Not(b.Equal(rest, zero))); };
  return Repeat(b, {}, unfinished(both[1]), both, [&](Val, const Vals& carried) {
    const Val a = carried[0], rest = carried[1];
    const Val done = b.Equal(rest, zero);
    const Val next = b.Where(done, zero, b.Mod(a, b.Where(done, one, rest), /*fmod=*/false));
    return LoopStep{{b.Where(done, a, rest), next}, unfinished(next)};
  })[0];
}

void Gcd(Op& op) {
  const DType dtype = op.OutDType();
  op.Return(GcdOf(op.b, op.Tensor("self", dtype), op.Tensor("other", dtype)));
}

void Lcm(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Val x = op.Tensor("self", dtype), y = op.Tensor("other", dtype);
  const Val gcd = GcdOf(b, x, y);
  const Val zero = b.ScalarInt(0, dtype);
  const Val divisor = b.Where(b.Equal(gcd, zero), b.ScalarInt(1, dtype), gcd);
  // The product of narrow integers is int's, as in C++, until its sign is gone.
  const DType wide = ElementSize(dtype) < 4 ? DType::kInt32 : dtype;
  const Val product = b.Mul(b.Cast(b.Div(x, divisor), wide), b.Cast(y, wide));
  op.Return(b.Cast(b.Unary("Abs", product), dtype));
}

// ---------------------------------------------------------------- equality

// |x − y| ≤ atol + |rtol · y|, or equal; integers compare as float32.
Val CloseTo(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self"), y = op.Tensor("other");
  const double rtol = op.Float("rtol"), atol = op.Float("atol");
  const bool floats = ir::IsFloat(x.dtype());
  Val close = b.Equal(x, y);
  if (floats && op.Bool("equal_nan")) {
    close = b.Or(close, b.And(b.Unary("IsNaN", x), b.Unary("IsNaN", y)));
  }
  if (rtol == 0 && atol == 0) return close;
  const DType dtype = floats ? x.dtype() : DType::kFloat32;
  const Val wide_x = b.Cast(x, dtype), wide_y = b.Cast(y, dtype);
  const Val allowed = b.Add(b.Scalar(atol, dtype),
                            b.Unary("Abs", b.Mul(b.Scalar(rtol, dtype), wide_y)));
  const Val distance = b.Unary("Abs", b.Sub(wide_x, wide_y));
  return b.Or(close, b.And(IsFiniteNumber(b, distance), b.LessOrEqual(distance, allowed)));
}

Val All(Builder& b, Val mask) { return b.Not(Any(b, b.Not(mask))); }

void Isclose(Op& op) { op.Return(CloseTo(op)); }
void Allclose(Op& op) { op.Return(All(op.b, CloseTo(op))); }

void EqualOp(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self"), y = op.Tensor("other");
  if (!x || !y) return;
  bool differs = x.rank() != y.rank();
  for (int i = 0; i < x.rank() && !differs; ++i) {
    differs = x.dim(i).is_number() && y.dim(i).is_number() && !x.dim(i).Equals(y.dim(i));
  }
  if (differs) return op.Return(b.ScalarInt(0, DType::kBool));
  if (!op.Require(SameShape(x, y), "equal of tensors whose shapes are not known to be the same")) {
    return;
  }
  op.Return(All(b, b.Equal(x, y)));
}

// Whether each element is among the test elements, all compared with all.
void Isin(Op& op) {
  Builder& b = op.b;
  const bool one_element = op.node.Find("element") != nullptr;
  const char* elements = one_element ? "element" : "elements";
  const char* tests = op.node.Find("test_element") != nullptr ? "test_element" : "test_elements";
  const DType dtype = op.ResultType({elements, tests});
  const Val x = op.Tensor(elements, dtype);
  const Val among = b.Flatten1D(op.Tensor(tests, dtype));
  const Val equal = b.Equal(b.Unsqueeze(x, {-1}), among);
  const Val count = b.Reduce("ReduceSum", b.Cast(equal, DType::kInt32), {-1}, /*keepdims=*/false);
  const Val found = b.Greater(count, b.ScalarInt(0, DType::kInt32));
  op.Return(op.Bool("invert") ? b.Not(found) : found);
}

// x · log(1 + y), 0 where x is 0, NaN where y is.
void Xlog1py(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Val x = op.Tensor("self", dtype), y = op.Tensor("other", dtype);
  const Val zero = b.Scalar(0, dtype);
  const Val result = b.Where(b.Equal(x, zero), zero, b.Mul(x, Log1p(b, y)));
  op.Return(b.Where(b.Unary("IsNaN", y), y, result));
}

}  // namespace

extern const Family kNumeric;
const Family kNumeric = {"numeric", {
    {"aten::signbit", Signbit},
    {"aten::copysign", Copysign},
    {"aten::sgn", Sgn},
    {"aten::angle", Angle},
    {"aten::heaviside", Heaviside},
    {"aten::nan_to_num", NanToNum},
    {"aten::isreal", Isreal},
    {"aten::frexp", Frexp},
    {"aten::ldexp", Ldexp},
    {"aten::nextafter", Nextafter},
    {"aten::gcd", Gcd, 10},
    {"aten::lcm", Lcm, 10},
    {"aten::isclose", Isclose},
    {"aten::allclose", Allclose},
    {"aten::equal", EqualOp},
    {"aten::isin", Isin},
    {"aten::special_xlog1py", Xlog1py},
}};

}  // namespace rules_onnx::lowering
