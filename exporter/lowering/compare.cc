// Comparisons, logic, bits, minimum and maximum, clamping.
#include <limits>

#include "exporter/lowering/arithmetic.h"
#include "exporter/lowering/math.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

using Binary = Val (Builder::*)(Val, Val);

template <Binary kCompare>
void Compare(Op& op) {
  const DType dtype = op.ResultType({"self", "other"});
  op.Return((op.b.*kCompare)(op.Tensor("self", dtype), op.Tensor("other", dtype)));
}

// ONNX orders no bools: False < True as integers.
template <Binary kCompare>
void Order(Op& op) {
  DType dtype = op.ResultType({"self", "other"});
  if (dtype == DType::kBool) dtype = DType::kInt32;
  op.Return((op.b.*kCompare)(op.Tensor("self", dtype), op.Tensor("other", dtype)));
}

void NotEqual(Op& op) {
  const DType dtype = op.ResultType({"self", "other"});
  op.Return(op.b.Not(op.b.Equal(op.Tensor("self", dtype), op.Tensor("other", dtype))));
}

template <Binary kLogic>
void Logic(Op& op) {
  op.Return((op.b.*kLogic)(op.Tensor("self", DType::kBool), op.Tensor("other", DType::kBool)));
}

void LogicalNot(Op& op) { op.Return(op.b.Not(op.Tensor("self", DType::kBool))); }

template <const char* kOnnxOp>
void BitwiseOp(Op& op) {
  const DType dtype = op.OutDType();
  op.Return(Bitwise(op.b, kOnnxOp, op.Tensor("self", dtype), op.Tensor("other", dtype)));
}
inline constexpr char kBitwiseAnd[] = "BitwiseAnd";
inline constexpr char kBitwiseOr[] = "BitwiseOr";
inline constexpr char kBitwiseXor[] = "BitwiseXor";

// −x − 1 is what inverting all bits gives, at every opset; the largest number less x without sign.
void BitwiseNot(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  if (!x) return;
  if (x.dtype() == DType::kBool) return op.Return(b.Not(x));
  if (b.opset() >= 18) return op.Return(b.Unary("BitwiseNot", x));
  const bool is_unsigned = ir::IsUnsigned(x.dtype());
  const Val all_ones = is_unsigned ? Highest(b, x.dtype()) : b.ScalarInt(-1, x.dtype());
  op.Return(b.Sub(all_ones, x));
}

template <Val (*kFunction)(Builder&, Val, Val)>
void Shift(Op& op) {
  const DType dtype = op.OutDType();
  op.Return(kFunction(op.b, op.Tensor("self", dtype), op.Tensor("other", dtype)));
}

template <Binary kFunction>
void Extremum(Op& op) {
  const DType dtype = op.OutDType();
  const Val x = op.Tensor("self", dtype), y = op.Tensor("other", dtype);
  if (dtype != DType::kBool) return op.Return((op.b.*kFunction)(x, y));
  const bool is_max = kFunction == static_cast<Binary>(&Builder::Max);
  op.Return(is_max ? op.b.Or(x, y) : op.b.And(x, y));
}

// The other operand where one is NaN.
template <Binary kFunction>
void NanExtremum(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Val x = op.Tensor("self", dtype), y = op.Tensor("other", dtype);
  if (!ir::IsFloat(dtype)) return Extremum<kFunction>(op);
  const Val either = b.Where(b.Unary("IsNaN", y), x, (b.*kFunction)(x, y));
  op.Return(b.Where(b.Unary("IsNaN", x), y, either));
}

// max first, then min, as PyTorch where low > high.
void Clamp(Op& op) {
  const DType dtype = op.OutDType();
  const Val low = op.Has("min") ? op.Tensor("min", dtype) : Val();
  const Val high = op.Has("max") ? op.Tensor("max", dtype) : Val();
  op.Return(op.b.Clip(op.Tensor("self", dtype), low, high));
}

