// Batch, layer, group, instance and RMS normalization.
#include "exporter/lowering/norm.h"

#include <limits>
#include <numeric>

#include "exporter/lowering/arithmetic.h"
#include "exporter/lowering/reduce.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

using Ints = std::vector<int64_t>;

Ints LastAxes(int rank, int count) {
  Ints axes(count);
  std::iota(axes.begin(), axes.end(), rank - count);
  return axes;
}

Val InverseStd(Builder& b, Val variance, double eps) {
  return b.Unary("Reciprocal", b.Unary("Sqrt", b.Add(variance, b.Scalar(eps, variance.dtype()))));
}

// [C] → [C, 1, …] so that it broadcasts along axis 1 of a tensor of `rank`.
Val AlongChannels(Builder& b, Val vector, int rank) {
  Ints axes;
  for (int i = 1; i + 1 < rank; ++i) axes.push_back(i);
  return b.Unsqueeze(vector, axes);
}

Val Affine(Builder& b, Val x, Val weight, Val bias) {
  if (weight) x = b.Mul(x, weight);
  return bias ? b.Add(x, bias) : x;
}

// Affine in x's dtype, whatever the others have.
Val WideAffine(Builder& b, Val x, Val weight, Val bias) {
  return Affine(b, x, weight ? b.CastLike(weight, x) : weight, bias ? b.CastLike(bias, x) : bias);
}

// Whether ONNX's own normalization says it from that opset on: they compute in float32, and their
// operands have one type.
bool IsNative(Builder& b, int since, Val x, Val weight, Val bias) {
  return b.opset() >= since && x.dtype() != DType::kFloat64 &&
         (!weight || weight.dtype() == x.dtype()) && (!bias || bias.dtype() == x.dtype());
}

// ---------------------------------------------------------------- batch normalization

struct BatchNorm {
  Val x, weight, bias, mean, variance;  // all but x may be null
  double eps = 0;
};

BatchNorm ReadBatchNorm(Op& op) {
  BatchNorm norm;
  norm.x = op.Tensor(op.node.Find("input") ? "input" : "self");
  norm.weight = Optional(op, "weight");
  norm.bias = Optional(op, "bias");
  norm.mean = Optional(op, "running_mean");
  norm.variance = Optional(op, "running_var");
  norm.eps = op.Float("eps");
  return norm;
}

// Eval: with the running statistics.
Val WithRunningStatistics(Op& op, const BatchNorm& norm) {
  Builder& b = op.b;
  if (!op.Require(norm.mean && norm.variance, "batch_norm in eval mode needs running statistics"))
    return {};
  const Val channels = b.ShapeOf(norm.mean);
  const Val scale =
      norm.weight ? norm.weight : b.ConstantOfShape(channels, 1, norm.mean.dtype());
  const Val shift = norm.bias ? norm.bias : b.ConstantOfShape(channels, 0, norm.mean.dtype());
  if (HoldsExactly(norm.x.dtype(), norm.eps)) {
    return b.Op("BatchNormalization", {norm.x, scale, shift, norm.mean, norm.variance},
                {{"epsilon", norm.eps}});
  }
  const Val variance = b.Add(norm.variance, b.Scalar(norm.eps, norm.variance.dtype()));
  return b.Op("BatchNormalization", {norm.x, scale, shift, norm.mean, variance},
              {{"epsilon", 0.0}});
}

struct Normalized {
  Val y, mean, inverse_std;  // statistics 1-D
};

// Training: with the statistics of the batch.
Normalized WithBatchStatistics(Op& op, const BatchNorm& norm) {
  Builder& b = op.b;
  const int rank = norm.x.rank();
  Ints axes = {0};
  for (int i = 2; i < rank; ++i) axes.push_back(i);
  const Val x = b.Cast(norm.x, Wide(norm.x.dtype()));
  const Moments moments = MomentsOf(b, x, axes, b.Int(0));
  const Val inverse_std = InverseStd(b, moments.variance, norm.eps);
  const Val normal = b.Cast(b.Mul(b.Sub(x, moments.mean), inverse_std), norm.x.dtype());
  const auto channels = [&](Val v) { return v ? AlongChannels(b, v, rank) : v; };
  return {Affine(b, normal, channels(norm.weight), channels(norm.bias)),
          b.Flatten1D(moments.mean), b.Flatten1D(inverse_std)};
}

void BatchNormOp(Op& op) {
  const BatchNorm norm = ReadBatchNorm(op);
  op.Return(op.Bool("training") ? WithBatchStatistics(op, norm).y
                                : WithRunningStatistics(op, norm));
}

// Statistics come in float32 of half types, or in the half type itself, as capture saw.
void ReturnWithStatistics(Op& op, Vals results) {
  for (size_t i = 1; i < results.size(); ++i) results[i] = op.b.Cast(results[i], op.OutDType(i));
  op.Return(results);
}

