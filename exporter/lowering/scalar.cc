// Arithmetic on the numbers a program computes with (TorchScript's `aten::add.int`, …).
// They are 0-d: int64, float64 or bool.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/match.h"
#include "exporter/ir/schema.h"
#include "exporter/lowering/arithmetic.h"
#include "exporter/lowering/call.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// The first and second argument, whatever the overload calls them.
Val Operand(Op& op, size_t i, DType dtype) { return op.Tensor(op.node.args[i].name, dtype); }
Val Operand(Op& op, size_t i) { return op.Tensor(op.node.args[i].name); }

// The kind that both operands are brought to: float64 if either is a float, else int64, or bool
// where both are.
DType CommonType(Op& op) {
  const DType a = Operand(op, 0).dtype(), c = Operand(op, 1).dtype();
  if (ir::IsFloat(a) || ir::IsFloat(c)) return DType::kFloat64;
  return a == DType::kBool && c == DType::kBool ? DType::kBool : DType::kInt64;
}

// The kind that the result is declared to have; where that is not told, the operands'.
DType ResultKind(Op& op) {
  const DType declared = op.OutDType();
  if (declared != DType::kUndefined) return declared;
  const DType common = CommonType(op);
  return common == DType::kBool ? DType::kInt64 : common;
}

using Binary = Val (*)(Builder&, Val, Val);

template <Binary kFunction>
void Arithmetic(Op& op) {
  const DType dtype = ResultKind(op);
  op.Return(kFunction(op.b, Operand(op, 0, dtype), Operand(op, 1, dtype)));
}

template <Binary kFunction>
void Compare(Op& op) {
  const DType dtype = CommonType(op);
  op.Return(kFunction(op.b, Operand(op, 0, dtype), Operand(op, 1, dtype)));
}

Val Add(Builder& b, Val x, Val y) { return b.Add(x, y); }
Val Sub(Builder& b, Val x, Val y) { return b.Sub(x, y); }
Val Mul(Builder& b, Val x, Val y) { return b.Mul(x, y); }
Val Div(Builder& b, Val x, Val y) { return b.Div(x, y); }
Val Min(Builder& b, Val x, Val y) { return b.Min(x, y); }
Val Max(Builder& b, Val x, Val y) { return b.Max(x, y); }
Val Pow(Builder& b, Val x, Val y) { return b.Pow(x, y); }
Val Fmod(Builder& b, Val x, Val y) { return b.Mod(x, y, /*fmod=*/true); }
Val Equal(Builder& b, Val x, Val y) { return b.Equal(x, y); }
Val NotEqual(Builder& b, Val x, Val y) { return b.Not(b.Equal(x, y)); }

// Bools are ordered as 0 and 1.
template <Val (Builder::*kFunction)(Val, Val)>
Val Ordered(Builder& b, Val x, Val y) {
  const DType dtype = x.dtype() == DType::kBool ? DType::kInt64 : x.dtype();
  return (b.*kFunction)(b.Cast(x, dtype), b.Cast(y, dtype));
}

// Both true operands, or the bits of integers.
void BitwiseOf(Op& op, absl::string_view onnx_op) {
  const DType dtype = CommonType(op);
  op.Return(Bitwise(op.b, onnx_op, Operand(op, 0, dtype), Operand(op, 1, dtype)));
}

void And(Op& op) { BitwiseOf(op, "BitwiseAnd"); }
void Or(Op& op) { BitwiseOf(op, "BitwiseOr"); }
void Xor(Op& op) { BitwiseOf(op, "BitwiseXor"); }
void Not(Op& op) { op.Return(op.b.Not(Operand(op, 0, DType::kBool))); }

// ---------------------------------------------------------------- by operators on tensors

// What a tensor operator gives for 0-d operands: floats as float64, or integers as they are.
Val OnTensors(Op& op, absl::string_view name, DType dtype) {
  std::vector<CallArg> args = {{"self", Operand(op, 0, dtype)}};
  if (op.node.args.size() > 1) args.push_back({"other", Operand(op, 1, dtype)});
  return Call(op, name, std::move(args), {ir::Type::Tensor(dtype, Shape{})})[0].val;
}

template <const char* kOperator>
void OnFloats(Op& op) {
  const Val result = OnTensors(op, kOperator, DType::kFloat64);
  const bool whole = op.OutType().kind == ir::Type::Kind::kInt;
  op.Return(whole ? op.b.Cast(result, DType::kInt64) : result);
}

constexpr char kAcos[] = "aten::acos", kAcosh[] = "aten::acosh", kAngle[] = "aten::angle",
               kAsin[] = "aten::asin", kAsinh[] = "aten::asinh", kAtan[] = "aten::atan",
               kAtan2[] = "aten::atan2", kAtanh[] = "aten::atanh",
               kCopysign[] = "aten::copysign.Tensor", kCosh[] = "aten::cosh",
               kDegrees[] = "aten::rad2deg", kErf[] = "aten::erf", kErfc[] = "aten::erfc",
               kExpm1[] = "aten::expm1", kFabs[] = "aten::abs", kLgamma[] = "aten::lgamma",
               kLog10[] = "aten::log10", kLog1p[] = "aten::log1p", kRadians[] = "aten::deg2rad",
               kSinh[] = "aten::sinh", kTanh[] = "aten::tanh";

