// Evenly spaced numbers and window functions: arange, linspace, logspace, hann_window, ….
#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// ---------------------------------------------------------------- arange

bool IsWhole(Op& op, absl::string_view name) {
  const Item item = op.Arg(name);
  return !op.Has(name) || (item.is_val() && !ir::IsFloat(item.val.dtype()));
}

// ceil((end − start) / step) as 0-d int64; `inclusive`: floor(…) + 1.
Val StepCount(Builder& b, Val start, Val end, Val step, bool inclusive) {
  const auto from = start.float_value(), to = end.float_value(), by = step.float_value();
  if (from && to && by && *by != 0) {
    const double steps = (*to - *from) / *by;
    const double count = inclusive ? std::floor(steps) + 1 : std::ceil(steps);
    return b.Int(static_cast<int64_t>(std::max(count, 0.0)));
  }
  const Val steps = b.Div(b.Sub(end, start), step);
  const Val count = inclusive ? b.Add(b.Unary("Floor", steps), b.Scalar(1, DType::kFloat64))
                              : b.Unary("Ceil", steps);
  return b.Max(b.Cast(count, DType::kInt64), b.Int(0));
}

// start + i · step in float64, rounded once.
Val FloatRange(Op& op, bool inclusive) {
  Builder& b = op.b;
  constexpr DType kWide = DType::kFloat64;
  const Val start = op.Has("start") ? op.Scalar("start", kWide) : b.Scalar(0, kWide);
  const Val step = op.Has("step") ? op.Scalar("step", kWide) : b.Scalar(1, kWide);
  const Val count = StepCount(b, start, op.Scalar("end", kWide), step, inclusive);
  Val values = b.Cast(Iota(b, count), kWide);
  if (step.float_value() != 1.0) values = b.Mul(values, step);
  if (start.float_value() != 0.0) values = b.Add(values, start);
  return b.Cast(values, op.OutDType());
}

Val Truncated(Op& op, absl::string_view name, int64_t otherwise) {
  return op.Has(name) ? op.b.Cast(op.Tensor(name), DType::kInt64) : op.b.Int(otherwise);
}

// A known way down is the way up negated: ONNX Runtime makes a Slice of a Gather by a Range, where
// an end of -1 means the last element.
Val WholeRange(Builder& b, Val start, Val end, Val step) {
  const bool down = step.int_value() && *step.int_value() < 0;
  if (!down || (start.int_value() && end.int_value())) return b.Range(start, end, step);
  const auto negative = [&](Val x) { return b.Unary("Neg", x); };
  return negative(b.Range(negative(start), negative(end), negative(step)));
}

// Integers from floats: start and step lose their fractions; int64 does the same to the end, the
// other types count their elements before.
Val IntegerRange(Op& op) {
  Builder& b = op.b;
  const Val start = Truncated(op, "start", 0), step = Truncated(op, "step", 1);
  const bool exact = IsWhole(op, "start") && IsWhole(op, "end") && IsWhole(op, "step");
  if (exact || op.OutDType() == DType::kInt64) {
    return WholeRange(b, start, Truncated(op, "end", 0), step);
  }
  constexpr DType kWide = DType::kFloat64;
  const Val from = op.Has("start") ? op.Scalar("start", kWide) : b.Scalar(0, kWide);
  const Val by = op.Has("step") ? op.Scalar("step", kWide) : b.Scalar(1, kWide);
  const Val count = StepCount(b, from, op.Scalar("end", kWide), by, /*inclusive=*/false);
  return b.Add(b.Mul(Iota(b, count), step), start);
}

void Arange(Op& op) {
  const bool whole = IsWhole(op, "start") && IsWhole(op, "end") && IsWhole(op, "step");
  if (!whole && ir::IsFloat(op.OutDType())) return op.Return(FloatRange(op, /*inclusive=*/false));
  op.Return(op.b.Cast(IntegerRange(op), op.OutDType()));
}

// 0, 1, … along an axis of a tensor.
void DimArange(Op& op) {
  const Val like = op.Tensor("like");
  op.Return(op.b.Cast(Iota(op.b, op.b.Size(like, op.Axis("dim", like))), op.OutDType()));
}