// The native forms give the saved mean and inverse deviation too; empty in eval mode.
void NativeBatchNorm(Op& op) {
  const BatchNorm norm = ReadBatchNorm(op);
  const bool training = op.node.Find("training") == nullptr || op.Bool("training");
  if (training) {
    const Normalized result = WithBatchStatistics(op, norm);
    if (op.num_outputs() > 3) return op.Fail("updated running statistics can't be given"), void();
    return ReturnWithStatistics(op, {result.y, result.mean, result.inverse_std});
  }
  const Val empty = op.b.Full(0, Wide(norm.x.dtype()), {0});
  ReturnWithStatistics(op, {WithRunningStatistics(op, norm), empty, empty});
}

void NoTrainingBatchNorm(Op& op) {
  const BatchNorm norm = ReadBatchNorm(op);
  const Val empty = op.b.Full(0, Wide(norm.x.dtype()), {0});
  ReturnWithStatistics(op, {WithRunningStatistics(op, norm), empty, empty});
}

// (1 − momentum) · running + momentum · batch.
Val Updated(Op& op, Val running, Val batch) {
  Builder& b = op.b;
  const DType dtype = running.dtype();
  const Val momentum = op.Scalar("momentum", dtype);
  return b.Add(b.Mul(b.Sub(b.Scalar(1, dtype), momentum), running),
               b.Mul(momentum, b.Cast(batch, dtype)));
}

// What training gives: the result, the batch's mean and inverse deviation, and the running
// statistics updated with its mean and unbiased variance.
Vals TrainingStep(Op& op, const BatchNorm& norm) {
  Builder& b = op.b;
  const Normalized result = WithBatchStatistics(op, norm);
  Ints axes = {0};
  for (int i = 2; i < norm.x.rank(); ++i) axes.push_back(i);
  const Val wide = b.Cast(norm.x, Wide(norm.x.dtype()));
  const Val variance = b.Flatten1D(MomentsOf(b, wide, axes, b.Int(1)).variance);
  return {result.y, result.mean, result.inverse_std, Updated(op, norm.mean, result.mean),
          Updated(op, norm.variance, variance)};
}

void FunctionalBatchNorm(Op& op) {
  Builder& b = op.b;
  const BatchNorm norm = ReadBatchNorm(op);
  if (op.Bool("training")) return ReturnWithStatistics(op, TrainingStep(op, norm));
  const Val empty = b.Full(0, Wide(norm.x.dtype()), {0});
  ReturnWithStatistics(
      op, {WithRunningStatistics(op, norm), empty, empty, norm.mean, norm.variance});
}

// Also gives what a backward pass would need, which is nothing here.
void BatchNormWithUpdate(Op& op) {
  const BatchNorm norm = ReadBatchNorm(op);
  if (!norm.x || !op.Require(norm.mean && norm.variance, "it needs running statistics")) return;
  Vals results = TrainingStep(op, norm);
  results.insert(results.begin() + 3, op.b.Full(0, DType::kUInt8, {0}));
  ReturnWithStatistics(op, results);
}

// ‖v‖ over all axes but `dim`, kept; dim −1: over all, 0-d.
Val NormExcept(Builder& b, Val v, int64_t dim) {
  if (dim == -1) return VectorNorm(b, v, 2, {}, /*keepdims=*/false);
  Ints axes = LastAxes(v.rank(), v.rank());
  axes.erase(axes.begin() + b.NormalizeAxis(dim, v.rank()));
  return axes.empty() ? b.Unary("Abs", v) : VectorNorm(b, v, 2, axes, /*keepdims=*/true);
}

// v · g / ‖v‖
Vals WeightNormOf(Op& op) {
  const Val v = op.Tensor("v"), g = op.Tensor("g");
  if (!v || op.failed()) return Vals(2);
  const Val norm = NormExcept(op.b, v, op.Int("dim"));
  return {op.b.Mul(v, op.b.Div(g, norm)), norm};
}

void WeightNorm(Op& op) { op.Return(WeightNormOf(op)[0]); }
void WeightNormInterface(Op& op) { op.Return(WeightNormOf(op)); }

// ---------------------------------------------------------------- layer normalization

Normalized LayerNormOf(Builder& b, Val x, int axes_count, Val weight, Val bias, double eps) {
  const DType dtype = x.dtype();
  const Val wide = b.Cast(x, Wide(dtype));
  const Moments moments = MomentsOf(b, wide, LastAxes(x.rank(), axes_count), b.Int(0));
  const Val inverse_std = InverseStd(b, moments.variance, eps);
  const Val normal = b.Mul(b.Sub(wide, moments.mean), inverse_std);
  return {b.Cast(WideAffine(b, normal, weight, bias), dtype), moments.mean, inverse_std};
}

