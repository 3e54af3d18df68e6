#include "exporter/passes/scalar_ops.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace rules_onnx::passes {
namespace {

using Result = std::optional<ir::Arg>;
using Unary = Result (*)(const ir::Arg&);
using Binary = Result (*)(const ir::Arg&, const ir::Arg&);

bool IsNumber(const ir::Arg& arg) { return arg.is_int() || arg.is_float() || arg.is_bool(); }
bool IsIntegral(const ir::Arg& arg) { return arg.is_int() || arg.is_bool(); }
int64_t AsInt(const ir::Arg& arg) { return arg.is_bool() ? arg.as_bool() : arg.as_int(); }
double AsDouble(const ir::Arg& arg) {
  return arg.is_float() ? arg.as_float() : static_cast<double>(AsInt(arg));
}

Result FloatToInt(double value) {
  // 2^63 and beyond, and nan, have no int64.
  if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0)) return std::nullopt;
  return ir::Arg(static_cast<int64_t>(value));
}

Result Add(const ir::Arg& a, const ir::Arg& b) {
  if (a.is_string() && b.is_string()) return ir::Arg(a.as_string() + b.as_string());
  if (!IsNumber(a) || !IsNumber(b)) return std::nullopt;
  if (!IsIntegral(a) || !IsIntegral(b)) return ir::Arg(AsDouble(a) + AsDouble(b));
  int64_t sum;
  if (__builtin_add_overflow(AsInt(a), AsInt(b), &sum)) return std::nullopt;
  return ir::Arg(sum);
}

Result Sub(const ir::Arg& a, const ir::Arg& b) {
  if (!IsNumber(a) || !IsNumber(b)) return std::nullopt;
  if (!IsIntegral(a) || !IsIntegral(b)) return ir::Arg(AsDouble(a) - AsDouble(b));
  int64_t difference;
  if (__builtin_sub_overflow(AsInt(a), AsInt(b), &difference)) return std::nullopt;
  return ir::Arg(difference);
}

Result Mul(const ir::Arg& a, const ir::Arg& b) {
  if (!IsNumber(a) || !IsNumber(b)) return std::nullopt;
  if (!IsIntegral(a) || !IsIntegral(b)) return ir::Arg(AsDouble(a) * AsDouble(b));
  int64_t product;
  if (__builtin_mul_overflow(AsInt(a), AsInt(b), &product)) return std::nullopt;
  return ir::Arg(product);
}

Result Div(const ir::Arg& a, const ir::Arg& b) {
  if (!IsNumber(a) || !IsNumber(b) || AsDouble(b) == 0) return std::nullopt;
  return ir::Arg(AsDouble(a) / AsDouble(b));
}

// Python's: rounds towards minus infinity.
Result FloorDiv(const ir::Arg& a, const ir::Arg& b) {
  if (!IsNumber(a) || !IsNumber(b) || AsDouble(b) == 0) return std::nullopt;
  if (!IsIntegral(a) || !IsIntegral(b)) return ir::Arg(std::floor(AsDouble(a) / AsDouble(b)));
  const int64_t x = AsInt(a), y = AsInt(b);
  if (x == std::numeric_limits<int64_t>::min() && y == -1) return std::nullopt;
  const int64_t quotient = x / y;
  return ir::Arg(quotient - ((x % y != 0 && (x % y < 0) != (y < 0)) ? 1 : 0));
}

// Python's: the sign is the divisor's.
Result Remainder(const ir::Arg& a, const ir::Arg& b) {
  if (!IsNumber(a) || !IsNumber(b) || AsDouble(b) == 0) return std::nullopt;
  if (!IsIntegral(a) || !IsIntegral(b)) {
    const double y = AsDouble(b);
    return ir::Arg(std::fmod(y + std::fmod(AsDouble(a), y), y));
  }
  const int64_t y = AsInt(b);
  if (y == -1) return ir::Arg(int64_t{0});
  const int64_t remainder = AsInt(a) % y;
  return ir::Arg(remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder);
}

Result Pow(const ir::Arg& a, const ir::Arg& b) {
  if (!IsIntegral(a) || !IsIntegral(b)) return std::nullopt;
  const int64_t exponent = AsInt(b);
  if (exponent < 0 || exponent > 64) return std::nullopt;
  int64_t power = 1;
  for (int64_t i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(power, AsInt(a), &power)) return std::nullopt;
  }
  return ir::Arg(power);
}

