// Discrete Fourier transforms: ONNX's DFT from opset 17 on, products with the matrix of angles
// before.
#include "exporter/lowering/fft.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/linear.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

using Ints = std::vector<int64_t>;

int Rank(Complex x) { return x.re.val().rank(); }

// Both parts changed alike.
template <typename Function>
Complex EachPart(Complex x, Function function) {
  Builder& b = x.re.b();
  return {{b, function(x.re.val())}, {b, function(x.im.val())}};
}

// ---------------------------------------------------------------- one axis

// cos and sin of 2πjk / n, [n, n]; jk mod n is exact.
Complex Angles(Builder& b, Val n, DType dtype) {
  const Val index = Iota(b, n);
  const Val product = b.Mul(b.Unsqueeze(index, {1}), b.Unsqueeze(index, {0}));
  const Val rest = b.Sub(product, b.Mul(b.Div(product, n), n));
  const Expr angle = Expr(b, b.Cast(rest, dtype)) * (2 * M_PI) / Expr(b, b.Cast(n, dtype));
  return {Cos(angle), Sin(angle)};
}

Complex ByMatrices(Complex x, int axis, bool forward) {
  Builder& b = x.re.b();
  const int last = Rank(x) - 1;
  const Complex moved = EachPart(x, [&](Val v) { return MoveAxis(b, v, axis, last); });
  const Complex angles = Angles(b, b.Size(x.re.val(), axis), x.re.val().dtype());
  const auto times = [&](Expr u, Expr v) { return Expr(b, MatMul(b, u.val(), v.val())); };
  const double sign = forward ? 1 : -1;
  const Complex result = {times(moved.re, angles.re) + sign * times(moved.im, angles.im),
                          times(moved.im, angles.re) - sign * times(moved.re, angles.im)};
  return EachPart(result, [&](Val v) { return MoveAxis(b, v, last, axis); });
}

// ONNX divides the inverse by n: not so here.
Complex ByDft(Complex x, int axis, bool forward) {
  Builder& b = x.re.b();
  const bool lone = Rank(x) == 1;  // ONNX wants a batch axis
  Val pair = Packed(x);
  if (lone) pair = b.Unsqueeze(pair, {0});
  const int at = axis + lone;
  const builder::OutputType type{DType::kUndefined, pair ? pair.get()->type.shape : std::nullopt};
  Val result = b.opset() >= 20
                   ? b.Op("DFT", {pair, Val(), b.Int(at)}, {{"inverse", !forward}}, type)
                   : b.Op("DFT", {pair}, {{"axis", at}, {"inverse", !forward}}, type);
  if (lone) result = b.Squeeze(result, {0});
  const Complex parts = Unpacked(b, result);
  if (forward) return parts;
  const Expr n(b, b.Cast(b.Size(x.re.val(), axis), x.re.val().dtype()));
  return {parts.re * n, parts.im * n};
}

// Whether a product with a matrix is at hand and more exact than ONNX Runtime's DFT, which is good at
// powers of two only.
bool IsSmall(Dim size) {
  if (!size.is_number() || size.value() > 64) return false;
  return (size.value() & (size.value() - 1)) != 0;
}

}  // namespace

Complex FourierTransform(Complex x, int axis, bool forward) {
  if (!x.re.val() || x.re.b().failed()) return x;
  const Vals parts = Broadcast(x.re.b(), {x.re.val(), x.im.val()});
  x = {{x.re.b(), parts[0]}, {x.re.b(), parts[1]}};
  const bool by_matrices = x.re.b().opset() < 17 || IsSmall(x.re.val().dim(axis));
  return by_matrices ? ByMatrices(x, axis, forward) : ByDft(x, axis, forward);
}

