// The gamma function's relatives: by recurrence to where Stirling's series is exact to float64.
#include <cmath>
#include <limits>

#include "exporter/lowering/registry.h"
#include "exporter/lowering/loop.h"
#include "exporter/lowering/math.h"
#include "exporter/lowering/special.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Expr Double(Op& op, absl::string_view name) { return {op.b, op.Tensor(name, DType::kFloat64)}; }

void ReturnRounded(Op& op, Expr result) { op.Return(op.b.Cast(result.val(), op.OutDType())); }

namespace {

// x less the nearest whole number.
Expr FromWhole(Expr x) {
  const Expr below = Floor(x);
  return Select(x - below > 0.5, x - (below + 1), x - below);
}

Val IsWhole(Expr x) { return Floor(x) == x; }

}  // namespace

Expr SinPi(Expr x) {
  const Expr rest = FromWhole(x);
  const Val odd = x.b().Not(IsWhole((x - rest) * 0.5));
  const Expr sine = Sin(rest * M_PI);
  return Select(odd, -sine, sine);
}

namespace {

// log Γ(z) for z ≥ 8: the next term is 8e-16 at most.
Expr Stirling(Expr z) {
  const Expr inverse = 1 / z;
  const Expr series = inverse * Polynomial(inverse * inverse,
                                           {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680,
                                            1.0 / 1188, -691.0 / 360360, 1.0 / 156});
  return (z - 0.5) * Log(z) - z + 0.5 * std::log(2 * M_PI) + series;
}

// x ≥ 0.5
Expr LogGammaRight(Expr x) {
  Expr product = x;
  for (int i = 1; i < 8; ++i) product = product * (x + i);
  const Val low = x < 8;
  return Stirling(Select(low, x + 8, x)) - Log(Select(low, product, 1.0));
}

}  // namespace

Expr LogGamma(Expr x) {
  const Val left = x < 0.5;
  const Expr right = LogGammaRight(Select(left, 1 - x, x));
  const Expr reflected = Log(M_PI / Abs(SinPi(x))) - right;
  return Select(IsInfinity(x.b(), x.val()), kInfinity, Select(left, reflected, right));
}