void IsInfinite(Op& op) {
  const Val x = op.Tensor("self");
  if (ir::IsFloat(x.dtype())) return op.Return(op.b.Op("IsInf", {x}));
  op.Return(op.b.ConstantOfShape(op.b.ShapeOf(x), 0, DType::kBool));
}

void IsNan(Op& op) {
  const Val x = op.Tensor("self");
  if (ir::IsFloat(x.dtype())) return op.Return(op.b.Unary("IsNaN", x));
  op.Return(op.b.ConstantOfShape(op.b.ShapeOf(x), 0, DType::kBool));
}

void IsFinite(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  if (!ir::IsFloat(x.dtype())) {
    return op.Return(b.ConstantOfShape(b.ShapeOf(x), 1, DType::kBool));
  }
  op.Return(IsFiniteNumber(b, x));
}

void IsSignedInfinity(Op& op, double infinity) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  if (!ir::IsFloat(x.dtype())) {
    return op.Return(b.ConstantOfShape(b.ShapeOf(x), 0, DType::kBool));
  }
  op.Return(b.Equal(x, b.Scalar(infinity, x.dtype())));
}
void IsPositiveInfinity(Op& op) { IsSignedInfinity(op, std::numeric_limits<double>::infinity()); }
void IsNegativeInfinity(Op& op) { IsSignedInfinity(op, -std::numeric_limits<double>::infinity()); }

}  // namespace

extern const Family kCompare;
const Family kCompare = {"compare", {
    {"aten::eq", Compare<&Builder::Equal>},
    {"aten::ne", NotEqual},
    {"aten::not_equal", NotEqual},
    {"aten::lt", Order<&Builder::Less>},
    {"aten::less", Order<&Builder::Less>},
    {"aten::gt", Order<&Builder::Greater>},
    {"aten::greater", Order<&Builder::Greater>},
    {"aten::le", Order<&Builder::LessOrEqual>},
    {"aten::less_equal", Order<&Builder::LessOrEqual>},
    {"aten::ge", Order<&Builder::GreaterOrEqual>},
    {"aten::greater_equal", Order<&Builder::GreaterOrEqual>},
    {"aten::logical_and", Logic<&Builder::And>},
    {"aten::logical_or", Logic<&Builder::Or>},
    {"aten::logical_xor", Logic<&Builder::Xor>},
    {"aten::logical_not", LogicalNot},
    {"aten::bitwise_and", BitwiseOp<kBitwiseAnd>},
    {"aten::bitwise_or", BitwiseOp<kBitwiseOr>},
    {"aten::bitwise_xor", BitwiseOp<kBitwiseXor>},
    {"aten::__and__", BitwiseOp<kBitwiseAnd>},
    {"aten::__or__", BitwiseOp<kBitwiseOr>},
    {"aten::__xor__", BitwiseOp<kBitwiseXor>},
    {"aten::bitwise_not", BitwiseNot},
    {"aten::bitwise_left_shift", Shift<ShiftLeft>},
    {"aten::__lshift__", Shift<ShiftLeft>},
    {"aten::bitwise_right_shift", Shift<ShiftRight>},
    {"aten::__rshift__", Shift<ShiftRight>},
    {"aten::maximum", Extremum<&Builder::Max>},
    {"aten::minimum", Extremum<&Builder::Min>},
    {"aten::max.other", Extremum<&Builder::Max>},
    {"aten::min.other", Extremum<&Builder::Min>},
    {"aten::fmax", NanExtremum<&Builder::Max>},
    {"aten::fmin", NanExtremum<&Builder::Min>},
    {"aten::clamp", Clamp},
    {"aten::clip", Clamp},
    {"aten::clamp_min", Clamp},
    {"aten::clamp_max", Clamp},
    {"aten::isinf", IsInfinite, 10},
    {"aten::isnan", IsNan},
    {"aten::isfinite", IsFinite},
    {"aten::isposinf", IsPositiveInfinity},
    {"aten::isneginf", IsNegativeInfinity},
}};

}  // namespace rules_onnx::lowering
