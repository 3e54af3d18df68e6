// Interpolation to another size.
//
// PyTorch takes sizes, or factors; where it is given factors it computes coordinates with them and
// not with the quotient of the sizes. ONNX's Resize has factors in float32, from which it computes
// sizes, and leaves open how quotients are rounded. So Resize is used where it comes to the same:
// nearest pixels where no rounding can make another one the nearest, factors where they give
// PyTorch's size. Everything else, float64 (which factors in float32 are not fit for) and all of it
// before opset 11 is done by Gather; with antialias, by a product with a matrix of weights. Bytes are
// interpolated in integers.
#include <algorithm>
#include <cmath>

#include "exporter/lowering/expr.h"
#include "exporter/lowering/norm.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

using builder::Attr;

enum class Mode { kNearest, kLinear, kCubic };

// What PyTorch gives to Keys' kernel.
constexpr double kCubic = -0.75, kCubicAntialias = -0.5;

struct Interpolation {
  Mode mode = Mode::kNearest;
  bool exact = false;                // nearest: from the centres of pixels
  bool antialias = false;
  bool align_corners = false;
};

// One spatial axis and what becomes of it.
struct Axis {
  int index = 0;
  Dim from, to;                    // as far as they are known
  Val size;                        // the target, 0-d
  bool sized = false;              // by the program; else floor(size · factor)
  std::optional<double> factor;    // the coordinates', where it is given
  Val factor_val;                  // the same, 0-d in float64, where only a run tells it
  std::optional<double> ratio;     // to / from, where it is known
  bool may_stay = false;           // where from == to, which the model will tell, factor is 1

  bool has_factor() const { return factor || factor_val; }
};

// ---------------------------------------------------------------- arguments

// `scale_factors` of the .vec overloads, or scales_d, scales_h, scales_w, scales of the others.
Vals Factors(Op& op, int spatial) {
  if (op.Has("scale_factors")) return op.Tensors("scale_factors");
  static constexpr const char* kNames[] = {"scales_d", "scales_h", "scales_w"};
  Vals factors;
  for (int i = 3 - spatial; i < 3; ++i) {
    const char* name = spatial == 1 ? "scales" : kNames[i];
    if (!op.Has(name)) return {};
    factors.push_back(op.Tensor(name));
  }
  return factors;
}

// PyTorch's output size for a factor: floor(size · factor).
Val ScaledSize(Builder& b, Val size, const Axis& axis) {
  const Val factor = axis.factor ? b.Scalar(*axis.factor, DType::kFloat64) : axis.factor_val;
  const Val scaled = b.Mul(b.Cast(size, DType::kFloat64), factor);
  return b.Cast(b.Unary("Floor", scaled), DType::kInt64);
}

// to / from: of numbers, or a small whole one of expressions.
std::optional<double> RatioOf(const Axis& axis) {
  if (axis.from.is_number() && axis.to.is_number() && axis.from.value() > 0) {
    return static_cast<double>(axis.to.value()) / static_cast<double>(axis.from.value());
  }
  for (int64_t k = 1; k <= 16; ++k) {
    if (axis.to.Equals(axis.from * Dim(k))) return k;
  }
  const bool whole = axis.factor && *axis.factor >= 1 && *axis.factor == std::floor(*axis.factor);
  return whole && !axis.sized ? axis.factor : std::nullopt;
}