namespace {

// Cut, or filled up with zeros, to that size.
Val Resized(Builder& b, Val x, int axis, Val size) {
  if (!x || !size || x.rank() == 0) return x;
  const Dim now = x.dim(axis);
  const auto wanted = size.int_value();
  if (now.is_number() && wanted && now.value() == *wanted) return x;
  const Val cut = b.Slice(x, axis, b.Int(0), size);
  const Val missing = b.Sub(size, b.Size(cut, axis));
  if (missing.int_value() == 0) return cut;
  Vals pads(2 * x.rank(), b.Int(0));
  pads[x.rank() + axis] = missing;
  return b.Pad(cut, b.Vector(pads));
}

Complex Resized(Complex x, int axis, Val size) {
  return EachPart(x, [&](Val v) { return Resized(x.re.b(), v, axis, size); });
}

// The frequencies 0 … n/2 of n.
Val Half(Builder& b, Val n) { return b.Add(b.Div(n, b.Int(2)), b.Int(1)); }

}  // namespace

Complex Mirrored(Complex x, int axis, Val n) {
  Builder& b = x.re.b();
  const Complex half = Resized(x, axis, Half(b, n));
  const Val end = b.Add(b.Div(b.Sub(n, b.Int(1)), b.Int(2)), b.Int(1));
  const auto tail = [&](Val v) {
    return Flip(b, b.Slice(v, axis, b.Int(1), end), {axis});
  };
  return {{b, b.Concat({half.re.val(), tail(half.re.val())}, axis)},
          {b, b.Concat({half.im.val(), b.Unary("Neg", tail(half.im.val()))}, axis)}};
}

