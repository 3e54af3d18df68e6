#include "exporter/passes/promotion.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"

namespace rules_onnx::passes {
namespace {

using Names = absl::flat_hash_set<absl::string_view>;

struct Categories {
  ir::DType tensors = ir::DType::kUndefined;
  ir::DType scalars = ir::DType::kUndefined;  // 0-d tensors
  ir::DType numbers = ir::DType::kUndefined;

  void Add(const ir::Arg& arg) {
    if (arg.is_value()) {
      const ir::Type& type = arg.value()->type;
      if (type.is_tensor()) {
        const bool zero_dim = type.shape && type.shape->empty();
        Promote(zero_dim ? &scalars : &tensors, type.dtype);
      } else {
        AddNumber(type.TensorDType());
      }
    } else if (arg.is_literal()) {
      const ir::TensorLiteral& literal = arg.literal();
      Promote(literal.shape.empty() ? &scalars : &tensors, literal.dtype);
    } else if (arg.is_int()) {
      AddNumber(ir::DType::kInt64);
    } else if (arg.is_float()) {
      AddNumber(ir::DType::kFloat64);
    } else if (arg.is_complex()) {
      AddNumber(ir::DType::kComplex128);
    } else if (arg.is_bool()) {
      AddNumber(ir::DType::kBool);
    }
  }

  // A number has the default dtype of its kind: float32 in this program's defaults.
  void AddNumber(ir::DType dtype) {
    if (dtype == ir::DType::kFloat64) dtype = ir::DType::kFloat32;
    if (dtype == ir::DType::kComplex128) dtype = ir::DType::kComplex64;
    Promote(&numbers, dtype);
  }

  static void Promote(ir::DType* to, ir::DType dtype) { *to = ir::PromoteTypes(*to, dtype); }
};

int Rank(ir::DType dtype) {
  if (dtype == ir::DType::kUndefined) return -1;
  if (ir::IsComplex(dtype)) return 3;
  if (ir::IsFloat(dtype)) return 2;
  return dtype == ir::DType::kBool ? 0 : 1;
}

ir::DType Combine(ir::DType higher, ir::DType lower) {
  if (Rank(higher) >= Rank(lower)) return higher;
  // A complex number beside float64 tensors gives complex128.
  return ir::IsComplex(lower) && higher == ir::DType::kFloat64 ? ir::DType::kComplex128
                                                               : ir::PromoteTypes(higher, lower);
}

bool Promotes(absl::string_view base) {
  static const auto* const kPromoting = new Names{
      "aten::add",         "aten::sub",          "aten::subtract",     "aten::mul",
      "aten::multiply",    "aten::div",          "aten::divide",       "aten::true_divide",
      "aten::floor_divide", "aten::remainder",   "aten::fmod",         "aten::pow",
      "aten::atan2",       "aten::arctan2",      "aten::clamp",        "aten::clamp_min",
      "aten::clamp_max",   "aten::clip",         "aten::copysign",     "aten::hypot",
      "aten::lerp",        "aten::addcmul",      "aten::addcdiv",      "aten::__and__",
      "aten::__or__",      "aten::__xor__",      "aten::__lshift__",   "aten::__rshift__",
      "aten::bitwise_and", "aten::bitwise_or",   "aten::bitwise_xor",  "aten::heaviside",
      "aten::bitwise_left_shift", "aten::bitwise_right_shift",
      "aten::xlogy",       "aten::gcd",          "aten::lcm",          "aten::nextafter",
      "aten::maximum",     "aten::minimum",      "aten::fmax",         "aten::fmin",
      "aten::logaddexp",   "aten::logaddexp2",   "aten::rsub",         "aten::float_power"};
  return kPromoting->contains(base);
}

bool GivesBool(absl::string_view base) {
  static const auto* const kComparing = new Names{
      "aten::eq",          "aten::ne",           "aten::not_equal",    "aten::lt",
      "aten::less",        "aten::le",           "aten::less_equal",   "aten::gt",
      "aten::greater",     "aten::ge",           "aten::greater_equal", "aten::logical_and",
      "aten::logical_or",  "aten::logical_xor",  "aten::logical_not",  "aten::isnan"};
  return kComparing->contains(base);
}

}  // namespace

ir::DType ResultType(const ir::Node& node) {
  Categories categories;
  for (const ir::NamedArg& arg : node.args) {
    if (arg.name == "rounding_mode") continue;
    categories.Add(arg.value);
  }
  return Combine(Combine(categories.tensors, categories.scalars), categories.numbers);
}

ir::DType OutputDType(const ir::Node& node, ir::DType self) {
  const absl::string_view base = node.base_op();
  if (GivesBool(base)) return ir::DType::kBool;
  if (base == "aten::float_power") {
    return ir::IsComplex(ResultType(node)) ? ir::DType::kComplex128 : ir::DType::kFloat64;
  }
  if (Promotes(base)) {
    const ir::DType promoted = ResultType(node);
    const bool true_division = (base == "aten::div" || base == "aten::true_divide") &&
                               (node.Find("rounding_mode") == nullptr ||
                                node.Find("rounding_mode")->is_none());
    return true_division && Rank(promoted) < 2 ? ir::DType::kFloat32 : promoted;
  }
  if (base == "aten::cumsum" || base == "aten::cumprod") {
    const ir::Arg* dtype = node.Find("dtype");
    if (dtype != nullptr && dtype->is_dtype()) return dtype->as_dtype();
    return Rank(self) < 2 ? ir::DType::kInt64 : self;
  }
  return self;
}

}  // namespace rules_onnx::passes