std::vector<Axis> ReadAxes(Op& op, Val x) {
  const int spatial = x.rank() - 2;
  const Vals factors = Factors(op, spatial);
  const Vals sizes = op.Has("output_size") ? op.IntVals("output_size") : Vals();
  const auto fits = [&](size_t size) { return static_cast<int>(size) == spatial; };
  if (!op.Require(factors.empty() || fits(factors.size()), "the factors have another rank") ||
      !op.Require(sizes.empty() ? !factors.empty() : fits(sizes.size()),
                  "output_size has another rank")) {
    return {};
  }
  std::vector<Axis> axes(spatial);
  for (int i = 0; i < spatial; ++i) {
    Axis& axis = axes[i];
    axis.index = 2 + i;
    axis.from = x.dim(axis.index);
    if (op.OutShape() && axis.index < static_cast<int>(op.OutShape()->size())) {
      axis.to = (*op.OutShape())[axis.index];
    }
    axis.sized = !sizes.empty();
    if (!factors.empty()) axis.factor = factors[i].float_value();
    if (!factors.empty() && !axis.factor) axis.factor_val = op.b.Cast(factors[i], DType::kFloat64);
    axis.ratio = RatioOf(axis);
    if (axis.to.is_number()) {
      axis.size = op.b.Int(axis.to.value());
    } else {
      axis.size = axis.sized ? sizes[i] : ScaledSize(op.b, op.b.Size(x, axis.index), axis);
    }
  }
  return axes;
}

// Whether the size may stay as it is; but a size of 1, which more factors leave, needs no care.
bool MayKeepSize(const Axis& axis) {
  if (axis.ratio) return axis.ratio == 1;
  return axis.sized || axis.factor_val || (axis.factor > 1 && axis.factor < 1.5);
}

// PyTorch copies along an axis whose size stays as it is, whatever its factor.
void CopyWhereSizesStay(std::vector<Axis>& axes) {
  for (Axis& axis : axes) {
    if (!axis.has_factor() || !MayKeepSize(axis)) continue;
    if (axis.ratio) {
      axis.factor = 1;
    } else {
      axis.may_stay = true;
    }
  }
}

// ---------------------------------------------------------------- by Resize

// Whether the nearest pixels by PyTorch's float32 factor 1 / ratio are those by the ratio itself.
// Powers of two are exact. By another whole ratio, positions on a pixel's edge must not be rounded
// below it, which a factor that is not below 1 / ratio does not; from the centres none is on an edge.
bool IsExactRatio(double ratio, bool from_centres) {
  int exponent;
  if (std::frexp(ratio, &exponent) == 0.5) return true;
  if (ratio < 1 || ratio != std::floor(ratio)) return false;
  return from_centres || static_cast<double>(1.0f / static_cast<float>(ratio)) * ratio >= 1;
}

bool HasExactRatio(const Axis& axis, bool from_centres) {
  return axis.ratio && !axis.factor_val && axis.factor.value_or(*axis.ratio) == *axis.ratio &&
         IsExactRatio(*axis.ratio, from_centres);
}

// Whether size · factor in float32 comes to PyTorch's target: the factor has few enough bits for
// the product to be exact, or the sizes are known and the product is far from a whole number.
bool ScalesGiveSize(const Axis& axis) {
  if (!axis.factor) return false;
  const bool few_bits = *axis.factor * 16 == std::floor(*axis.factor * 16);
  if (few_bits && (!axis.sized || axis.ratio == axis.factor)) return true;
  if (!axis.from.is_number() || !axis.to.is_number()) return false;
  const double beyond = static_cast<double>(axis.from.value()) * *axis.factor -
                        static_cast<double>(axis.to.value());
  return beyond > 1e-3 && beyond < 1 - 1e-3;
}

// Whether the quotient of the sizes is the coordinates' factor.
bool SizesGiveFactor(const Axis& axis) {
  return !axis.has_factor() || (axis.factor && axis.ratio && std::abs(*axis.ratio / *axis.factor - 1) < 1e-12);
}

// Inputs 1 to 3 of Resize: ROI, scales, sizes.
using TargetInputs = Vals;

TargetInputs ByScales(Builder& b, const std::vector<double>& factors) {
  Vals scales(2, b.Full(1, DType::kFloat32, {1}));
  for (const double factor : factors) scales.push_back(b.Full(factor, DType::kFloat32, {1}));
  return {Val(), b.Concat(scales, 0), Val()};
}

TargetInputs BySizes(Builder& b, Val x, const std::vector<Axis>& axes) {
  Vals sizes = {b.Size(x, 0), b.Size(x, 1)};
  for (const Axis& axis : axes) sizes.push_back(axis.size);
  return {Val(), Val(), b.Vector(sizes)};
}

