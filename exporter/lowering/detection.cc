// torchvision's suppression of overlapping boxes, and deformable convolution.
//
// Source of the meaning: torchvision.ops.nms, torchvision.ops.deform_conv2d.
#include <cmath>
#include <limits>

#include "exporter/lowering/loop.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

using Ints = std::vector<int64_t>;

// ---------------------------------------------------------------- nms

// The largest float32 that is no larger: `overlap > threshold` gives the same for float32 overlaps.
float RoundDown(double threshold) {
  const float nearest = static_cast<float>(threshold);
  return nearest > threshold ? std::nextafter(nearest, -std::numeric_limits<float>::infinity())
                             : nearest;
}

Val Native(Builder& b, Val boxes, Val scores, double threshold) {
  const Val limit = b.Scalar(RoundDown(threshold), DType::kFloat32);
  const Val most = b.Reshape(b.Size(boxes, 0), Ints{1});
  const Val selected =
      b.Op("NonMaxSuppression",
           {b.Unsqueeze(boxes, {0}), b.Unsqueeze(scores, {0, 1}), most, b.Reshape(limit, Ints{1})},
           {}, {DType::kInt64, Shape{Dim::Unknown(), 3}});
  return b.Squeeze(b.Slice(selected, 1, 2, 3), {1});
}

Val Column(Builder& b, Val x, int64_t i) { return b.Squeeze(b.Slice(x, 1, i, i + 1), {1}); }

// [i, j]: box i overlaps box j by more than the threshold.
Val Overlaps(Builder& b, Val boxes, double threshold) {
  const DType dtype = boxes.dtype();
  const auto common = [&](int64_t axis) {
    const Val low = Column(b, boxes, axis), high = Column(b, boxes, axis + 2);
    const Val extent = b.Sub(b.Min(b.Unsqueeze(high, {1}), b.Unsqueeze(high, {0})),
                             b.Max(b.Unsqueeze(low, {1}), b.Unsqueeze(low, {0})));
    return b.Max(extent, b.Scalar(0, dtype));
  };
  const Val area = b.Mul(b.Sub(Column(b, boxes, 2), Column(b, boxes, 0)),
                         b.Sub(Column(b, boxes, 3), Column(b, boxes, 1)));
  const Val both = b.Mul(common(0), common(1));
  const Val either = b.Sub(b.Add(b.Unsqueeze(area, {1}), b.Unsqueeze(area, {0})), both);
  const double limit = dtype == DType::kFloat32 ? RoundDown(threshold) : threshold;
  return b.Greater(b.Div(both, either), b.Scalar(limit, dtype));
}

// Goes through the boxes by falling score; one that is still there drops the later ones it
// overlaps.
Val Greedy(Builder& b, Val boxes, Val scores, double threshold) {
  const Val count = b.Size(boxes, 0);
  const Val order = b.TopK(scores, count, 0, /*largest=*/true)[1];
  const Val overlaps = Overlaps(b, b.Gather(boxes, order, 0), threshold);
  const Val all = Filled(b, b.ShapeOf(order), b.ScalarInt(1, DType::kBool));
  const Val places = Iota(b, count);
  const Vals kept = Repeat(b, count, {}, {all}, [&](Val i, const Vals& carried) -> LoopStep {
    const Val later = b.And(Select(b, overlaps, 0, i), b.Greater(places, i));
    const Val dropped = b.And(later, Select(b, carried[0], 0, i));
    return {{b.And(carried[0], b.Not(dropped))}, {}};
  });
  return b.Gather(order, b.Squeeze(b.NonZero(kept[0]), {0}), 0);
}

void Nms(Op& op) {
  const Val boxes = op.Tensor("dets"), scores = op.Tensor("scores");
  const double threshold = op.Float("iou_threshold");
  if (!op.Require(op.b.opset() >= 10, "nms needs opset 10")) return;
  const bool native = boxes.dtype() == DType::kFloat32 && scores.dtype() == DType::kFloat32 &&
                      threshold >= 0 && threshold <= 1;
  op.Return(native ? Native(op.b, boxes, scores, threshold)
                   : Greedy(op.b, boxes, scores, threshold));
}

// ---------------------------------------------------------------- deform_conv2d

struct Deform {
  Val x, weight, offset, mask, bias;  // mask null: all ones
  Ints stride, padding, dilation;     // height, width
  int64_t groups = 1, offset_groups = 1;
  Ints kernel;
};

std::optional<Deform> ReadDeform(Op& op) {
  Deform d;
  d.x = op.Tensor("input");
  d.weight = op.Tensor("weight");
  d.offset = op.Tensor("offset");
  if (op.Bool("use_mask")) d.mask = op.Tensor("mask");
  d.bias = op.Tensor("bias");
  d.stride = {op.Int("stride_h"), op.Int("stride_w")};
  d.padding = {op.Int("pad_h"), op.Int("pad_w")};
  d.dilation = {op.Int("dilation_h"), op.Int("dilation_w")};
  d.groups = op.Int("groups");
  d.offset_groups = op.Int("offset_groups");
  if (op.failed() || !d.weight || !d.x || !d.offset) return std::nullopt;
  for (const int axis : {2, 3}) {
    if (!op.Require(d.weight.dim(axis).is_number(), "the kernel's size must be known")) {
      return std::nullopt;
    }
    d.kernel.push_back(d.weight.dim(axis).value());
  }
  return d;
}