void Gcd(Op& op) { op.Return(OnTensors(op, "aten::gcd", DType::kInt64)); }

// log(x) / log(base)
void LogToBase(Op& op) {
  Builder& b = op.b;
  const auto log = [&](size_t i) { return b.Unary("Log", Operand(op, i, DType::kFloat64)); };
  op.Return(b.Div(log(0), log(1)));
}

// ---------------------------------------------------------------- of one number

void Negate(Op& op) { op.Return(op.b.Unary("Neg", Operand(op, 0, op.OutDType()))); }
void Absolute(Op& op) { op.Return(op.b.Unary("Abs", Operand(op, 0, op.OutDType()))); }

// ONNX functions on float64.
template <const char* kOnnx>
void Function(Op& op) {
  const Val result = op.b.Unary(kOnnx, Operand(op, 0, DType::kFloat64));
  op.Return(op.b.Cast(result, op.OutDType()));
}

constexpr char kSqrt[] = "Sqrt", kExp[] = "Exp", kLog[] = "Log", kSin[] = "Sin", kCos[] = "Cos",
               kTan[] = "Tan", kFloor[] = "Floor", kCeil[] = "Ceil", kRound[] = "Round",
               kIsNan[] = "IsNaN", kIsInf[] = "IsInf";

void IsFinite(Op& op) {
  const Val x = Operand(op, 0, DType::kFloat64);
  op.Return(op.b.Not(op.b.Or(op.b.Unary("IsNaN", x), op.b.Unary("IsInf", x))));
}

void Truncate(Op& op) {
  op.Return(op.b.Cast(op.b.Cast(Operand(op, 0), DType::kInt64), op.OutDType()));
}

// ---------------------------------------------------------------- loops

// How many steps `range(lo, hi, step)` has.
void RangeLength(Op& op) {
  Builder& b = op.b;
  const Val step = op.IntVal("step");
  const Val distance = b.Sub(op.IntVal("hi"), op.IntVal("lo"));
  // ceil(distance / step) = −floor(−distance / step)
  const Val count = b.Unary("Neg", FloorDivide(b, b.Unary("Neg", distance), step));
  op.Return(b.Max(count, b.Int(0)));
}

void DivMod(Op& op) {
  const DType dtype = op.OutDType();
  const Val x = op.b.Cast(Operand(op, 0), dtype), y = op.b.Cast(Operand(op, 1), dtype);
  op.Return(std::vector<Item>{FloorDivide(op.b, x, y), Remainder(op.b, x, y)});
}

void DeriveIndex(Op& op) {
  Builder& b = op.b;
  op.Return(b.Add(op.IntVal("start"), b.Mul(op.IntVal("index"), op.IntVal("step"))));
}

// ---------------------------------------------------------------- the table

// A row for each overload that PyTorch has for numbers; "" is the one without a name.
void AddRows(std::vector<Row>* rows, const std::string& op,
             std::initializer_list<const char*> overloads, LoweringFunction function, int since) {
  for (const absl::string_view overload : overloads) {
    const std::string name = absl::StrCat(op, ".", overload);
    const ir::Schema* schema = ir::FindSchema(overload.empty() ? op : name);
    if (schema == nullptr || schema->args[0].type == "Tensor") continue;
    rows->push_back({name, function, since});
  }
}

// The overloads of a function of two numbers.
void AddRows(std::vector<Row>* rows, const std::string& op, LoweringFunction function,
             int since = 9) {
  AddRows(rows, op,
          {"int", "float", "bool", "int_float", "float_int", "Scalar_Scalar", "int_to_int", ""},
          function, since);
}

// The overloads of a function of one number.
void AddUnaryRows(std::vector<Row>* rows, const std::string& op, LoweringFunction function,
                  int since = 9) {
  AddRows(rows, op, {"int", "float", "Scalar"}, function, since);
}

