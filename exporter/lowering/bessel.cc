// Bessel and Airy functions: power series near 0, Hankel's asymptotic series far away, and for the
// decaying ones the trapezoidal rule in between, which converges geometrically on their integrals.
//
// J, Y and the oscillating side of Ai are good to 1e-11 of their amplitude, the others to float64.
#include <cmath>
#include <limits>

#include "exporter/lowering/registry.h"
#include "exporter/lowering/math.h"
#include "exporter/lowering/special.h"

namespace rules_onnx::lowering {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kEulerGamma = 0.57721566490153286061;
constexpr int kSeriesTerms = 48;      // enough for x ≤ 20
constexpr int kAsymptoticTerms = 30;  // enough for x ≥ 16

// ---------------------------------------------------------------- series

// Series are in a variable scaled to about [−1, 1], so that their coefficients stay far from the
// smallest floats: ONNX Runtime drops the addition of a float64 constant that float32 rounds to 0.
constexpr double kSeriesScale = 100;

Expr ScaledSeries(Expr x, std::vector<double> terms, double scale) {
  double factor = 1;
  for (double& term : terms) {
    term *= factor;
    factor *= scale;
  }
  return Polynomial(x / scale, terms);
}

// 1 / (k! (k + order)!), times `weight(k)`
template <typename Weight>
std::vector<double> SeriesTerms(int order, Weight weight) {
  std::vector<double> terms;
  double term = 1;  // order is 0 or 1
  for (int k = 0; k < kSeriesTerms; ++k) {
    if (k > 0) term /= static_cast<double>(k) * (k + order);
    terms.push_back(term * weight(k));
  }
  return terms;
}

double Harmonic(int n) {
  double sum = 0;
  for (int k = 1; k <= n; ++k) sum += 1.0 / k;
  return sum;
}

// Σ y^k / (k! (k + order)!); with y = x²/4 that is I, with −x²/4 J, less the factor (x/2)^order.
Expr Series(Expr y, int order) {
  return ScaledSeries(y, SeriesTerms(order, [](int) { return 1.0; }), kSeriesScale);
}

// The same with weights ψ(k + 1), or ψ(k + 1) + ψ(k + 2) for order 1: part of K and Y.
Expr PsiSeries(Expr y, int order) {
  const auto weight = [order](int k) {
    const double psi = Harmonic(k) - kEulerGamma;
    return order == 0 ? psi : psi + Harmonic(k + 1) - kEulerGamma;
  };
  return ScaledSeries(y, SeriesTerms(order, weight), kSeriesScale);
}

// a_k of Hankel's series: Π (4ν² − (2j − 1)²) / (8 j)
std::vector<double> HankelTerms(double order) {
  std::vector<double> terms = {1};
  for (int k = 1; k < kAsymptoticTerms; ++k) {
    const double odd = 2.0 * k - 1;
    terms.push_back(terms.back() * (4 * order * order - odd * odd) / (8.0 * k));
  }
  return terms;
}

// ---------------------------------------------------------------- I

// exp(−|x|) · I(x)
Expr ScaledI(Expr x, int order) {
  const Expr size = Abs(x);
  const Expr small = Min(size, 20), large = Max(size, 20);
  Expr near = Series(small * small * 0.25, order) * Exp(-small);
  if (order == 1) near = near * small * 0.5;
  std::vector<double> terms = HankelTerms(order);
  for (size_t k = 1; k < terms.size(); k += 2) terms[k] = -terms[k];
  const Expr far = Polynomial(1 / large, terms) / Sqrt(2 * M_PI * large);
  const Expr result = Select(size <= 20, near, far);
  return order == 1 ? Select(x < 0, -result, result) : result;
}

template <int kOrder>
void ScaledIOp(Op& op) {
  const Expr x = Double(op, "self");
  ReturnRounded(op, Select(op.b.Unary("IsNaN", x.val()), x, ScaledI(x, kOrder)));
}

// PyTorch gives NaN for infinite x.
Expr Finite(Expr x, Expr result) {
  return Select(IsFiniteNumber(x.b(), x.val()), result, kNan);
}

template <int kOrder>
void IOp(Op& op) {
  const Expr x = Double(op, "self");
  ReturnRounded(op, Finite(x, ScaledI(x, kOrder) * Exp(Abs(x))));
}

// ---------------------------------------------------------------- K

// exp(x) · K(x) = ∫ exp(−x (cosh t − 1)) cosh(νt) dt over t ≥ 0, for 1.8 ≤ x ≤ 20; Hankel's series
// beyond.
Expr ScaledKFar(Expr x, double order) {
  constexpr double kStep = 1.0 / 6;
  const Expr middle = Max(Min(x, 20), 1.8), large = Max(x, 20);
  Expr sum = x.Number(0.5);
  for (int i = 1; i <= 24; ++i) {
    const double t = i * kStep;
    sum = sum + Exp(middle * (1 - std::cosh(t))) * std::cosh(order * t);
  }
  const Expr far = Polynomial(1 / large, HankelTerms(order)) * Sqrt(M_PI / 2 / large);
  return Select(x <= 20, sum * kStep, far);
}

// exp(x) · K(x), ∞ at 0, NaN below.
Expr ScaledK(Expr x, int order) {
  const Expr small = Max(Min(x, 2), 1e-300);
  const Expr y = small * small * 0.25;
  const Expr log_half = Log(small * 0.5);
  Expr near = PsiSeries(y, 0) - log_half * Series(y, 0);
  if (order == 1) {
    near = 1 / small + small * 0.5 * (log_half * Series(y, 1) - 0.5 * PsiSeries(y, 1));
  }
  const Expr result = Select(x <= 2, near * Exp(small), ScaledKFar(x, order));
  const Expr border = Select(x == 0, kInfinity, Select(x < 0, kNan, result));
  return Select(x.b().Unary("IsNaN", x.val()), x, border);
}

template <int kOrder>
void ScaledKOp(Op& op) {
  ReturnRounded(op, ScaledK(Double(op, "x"), kOrder));
}

template <int kOrder>
void KOp(Op& op) {
  const Expr x = Double(op, "self");
  ReturnRounded(op, ScaledK(x, kOrder) * Exp(-x));
}

// ---------------------------------------------------------------- J and Y

constexpr double kOscillatingFrom = 16;

struct Waves {
  Expr cosine, sine;  // P and Q of Hankel's series
};

Waves WavesOf(Expr x, const std::vector<double>& terms) {
  std::vector<double> even, odd;
  for (size_t k = 0; k + 1 < terms.size(); k += 2) {
    const double sign = k % 4 == 0 ? 1 : -1;
    even.push_back(sign * terms[k]);
    odd.push_back(sign * terms[k + 1]);
  }
  const Expr inverse = 1 / x, square = inverse * inverse;
  return {Polynomial(square, even), inverse * Polynomial(square, odd)};
}

// x ≥ 0
Expr J(Expr x, int order) {
  const Expr small = Min(x, kOscillatingFrom), large = Max(x, kOscillatingFrom);
  Expr near = Series(small * small * -0.25, order);
  if (order == 1) near = near * small * 0.5;
  const Expr phase = large - (order * 0.5 + 0.25) * M_PI;
  const Waves waves = WavesOf(large, HankelTerms(order));
  const Expr far = Sqrt(2 / M_PI / large) *
                   (waves.cosine * Cos(phase) - waves.sine * Sin(phase));
  return Select(x <= kOscillatingFrom, near, far);
}

// −∞ at 0, NaN below.
Expr Y(Expr x, int order) {
  const Expr small = Max(Min(x, kOscillatingFrom), 1e-300);
  const Expr large = Max(x, kOscillatingFrom);
  const Expr y = small * small * -0.25;
  const Expr log_half = Log(small * 0.5);
  Expr near = 2 * (log_half * Series(y, 0) - PsiSeries(y, 0));
  if (order == 1) {
    near = small * (log_half * Series(y, 1) - 0.5 * PsiSeries(y, 1)) - 2 / small;
  }
  const Expr phase = large - (order * 0.5 + 0.25) * M_PI;
  const Waves waves = WavesOf(large, HankelTerms(order));
  const Expr far = Sqrt(2 / M_PI / large) *
                   (waves.cosine * Sin(phase) + waves.sine * Cos(phase));
  const Expr result = Select(x <= kOscillatingFrom, near / M_PI, far);
  return Select(x == 0, -kInfinity, Select(x < 0, kNan, result));
}

template <int kOrder>
void JOp(Op& op) {
  const Expr x = Double(op, "self");
  const Expr size = Abs(x);
  const Expr right = Finite(size, J(size, kOrder));
  ReturnRounded(op, kOrder == 1 ? Select(x < 0, -right, right) : right);
}

template <int kOrder>
void YOp(Op& op) {
  const Expr x = Double(op, "self");
  ReturnRounded(op, Finite(x, Y(x, kOrder)));
}

// sin(x) / x
void SphericalJ0(Op& op) {
  const Expr x = Double(op, "x");
  const Val zero = x == 0;
  const Expr ratio = Sin(x) / Select(zero, 1.0, x);
  ReturnRounded(op, Select(IsInfinity(op.b, x.val()), 0.0, Select(zero, 1.0, ratio)));
}

// ---------------------------------------------------------------- Ai

// Ai(0) · f(x) + Ai'(0) · x · g(x), the two series of Airy's equation in x³.
Expr AirySeries(Expr x) {
  std::vector<double> f = {0.35502805388781723926}, g = {-0.25881940379280679840};
  for (int k = 1; k < kSeriesTerms; ++k) {
    f.push_back(f.back() / ((3.0 * k - 1) * (3.0 * k)));
    g.push_back(g.back() / ((3.0 * k) * (3.0 * k + 1)));
  }
  const Expr cube = x * x * x;
  constexpr double kLargest = 343;
  return ScaledSeries(cube, f, kLargest) + x * ScaledSeries(cube, g, kLargest);
}

// u_k of the asymptotic series
std::vector<double> AiryTerms() {
  std::vector<double> terms = {1};
  for (int k = 1; k < 24; ++k) {
    terms.push_back(terms.back() * (6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1) /
                    (216.0 * k * (2.0 * k - 1)));
  }
  return terms;
}

void AiryAi(Op& op) {
  const Expr x = Double(op, "x");
  const Expr series = AirySeries(Max(Min(x, 2), -7));
  const Expr right = Max(x, 2), left = Max(-x, 7);
  const Expr right_zeta = right * Sqrt(right) * (2.0 / 3);
  const Expr decaying = Sqrt(right / 3) / M_PI * ScaledKFar(right_zeta, 1.0 / 3) *
                        Exp(-right_zeta);
  const Expr left_zeta = left * Sqrt(left) * (2.0 / 3);
  const Waves waves = WavesOf(left_zeta, AiryTerms());
  const Expr phase = left_zeta - M_PI / 4;
  const Expr oscillating = (waves.cosine * Cos(phase) + waves.sine * Sin(phase)) /
                           Sqrt(M_PI * Sqrt(left));
  const Expr result = Select(x > 2, decaying, Select(x < -7, oscillating, series));
  const Val undefined = op.b.Or(op.b.Unary("IsNaN", x.val()), IsInfinity(op.b, x.val()));
  ReturnRounded(op, Select(undefined, kNan, result));
}

}  // namespace

extern const Family kBessel;
const Family kBessel = {"bessel", {
    {"aten::i0", IOp<0>},
    {"aten::special_i0", IOp<0>},
    {"aten::special_i0e", ScaledIOp<0>},
    {"aten::special_i1", IOp<1>},
    {"aten::special_i1e", ScaledIOp<1>},
    {"aten::special_modified_bessel_i0", IOp<0>},
    {"aten::special_modified_bessel_i1", IOp<1>},
    {"aten::special_modified_bessel_k0", KOp<0>},
    {"aten::special_modified_bessel_k1", KOp<1>},
    {"aten::special_scaled_modified_bessel_k0", ScaledKOp<0>},
    {"aten::special_scaled_modified_bessel_k1", ScaledKOp<1>},
    {"aten::special_bessel_j0", JOp<0>},
    {"aten::special_bessel_j1", JOp<1>},
    {"aten::special_bessel_y0", YOp<0>},
    {"aten::special_bessel_y1", YOp<1>},
    {"aten::special_spherical_bessel_j0", SphericalJ0},
    {"aten::special_airy_ai", AiryAi},
}};

}  // namespace rules_onnx::lowering
