// Elementary functions of complex numbers, from those of their parts.
#include <cmath>
#include <string>

#include "exporter/lowering/call.h"
#include "exporter/lowering/complex.h"
#include "exporter/lowering/math.h"

namespace rules_onnx::lowering {
namespace {

// A PyTorch operator on reals.
Expr Real(Op& op, absl::string_view name, Expr x) {
  ir::Type type = ir::Type::Tensor(x.val().dtype(), std::nullopt);
  return {op.b, Call(op, name, {{"self", x.val()}}, {std::move(type)})[0].val};
}
Expr Sinh(Op& op, Expr x) { return Real(op, "aten::sinh", x); }
Expr Cosh(Op& op, Expr x) { return Real(op, "aten::cosh", x); }

Complex Scaled(Complex x, double factor) { return {x.re * factor, x.im * factor}; }

// ---------------------------------------------------------------- exponentials and logarithms

Complex ExpOf(Op&, Complex x) {
  const Expr size = Exp(x.re);
  return {size * Cos(x.im), size * Sin(x.im)};
}

Complex Exp2Of(Op& op, Complex x) { return ExpOf(op, Scaled(x, std::log(2.0))); }

// e^a · cos b − 1 = (e^a − 1) · cos b − 2 · sin²(b/2)
Complex Expm1Of(Op& op, Complex x) {
  const Expr half = Sin(x.im / 2);
  const Expr re = Expr(op.b, Expm1(op.b, x.re.val())) * Cos(x.im) - 2 * half * half;
  return {re, Exp(x.re) * Sin(x.im)};
}

Complex LogOf(Op& op, Complex x) { return {Log(Size(x)), Angle(op, x)}; }
Complex Log2Of(Op& op, Complex x) { return Scaled(LogOf(op, x), 1 / std::log(2.0)); }
Complex Log10Of(Op& op, Complex x) { return Scaled(LogOf(op, x), 1 / std::log(10.0)); }

// |1 + x|² = 1 + a · (a + 2) + b²
Complex Log1pOf(Op& op, Complex x) {
  const Expr square = x.re * (x.re + 2) + x.im * x.im;
  return {Expr(op.b, Log1p(op.b, square.val())) / 2, Angle(op, {x.re + 1, x.im})};
}

Complex SigmoidOf(Op& op, Complex x) {
  const Complex e = ExpOf(op, {-x.re, -x.im});
  return Inverse({e.re + 1, e.im});
}

// ---------------------------------------------------------------- roots and powers

// The larger part by √((|x| + |a|) / 2), the other one by x = root².
Complex SqrtOf(Op& op, Complex x) {
  const Expr large = Sqrt((Size(x) + Abs(x.re)) / 2);
  const Expr small = Abs(x.im) / (2 * Select(large == 0, 1.0, large));
  const Val right = x.re >= 0.0;
  const Expr size = Select(right, small, large);
  const Val is_negative = IsNegative(op.b, x.im.val());
  return {Select(right, large, small), Select(is_negative, -size, size)};
}

Complex RsqrtOf(Op& op, Complex x) { return Inverse(SqrtOf(op, x)); }

// A whole power by multiplication.
Complex WholePower(Complex base, int exponent) {
  if (exponent < 0) return WholePower(Inverse(base), -exponent);
  Complex result = {base.re * 0 + 1, base.im * 0};
  for (int i = 0; i < exponent; ++i) result = i == 0 ? base : Times(result, base);
  return result;
}

// e^(w · log x); at 0: 1 for w = 0, else 0.
Complex PowerOf(Op& op, Complex x, Complex w) {
  const Val at_zero = Size(x) == 0;
  const Complex away = {Select(at_zero, 1.0, x.re), Select(at_zero, 0.0, x.im)};
  const Complex power = ExpOf(op, Times(w, LogOf(op, away)));
  const Expr one = Select(Size(w) == 0, 1.0, w.re * 0);
  return {Select(at_zero, one, power.re), Select(at_zero, 0.0, power.im)};
}

void Power(Op& op) {
  const Complex x = Self(op);
  const auto known = op.KnownFloat("exponent");
  if (known && *known == std::floor(*known) && std::abs(*known) <= 64) {
    return ReturnComplex(op, WholePower(x, static_cast<int>(*known)));
  }
  ReturnComplex(op, PowerOf(op, x, ReadComplex(op, "exponent", PartType(op))));
}

// ---------------------------------------------------------------- trigonometry

Complex SinhOf(Op& op, Complex x) {
  return {Sinh(op, x.re) * Cos(x.im), Cosh(op, x.re) * Sin(x.im)};
}
Complex CoshOf(Op& op, Complex x) {
  return {Cosh(op, x.re) * Cos(x.im), Sinh(op, x.re) * Sin(x.im)};
}

// (sinh 2a + i · sin 2b) / (cosh 2a + cos 2b); beyond |a| = 20 it is ±1.
Complex TanhOf(Op& op, Complex x) {
  const Expr re = 2 * Min(Max(x.re, -20), 20), im = 2 * x.im;
  const Expr divisor = Cosh(op, re) + Cos(im);
  return {Sinh(op, re) / divisor, Sin(im) / divisor};
}

// f(i·x) = i·g(x): of x = a + bi, i·x is −b + ai.
Complex Turned(Complex x) { return {-x.im, x.re}; }
Complex TurnedBack(Complex x) { return {x.im, -x.re}; }

Complex SinOf(Op& op, Complex x) { return TurnedBack(SinhOf(op, Turned(x))); }
Complex CosOf(Op& op, Complex x) { return CoshOf(op, Turned(x)); }
Complex TanOf(Op& op, Complex x) { return TurnedBack(TanhOf(op, Turned(x))); }

template <Complex (*kFunction)(Op&, Complex)>
void Function(Op& op) {
  ReturnComplex(op, kFunction(op, Self(op)));
}

}  // namespace

const std::vector<Row>& ComplexFunctions() {
  static const auto* const kRows = new std::vector<Row>{
      {"aten::exp", Function<ExpOf>},
      {"aten::exp2", Function<Exp2Of>},
      {"aten::special_exp2", Function<Exp2Of>},
      {"aten::expm1", Function<Expm1Of>},
      {"aten::special_expm1", Function<Expm1Of>},
      {"aten::log", Function<LogOf>},
      {"aten::log2", Function<Log2Of>},
      {"aten::log10", Function<Log10Of>},
      {"aten::log1p", Function<Log1pOf>},
      {"aten::special_log1p", Function<Log1pOf>},
      {"aten::sigmoid", Function<SigmoidOf>},
      {"aten::special_expit", Function<SigmoidOf>},
      {"aten::sqrt", Function<SqrtOf>},
      {"aten::rsqrt", Function<RsqrtOf>},
      {"aten::pow", Power},
      {"aten::float_power", Power},
      {"aten::sinh", Function<SinhOf>},
      {"aten::cosh", Function<CoshOf>},
      {"aten::tanh", Function<TanhOf>},
      {"aten::sin", Function<SinOf>},
      {"aten::cos", Function<CosOf>},
      {"aten::tan", Function<TanOf>},
  };
  return *kRows;
}

}  // namespace rules_onnx::lowering