// torch.range: `end` belongs to it.
void Range(Op& op) { op.Return(FloatRange(op, /*inclusive=*/true)); }

// ---------------------------------------------------------------- linspace

// The first half counted from the start, the second half from the end.
Val Spaced(Op& op, DType dtype) {
  Builder& b = op.b;
  const Val start = op.Scalar("start", dtype), end = op.Scalar("end", dtype);
  const Val steps = op.IntVal("steps");
  if (steps.int_value() == 1) return b.Unsqueeze(start, {0});
  const Val last = b.Max(b.Sub(steps, b.Int(1)), b.Int(1));
  const Val step = b.Div(b.Sub(end, start), b.Cast(last, dtype));
  const Val places = Iota(b, steps);
  const Val from_start = b.Add(start, b.Mul(step, b.Cast(places, dtype)));
  const Val from_end = b.Sub(end, b.Mul(step, b.Cast(b.Sub(last, places), dtype)));
  const Val half = b.Max(b.Div(steps, b.Int(2)), b.Int(1));
  return b.Where(b.Less(places, half), from_start, from_end);
}

void Linspace(Op& op) {
  const DType dtype = op.OutDType();
  op.Return(op.b.Cast(Spaced(op, ir::IsFloat(dtype) ? dtype : DType::kFloat64), dtype));
}

void Logspace(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const DType wide = ir::IsFloat(dtype) ? dtype : DType::kFloat64;
  op.Return(b.Cast(b.Pow(op.Scalar("base", wide), Spaced(op, wide)), dtype));
}

// ---------------------------------------------------------------- windows

// 2 π n / N for n < length, N being length, or length − 1 of a symmetric window.
struct Window {
  Val length, phase;
  bool periodic = true;
  DType dtype = DType::kUndefined;
};

Window WindowOf(Op& op) {
  Builder& b = op.b;
  Window window;
  window.length = op.IntVal("window_length");
  window.periodic = !op.Has("periodic") || op.Bool("periodic");
  window.dtype = op.OutDType();
  const Val period = window.periodic ? window.length : b.Sub(window.length, b.Int(1));
  const Val places = b.Cast(Iota(b, window.length), window.dtype);
  const Val turns = b.Div(places, b.Cast(period, window.dtype));
  window.phase = b.Mul(turns, b.Scalar(2 * M_PI, window.dtype));
  return window;
}

// Returns the window; one of one element is 1, whatever its formula gives.
void ReturnWindow(Op& op, Val window) {
  Builder& b = op.b;
  const auto length = op.KnownInt("window_length");
  if (length == 1) return op.Return(b.Full(1, op.OutDType(), {1}));
  if (length) return op.Return(window);
  const Val is_one = b.Equal(op.IntVal("window_length"), b.Int(1));
  op.Return(b.Where(is_one, b.Scalar(1, op.OutDType()), window));
}

Val Harmonic(Builder& b, const Window& window, int multiple, double factor) {
  const Val phase = multiple == 1 ? window.phase
                                  : b.Mul(window.phase, b.Scalar(multiple, window.dtype));
  return b.Mul(b.Unary("Cos", phase), b.Scalar(factor, window.dtype));
}

// alpha − beta · cos(2 π n / N).
void CosineWindow(Op& op, double alpha, double beta) {
  Builder& b = op.b;
  const Window window = WindowOf(op);
  ReturnWindow(op, b.Sub(b.Scalar(alpha, window.dtype), Harmonic(b, window, 1, beta)));
}

// From opset 17 on ONNX has two of the windows itself; its HammingWindow has other factors.
bool NativeWindow(Op& op, absl::string_view name) {
  if (op.b.opset() < 17) return false;
  const bool periodic = !op.Has("periodic") || op.Bool("periodic");
  const DType dtype = op.OutDType();
  if (dtype != DType::kFloat32) return false;
  ReturnWindow(op, op.b.Op(name, {op.IntVal("window_length")}, {{"periodic", periodic ? 1 : 0}},
                           {dtype, Shape{Dim::Unknown()}}));
  return true;
}