Val NativeDeform(Op& op, const Deform& d) {
  const Ints pads = {d.padding[0], d.padding[1], d.padding[0], d.padding[1]};
  return op.b.Op("DeformConv", {d.x, d.weight, d.offset, d.bias, d.mask},
                 {{"dilations", d.dilation},
                  {"group", d.groups},
                  {"kernel_shape", d.kernel},
                  {"offset_group", d.offset_groups},
                  {"pads", pads},
                  {"strides", d.stride}},
                 {d.x.dtype(), op.OutShape()});
}

// One axis of the points that are read, each between two rows (or columns) of x: [N, G, K, oh, ow].
struct Corners {
  Val at[2];      // int64, moved inside
  Val weight[2];  // 0 outside
};

// `offset` [N, G, K, oh, ow]; axis 0: height, 1: width.
Corners AxisCorners(Builder& b, const Deform& d, Val offset, int axis) {
  const DType dtype = d.x.dtype();
  const int64_t taps = d.kernel[0] * d.kernel[1];
  std::vector<int64_t> tap_places;
  for (int64_t k = 0; k < taps; ++k) {
    const int64_t place = axis == 0 ? k / d.kernel[1] : k % d.kernel[1];
    tap_places.push_back(place * d.dilation[axis] - d.padding[axis]);
  }
  const Val steps = b.Mul(Iota(b, b.Size(offset, 3 + axis)), b.Int(d.stride[axis]));
  const Val places =
      b.Add(AlongAxis(b, b.Ints(tap_places), 2, 5), AlongAxis(b, steps, 3 + axis, 5));
  const Val point = b.Add(b.Cast(places, dtype), offset);
  const Val floor = b.Unary("Floor", point);
  const Val above = b.Sub(point, floor);
  const Val size = b.Cast(b.Size(d.x, 2 + axis), dtype);
  const Val zero = b.Scalar(0, dtype), one = b.Scalar(1, dtype);
  Corners corners;
  for (const int i : {0, 1}) {
    const Val at = i == 0 ? floor : b.Add(floor, one);
    const Val inside = b.And(b.GreaterOrEqual(at, zero), b.Less(at, size));
    corners.at[i] = b.Cast(b.Where(inside, at, zero), DType::kInt64);
    corners.weight[i] = b.Where(inside, i == 0 ? b.Sub(one, above) : above, zero);
  }
  return corners;
}

// x at the points, times the mask: [N, G, K, oh, ow, C / G].
Val Sample(Builder& b, const Deform& d) {
  const DType dtype = d.x.dtype();
  const Val batch = b.Size(d.x, 0), height = b.Size(d.x, 2), width = b.Size(d.x, 3);
  const Val groups = b.Int(d.offset_groups), taps = b.Int(d.kernel[0] * d.kernel[1]);
  const Val oh = b.Size(d.offset, 2), ow = b.Size(d.offset, 3);
  const Val depth = b.Div(b.Size(d.x, 1), groups);
  const Val grouped =
      b.Transpose(b.Reshape(d.x, b.Vector({batch, groups, depth, height, width})), {0, 1, 3, 4, 2});
  const Val rows = b.Reshape(grouped, b.Vector({b.Int(-1), depth}));
  const Val offsets = b.Reshape(d.offset, b.Vector({batch, groups, taps, b.Int(2), oh, ow}));
  Corners corners[2];
  for (const int axis : {0, 1}) {
    const Val offset = b.Squeeze(b.Slice(offsets, 3, axis, axis + 1), {3});
    corners[axis] = AxisCorners(b, d, offset, axis);
  }
  const Val plane =
      b.Add(b.Mul(AlongAxis(b, Iota(b, batch), 0, 5), groups), AlongAxis(b, Iota(b, groups), 1, 5));
  Val mask = d.mask ? b.Reshape(d.mask, b.Vector({batch, groups, taps, oh, ow})) : Val();
  Val sum = b.Scalar(0, dtype);
  for (const int i : {0, 1}) {
    const Val row = b.Add(b.Mul(plane, height), corners[0].at[i]);
    for (const int j : {0, 1}) {
      const Val index = b.Add(b.Mul(row, width), corners[1].at[j]);
      Val weight = b.Mul(corners[0].weight[i], corners[1].weight[j]);
      if (mask) weight = b.Mul(weight, mask);
      sum = b.Add(sum, b.Mul(b.Gather(rows, index, 0), b.Unsqueeze(weight, {5})));
    }
  }
  return sum;
}

Val ComposedDeform(Op& op, const Deform& d) {
  Builder& b = op.b;
  const Val batch = b.Size(d.x, 0), groups = b.Int(d.groups);
  const Val oh = b.Size(d.offset, 2), ow = b.Size(d.offset, 3);
  const Val taps = b.Int(d.kernel[0] * d.kernel[1]);
  const Val columns =
      b.Reshape(b.Transpose(Sample(b, d), {0, 1, 5, 2, 3, 4}),
                b.Vector({batch, groups, b.Mul(b.Size(d.weight, 1), taps), b.Mul(oh, ow)}));
  const Val out = b.Size(d.weight, 0);
  const Val weight = b.Reshape(d.weight, b.Vector({groups, b.Div(out, groups), b.Int(-1)}));
  const Val y = b.Reshape(b.MatMul(weight, columns), b.Vector({batch, out, oh, ow}));
  return b.Add(y, AlongAxis(b, d.bias, 1, 4));
}

void DeformConv(Op& op) {
  const std::optional<Deform> d = ReadDeform(op);
  if (!d) return;
  op.Return(op.b.opset() >= 19 ? NativeDeform(op, *d) : ComposedDeform(op, *d));
}

}  // namespace

extern const Family kDetection;
const Family kDetection = {"detection", {
    {"torchvision::nms", Nms, 10},
    {"torchvision::deform_conv2d", DeformConv},
}};

}  // namespace rules_onnx::lowering