// Empty where Resize does not come to the same.
TargetInputs ResizeTarget(Builder& b, Val x, const std::vector<Axis>& axes,
                          const Interpolation& how) {
  const auto all = [&](auto holds) { return std::all_of(axes.begin(), axes.end(), holds); };
  std::vector<double> scales;
  if (how.mode == Mode::kNearest) {
    if (!all([&](const Axis& axis) { return HasExactRatio(axis, how.exact); })) return {};
    for (const Axis& axis : axes) scales.push_back(*axis.ratio);
    return ByScales(b, scales);
  }
  if (how.align_corners) return BySizes(b, x, axes);
  if (!all([](const Axis& axis) { return !axis.may_stay; })) return {};
  // ONNX Runtime copies where no size changes.
  if (all(MayKeepSize) && !all(SizesGiveFactor)) return {};
  if (all(ScalesGiveSize)) {
    for (const Axis& axis : axes) scales.push_back(*axis.factor);
    return ByScales(b, scales);
  }
  return all(SizesGiveFactor) ? BySizes(b, x, axes) : TargetInputs();
}

Attrs ResizeAttrs(const Interpolation& how) {
  const char* coordinates = how.align_corners ? "align_corners" : "half_pixel";
  if (how.mode == Mode::kNearest && !how.exact) coordinates = "asymmetric";
  static constexpr const char* kModes[] = {"nearest", "linear", "cubic"};
  Attrs attrs = {{"coordinate_transformation_mode", coordinates},
                 {"mode", kModes[static_cast<int>(how.mode)]}};
  if (how.mode == Mode::kNearest) {
    attrs.emplace_back("nearest_mode", how.exact ? "round_prefer_ceil" : "floor");
  }
  if (how.mode == Mode::kCubic) {
    attrs.emplace_back("cubic_coeff_a", how.antialias ? kCubicAntialias : kCubic);
  }
  if (how.antialias) {
    attrs.emplace_back("antialias", 1);
    attrs.emplace_back("exclude_outside", 1);
  }
  return attrs;
}

Val Resize(Builder& b, Val x, TargetInputs target, const Interpolation& how) {
  // Before opset 13 the ROI may not be left out, nor the scales beside sizes.
  if (b.opset() < 13) {
    const Val none = b.ConstantOfShape(b.Ints({0}), 0, DType::kFloat32);
    target[0] = none;
    if (!target[1]) target[1] = none;
  }
  target.insert(target.begin(), x);
  return b.Op("Resize", target, ResizeAttrs(how));
}

// ---------------------------------------------------------------- by Gather

// 1 / factor, divided in float64 as PyTorch does.
Expr Inverse(Expr like, Val factor) {
  Builder& b = like.b();
  return {b, b.Cast((1 / Expr(b, factor)).val(), like.val().dtype())};
}

// What one step in the result is in the source.
Expr StepOf(const Axis& axis, Expr from, Expr to) {
  if (!axis.has_factor()) return from / to;
  const Expr step = axis.factor ? from.Number(1 / *axis.factor) : Inverse(from, axis.factor_val);
  return axis.may_stay ? Select(from == to, 1, step) : step;
}

// Positions in the source of each target position along an axis.
Expr SourcePositions(Builder& b, Val x, const Axis& axis, const Interpolation& how, DType dtype) {
  const auto number = [&](Val size) { return Expr(b, b.Cast(size, dtype)); };
  const Expr position = number(Iota(b, axis.size));
  const Expr from = number(b.Size(x, axis.index)), to = number(axis.size);
  if (how.align_corners) return position * ((from - 1) / Max(to - 1, 1));
  const Expr scale = StepOf(axis, from, to);
  if (how.mode == Mode::kNearest) return (how.exact ? position + 0.5 : position) * scale;
  return (position + 0.5) * scale - 0.5;
}