template <typename Compare>
Result CompareNumbers(const ir::Arg& a, const ir::Arg& b, Compare compare) {
  if (!IsNumber(a) || !IsNumber(b)) return std::nullopt;
  if (IsIntegral(a) && IsIntegral(b)) return ir::Arg(bool{compare(AsInt(a), AsInt(b))});
  return ir::Arg(bool{compare(AsDouble(a), AsDouble(b))});
}

Result Eq(const ir::Arg& a, const ir::Arg& b) {
  if (a.is_string() && b.is_string()) return ir::Arg(a.as_string() == b.as_string());
  if (a.is_dtype() && b.is_dtype()) return ir::Arg(a.as_dtype() == b.as_dtype());
  if (a.ints() && b.ints()) return ir::Arg(*a.ints() == *b.ints());
  return CompareNumbers(a, b, [](auto x, auto y) { return x == y; });
}

Result Not(const ir::Arg& a) {
  if (!IsNumber(a)) return std::nullopt;
  return ir::Arg(AsDouble(a) == 0);
}

Result Ne(const ir::Arg& a, const ir::Arg& b) {
  const Result equal = Eq(a, b);
  return equal ? Not(*equal) : std::nullopt;
}

Result Lt(const ir::Arg& a, const ir::Arg& b) {
  return CompareNumbers(a, b, [](auto x, auto y) { return x < y; });
}
Result Le(const ir::Arg& a, const ir::Arg& b) {
  return CompareNumbers(a, b, [](auto x, auto y) { return x <= y; });
}
Result Gt(const ir::Arg& a, const ir::Arg& b) { return Lt(b, a); }
Result Ge(const ir::Arg& a, const ir::Arg& b) { return Le(b, a); }

template <typename Op>
Result Bitwise(const ir::Arg& a, const ir::Arg& b, Op op) {
  if (a.is_bool() && b.is_bool()) return ir::Arg((op(AsInt(a), AsInt(b)) & 1) != 0);
  if (!IsIntegral(a) || !IsIntegral(b)) return std::nullopt;
  return ir::Arg(int64_t{op(AsInt(a), AsInt(b))});
}

Result And(const ir::Arg& a, const ir::Arg& b) {
  return Bitwise(a, b, [](int64_t x, int64_t y) { return x & y; });
}
Result Or(const ir::Arg& a, const ir::Arg& b) {
  return Bitwise(a, b, [](int64_t x, int64_t y) { return x | y; });
}
Result Xor(const ir::Arg& a, const ir::Arg& b) {
  return Bitwise(a, b, [](int64_t x, int64_t y) { return x ^ y; });
}

// As TorchScript's prim::min: the second where it is smaller, so nan in `a` stays.
Result Min(const ir::Arg& a, const ir::Arg& b) {
  if (!IsNumber(a) || !IsNumber(b)) return std::nullopt;
  if (IsIntegral(a) && IsIntegral(b)) return ir::Arg(std::min(AsInt(a), AsInt(b)));
  return ir::Arg(std::min(AsDouble(a), AsDouble(b)));
}
Result Max(const ir::Arg& a, const ir::Arg& b) {
  if (!IsNumber(a) || !IsNumber(b)) return std::nullopt;
  if (IsIntegral(a) && IsIntegral(b)) return ir::Arg(std::max(AsInt(a), AsInt(b)));
  return ir::Arg(std::max(AsDouble(a), AsDouble(b)));
}

