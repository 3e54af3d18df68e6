// Add, subtract, multiply, divide and their mixtures, with type promotion.
#include "exporter/lowering/arithmetic.h"

#include "absl/strings/str_cat.h"
#include "exporter/lowering/registry.h"

namespace rules_onnx::lowering {
namespace {

using Binary = Val (Builder::*)(Val, Val);

// self ∘ other in the result's dtype.
template <Binary kFunction>
void Promoted(Op& op) {
  const DType dtype = op.OutDType();
  op.Return((op.b.*kFunction)(op.Tensor("self", dtype), op.Tensor("other", dtype)));
}

// other · alpha; no node where alpha is 1.
Val Scaled(Op& op, absl::string_view name, DType dtype) {
  const Val x = op.Tensor(name, dtype);
  if (!op.Has("alpha") || op.KnownFloat("alpha") == 1.0) return x;
  if (dtype == DType::kBool) return op.b.And(x, op.Scalar("alpha", dtype));
  return op.b.Mul(x, op.Scalar("alpha", dtype));
}

void Add(Op& op) {
  const DType dtype = op.OutDType();
  const Val x = op.Tensor("self", dtype), y = Scaled(op, "other", dtype);
  op.Return(dtype == DType::kBool ? op.b.Or(x, y) : op.b.Add(x, y));
}

void Sub(Op& op) {
  const DType dtype = op.OutDType();
  op.Return(op.b.Sub(op.Tensor("self", dtype), Scaled(op, "other", dtype)));
}

void Rsub(Op& op) {
  const DType dtype = op.OutDType();
  op.Return(op.b.Sub(op.Tensor("other", dtype), Scaled(op, "self", dtype)));
}

void Mul(Op& op) {
  const DType dtype = op.OutDType();
  const Val x = op.Tensor("self", dtype), y = op.Tensor("other", dtype);
  op.Return(dtype == DType::kBool ? op.b.And(x, y) : op.b.Mul(x, y));
}

Val TruncDivide(Builder& b, Val x, Val y) {
  const Val quotient = b.Div(x, y);
  if (!ir::IsFloat(x.dtype())) return quotient;
  return b.Mul(b.Unary("Sign", quotient), b.Unary("Floor", b.Unary("Abs", quotient)));
}

void Div(Op& op) {
  const DType dtype = op.OutDType();
  const Val x = op.Tensor("self", dtype), y = op.Tensor("other", dtype);
  if (!op.Has("rounding_mode")) return op.Return(op.b.Div(x, y));
  const std::string mode = op.String("rounding_mode");
  if (mode == "floor") return op.Return(FloorDivide(op.b, x, y));
  if (mode == "trunc") return op.Return(TruncDivide(op.b, x, y));
  op.Fail(absl::StrCat("rounding_mode ", mode, " is unknown"));
}

void FloorDivideOp(Op& op) {
  const DType dtype = op.OutDType();
  op.Return(FloorDivide(op.b, op.Tensor("self", dtype), op.Tensor("other", dtype)));
}

void RemainderOp(Op& op) {
  const DType dtype = op.OutDType();
  op.Return(Remainder(op.b, op.Tensor("self", dtype), op.Tensor("other", dtype)));
}

// The sign of the dividend, as C's fmod.
void Fmod(Op& op) {
  const DType dtype = op.OutDType();
  op.Return(op.b.Mod(op.Tensor("self", dtype), op.Tensor("other", dtype), /*fmod=*/true));
}

}  // namespace

Val FloorDivide(Builder& b, Val x, Val y) {
  if (ir::IsFloat(x.dtype())) {
    const Val exact = b.Div(b.Sub(x, b.Mod(x, y, /*fmod=*/true)), y);
    const Val rest = b.Mod(x, y, /*fmod=*/true);
    const Val zero = b.Scalar(0, x.dtype());
    const Val below = b.And(b.Not(b.Equal(rest, zero)),
                            b.Xor(b.Less(rest, zero), b.Less(y, zero)));
    const Val floored = b.Sub(exact, b.Cast(below, x.dtype()));
    const Val whole = b.Unary("Floor", b.Add(floored, b.Scalar(0.5, x.dtype())));
    return b.Where(b.Equal(y, zero), b.Div(x, y), whole);
  }
  if (ir::IsUnsigned(x.dtype())) return b.Div(x, y);
  const Val quotient = b.Div(x, y);
  const Val rest = b.Sub(x, b.Mul(quotient, y));
  const Val zero = b.ScalarInt(0, x.dtype());
  const Val below = b.And(b.Not(b.Equal(rest, zero)), b.Xor(b.Less(rest, zero), b.Less(y, zero)));
  return b.Sub(quotient, b.Cast(below, x.dtype()));
}

Val Remainder(Builder& b, Val x, Val y) {
  if (!ir::IsFloat(x.dtype())) return b.Mod(x, y, /*fmod=*/false);
  const Val rest = b.Mod(x, y, /*fmod=*/true);
  const Val zero = b.Scalar(0, x.dtype());
  const Val other_sign = b.And(b.Not(b.Equal(rest, zero)),
                               b.Xor(b.Less(rest, zero), b.Less(y, zero)));
  return b.Where(other_sign, b.Add(rest, y), rest);
}

extern const Family kArithmetic;
const Family kArithmetic = {"arithmetic", {
    {"aten::add", Add},
    {"aten::sub", Sub},
    {"aten::subtract", Sub},
    {"aten::rsub", Rsub},
    {"aten::mul", Mul},
    {"aten::multiply", Mul},
    {"aten::div", Div},
    {"aten::divide", Div},
    {"aten::true_divide", Promoted<&Builder::Div>},
    {"aten::floor_divide", FloorDivideOp},
    {"aten::remainder", RemainderOp, 10},
    {"aten::fmod", Fmod, 10},
}};

}  // namespace rules_onnx::lowering