namespace {

// ---------------------------------------------------------------- scale

enum class Scale { kNone, kRoot, kWhole };  // at::native::fft_norm_mode

Complex Scaled(Complex x, const Vals& sizes, Scale scale) {
  if (scale == Scale::kNone) return x;
  Builder& b = x.re.b();
  Expr count(b, b.Cast(Product(b, sizes), x.re.val().dtype()));
  if (scale == Scale::kRoot) count = Sqrt(count);
  return {x.re / count, x.im / count};
}

// The argument `norm`: "backward" scales the inverse transforms, "forward" the others.
Scale ScaleOf(Op& op, bool forward) {
  const std::string norm = op.Has("norm") ? op.String("norm") : "backward";
  if (norm == "ortho") return Scale::kRoot;
  if (norm != "forward" && norm != "backward") op.Fail(absl::StrCat("norm ", norm, " is unknown"));
  return forward == (norm == "forward") ? Scale::kWhole : Scale::kNone;
}

// ---------------------------------------------------------------- several axes

struct Axes {
  Ints axes;
  Vals sizes;  // that the signal is cut or filled to; null: as it is
};

Complex Signal(Op& op) { return ReadComplex(op, "self", PartType(op)); }

// n and dim, or s and dim, of the torch.fft functions.
Axes ReadAxes(Op& op, int rank) {
  Builder& b = op.b;
  Axes result;
  if (op.node.Find("n") != nullptr) {
    result.axes = {b.NormalizeAxis(op.Int("dim"), rank)};
    result.sizes = {op.Has("n") ? op.IntVal("n") : Val()};
    return result;
  }
  if (op.Has("s")) result.sizes = op.IntVals("s");
  if (op.Has("dim")) {
    result.axes = op.Ints("dim");
    for (int64_t& axis : result.axes) axis = b.NormalizeAxis(axis, rank);
  } else {
    const int count = op.Has("s") ? static_cast<int>(result.sizes.size()) : rank;
    for (int i = rank - count; i < rank; ++i) result.axes.push_back(i);
  }
  result.sizes.resize(result.axes.size());
  for (Val& size : result.sizes) {
    if (size && size.int_value() == -1) size = Val();
  }
  return result;
}

// Sizes as they are where none is given; `doubled` for the last axis of a half spectrum.
Vals FullSizes(Builder& b, Complex x, const Axes& axes, bool doubled) {
  Vals sizes;
  for (size_t i = 0; i < axes.axes.size(); ++i) {
    const Val own = b.Size(x.re.val(), static_cast<int>(axes.axes[i]));
    const bool half = doubled && i + 1 == axes.axes.size();
    const Val standard = half ? b.Mul(b.Sub(own, b.Int(1)), b.Int(2)) : own;
    sizes.push_back(axes.sizes[i] ? axes.sizes[i] : standard);
  }
  return sizes;
}

// Complex to complex, or real to all or half of the frequencies.
void ToComplex(Op& op, bool forward, bool onesided) {
  Builder& b = op.b;
  Complex x = Signal(op);
  if (!x.re.val()) return;
  const Axes axes = ReadAxes(op, Rank(x));
  if (op.failed()) return;
  const Vals sizes = FullSizes(b, x, axes, false);
  const bool real = !IsComplexArgument(op, "self");
  for (size_t i = axes.axes.size(); i-- > 0;) {
    const int axis = static_cast<int>(axes.axes[i]);
    x.re = {b, Resized(b, x.re.val(), axis, sizes[i])};
    if (!real || x.im.val().rank() > 0) x.im = {b, Resized(b, x.im.val(), axis, sizes[i])};
  }
  for (size_t i = axes.axes.size(); i-- > 0;) {
    const int axis = static_cast<int>(axes.axes[i]);
    x = FourierTransform(x, axis, forward);
    if (onesided && i + 1 == axes.axes.size()) x = Resized(x, axis, Half(b, sizes[i]));
  }
  op.Return(Packed(Scaled(x, sizes, ScaleOf(op, forward))));
}

// Half of the frequencies to a real signal.
void ToReal(Op& op, bool forward) {
  Builder& b = op.b;
  Complex x = Signal(op);
  if (!x.re.val()) return;
  const Vals parts = Broadcast(b, {x.re.val(), x.im.val()});
  x = {{b, parts[0]}, {b, parts[1]}};
  const Axes axes = ReadAxes(op, Rank(x));
  if (op.failed()) return;
  const Vals sizes = FullSizes(b, x, axes, true);
  const int last = static_cast<int>(axes.axes.back());
  for (size_t i = 0; i + 1 < axes.axes.size(); ++i) {
    const int axis = static_cast<int>(axes.axes[i]);
    x = Resized(x, axis, sizes[i]);
  }
  x = Resized(x, last, Half(b, sizes.back()));
  for (size_t i = 0; i + 1 < axes.axes.size(); ++i) {
    x = FourierTransform(x, static_cast<int>(axes.axes[i]), forward);
  }
  x = FourierTransform(Mirrored(x, last, sizes.back()), last, forward);
  op.Return(Scaled(x, sizes, ScaleOf(op, forward)).re.val());
}

void Fft(Op& op) { ToComplex(op, true, false); }
void Ifft(Op& op) { ToComplex(op, false, false); }
void Rfft(Op& op) { ToComplex(op, true, true); }
void Ihfft(Op& op) { ToComplex(op, false, true); }
void Irfft(Op& op) { ToReal(op, false); }
void Hfft(Op& op) { ToReal(op, true); }

// ---------------------------------------------------------------- the operators beneath

struct Plain {
  Complex x;
  Ints axes;
  Scale scale;
};

Plain ReadPlain(Op& op) {
  Plain plain{Signal(op), op.Ints("dim"), static_cast<Scale>(op.Int("normalization"))};
  for (int64_t& axis : plain.axes) axis = op.b.NormalizeAxis(axis, Rank(plain.x));
  return plain;
}

Vals SizesAt(Builder& b, Complex x, const Ints& axes) {
  Vals sizes;
  for (const int64_t axis : axes) sizes.push_back(b.Size(x.re.val(), static_cast<int>(axis)));
  return sizes;
}

void C2c(Op& op) {
  Plain plain = ReadPlain(op);
  if (!plain.x.re.val()) return;
  const Vals sizes = SizesAt(op.b, plain.x, plain.axes);
  const bool forward = op.Bool("forward");
  for (const int64_t axis : plain.axes) {
    plain.x = FourierTransform(plain.x, static_cast<int>(axis), forward);
  }
  op.Return(Packed(Scaled(plain.x, sizes, plain.scale)));
}

void R2c(Op& op) {
  Plain plain = ReadPlain(op);
  if (!plain.x.re.val() || plain.axes.empty()) return;
  const Vals sizes = SizesAt(op.b, plain.x, plain.axes);
  const int last = static_cast<int>(plain.axes.back());
  for (size_t i = plain.axes.size(); i-- > 0;) {
    const int axis = static_cast<int>(plain.axes[i]);
    plain.x = FourierTransform(plain.x, axis, /*forward=*/true);
    if (axis == last && op.Bool("onesided")) {
      plain.x = Resized(plain.x, last, Half(op.b, sizes.back()));
    }
  }
  op.Return(Packed(Scaled(plain.x, sizes, plain.scale)));
}

void C2r(Op& op) {
  Plain plain = ReadPlain(op);
  if (!plain.x.re.val() || plain.axes.empty()) return;
  Vals sizes = SizesAt(op.b, plain.x, plain.axes);
  sizes.back() = op.IntVal("last_dim_size");
  const int last = static_cast<int>(plain.axes.back());
  for (size_t i = 0; i + 1 < plain.axes.size(); ++i) {
    plain.x = FourierTransform(plain.x, static_cast<int>(plain.axes[i]), /*forward=*/false);
  }
  plain.x = FourierTransform(Mirrored(plain.x, last, sizes.back()), last, /*forward=*/false);
  op.Return(Scaled(plain.x, sizes, plain.scale).re.val());
}

// ---------------------------------------------------------------- order of frequencies

// Rolled by half of each axis.
void Shift(Op& op, bool inverse) {
  Builder& b = op.b;
  Val x = op.Tensor("self");
  for (const int64_t axis : op.Axes("dim", x)) {
    const int at = static_cast<int>(axis);
    const Val size = b.Size(x, at);
    const Val half = b.Div(inverse ? size : b.Add(size, b.Int(1)), b.Int(2));
    x = b.Concat({b.Slice(x, at, half, size), b.Slice(x, at, b.Int(0), half)}, at);
  }
  op.Return(x);
}
void Fftshift(Op& op) { Shift(op, false); }
void Ifftshift(Op& op) { Shift(op, true); }

}  // namespace