int NormalizedAxes(Op& op) { return static_cast<int>(op.IntVals("normalized_shape").size()); }

// The sizes of x's axes from `first` on.
Vals TailSizes(Builder& b, Val x, int first) {
  Vals sizes = SizesOf(b, x);
  sizes.erase(sizes.begin(), sizes.begin() + first);
  return sizes;
}

Val OnesLike(Builder& b, Val x, int axes_count) {
  return b.ConstantOfShape(b.Vector(TailSizes(b, x, x.rank() - axes_count)), 1, x.dtype());
}

void LayerNorm(Op& op) {
  op.Return(LayerNormalize(op.b, op.Tensor("input"), NormalizedAxes(op), Optional(op, "weight"),
                           Optional(op, "bias"), op.Float("eps")));
}

// Statistics have the dtype that capture saw.
void ReturnWithStatistics(Op& op, Val y, const Normalized& statistics) {
  op.Return(Vals{y, op.b.Cast(statistics.mean, op.OutDType(1)),
                 op.b.Cast(statistics.inverse_std, op.OutDType(2))});
}

void NativeLayerNorm(Op& op) {
  const Val x = op.Tensor("input"), weight = Optional(op, "weight"), bias = Optional(op, "bias");
  if (!x) return;
  const int axes = NormalizedAxes(op);
  const double eps = op.Float("eps");
  ReturnWithStatistics(op, LayerNormalize(op.b, x, axes, weight, bias, eps),
                       LayerNormOf(op.b, x, axes, weight, bias, eps));
}

void RmsNorm(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("input");
  const int count = NormalizedAxes(op);
  const DType wide_type = Wide(x.dtype());
  const double default_eps = x.dtype() == DType::kFloat64
                                 ? std::numeric_limits<double>::epsilon()
                                 : std::numeric_limits<float>::epsilon();
  const double eps = op.OptFloat("eps").value_or(default_eps);
  const Val weight = Optional(op, "weight");
  if (IsNative(b, 23, x, weight, {})) {
    return op.Return(b.Op("RMSNormalization", {x, weight ? weight : OnesLike(b, x, count)},
                          {{"axis", -count}, {"epsilon", eps}}));
  }
  const Val wide = b.Cast(x, wide_type);
  const Val square = b.Reduce("ReduceMean", b.Mul(wide, wide), LastAxes(x.rank(), count), true);
  const Val normal = b.Mul(wide, InverseStd(b, square, eps));
  const Val result = weight ? b.Mul(normal, b.Cast(weight, wide_type)) : normal;
  op.Return(b.Cast(result, x.dtype()));
}

// ---------------------------------------------------------------- groups and instances

// Each group of channels over all its positions: [N, G, C/G · …].
Normalized GroupNormOf(Op& op, Val x, int64_t groups, Val weight, Val bias, double eps) {
  Builder& b = op.b;
  const DType dtype = x.dtype();
  const Val wide = b.Cast(x, Wide(dtype));
  const Val size = b.Div(Product(b, TailSizes(b, x, 1)), b.Int(groups));
  const Val grouped = b.Reshape(wide, b.Vector({b.Size(x, 0), b.Int(groups), size}));
  const Moments moments = MomentsOf(b, grouped, {2}, b.Int(0));
  const Val inverse_std = InverseStd(b, moments.variance, eps);
  const Val normal = b.Mul(b.Sub(grouped, moments.mean), inverse_std);
  const auto channels = [&](Val v) { return v ? AlongChannels(b, v, x.rank()) : v; };
  const Val y = WideAffine(b, b.Reshape(normal, b.ShapeOf(x)), channels(weight), channels(bias));
  return {b.Cast(y, dtype), b.Squeeze(moments.mean, {2}), b.Squeeze(inverse_std, {2})};
}

Val GroupNormalize(Op& op, Val x, int64_t groups, Val weight, Val bias, double eps) {
  Builder& b = op.b;
  if (!x || op.failed()) return {};
  // ONNX wants axes behind the channels.
  if (x.rank() < 3 || !IsNative(b, 21, x, weight, bias)) {
    return GroupNormOf(op, x, groups, weight, bias, eps).y;
  }
  const Val channels = b.Vector({b.Size(x, 1)});
  return b.Op("GroupNormalization",
              {x, weight ? weight : b.ConstantOfShape(channels, 1, x.dtype()),
               bias ? bias : b.ConstantOfShape(channels, 0, x.dtype())},
              {{"num_groups", groups}, {"epsilon", eps}});
}

void GroupNorm(Op& op) {
  op.Return(GroupNormalize(op, op.Tensor("input"), op.Int("num_groups"), Optional(op, "weight"),
                           Optional(op, "bias"), op.Float("eps")));
}

