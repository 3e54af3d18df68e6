#include "exporter/lowering/complex.h"

#include <algorithm>
#include <complex>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/strip.h"
#include "exporter/lowering/call.h"
#include "exporter/lowering/linear.h"
#include "exporter/lowering/lowering.h"
#include "exporter/lowering/math.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {

bool IsComplexType(const ir::Type& type) {
  if (type.is_list()) return IsComplexType(type.elements.front());
  return IsComplex(type.TensorDType());
}

DType PartType(Op& op) {
  const DType dtype = op.OutDType();
  return IsComplex(dtype) ? ir::RealOf(dtype) : dtype;
}

ir::Type PartOf(const ir::Type& type) {
  ir::Type part = type;
  if (part.is_list()) {
    part.elements.front() = PartOf(part.elements.front());
  } else if (IsComplex(part.TensorDType())) {
    part.dtype = ir::RealOf(part.dtype);
  }
  return part;
}

bool IsComplexArgument(const ir::Arg& arg) {
  if (arg.is_literal()) return IsComplex(arg.literal().dtype);
  return arg.is_complex() || (arg.is_value() && IsComplex(arg.value()->type.TensorDType()));
}

bool IsComplexArgument(Op& op, absl::string_view name) {
  const ir::Arg* arg = op.node.Find(name);
  return arg != nullptr && IsComplexArgument(*arg);
}

Complex Unpacked(Builder& b, Val pair) {
  if (!pair) return {{b, Val()}, {b, Val()}};
  return {{b, b.Gather(pair, b.Int(0), pair.rank() - 1)},
          {b, b.Gather(pair, b.Int(1), pair.rank() - 1)}};
}

Complex ReadComplex(Op& op, absl::string_view name, DType part) {
  Builder& b = op.b;
  const ir::Arg* arg = op.node.Find(name);
  if (arg != nullptr && arg->is_complex()) {
    const std::complex<double> value = arg->as_complex();
    return {{b, b.Scalar(value.real(), part)}, {b, b.Scalar(value.imag(), part)}};
  }
  if (IsComplexArgument(op, name)) return Unpacked(b, b.Cast(op.Arg(name).val, part));
  return {{b, op.Tensor(name, part)}, {b, b.Scalar(0, part)}};
}

Val Packed(Complex x) {
  Builder& b = x.re.b();
  const Vals parts = Broadcast(b, {x.re.val(), x.im.val()});
  return b.Concat({b.Unsqueeze(parts[0], {-1}), b.Unsqueeze(parts[1], {-1})}, -1);
}

Complex Self(Op& op) { return ReadComplex(op, "self", PartType(op)); }

void ReturnComplex(Op& op, Complex x) { op.Return(Packed(x)); }