std::vector<Row> Rows() {
  std::vector<Row> rows = {
      {"aten::__not__", Not},
      {"aten::__range_length", RangeLength},
      {"aten::__derive_index", DeriveIndex},
      {"prim::min", Arithmetic<Min>},
      {"prim::max", Arithmetic<Max>},
      {"aten::sym_min", Arithmetic<Min>},
      {"aten::sym_max", Arithmetic<Max>},
      {"aten::sym_not", Not},
      {"prim::abs", Absolute},
      {"prim::abs.int", Absolute},
      {"prim::abs.float", Absolute},
      {"prim::abs.Scalar", Absolute},
  };
  AddRows(&rows, "aten::add", Arithmetic<Add>);
  AddRows(&rows, "aten::sub", Arithmetic<Sub>);
  AddRows(&rows, "aten::mul", Arithmetic<Mul>);
  AddRows(&rows, "aten::div", Arithmetic<Div>);
  AddRows(&rows, "aten::floordiv", {"int"}, Arithmetic<FloorDivide>, 9);
  AddRows(&rows, "aten::floordiv", {"float", "int_float", "float_int", ""},
          Arithmetic<FloorDivide>, 10);
  AddRows(&rows, "aten::remainder", Arithmetic<Remainder>, 10);
  AddRows(&rows, "aten::divmod", DivMod, 10);
  AddRows(&rows, "aten::fmod", Arithmetic<Fmod>, 10);
  AddRows(&rows, "aten::pow", Arithmetic<Pow>, 12);
  AddRows(&rows, "aten::eq", Compare<Equal>);
  AddRows(&rows, "aten::ne", Compare<NotEqual>);
  AddRows(&rows, "aten::lt", Compare<Ordered<&Builder::Less>>);
  AddRows(&rows, "aten::le", Compare<Ordered<&Builder::LessOrEqual>>);
  AddRows(&rows, "aten::gt", Compare<Ordered<&Builder::Greater>>);
  AddRows(&rows, "aten::ge", Compare<Ordered<&Builder::GreaterOrEqual>>);
  AddRows(&rows, "aten::__and__", And);
  AddRows(&rows, "aten::__or__", Or);
  AddRows(&rows, "aten::__xor__", Xor);
  AddRows(&rows, "aten::__lshift__", Arithmetic<ShiftLeft>);
  AddRows(&rows, "aten::__rshift__", Arithmetic<ShiftRight>);
  AddRows(&rows, "aten::atan2", OnFloats<kAtan2>);
  AddRows(&rows, "aten::copysign", OnFloats<kCopysign>);
  AddRows(&rows, "aten::gcd", Gcd, 10);
  AddRows(&rows, "aten::log", {"Scalar_Scalar", "float_float", "float_int", "int_float", "int_int"},
          LogToBase, 9);
  AddUnaryRows(&rows, "aten::neg", Negate);
  AddUnaryRows(&rows, "aten::abs", Absolute);
  AddUnaryRows(&rows, "aten::sqrt", Function<kSqrt>);
  AddUnaryRows(&rows, "aten::exp", Function<kExp>);
  AddUnaryRows(&rows, "aten::log", Function<kLog>);
  AddUnaryRows(&rows, "aten::sin", Function<kSin>);
  AddUnaryRows(&rows, "aten::cos", Function<kCos>);
  AddUnaryRows(&rows, "aten::tan", Function<kTan>);
  AddUnaryRows(&rows, "aten::acos", OnFloats<kAcos>);
  AddUnaryRows(&rows, "aten::acosh", OnFloats<kAcosh>);
  AddUnaryRows(&rows, "aten::angle", OnFloats<kAngle>);
  AddUnaryRows(&rows, "aten::asin", OnFloats<kAsin>);
  AddUnaryRows(&rows, "aten::asinh", OnFloats<kAsinh>);
  AddUnaryRows(&rows, "aten::atan", OnFloats<kAtan>);
  AddUnaryRows(&rows, "aten::atanh", OnFloats<kAtanh>);
  AddUnaryRows(&rows, "aten::cosh", OnFloats<kCosh>);
  AddUnaryRows(&rows, "aten::degrees", OnFloats<kDegrees>);
  AddUnaryRows(&rows, "aten::erf", OnFloats<kErf>);
  AddUnaryRows(&rows, "aten::erfc", OnFloats<kErfc>);
  AddUnaryRows(&rows, "aten::expm1", OnFloats<kExpm1>);
  AddUnaryRows(&rows, "aten::fabs", OnFloats<kFabs>);
  AddUnaryRows(&rows, "aten::lgamma", OnFloats<kLgamma>);
  AddUnaryRows(&rows, "aten::log10", OnFloats<kLog10>);
  AddUnaryRows(&rows, "aten::log1p", OnFloats<kLog1p>);
  AddUnaryRows(&rows, "aten::radians", OnFloats<kRadians>);
  AddUnaryRows(&rows, "aten::sinh", OnFloats<kSinh>);
  AddUnaryRows(&rows, "aten::tanh", OnFloats<kTanh>);
  AddUnaryRows(&rows, "aten::floor", Function<kFloor>);
  AddUnaryRows(&rows, "aten::ceil", Function<kCeil>);
  AddUnaryRows(&rows, "aten::round", Function<kRound>, 11);
  AddUnaryRows(&rows, "aten::trunc", Truncate);
  AddUnaryRows(&rows, "aten::isnan", Function<kIsNan>);
  AddUnaryRows(&rows, "aten::isinf", Function<kIsInf>, 10);
  AddUnaryRows(&rows, "aten::isfinite", IsFinite, 10);
  return rows;
}

}  // namespace

extern const Family kScalar;
const Family kScalar = {"scalar", Rows()};

}  // namespace rules_onnx::lowering