void NativeGroupNorm(Op& op) {
  const Val x = op.Tensor("input"), weight = Optional(op, "weight"), bias = Optional(op, "bias");
  const int64_t groups = op.Int("group");
  const double eps = op.Float("eps");
  if (!x) return;
  ReturnWithStatistics(op, GroupNormalize(op, x, groups, weight, bias, eps),
                       GroupNormOf(op, x, groups, weight, bias, eps));
}

void InstanceNorm(Op& op) {
  Builder& b = op.b;
  const BatchNorm norm = ReadBatchNorm(op);
  if (!op.Bool("use_input_stats")) return op.Return(WithRunningStatistics(op, norm));
  Ints axes;
  for (int i = 2; i < norm.x.rank(); ++i) axes.push_back(i);
  const DType dtype = norm.x.dtype();
  const Val wide = b.Cast(norm.x, Wide(dtype));
  const Moments moments = MomentsOf(b, wide, axes, b.Int(0));
  const Val normal = b.Cast(
      b.Mul(b.Sub(wide, moments.mean), InverseStd(b, moments.variance, norm.eps)), dtype);
  const auto channels = [&](Val v) { return v ? AlongChannels(b, v, norm.x.rank()) : v; };
  op.Return(Affine(b, normal, channels(norm.weight), channels(norm.bias)));
}

}  // namespace

Val LayerNormalize(Builder& b, Val x, int axes, Val weight, Val bias, double eps) {
  if (!x || b.failed()) return {};
  if (!IsNative(b, 17, x, weight, bias)) return LayerNormOf(b, x, axes, weight, bias, eps).y;
  const Val scale = weight ? weight : OnesLike(b, x, axes);
  return b.Op("LayerNormalization", {x, scale, bias}, {{"axis", -axes}, {"epsilon", eps}});
}

namespace {

Val CountOf(Builder& b, Val x, const Ints& axes) {
  if (axes.empty() || x.rank() == 0) return b.NumElements(x);
  Val count = b.Int(1);
  for (const int64_t axis : axes) count = b.Mul(count, b.Size(x, static_cast<int>(axis)));
  return count;
}

}  // namespace

Val Optional(Op& op, absl::string_view name) { return op.Has(name) ? op.Tensor(name) : Val(); }

DType Wide(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 ? DType::kFloat32 : dtype;
}

Val MeanOf(Builder& b, Val x, const Ints& axes, bool keepdims) {
  if (!x || b.failed()) return {};
  const Val count = CountOf(b, x, axes);
  if (count.int_value().value_or(0) > 0) return b.Reduce("ReduceMean", x, axes, keepdims);
  // Neither the sum nor the count of half types need fit into them.
  const DType wide = Wide(x.dtype());
  const Val sum = b.Reduce("ReduceSum", b.Cast(x, wide), axes, keepdims);
  return b.CastLike(b.Div(sum, b.Cast(count, wide)), x);
}

Moments MomentsOf(Builder& b, Val x, const Ints& axes, Val correction) {
  if (!x || b.failed()) return {};
  const Val mean = MeanOf(b, x, axes, /*keepdims=*/true);
  const Val centred = b.Sub(x, mean);
  const Val squares = b.Mul(centred, centred);
  if (correction.float_value() == 0.0) {
    return {mean, MeanOf(b, squares, axes, /*keepdims=*/true)};
  }
  const Val count = b.Cast(CountOf(b, x, axes), x.dtype());
  const Val degrees = b.Sub(count, b.Cast(correction, x.dtype()));
  const Val divisor = b.Max(degrees, b.Scalar(0, x.dtype()));
  return {mean, b.Div(b.Reduce("ReduceSum", squares, axes, /*keepdims=*/true), divisor)};
}

extern const Family kNorm;
const Family kNorm = {"norm", {
    {"aten::batch_norm", BatchNormOp},
    {"aten::native_batch_norm", NativeBatchNorm},
    {"aten::cudnn_batch_norm", NativeBatchNorm},
    {"aten::_native_batch_norm_legit", NativeBatchNorm},
    {"aten::_native_batch_norm_legit_no_training", NoTrainingBatchNorm},
    {"aten::_native_batch_norm_legit_functional", FunctionalBatchNorm},
    {"aten::_batch_norm_with_update_functional", BatchNormWithUpdate},
    {"aten::_weight_norm", WeightNorm},
    {"aten::_weight_norm_interface", WeightNormInterface},
    {"aten::layer_norm", LayerNorm},
    {"aten::native_layer_norm", NativeLayerNorm},
    {"aten::rms_norm", RmsNorm},
    {"aten::group_norm", GroupNorm},
    {"aten::native_group_norm", NativeGroupNorm},
    {"aten::instance_norm", InstanceNorm},
}};

}  // namespace rules_onnx::lowering