void HannWindow(Op& op) {
  if (NativeWindow(op, "HannWindow")) return;
  CosineWindow(op, 0.5, 0.5);
}

void HammingWindow(Op& op) {
  CosineWindow(op, op.OptFloat("alpha").value_or(0.54), op.OptFloat("beta").value_or(0.46));
}

void BlackmanWindow(Op& op) {
  if (NativeWindow(op, "BlackmanWindow")) return;
  Builder& b = op.b;
  const Window window = WindowOf(op);
  const Val first = b.Sub(b.Scalar(0.42, window.dtype), Harmonic(b, window, 1, 0.5));
  ReturnWindow(op, b.Add(first, Harmonic(b, window, 2, 0.08)));
}

// 1 − |2 n / N − 1|.
void BartlettWindow(Op& op) {
  Builder& b = op.b;
  const Window window = WindowOf(op);
  const Val period = window.periodic ? window.length : b.Sub(window.length, b.Int(1));
  const Val places = b.Cast(Iota(b, window.length), window.dtype);
  const Val twice = b.Div(b.Mul(places, b.Scalar(2, window.dtype)),
                          b.Cast(period, window.dtype));
  const Val one = b.Scalar(1, window.dtype);
  ReturnWindow(op, b.Sub(one, b.Unary("Abs", b.Sub(twice, one))));
}

// The modified Bessel function of order 0 of values in [0, largest]: Σ (x²/4)^k / k!², by
// Horner's scheme, to the last bit of float64.
Val BesselI0(Builder& b, Val x, double largest) {
  const double y = largest * largest / 4;
  int terms = 1;
  for (double term = 1, sum = 1; term > sum * 1e-17; ++terms) {
    term *= y / (static_cast<double>(terms) * terms);
    sum += term;
  }
  const DType dtype = x.dtype();
  const Val square = b.Mul(b.Mul(x, x), b.Scalar(0.25, dtype));
  Val sum = b.Scalar(1, dtype);
  for (int k = terms; k > 0; --k) {
    const Val ratio = b.Mul(square, b.Scalar(1.0 / (static_cast<double>(k) * k), dtype));
    sum = b.Add(b.Scalar(1, dtype), b.Mul(ratio, sum));
  }
  return sum;
}

// I0(beta · √(1 − (2 n / N − 1)²)) / I0(beta).
void KaiserWindow(Op& op) {
  Builder& b = op.b;
  constexpr DType kWide = DType::kFloat64;
  const double beta = op.OptFloat("beta").value_or(12.0);
  const Window window = WindowOf(op);
  const Val period = window.periodic ? window.length : b.Sub(window.length, b.Int(1));
  const Val places = b.Cast(Iota(b, window.length), kWide);
  const Val one = b.Scalar(1, kWide);
  const Val centered =
      b.Sub(b.Div(b.Mul(places, b.Scalar(2, kWide)), b.Cast(period, kWide)), one);
  const Val inside = b.Max(b.Sub(one, b.Mul(centered, centered)), b.Scalar(0, kWide));
  const Val argument = b.Mul(b.Unary("Sqrt", inside), b.Scalar(beta, kWide));
  const Val peak = BesselI0(b, b.Scalar(beta, kWide), beta);
  ReturnWindow(op, b.Cast(b.Div(BesselI0(b, argument, beta), peak), window.dtype));
}

}  // namespace

extern const Family kRange;
const Family kRange = {"range", {
    {"aten::arange", Arange},
    {"aten::_dim_arange", DimArange},
    {"aten::range", Range},
    {"aten::linspace", Linspace},
    {"aten::logspace", Logspace},
    {"aten::hann_window", HannWindow},
    {"aten::hamming_window", HammingWindow},
    {"aten::blackman_window", BlackmanWindow},
    {"aten::bartlett_window", BartlettWindow},
    {"aten::kaiser_window", KaiserWindow},
}};

}  // namespace rules_onnx::lowering