namespace {

// Γ'(x) / Γ(x) for x > 0
Expr DigammaRight(Expr x) {
  Expr sum = 1 / x;
  for (int i = 1; i < 10; ++i) sum = sum + 1 / (x + i);
  const Val low = x < 10;
  const Expr z = Select(low, x + 10, x);
  const Expr inverse_square = 1 / (z * z);
  const Expr series = inverse_square * Polynomial(inverse_square,
                                                  {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240,
                                                   1.0 / 132, -691.0 / 32760, 1.0 / 12});
  return Log(z) - 0.5 / z - series - Select(low, sum, 0.0);
}

// At 0 the infinity of the side; NaN at negative whole numbers, as PyTorch.
Expr Digamma(Expr x) {
  const Val left = x < 0;
  const Expr right = DigammaRight(Select(left, 1 - x, x));
  const Expr rest = FromWhole(x) * M_PI;
  const Expr reflected = Select(IsWhole(x), kNan, right - M_PI * Cos(rest) / Sin(rest));
  return Select(x == 0, 1 / -x, Select(left, reflected, right));
}

// ---------------------------------------------------------------- Hurwitz zeta

// B(2j) / (2j)! of the Euler-Maclaurin formula
std::vector<double> EulerMaclaurin() {
  const double bernoulli[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730,
                              7.0 / 6, -3617.0 / 510, 43867.0 / 798, -174611.0 / 330,
                              854513.0 / 138, -236364091.0 / 2730};
  std::vector<double> result;
  double factorial = 1;
  for (int j = 1; j <= 12; ++j) {
    factorial *= (2.0 * j - 1) * (2.0 * j);
    result.push_back(bernoulli[j - 1] / factorial);
  }
  return result;
}

// Σ over k ≥ 0 of (q + k)^−s: terms up to q + k > 9, then the formula for the rest.
Expr HurwitzZeta(Expr s, Expr q) {
  Builder& b = s.b();
  const Val pole = b.And(q <= 0, IsWhole(q));
  const Val undefined = b.Or(s < 1, b.And(q <= 0, b.Not(IsWhole(s))));
  const Vals same = Broadcast(b, {s.val(), Select(pole, 1.0, q).val()});
  const Expr exponent = -Expr(b, same[0]);
  Expr place(b, same[1]);
  Expr sum = Pow(place, exponent);
  for (int i = 0; i < 9; ++i) {
    place = place + 1;
    sum = sum + Pow(place, exponent);
  }
  const auto unfinished = [&](Expr a) { return Any(b, a <= 9); };
  const Vals loop = Repeat(
      b, {}, unfinished(place), {place.val(), sum.val()}, [&](Val, const Vals& carried) {
        const Expr a(b, carried[0]), total(b, carried[1]);
        const Val active = a <= 9;
        const Expr next = Select(active, a + 1, a);
        const Expr more = Select(active, Pow(next, exponent), 0.0);
        return LoopStep{{next.val(), (total + more).val()}, unfinished(next)};
      });
  const Expr a(b, loop[0]), total(b, loop[1]);
  const Expr last = Pow(a, exponent);
  Expr rest = last * a / (s - 1) - 0.5 * last;
  Expr factor = s, power = last / a;
  const std::vector<double> terms = EulerMaclaurin();
  for (size_t j = 0; j < terms.size(); ++j) {
    rest = rest + terms[j] * factor * power;
    const double k = 2.0 * j + 1;
    factor = factor * (s + k) * (s + (k + 1));
    power = power / (a * a);
  }
  const Expr result = total + Select(last == 0, 0.0, rest);
  return Select(s == 1, kInfinity, Select(undefined, kNan, Select(pole, kInfinity, result)));
}

void LogGammaOp(Op& op) { ReturnRounded(op, LogGamma(Double(op, "self"))); }
void DigammaOp(Op& op) { ReturnRounded(op, Digamma(Double(op, "self"))); }
void Zeta(Op& op) { ReturnRounded(op, HurwitzZeta(Double(op, "self"), Double(op, "other"))); }

// (−1)^(n + 1) · n! · ζ(n + 1, x)
void Polygamma(Op& op) {
  const Expr x = Double(op, "self");
  const int64_t n = op.Int("n");
  if (!op.Require(n >= 0, "polygamma of a negative order") || !x.val()) return;
  if (n == 0) return ReturnRounded(op, Digamma(x));
  const double factor = std::tgamma(n + 1.0) * (n % 2 == 0 ? -1 : 1);
  ReturnRounded(op, factor * HurwitzZeta(x.Number(n + 1.0), x));
}

void MultivariateLogGamma(Op& op) {
  const Expr x = Double(op, "self");
  const int64_t p = op.Int("p");
  if (!x.val()) return;
  Expr sum = LogGamma(x);
  for (int64_t j = 1; j < p; ++j) sum = sum + LogGamma(x - 0.5 * j);
  ReturnRounded(op, sum + p * (p - 1) / 4.0 * std::log(M_PI));
}

// ---------------------------------------------------------------- incomplete gamma

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr int64_t kMaxIterations = 100000;

// x^a · exp(−x) / Γ(a)
Expr GammaWeight(Expr a, Expr x) { return Exp(a * Log(x) - x - LogGamma(a)); }

// P(a, x) = weight · Σ x^n / (a (a + 1) … (a + n)); for x < a + 1.
Expr LowerSeries(Expr a, Expr x) {
  Builder& b = a.b();
  const Expr first = 1 / a;
  const Vals sums = Repeat(
      b, b.Int(kMaxIterations), {}, {first.val(), first.val()},
      [&](Val iteration, const Vals& carried) {
        const Expr n = Expr(b, b.Cast(iteration, DType::kFloat64)) + 1;
        const Expr term = Expr(b, carried[0]) * x / (a + n);
        const Expr sum = Expr(b, carried[1]) + term;
        return LoopStep{{term.val(), sum.val()}, Any(b, term > sum * kEps)};
      });
  return GammaWeight(a, x) * Expr(b, sums[1]);
}

// Q(a, x) by its continued fraction, evaluated as Lentz does; for x ≥ a + 1.
Expr UpperFraction(Expr a, Expr x) {
  Builder& b = a.b();
  constexpr double kTiny = 1e-300;
  const auto nonzero = [&](Expr v) { return Select(Abs(v) < kTiny, kTiny, v); };
  const Expr denominator = x + 1 - a;
  const Expr d0 = 1 / nonzero(denominator);
  const Expr c0 = d0 * 0 + 1 / kTiny;
  const Vals results = Repeat(
      b, b.Int(kMaxIterations), {}, {c0.val(), d0.val(), d0.val()},
      [&](Val iteration, const Vals& carried) {
        const Expr i = Expr(b, b.Cast(iteration, DType::kFloat64)) + 1;
        const Expr numerator = i * (a - i);
        const Expr next = denominator + 2 * i;
        const Expr d = 1 / nonzero(numerator * Expr(b, carried[1]) + next);
        const Expr c = nonzero(next + numerator / Expr(b, carried[0]));
        const Expr change = d * c;
        return LoopStep{{c.val(), d.val(), (Expr(b, carried[2]) * change).val()},
                        Any(b, Abs(change - 1) > 4 * kEps)};
      });
  return GammaWeight(a, x) * Expr(b, results[2]);
}

// P (lower) or Q of self = a and other = x, with PyTorch's values at the borders.
void IncompleteGamma(Op& op, bool lower) {
  Builder& b = op.b;
  const Vals operands = Broadcast(b, {op.Tensor("self", DType::kFloat64),
                                      op.Tensor("other", DType::kFloat64)});
  const Expr a(b, operands[0]), x(b, operands[1]);
  if (!a.val() || !x.val()) return;
  const Val plain = b.And(b.And(a > 0, x > 0), b.And(IsFiniteNumber(b, a.val()),
                                                     IsFiniteNumber(b, x.val())));
  const Val below = x < a + 1;
  const Val series = b.And(plain, below), fraction = b.And(plain, b.Not(below));
  const Expr small = LowerSeries(Select(series, a, 1.0), Select(series, x, 0.5));
  const Expr large = UpperFraction(Select(fraction, a, 1.0), Select(fraction, x, 3.0));
  Expr result = lower ? Select(below, small, 1 - large) : Select(below, 1 - small, large);
  const double zero = lower ? 0 : 1, one = lower ? 1 : 0;
  result = Select(IsInfinity(b, x.val()), one, result);
  result = Select(IsInfinity(b, a.val()), Select(IsInfinity(b, x.val()), kNan, x.Number(zero)),
                  result);
  result = Select(x == 0, zero, result);
  result = Select(a == 0, Select(x > 0, one, x.Number(kNan)), result);
  const Val undefined = b.Or(b.Or(a < 0, x < 0),
                             b.Or(b.Unary("IsNaN", a.val()), b.Unary("IsNaN", x.val())));
  ReturnRounded(op, Select(undefined, kNan, result));
}

void Igamma(Op& op) { IncompleteGamma(op, /*lower=*/true); }
void Igammac(Op& op) { IncompleteGamma(op, /*lower=*/false); }

}  // namespace

extern const Family kGamma;
const Family kGamma = {"gamma", {
    {"aten::lgamma", LogGammaOp},
    {"aten::special_gammaln", LogGammaOp},
    {"aten::digamma", DigammaOp},
    {"aten::special_digamma", DigammaOp},
    {"aten::special_psi", DigammaOp},
    {"aten::polygamma", Polygamma},
    {"aten::special_polygamma", Polygamma},
    {"aten::special_zeta", Zeta},
    {"aten::mvlgamma", MultivariateLogGamma},
    {"aten::special_multigammaln", MultivariateLogGamma},
    {"aten::igamma", Igamma},
    {"aten::special_gammainc", Igamma},
    {"aten::igammac", Igammac},
    {"aten::special_gammaincc", Igammac},
}};

}  // namespace rules_onnx::lowering