Complex Times(Complex x, Complex y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

Expr Size(Complex x) {
  Builder& b = x.re.b();
  const Expr re = Abs(x.re), im = Abs(x.im);
  const Expr larger(b, b.Max(re.val(), im.val())), smaller(b, b.Min(re.val(), im.val()));
  const Val plain = b.Or(larger == 0, IsInfinity(b, larger.val()));
  const Expr ratio = smaller / Select(plain, 1.0, larger);
  return larger * Sqrt(1 + Select(plain, 0.0, ratio * ratio));
}

Expr Angle(Op& op, Complex x) {
  ir::Type type = ir::Type::Tensor(x.re.val().dtype(), std::nullopt);
  return {op.b, Call(op, "aten::atan2", {{"self", x.im.val()}, {"other", x.re.val()}},
                     {std::move(type)})[0].val};
}

// By the larger part, without overflow of the squares.
Complex Inverse(Complex x) {
  Builder& b = x.re.b();
  const Expr scale(b, b.Max(Abs(x.re).val(), Abs(x.im).val()));
  const Expr re = x.re / scale, im = x.im / scale;
  const Expr square = re * re + im * im;
  return {re / square / scale, -im / square / scale};
}

namespace {

Complex Other(Op& op) { return ReadComplex(op, "other", PartType(op)); }

// ---------------------------------------------------------------- making and taking apart

void MakeComplex(Op& op) {
  const DType part = PartType(op);
  ReturnComplex(op, {{op.b, op.Tensor("real", part)}, {op.b, op.Tensor("imag", part)}});
}

void Polar(Op& op) {
  const DType part = PartType(op);
  const Expr size(op.b, op.Tensor("abs", part)), angle(op.b, op.Tensor("angle", part));
  ReturnComplex(op, {size * Cos(angle), size * Sin(angle)});
}

// The pair as a real tensor, or a real tensor as pairs: the same value.
void SameValue(Op& op) { op.Return(op.Arg("self").val); }

void Real(Op& op) {
  op.Return(IsComplexArgument(op, "self") ? Self(op).re.val() : op.Tensor("self"));
}
void Imag(Op& op) { op.Return(Self(op).im.val()); }

void Conjugate(Op& op) {
  const Complex x = Self(op);
  ReturnComplex(op, {x.re, -x.im});
}

void ConjugateTransposed(Op& op) {
  const Complex x = Self(op);
  const int rank = x.re.val().rank();
  const auto turned = [&](Expr part) {
    return Expr(op.b, rank < 2 ? part.val() : op.b.SwapAxes(part.val(), rank - 2, rank - 1));
  };
  ReturnComplex(op, {turned(x.re), turned(-x.im)});
}

// ---------------------------------------------------------------- arithmetic

void AddScaled(Op& op, double sign) {
  const Complex x = Self(op);
  Complex y = Other(op);
  if (op.Has("alpha")) y = Times(y, ReadComplex(op, "alpha", PartType(op)));
  ReturnComplex(op, {x.re + sign * y.re, x.im + sign * y.im});
}
void Add(Op& op) { AddScaled(op, 1); }
void Sub(Op& op) { AddScaled(op, -1); }

void ReverseSub(Op& op) {
  Complex x = Self(op);
  const Complex y = Other(op);
  if (op.Has("alpha")) x = Times(x, ReadComplex(op, "alpha", PartType(op)));
  ReturnComplex(op, {y.re - x.re, y.im - x.im});
}

void Mul(Op& op) { ReturnComplex(op, Times(Self(op), Other(op))); }

void Div(Op& op) {
  const Complex x = Self(op);
  if (IsComplexArgument(op, "other")) return ReturnComplex(op, Times(x, Inverse(Other(op))));
  const Expr y = Other(op).re;
  ReturnComplex(op, {x.re / y, x.im / y});
}

void Neg(Op& op) {
  const Complex x = Self(op);
  ReturnComplex(op, {-x.re, -x.im});
}

void Reciprocal(Op& op) { ReturnComplex(op, Inverse(Self(op))); }

void Square(Op& op) { ReturnComplex(op, Times(Self(op), Self(op))); }

void AbsOp(Op& op) { op.Return(Size(Self(op)).val()); }

void AngleOp(Op& op) { op.Return(Angle(op, Self(op)).val()); }

// x / |x|, 0 at 0.
void Sgn(Op& op) {
  const Complex x = Self(op);
  const Expr size = Size(x);
  const Expr safe = Select(size == 0, 1.0, size);
  ReturnComplex(op, {x.re / safe, x.im / safe});
}

void Equal(Op& op) {
  const DType part = DType::kFloat64;
  const Complex x = ReadComplex(op, "self", part), y = ReadComplex(op, "other", part);
  op.Return(op.b.And(x.re == y.re, x.im == y.im));
}

void NotEqual(Op& op) {
  const DType part = DType::kFloat64;
  const Complex x = ReadComplex(op, "self", part), y = ReadComplex(op, "other", part);
  op.Return(op.b.Not(op.b.And(x.re == y.re, x.im == y.im)));
}

// By the operator's name without an overload; of doubles the first.
const std::map<std::string, LoweringFunction, std::less<>>& Forms() {
  static const auto* const kForms = [] {
    const std::vector<Row> own = {
        {"aten::real", Real},
        {"aten::imag", Imag},
        {"aten::_conj", Conjugate},
        {"aten::_conj_copy", Conjugate},
        {"aten::conj", Conjugate},
        {"aten::conj_physical", Conjugate},
        {"aten::_conj_physical", Conjugate},
        {"aten::add", Add},
        {"aten::sub", Sub},
        {"aten::subtract", Sub},
        {"aten::rsub", ReverseSub},
        {"aten::mul", Mul},
        {"aten::multiply", Mul},
        {"aten::div", Div},
        {"aten::divide", Div},
        {"aten::true_divide", Div},
        {"aten::neg", Neg},
        {"aten::negative", Neg},
        {"aten::reciprocal", Reciprocal},
        {"aten::square", Square},
        {"aten::abs", AbsOp},
        {"aten::absolute", AbsOp},
        {"aten::angle", AngleOp},
        {"aten::sgn", Sgn},
        {"aten::adjoint", ConjugateTransposed},
        {"aten::mH", ConjugateTransposed},
        {"aten::matrix_H", ConjugateTransposed},
        {"aten::eq", Equal},
        {"aten::ne", NotEqual},
        {"aten::not_equal", NotEqual},
    };
    auto* forms = new std::map<std::string, LoweringFunction, std::less<>>;
    for (const auto* rows :
         {&own, &ComplexFunctions(), &ComplexTensorForms(), &ComplexPartForms(),
          &ComplexMatrixForms()}) {
      for (const Row& row : *rows) forms->emplace(row.op, row.function);
    }
    return forms;
  }();
  return *kForms;
}

bool HasComplexConstant(const ir::Arg& arg) {
  if (!arg.is_list()) return !arg.is_value() && IsComplexArgument(arg);
  return std::any_of(arg.list().begin(), arg.list().end(), HasComplexConstant);
}

}  // namespace

bool HasComplex(const ir::Node& node) {
  bool found = false;
  node.ForEachInput([&](const ir::Value* value) { found |= IsComplexType(value->type); });
  for (const ir::NamedArg& arg : node.args) found |= HasComplexConstant(arg.value);
  for (const ir::Value* output : node.outputs) found |= IsComplexType(output->type);
  return found;
}

LoweringFunction FindComplexLowering(absl::string_view op) {
  absl::string_view base = op.substr(0, op.find('.'));
  const auto found = Forms().find(base);
  if (found != Forms().end()) return found->second;
  // A view's copy: `aten::expand_copy`.
  return absl::ConsumeSuffix(&base, "_copy") ? FindComplexLowering(base) : nullptr;
}

extern const Family kComplex;
const Family kComplex = {"complex", {
    {"aten::complex", MakeComplex},
    {"aten::polar", Polar},
    {"aten::view_as_real", SameValue},
    {"aten::view_as_complex", SameValue},
    {"aten::view_as_real_copy", SameValue},
    {"aten::view_as_complex_copy", SameValue},
    {"aten::real", Real},
}};

}  // namespace rules_onnx::lowering
