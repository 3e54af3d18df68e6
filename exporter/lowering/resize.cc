// Interpolation to another size.
//
// PyTorch takes sizes, or factors; where it is given factors it computes coordinates with them and
// not with the quotient of the sizes, as ONNX's Resize does with `scales`.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/registry.h"

namespace rules_onnx::lowering {
namespace {

using builder::Attr;
using Ints = std::vector<int64_t>;

struct Interpolation {
  const char* mode = "nearest";      // nearest, linear, cubic
  bool align_corners = false;
  bool exact = false;                // nearest: from the centres of pixels
  bool antialias = false;
};

// Either `sizes` (0-d each) or `factors` of the spatial axes.
struct Target {
  Vals sizes;
  std::vector<double> factors;
};

// `scale_factors` of the .vec overloads, or scales_d, scales_h, scales_w, scales of the others.
std::vector<double> Factors(Op& op, int spatial) {
  if (op.Has("scale_factors")) return op.Floats("scale_factors");
  static constexpr const char* kNames[] = {"scales_d", "scales_h", "scales_w"};
  std::vector<double> factors;
  for (int i = 3 - spatial; i < 3; ++i) {
    const char* name = spatial == 1 ? "scales" : kNames[i];
    if (!op.Has(name)) return {};
    factors.push_back(op.Float(name));
  }
  return factors;
}

Target ReadTarget(Op& op, int spatial) {
  Target target;
  target.factors = Factors(op, spatial);
  if (target.factors.empty()) target.sizes = op.IntVals("output_size");
  return target;
}

std::string CoordinateMode(const Interpolation& how) {
  if (how.align_corners) return "align_corners";
  const bool nearest = std::string(how.mode) == "nearest";
  return nearest && !how.exact ? "asymmetric" : "half_pixel";
}

// ROI, scales, sizes: inputs 1 to 3 of Resize.
Vals TargetInputs(Op& op, Val x, const Target& target) {
  Builder& b = op.b;
  const int spatial = x.rank() - 2;
  if (!target.factors.empty()) {
    std::vector<float> scales = {1, 1};
    scales.insert(scales.end(), target.factors.begin(), target.factors.end());
    Vals elements;
    for (const float scale : scales) elements.push_back(b.Unsqueeze(b.Scalar(scale, DType::kFloat32), {0}));
    return {Val(), b.Concat(elements, 0), Val()};
  }
  Vals sizes = {b.Size(x, 0), b.Size(x, 1)};
  if (!op.Require(static_cast<int>(target.sizes.size()) == spatial, "output_size has another rank"))
    return {};
  sizes.insert(sizes.end(), target.sizes.begin(), target.sizes.end());
  return {Val(), Val(), b.Vector(sizes)};
}

Val EmitResize(Op& op, Val x, const Interpolation& how, const Target& target) {
  Builder& b = op.b;
  Attrs attrs = {{"coordinate_transformation_mode", Attr::Data(CoordinateMode(how))},
                 {"mode", how.mode}};
  if (std::string(how.mode) == "nearest") {
    attrs.emplace_back("nearest_mode", how.exact ? "round_prefer_ceil" : "floor");
  }
  if (std::string(how.mode) == "cubic") {
    attrs.emplace_back("cubic_coeff_a", how.antialias ? -0.5 : -0.75);
  }
  if (how.antialias) {
    if (!op.Require(b.opset() >= 18, "interpolation with antialias needs opset 18")) return {};
    attrs.emplace_back("antialias", 1);
    attrs.emplace_back("exclude_outside", 1);
  }
  Vals inputs = TargetInputs(op, x, target);
  if (inputs.empty()) return {};
  // Before opset 13 the ROI may not be left out, nor the scales beside sizes.
  if (b.opset() < 13) {
    const Val none = b.ConstantOfShape(b.Ints({0}), 0, DType::kFloat32);
    inputs[0] = none;
    if (!inputs[1]) inputs[1] = none;
  }
  inputs.insert(inputs.begin(), x);
  return b.Op("Resize", inputs, std::move(attrs));
}

// ---------------------------------------------------------------- before opset 11

// Positions in the source of each target position along an axis, as floats.
Val SourcePositions(Builder& b, Val size, Val target, std::optional<double> factor,
                    const Interpolation& how, DType dtype) {
  const Val position = b.Cast(b.Range(b.Int(0), target, b.Int(1)), dtype);
  const auto constant = [&](double value) { return b.Scalar(value, dtype); };
  if (how.align_corners) {
    const Val steps = b.Max(b.Sub(target, b.Int(1)), b.Int(1));
    const Val last = b.Cast(b.Sub(size, b.Int(1)), dtype);
    return b.Mul(position, b.Div(last, b.Cast(steps, dtype)));
  }
  const Val scale = factor ? constant(1 / *factor) : b.Div(b.Cast(size, dtype), b.Cast(target, dtype));
  const bool nearest = std::string(how.mode) == "nearest";
  if (nearest && !how.exact) return b.Mul(position, scale);
  const Val centre = b.Mul(b.Add(position, constant(0.5)), scale);
  return nearest ? centre : b.Sub(centre, constant(0.5));
}

// Nearest and linear by Gather, an axis at a time.
Val InterpolateAlong(Op& op, Val x, int axis, Val target, std::optional<double> factor,
                     const Interpolation& how) {
  Builder& b = op.b;
  const Val size = b.Size(x, axis);
  const DType dtype = ir::IsFloat(x.dtype()) ? x.dtype() : DType::kFloat32;
  const Val source = SourcePositions(b, size, target, factor, how, dtype);
  const Val last = b.Sub(size, b.Int(1));
  const auto clamp = [&](Val i) { return b.Min(b.Max(i, b.Int(0)), last); };
  const Val floor = b.Unary("Floor", source);
  const Val low = b.Cast(floor, DType::kInt64);
  if (std::string(how.mode) == "nearest") return b.Gather(x, clamp(low), axis);
  Ints behind;
  for (int i = 1; i < x.rank() - axis; ++i) behind.push_back(i);
  const Val weight = b.Unsqueeze(b.Sub(source, floor), behind);
  const Val before = b.Gather(x, clamp(low), axis);
  const Val after = b.Gather(x, clamp(b.Add(low, b.Int(1))), axis);
  return b.Add(before, b.Mul(b.Sub(after, before), weight));
}

// PyTorch's output size for a factor: floor(size · factor).
Val ScaledSize(Builder& b, Val size, double factor) {
  const Val scaled = b.Mul(b.Cast(size, DType::kFloat64), b.Scalar(factor, DType::kFloat64));
  return b.Cast(b.Unary("Floor", scaled), DType::kInt64);
}

Val InterpolateByGather(Op& op, Val x, const Interpolation& how, const Target& target) {
  for (int axis = 2; axis < x.rank(); ++axis) {
    const size_t i = axis - 2;
    const bool by_factor = !target.factors.empty();
    const Val size = by_factor ? ScaledSize(op.b, op.b.Size(x, axis), target.factors[i])
                               : target.sizes[i];
    x = InterpolateAlong(op, x, axis, size,
                         by_factor ? std::optional(target.factors[i]) : std::nullopt, how);
  }
  return x;
}

// ---------------------------------------------------------------- operators

void Interpolate(Op& op, Interpolation how) {
  const Val x = op.Tensor(op.node.Find("input") ? "input" : "self");
  if (!x || !op.Require(x.rank() >= 3, "the rank of the operand is not known")) return;
  const Target target = ReadTarget(op, x.rank() - 2);
  if (op.failed()) return;
  if (op.node.Find("align_corners") != nullptr) how.align_corners = op.Bool("align_corners");
  if (op.b.opset() >= 11) return op.Return(EmitResize(op, x, how, target));
  if (!op.Require(std::string(how.mode) != "cubic", "cubic interpolation needs opset 11")) return;
  op.Return(InterpolateByGather(op, x, how, target));
}

void Nearest(Op& op) { Interpolate(op, {"nearest"}); }
void NearestExact(Op& op) { Interpolate(op, {"nearest", false, true}); }
void Linear(Op& op) { Interpolate(op, {"linear"}); }
void Cubic(Op& op) { Interpolate(op, {"cubic"}); }
void LinearAntialias(Op& op) { Interpolate(op, {"linear", false, false, true}); }
void CubicAntialias(Op& op) { Interpolate(op, {"cubic", false, false, true}); }

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
    {"aten::upsample_bicubic2d", Cubic, 11},
    {"aten::_upsample_bilinear2d_aa", LinearAntialias, 18},
    {"aten::_upsample_bicubic2d_aa", CubicAntialias, 18},
}};

}  // namespace rules_onnx::lowering