extern const Family kFft;
const Family kFft = {"fft", {
    {"aten::fft_fft", Fft, 11},
    {"aten::fft_fft2", Fft, 11},
    {"aten::fft_fftn", Fft, 11},
    {"aten::fft_ifft", Ifft, 11},
    {"aten::fft_ifft2", Ifft, 11},
    {"aten::fft_ifftn", Ifft, 11},
    {"aten::fft_rfft", Rfft, 11},
    {"aten::fft_rfft2", Rfft, 11},
    {"aten::fft_rfftn", Rfft, 11},
    {"aten::fft_irfft", Irfft, 11},
    {"aten::fft_irfft2", Irfft, 11},
    {"aten::fft_irfftn", Irfft, 11},
    {"aten::fft_hfft", Hfft, 11},
    {"aten::fft_hfft2", Hfft, 11},
    {"aten::fft_hfftn", Hfft, 11},
    {"aten::fft_ihfft", Ihfft, 11},
    {"aten::fft_ihfft2", Ihfft, 11},
    {"aten::fft_ihfftn", Ihfft, 11},
    {"aten::_fft_c2c", C2c, 11},
    {"aten::_fft_r2c", R2c, 11},
    {"aten::_fft_c2r", C2r, 11},
    {"aten::fft_fftshift", Fftshift},
    {"aten::fft_ifftshift", Ifftshift},
}};

}  // namespace rules_onnx::lowering