// Keys' kernel for a, at distances up to 1 and from 1 to 2.
Expr CubicNear(Expr x, double a) { return Polynomial(x, {1, 0, -(a + 3), a + 2}); }
Expr CubicFar(Expr x, double a) { return Polynomial(x, {-4 * a, 8 * a, -5 * a, a}); }

// At t + 1, t, 1 − t and 2 − t.
std::vector<Expr> CubicWeights(Expr t) {
  return {CubicFar(t + 1, kCubic), CubicNear(t, kCubic), CubicNear(1 - t, kCubic),
          CubicFar(2 - t, kCubic)};
}

// Elements along an axis that make one of the result, and their weights; all 1-D. What lies outside
// is the element at the edge.
struct Taps {
  Vals places, weights;
};

// PyTorch rounds positions to float32 before it rounds them down.
Taps TapsOf(Builder& b, Val x, const Axis& axis, const Interpolation& how, DType dtype) {
  const bool linear = how.mode == Mode::kLinear;
  const Val last = b.Sub(b.Size(x, axis.index), b.Int(1));
  Expr source = SourcePositions(b, x, axis, how, dtype);
  if (linear) source = Max(source, 0);
  const Val floor = b.Unary("Floor", b.Cast(source.val(), DType::kFloat32));
  const Val place = b.Min(b.Cast(floor, DType::kInt64), last);
  if (how.mode == Mode::kNearest) return {{place}, {}};
  const Expr t = Min(Max(source - Expr(b, b.Cast(place, dtype)), 0), 1);
  const auto weights = linear ? std::vector<Expr>{1 - t, t} : CubicWeights(t);
  Taps taps;
  for (size_t i = 0; i < weights.size(); ++i) {
    const Val offset = b.Int(static_cast<int64_t>(i) - (linear ? 0 : 1));
    taps.places.push_back(b.Clip(b.Add(place, offset), b.Int(0), last));
    taps.weights.push_back(weights[i].val());
  }
  return taps;
}

// The sum of x's elements at the taps' places times weights, theirs or others.
Val Weighted(Builder& b, Val x, int axis, const Vals& places, const Vals& weights) {
  Val sum;
  for (size_t i = 0; i < places.size(); ++i) {
    const Val weight = AlongAxis(b, weights[i], axis, x.rank());
    const Val term = b.Mul(b.Gather(x, places[i], axis), weight);
    sum = sum ? b.Add(sum, term) : term;
  }
  return sum;
}

Val InterpolateAlong(Builder& b, Val x, const Axis& axis, const Interpolation& how) {
  const DType dtype = x.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const Taps taps = TapsOf(b, x, axis, how, dtype);
  if (how.mode == Mode::kNearest) return b.Gather(x, taps.places[0], axis.index);
  return Weighted(b, x, axis.index, taps.places, taps.weights);
}

bool Stays(const Axis& axis) {
  return axis.ratio == 1.0 && !axis.factor_val && axis.factor.value_or(1) == 1;
}

Val InterpolateByGather(Op& op, Val x, const std::vector<Axis>& axes, const Interpolation& how) {
  Builder& b = op.b;
  const bool moves = how.mode == Mode::kNearest;
  if (!op.Require(moves || ir::IsFloat(x.dtype()), "PyTorch does not interpolate this dtype")) {
    return {};
  }
  Val y = moves ? x : b.Cast(x, Wide(x.dtype()));
  for (const Axis& axis : axes) {
    if (!Stays(axis)) y = InterpolateAlong(b, y, axis, how);
  }
  return b.CastLike(y, x);
}

// ---------------------------------------------------------------- of bytes

// PyTorch interpolates images of bytes in integers: with weights of 16 bits along one axis after the
// other, from the last one on, and bytes in between.

// Weights of taps at one place, those at an edge, added up in the last of them.
Vals AddedUp(Builder& b, const Taps& taps) {
  Vals weights;
  for (size_t i = 0; i < taps.places.size(); ++i) {
    Expr weight(b, taps.weights[i]);
    if (i > 0) {
      const Val same = b.Equal(taps.places[i], taps.places[i - 1]);
      const Expr before(b, weights.back());
      weight = weight + Select(same, before, 0);
      weights.back() = Select(same, 0, before).val();
    }
    weights.push_back(weight.val());
  }
  return weights;
}