Result Neg(const ir::Arg& a) {
  return a.is_float() ? Result(ir::Arg(-a.as_float())) : Sub(ir::Arg(0), a);
}
Result Abs(const ir::Arg& a) {
  if (a.is_float()) return ir::Arg(std::fabs(a.as_float()));
  if (!IsIntegral(a)) return std::nullopt;
  return AsInt(a) < 0 ? Neg(a) : Result(a);
}
Result Sqrt(const ir::Arg& a) {
  if (!IsNumber(a) || AsDouble(a) < 0) return std::nullopt;
  return ir::Arg(std::sqrt(AsDouble(a)));
}
Result ToInt(const ir::Arg& a) {
  if (!IsNumber(a)) return std::nullopt;
  return a.is_float() ? FloatToInt(std::trunc(a.as_float())) : Result(ir::Arg(AsInt(a)));
}
Result ToFloat(const ir::Arg& a) {
  return IsNumber(a) ? Result(ir::Arg(AsDouble(a))) : std::nullopt;
}
Result ToBool(const ir::Arg& a) {
  return IsNumber(a) ? Result(ir::Arg(AsDouble(a) != 0)) : std::nullopt;
}
Result Same(const ir::Arg& a) { return IsNumber(a) ? Result(a) : std::nullopt; }
Result Floor(const ir::Arg& a) {
  return a.is_float() ? FloatToInt(std::floor(a.as_float())) : Same(a);
}
Result Ceil(const ir::Arg& a) {
  return a.is_float() ? FloatToInt(std::ceil(a.as_float())) : Same(a);
}
Result IsNan(const ir::Arg& a) {
  return IsNumber(a) ? Result(ir::Arg(std::isnan(AsDouble(a)))) : std::nullopt;
}
Result IsInf(const ir::Arg& a) {
  return IsNumber(a) ? Result(ir::Arg(std::isinf(AsDouble(a)))) : std::nullopt;
}
Result IsFinite(const ir::Arg& a) {
  return IsNumber(a) ? Result(ir::Arg(std::isfinite(AsDouble(a)))) : std::nullopt;
}

const std::map<std::string, Unary>& UnaryOps() {
  static const auto* const kOps = new std::map<std::string, Unary>{
      {"aten::neg", Neg},           {"aten::abs", Abs},
      {"prim::abs", Abs},           {"aten::sqrt", Sqrt},
      {"aten::Int", ToInt},         {"aten::Float", ToFloat},
      {"aten::Bool", ToBool},       {"aten::IntImplicit", ToInt},
      {"aten::FloatImplicit", ToFloat}, {"aten::ScalarImplicit", Same},
      {"aten::Scalar", Same},       {"aten::sym_float", ToFloat},
      {"aten::sym_not", Not},       {"aten::__not__", Not},
      {"aten::floor", Floor},       {"aten::ceil", Ceil},
      {"aten::trunc", ToInt},       {"aten::isnan", IsNan},
      {"aten::isinf", IsInf},       {"aten::isfinite", IsFinite},
      {"prim::unchecked_cast", Same}, {"prim::unchecked_unwrap_optional", Same},
  };
  return *kOps;
}

const std::map<std::string, Binary>& BinaryOps() {
  static const auto* const kOps = new std::map<std::string, Binary>{
      {"aten::add", Add},           {"aten::sub", Sub},
      {"aten::mul", Mul},           {"aten::div", Div},
      {"aten::floordiv", FloorDiv}, {"aten::remainder", Remainder},
      {"aten::pow", Pow},           {"aten::eq", Eq},
      {"aten::ne", Ne},             {"aten::lt", Lt},
      {"aten::le", Le},             {"aten::gt", Gt},
      {"aten::ge", Ge},             {"aten::__and__", And},
      {"aten::__or__", Or},         {"aten::__xor__", Xor},
      {"prim::min", Min},           {"prim::max", Max},
      {"aten::sym_min", Min},       {"aten::sym_max", Max},
  };
  return *kOps;
}

// The result in the kind that the output is declared to have: `aten::pow.int` gives a float.
Result AsKind(const ir::Arg& value, ir::Type::Kind kind) {
  using Kind = ir::Type::Kind;
  if (kind == Kind::kFloat && value.is_int()) {
    const int64_t integer = value.as_int();
    if (std::abs(integer) > (int64_t{1} << 53)) return std::nullopt;
    return ir::Arg(static_cast<double>(integer));
  }
  if (kind == Kind::kInt && value.is_float()) return std::nullopt;
  if (kind == Kind::kBool && !value.is_bool()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<ir::Arg> EvaluateScalarOp(const ir::Node& node) {
  if (node.outputs.size() != 1 || node.output()->type.is_tensor()) return std::nullopt;
  const std::string base(node.base_op());
  Result result;
  if (node.args.size() == 1) {
    const auto op = UnaryOps().find(base);
    if (op == UnaryOps().end()) return std::nullopt;
    result = op->second(node.args[0].value);
  } else if (node.args.size() == 2) {
    const auto op = BinaryOps().find(base);
    if (op == BinaryOps().end()) return std::nullopt;
    result = op->second(node.args[0].value, node.args[1].value);
  }
  return result ? AsKind(*result, node.output()->type.kind) : std::nullopt;
}

}  // namespace rules_onnx::passes
