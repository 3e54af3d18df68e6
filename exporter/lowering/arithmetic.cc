// Add, subtract, multiply, divide and their mixtures, with type promotion.
#include "exporter/lowering/arithmetic.h"

#include "absl/strings/str_cat.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

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

Val FloorDivideFloats(Builder& b, Val x, Val y) {
  const Val rest = b.Mod(x, y, /*fmod=*/true);
  const Val zero = b.Scalar(0, x.dtype());
  const Val below = b.And(b.Not(b.Equal(rest, zero)), b.Xor(b.Less(rest, zero), b.Less(y, zero)));
  // Whole but for the rounding of the division.
  const Val quotient = b.Sub(b.Div(b.Sub(x, rest), y), b.Cast(below, x.dtype()));
  const Val floor = b.Unary("Floor", quotient);
  const Val up = b.Greater(b.Sub(quotient, floor), b.Scalar(0.5, x.dtype()));
  return b.Where(b.Equal(y, zero), b.Div(x, y), b.Add(floor, b.Cast(up, x.dtype())));
}

int64_t Width(DType dtype) { return static_cast<int64_t>(ElementSize(dtype)) * 8; }

// Runtimes compute with few operators on narrower integers.
DType AtLeastInt32(DType dtype) { return Width(dtype) < 32 ? DType::kInt32 : dtype; }

// 1, 2, 4, …, 2^(count − 1).
Val PowersOfTwo(Builder& b, int64_t count, DType dtype) {
  std::vector<int64_t> powers;
  for (int64_t i = 0; i < count; ++i) powers.push_back(static_cast<int64_t>(uint64_t{1} << i));
  return b.Cast(b.Ints(powers), dtype);
}

// 2^n for 0 ≤ n < width, the highest bit included, from a table: ONNX has powers of integers from
// opset 12 on only, and floats lack the highest one.
Val PowerOfTwo(Builder& b, Val n, DType dtype) {
  return b.Gather(PowersOfTwo(b, Width(dtype), dtype), n, 0);
}

// The lowest bits of x ≥ 0 along a new last axis, each 0 or 1.
Val LowBits(Builder& b, Val x, int64_t count) {
  const Val two = b.ScalarInt(2, x.dtype());
  const Val shifted = b.Div(b.Unsqueeze(x, {-1}), PowersOfTwo(b, count, x.dtype()));
  return b.Sub(shifted, b.Mul(b.Div(shifted, two), two));
}

// Bit by bit; the sign bit, whose power is negative, by itself.
Val AndOfBits(Builder& b, Val x, Val y, DType dtype) {
  const bool is_signed = !ir::IsUnsigned(dtype);
  const DType wide = x.dtype();
  const int64_t count = Width(dtype) - (is_signed ? 1 : 0);
  const Val zero = b.ScalarInt(0, wide), lowest = b.Cast(Lowest(b, dtype), wide);
  const auto bits = [&](Val v) {
    return LowBits(b, is_signed ? b.Where(b.Less(v, zero), b.Sub(v, lowest), v) : v, count);
  };
  // Not a ReduceSum, which ONNX Runtime computes in float64.
  const Val sum = b.MatMul(b.Mul(bits(x), bits(y)), PowersOfTwo(b, count, wide));
  if (!is_signed) return sum;
  const Val negative = b.And(b.Less(x, zero), b.Less(y, zero));
  return b.Add(sum, b.Where(negative, lowest, zero));
}

}  // namespace

Val FloorDivide(Builder& b, Val x, Val y) {
  if (ir::IsFloat(x.dtype())) return FloorDivideFloats(b, x, y);
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

Val ShiftLeft(Builder& b, Val x, Val amount) {
  if (!x || !amount || b.failed()) return {};
  const DType wide = AtLeastInt32(x.dtype());
  const Val n = b.Cast(amount, DType::kInt64);
  const Val kept = b.Clip(n, b.Int(0), b.Int(Width(x.dtype()) - 1));
  const Val shifted = b.Mul(b.Cast(x, wide), PowerOfTwo(b, kept, wide));
  return b.CastLike(b.Where(b.Equal(kept, n), shifted, b.ScalarInt(0, wide)), x);
}

// A division that rounds down, by powers that are positive in the dtype.
Val ShiftRight(Builder& b, Val x, Val amount) {
  if (!x || !amount || b.failed()) return {};
  const DType dtype = x.dtype(), wide = AtLeastInt32(dtype);
  const bool is_unsigned = ir::IsUnsigned(dtype);
  const Val n = b.Cast(amount, DType::kInt64), number = b.Cast(x, wide);
  const Val kept = b.Clip(n, b.Int(0), b.Int(Width(dtype) - (is_unsigned ? 1 : 2)));
  const Val shifted = FloorDivide(b, number, PowerOfTwo(b, kept, wide));
  const Val zero = b.ScalarInt(0, wide);
  const Val beyond =
      is_unsigned ? zero : b.Where(b.Less(number, zero), b.ScalarInt(-1, wide), zero);
  return b.Cast(b.Where(b.Equal(kept, n), shifted, beyond), dtype);
}

Val Bitwise(Builder& b, absl::string_view onnx_op, Val x, Val y) {
  if (!x || !y || b.failed()) return {};
  const DType dtype = x.dtype();
  const bool is_and = onnx_op == "BitwiseAnd", is_or = onnx_op == "BitwiseOr";
  if (dtype == DType::kBool) return is_and ? b.And(x, y) : is_or ? b.Or(x, y) : b.Xor(x, y);
  if (b.opset() >= 18) return b.Op(onnx_op, {x, y});
  x = b.Cast(x, AtLeastInt32(dtype));
  y = b.CastLike(y, x);
  const Val both = AndOfBits(b, x, y, dtype);
  if (is_and) return b.Cast(both, dtype);
  // Sums of numbers that share no bit.
  const Val only_y = b.Sub(y, both);
  return b.Cast(b.Add(is_or ? x : b.Sub(x, both), only_y), dtype);
}

bool HoldsExactly(DType dtype, double number) {
  return dtype != DType::kFloat64 || static_cast<double>(static_cast<float>(number)) == number;
}

extern const Family kArithmetic;
const Family kArithmetic = {"arithmetic", {
    {"aten::add", Add},
    {"aten::sub", Sub},
    {"aten::subtract", Sub},
    {"aten::rsub", Rsub},
    {"aten::mul", Mul},
    {"aten::multiply", Mul},
    {"aten::div", Div, 9, "of floats, rounded down: opset 10"},
    {"aten::divide", Div, 9, "of floats, rounded down: opset 10"},
    {"aten::true_divide", Promoted<&Builder::Div>},
    {"aten::floor_divide", FloorDivideOp, 9, "of floats: opset 10"},
    {"aten::remainder", RemainderOp, 10},
    {"aten::fmod", Fmod, 10},
}};

}  // namespace rules_onnx::lowering