// Weights in 16 bits, as int32, and what they are multiplied by: the largest power of 2 up to 2^22
// with which the largest has 15 bits.
struct ByteWeights {
  Vals weights;
  Val unit;
};

ByteWeights InBytes(Builder& b, const Vals& weights) {
  Vals powers;
  for (int k = 0; k <= 22; ++k) powers.push_back(b.Full(std::ldexp(1.0, k), DType::kFloat64, {1}));
  const Val table = b.Concat(powers, 0);
  const Expr largest(b, b.Reduce("ReduceMax", b.Concat(weights, 0), {}, /*keepdims=*/false));
  const Val fit = largest * Expr(b, table) + 0.5 < 32768.0;
  const Val count = b.Reduce("ReduceSum", b.Cast(fit, DType::kInt64), {}, /*keepdims=*/false);
  const Expr unit(b, b.Gather(table, b.Sub(count, b.Int(1)), 0));
  ByteWeights result{{}, b.Cast(unit.val(), DType::kInt32)};
  for (const Val weight : weights) {
    const Expr scaled = Expr(b, weight) * unit;
    result.weights.push_back(b.Cast((scaled + Sign(scaled) * 0.5).val(), DType::kInt32));
  }
  return result;
}

// A sum of weighted bytes as a byte, both int32.
Val ByteOf(Builder& b, Val sum, Val unit) {
  const Val half = b.Div(unit, b.ScalarInt(2, DType::kInt32));
  return b.Clip(b.Div(b.Add(sum, half), unit), b.ScalarInt(0, DType::kInt32),
                b.ScalarInt(255, DType::kInt32));
}

Val BytesAlong(Builder& b, Val x, const Axis& axis, const Interpolation& how) {
  const Taps taps = TapsOf(b, x, axis, how, DType::kFloat64);
  const ByteWeights w = InBytes(b, AddedUp(b, taps));
  return ByteOf(b, Weighted(b, x, axis.index, taps.places, w.weights), w.unit);
}

Val InterpolateBytes(Builder& b, Val x, const std::vector<Axis>& axes, const Interpolation& how) {
  Val y = b.Cast(x, DType::kInt32);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (!Stays(*axis)) y = BytesAlong(b, y, *axis, how);
  }
  return b.CastLike(y, x);
}

// ---------------------------------------------------------------- with antialias

// The weight of each element along an axis for each of the result, [to, from] in float64: the kernel
// as wide as what one element of the result covers, cut off at the edges, with a sum of 1.
Val AntialiasWeights(Builder& b, Val x, const Axis& axis, const Interpolation& how) {
  const auto number = [&](Val size) { return Expr(b, b.Cast(size, DType::kFloat64)); };
  const Val size = b.Size(x, axis.index);
  const Expr from = number(size), to = number(axis.size);
  const Expr corners = Select(to > 1, (from - 1) / Max(to - 1, 1), 0);
  const Expr scale = how.align_corners ? corners : StepOf(axis, from, to);
  const Expr width = Max(scale, 1), support = width * (how.mode == Mode::kLinear ? 1.0 : 2.0);
  const Expr center = (number(b.Unsqueeze(Iota(b, axis.size), {1})) + 0.5) * scale;
  const Expr place = number(b.Unsqueeze(Iota(b, size), {0}));
  const Val inside = b.And(place >= Floor(center - support + 0.5),
                           place < Floor(center + support + 0.5));
  const Expr distance = Abs((place - center + 0.5) / width);
  Expr kernel = Max(1 - distance, 0);
  if (how.mode == Mode::kCubic) {
    const Expr far = Select(distance < 2, CubicFar(distance, kCubicAntialias), 0);
    kernel = Select(distance < 1, CubicNear(distance, kCubicAntialias), far);
  }
  const Expr weights = Select(inside, kernel, 0);
  const Expr total(b, b.Reduce("ReduceSum", weights.val(), {1}, /*keepdims=*/true));
  return (weights / Select(total == 0, 1, total)).val();
}

// The last two axes, the last one first.
Val InterpolateAntialias(Builder& b, Val x, const std::vector<Axis>& axes,
                         const Interpolation& how) {
  const bool bytes = x.dtype() == DType::kUInt8;
  Val y = b.Cast(x, bytes ? DType::kInt32 : Wide(x.dtype()));
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (Stays(*axis)) continue;
    const Val weights = AntialiasWeights(b, x, *axis, how);
    const ByteWeights in_bytes = bytes ? InBytes(b, {weights}) : ByteWeights();
    const Val matrix = bytes ? in_bytes.weights[0] : b.CastLike(weights, y);
    y = axis->index == 3 ? b.MatMul(y, b.Transpose(matrix, {1, 0})) : b.MatMul(matrix, y);
    if (bytes) y = ByteOf(b, y, in_bytes.unit);
  }
  return b.CastLike(y, x);
}

// ---------------------------------------------------------------- operators

void Interpolate(Op& op, Interpolation how) {
  Builder& b = op.b;
  const Val x = op.Tensor(op.node.Find("input") ? "input" : "self");
  if (!x || !op.Require(x.rank() >= 3, "the rank of the operand is not known")) return;
  if (op.node.Find("align_corners") != nullptr) how.align_corners = op.Bool("align_corners");
  std::vector<Axis> axes = ReadAxes(op, x);
  if (op.failed()) return;
  const bool bytes = x.dtype() == DType::kUInt8;
  const bool image = bytes && axes.size() == 2 && how.mode != Mode::kNearest;
  // Not so the nearest pixels, nor bicubic interpolation of floats.
  const bool copies = how.mode == Mode::kLinear || how.antialias || image;
  if (copies && !how.align_corners) CopyWhereSizesStay(axes);
  const bool precise = x.dtype() == DType::kFloat64 && how.mode != Mode::kNearest;
  const bool native = !image && !precise && b.opset() >= (how.antialias ? 18 : 11) &&
                      !(how.antialias && how.align_corners);
  const TargetInputs target = native ? ResizeTarget(b, x, axes, how) : TargetInputs();
  if (!target.empty()) return op.Return(Resize(b, x, target, how));
  if (how.antialias) return op.Return(InterpolateAntialias(b, x, axes, how));
  op.Return(image ? InterpolateBytes(b, x, axes, how) : InterpolateByGather(op, x, axes, how));
}

void Nearest(Op& op) { Interpolate(op, {Mode::kNearest}); }
void NearestExact(Op& op) { Interpolate(op, {Mode::kNearest, /*exact=*/true}); }
void Linear(Op& op) { Interpolate(op, {Mode::kLinear}); }
void Cubic(Op& op) { Interpolate(op, {Mode::kCubic}); }
void LinearAntialias(Op& op) { Interpolate(op, {Mode::kLinear, false, /*antialias=*/true}); }
void CubicAntialias(Op& op) { Interpolate(op, {Mode::kCubic, false, /*antialias=*/true}); }

}  // namespace

extern const Family kResize;
const Family kResize = {"resize", {
    {"aten::upsample_nearest1d", Nearest},
    {"aten::upsample_nearest2d", Nearest},
    {"aten::upsample_nearest3d", Nearest},
    {"aten::_upsample_nearest_exact1d", NearestExact},
    {"aten::_upsample_nearest_exact2d", NearestExact},
    {"aten::_upsample_nearest_exact3d", NearestExact},
    {"aten::upsample_linear1d", Linear},
    {"aten::upsample_bilinear2d", Linear},
    {"aten::upsample_trilinear3d", Linear},
    {"aten::upsample_bicubic2d", Cubic},
    {"aten::_upsample_bilinear2d_aa", LinearAntialias},
    {"aten::_upsample_bicubic2d_aa", CubicAntialias},
}};

}  // namespace rules_onnx::lowering
