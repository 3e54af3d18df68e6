// torchvision's pooling over regions of interest.
//
// A region is a row (batch index, x1, y1, x2, y2). Source of the meaning:
// torchvision.ops.roi_align, roi_pool, ps_roi_align, ps_roi_pool, CPU kernels.
#include <algorithm>
#include <functional>
#include <utility>

#include "exporter/lowering/arithmetic.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

using builder::Graph;
using builder::OutputType;
using builder::ValueType;
using Ints = std::vector<int64_t>;

struct Regions {
  Val x;                          // [N, C, H, W]
  Val batch;                      // [R] int64
  Val left, top, right, bottom;   // [R], times spatial_scale
  int64_t rows = 0, columns = 0;  // bins
};

Regions ReadRegions(Op& op) {
  Builder& b = op.b;
  Regions r;
  r.x = op.Tensor("input");
  const Val rois = op.Tensor("rois");
  const Val scale = op.Scalar("spatial_scale", rois.dtype());
  const auto column = [&](int64_t i) { return b.Squeeze(b.Slice(rois, 1, i, i + 1), {1}); };
  r.batch = b.Cast(column(0), DType::kInt64);
  r.left = b.Mul(column(1), scale);
  r.top = b.Mul(column(2), scale);
  r.right = b.Mul(column(3), scale);
  r.bottom = b.Mul(column(4), scale);
  r.rows = op.Int("pooled_height");
  r.columns = op.Int("pooled_width");
  return r;
}

// [R] as [R, 1, 1].
Val PerRegion(Builder& b, Val x) { return b.Unsqueeze(x, {1, 2}); }

// 0, 1, … n − 1 in a float type along axis 1 of rank 3.
Val Bins(Builder& b, int64_t n, DType dtype) {
  return AlongAxis(b, b.Cast(Iota(b, b.Int(n)), dtype), 1, 3);
}

// ---------------------------------------------------------------- bilinear samples

// Where one axis of every bin is sampled, between two rows (or columns): [R, bins, samples].
struct Samples {
  Val low, high;                // int64
  Val low_weight, high_weight;  // 0 at samples outside, and at those that a region does not have
  Val count;                    // of one bin: [R], or 0-d
};

// ratio > 0: samples of a bin; else one for each pixel begun, as many as the largest region needs.
Samples SampleAxis(Builder& b, Val start, Val extent, int64_t bins, int64_t ratio, Val size) {
  const DType dtype = start.dtype();
  const Val zero = b.Scalar(0, dtype), one = b.Scalar(1, dtype);
  const Val bin = b.Div(extent, b.Scalar(static_cast<double>(bins), dtype));
  Samples s;
  Val most, step = b.Scalar(static_cast<double>(ratio), dtype);
  if (ratio > 0) {
    s.count = step;
    most = b.Int(ratio);
  } else {
    s.count = b.Unary("Ceil", bin);
    const Val counts = b.Concat({b.Reshape(zero, Ints{1}), s.count}, 0);
    most = b.Cast(b.Reduce("ReduceMax", counts, {0}, /*keepdims=*/false), DType::kInt64);
    step = PerRegion(b, b.Max(s.count, one));
  }
  const Val index = AlongAxis(b, b.Cast(Iota(b, most), dtype), 2, 3);
  const Val within = b.Div(b.Mul(b.Add(index, b.Scalar(0.5, dtype)), PerRegion(b, bin)), step);
  const Val place =
      b.Add(b.Add(PerRegion(b, start), b.Mul(Bins(b, bins, dtype), PerRegion(b, bin))), within);
  const Val limit = b.Cast(size, dtype), last = b.Sub(limit, one);
  Val counts = b.And(b.GreaterOrEqual(place, b.Scalar(-1, dtype)), b.LessOrEqual(place, limit));
  if (ratio <= 0) counts = b.And(counts, b.Less(index, PerRegion(b, s.count)));
  const Val inside = b.Min(b.Max(b.Where(counts, place, zero), zero), last);
  const Val low = b.Unary("Floor", inside);
  const Val above = b.Sub(inside, low);
  s.low = b.Cast(low, DType::kInt64);
  s.high = b.Cast(b.Min(b.Add(low, one), last), DType::kInt64);
  s.low_weight = b.Where(counts, b.Sub(one, above), zero);
  s.high_weight = b.Where(counts, above, zero);
  return s;
}

// Sums of the samples: [R, rows, columns, channels]. `planes` holds planes of rows × columns of
// channels, [planes · H · W, channels]; `plane` ([R, rows, 1, columns, 1] or smaller) says which.
Val SumSamples(Builder& b, Val planes, Val plane, const Samples& y, const Samples& x, Val height,
               Val width) {
  const Val ys[] = {y.low, y.high}, y_weights[] = {y.low_weight, y.high_weight};
  const Val xs[] = {x.low, x.high}, x_weights[] = {x.low_weight, x.high_weight};
  Val sum;
  for (const int i : {0, 1}) {
    const Val row = b.Add(b.Mul(plane, height), b.Unsqueeze(ys[i], {3, 4}));
    for (const int j : {0, 1}) {
      const Val index = b.Add(b.Mul(row, width), b.Unsqueeze(xs[j], {1, 2}));
      const Val weight =
          b.Mul(b.Unsqueeze(y_weights[i], {3, 4}), b.Unsqueeze(x_weights[j], {1, 2}));
      const Val term = b.Mul(b.Gather(planes, index, 0), b.Unsqueeze(weight, {5}));
      sum = sum ? b.Add(sum, term) : term;
    }
  }
  return b.Reduce("ReduceSum", sum, {2, 4}, /*keepdims=*/false);
}

Val SamplesOfBin(Builder& b, const Samples& y, const Samples& x) {
  const Val count = b.Mul(y.count, x.count);
  return count.rank() == 0 ? count : b.Unsqueeze(count, {1, 2, 3});
}

Val ComposedAlign(Op& op, const Regions& r, bool aligned, int64_t ratio) {
  Builder& b = op.b;
  const DType dtype = r.x.dtype();
  const Val one = b.Scalar(1, dtype), shift = b.Scalar(aligned ? 0.5 : 0, dtype);
  const Val height = b.Size(r.x, 2), width = b.Size(r.x, 3);
  const Val top = b.Sub(r.top, shift), left = b.Sub(r.left, shift);
  Val tall = b.Sub(b.Sub(r.bottom, shift), top), wide = b.Sub(b.Sub(r.right, shift), left);
  if (!aligned) tall = b.Max(tall, one), wide = b.Max(wide, one);
  const Samples y = SampleAxis(b, top, tall, r.rows, ratio, height);
  const Samples x = SampleAxis(b, left, wide, r.columns, ratio, width);
  const Val planes =
      b.Reshape(b.Transpose(r.x, {0, 2, 3, 1}), b.Vector({b.Int(-1), b.Size(r.x, 1)}));
  const Val plane = b.Unsqueeze(r.batch, {1, 2, 3, 4});
  const Val sum = SumSamples(b, planes, plane, y, x, height, width);
  return b.Transpose(b.Div(sum, b.Max(SamplesOfBin(b, y, x), one)), {0, 3, 1, 2});
}

void RoiAlign(Op& op) {
  Builder& b = op.b;
  const bool aligned = op.Bool("aligned");
  const int64_t ratio = std::max<int64_t>(op.Int("sampling_ratio"), 0);
  const Regions r = ReadRegions(op);
  const double scale = op.Float("spatial_scale");
  if (b.opset() < (aligned ? 16 : 10) || !HoldsExactly(r.x.dtype(), scale)) {
    return op.Return(ComposedAlign(op, r, aligned, ratio));
  }
  Attrs attrs = {{"output_height", r.rows},
                 {"output_width", r.columns},
                 {"sampling_ratio", ratio},
                 {"spatial_scale", scale}};
  if (b.opset() >= 16) {
    attrs.emplace_back("coordinate_transformation_mode",
                       aligned ? "half_pixel" : "output_half_pixel");
  }
  const Val boxes = b.Slice(op.Tensor("rois"), 1, 1, 5);
  op.Return(
      b.Op("RoiAlign", {r.x, boxes, r.batch}, std::move(attrs), {r.x.dtype(), op.OutShape()}));
}

// ---------------------------------------------------------------- position-sensitive

// The input channel of each output: [R, C / (rows · columns), rows, columns] int32.
Val ChannelMapping(Builder& b, const Regions& r, Val depth) {
  const Val bins = b.Int(r.rows * r.columns);
  const Val channels = b.Cast(Iota(b, b.Mul(depth, bins)), DType::kInt32);
  const Vals sizes = {depth, b.Int(r.rows), b.Int(r.columns)};
  const Val mapping = b.Unsqueeze(b.Reshape(channels, b.Vector(sizes)), {0});
  return b.Expand(mapping, b.Vector({b.Size(r.batch, 0), sizes[0], sizes[1], sizes[2]}));
}

Val Depth(Builder& b, const Regions& r) { return b.Div(b.Size(r.x, 1), b.Int(r.rows * r.columns)); }

void PsRoiAlign(Op& op) {
  Builder& b = op.b;
  const Regions r = ReadRegions(op);
  if (!r.x || op.failed()) return;
  const int64_t ratio = std::max<int64_t>(op.Int("sampling_ratio"), 0);
  const Val half = b.Scalar(0.5, r.x.dtype());
  const Val height = b.Size(r.x, 2), width = b.Size(r.x, 3), depth = Depth(b, r);
  const Val top = b.Sub(r.top, half), left = b.Sub(r.left, half);
  const Samples y = SampleAxis(b, top, b.Sub(b.Sub(r.bottom, half), top), r.rows, ratio, height);
  const Samples x = SampleAxis(b, left, b.Sub(b.Sub(r.right, half), left), r.columns, ratio, width);
  const Val bins = b.Int(r.rows * r.columns);
  const Val split = b.Reshape(r.x, b.Vector({b.Size(r.x, 0), depth, bins, height, width}));
  const Val planes = b.Reshape(b.Transpose(split, {0, 2, 3, 4, 1}), b.Vector({b.Int(-1), depth}));
  const Val bin = b.Reshape(Iota(b, bins), Ints{1, r.rows, 1, r.columns, 1});
  const Val plane = b.Add(b.Mul(b.Unsqueeze(r.batch, {1, 2, 3, 4}), bins), bin);
  const Val sum = SumSamples(b, planes, plane, y, x, height, width);
  const Val mean = b.Transpose(b.Div(sum, SamplesOfBin(b, y, x)), {0, 3, 1, 2});
  op.Return(Vals{mean, ChannelMapping(b, r, depth)});
}

// ---------------------------------------------------------------- whole pixels

// To the nearest whole number, halves away from 0.
Val RoundAway(Builder& b, Val x) {
  const DType dtype = x.dtype();
  const Val size = b.Unary("Abs", x), whole = b.Unary("Floor", size);
  const Val up = b.GreaterOrEqual(b.Sub(size, whole), b.Scalar(0.5, dtype));
  return b.Mul(b.Unary("Sign", x), b.Where(up, b.Add(whole, b.Scalar(1, dtype)), whole));
}

// The pixels of each bin along one axis: first and one past the last, [R, bins], in x's dtype.
struct Span {
  Val begin, end;
};

// `extra`: what belongs to a region beside end − start; bounds are moved into [0, limit].
Span BinSpan(Builder& b, Val low, Val high, int64_t bins, double extra, Val limit) {
  const DType dtype = low.dtype();
  const Val start = RoundAway(b, low), one = b.Scalar(1, dtype);
  const Val extent = b.Max(b.Add(b.Sub(RoundAway(b, high), start), b.Scalar(extra, dtype)), one);
  const Val bin = b.Unsqueeze(b.Div(extent, b.Scalar(static_cast<double>(bins), dtype)), {1});
  const Val index = b.Unsqueeze(b.Cast(Iota(b, b.Int(bins)), dtype), {0});
  const auto bound = [&](Val at) {
    const Val moved = b.Add(at, b.Unsqueeze(start, {1}));
    return b.Min(b.Max(moved, b.Scalar(0, dtype)), limit);
  };
  return {bound(b.Unary("Floor", b.Mul(index, bin))),
          bound(b.Unary("Ceil", b.Mul(b.Add(index, one), bin)))};
}

// [R, bins, size]: the pixels of each bin.
Val SpanMask(Builder& b, const Span& span, Val size) {
  const Val pixel = AlongAxis(b, b.Cast(Iota(b, size), span.begin.dtype()), 2, 3);
  return b.And(b.GreaterOrEqual(pixel, b.Unsqueeze(span.begin, {2})),
               b.Less(pixel, b.Unsqueeze(span.end, {2})));
}

// Runs `body` for each region, with its batch index (0-d) and the pixels of its bins
// ([rows, columns, H, W]), and stacks what it gives along a new axis 0. The planes of all regions
// at once would not fit in memory.
Val ForEachRegion(Builder& b, const Regions& r, Val row_mask, Val column_mask, OutputType type,
                  const std::function<Val(Val batch, Val pixels)>& body) {
  if (!row_mask || !column_mask) return {};
  Val i, carried;  // below opset 11, a Loop carries something
  const auto graph = b.Subgraph(
      "region",
      [&](Graph* inner) {
        i = b.SubgraphInput(inner, "i", ValueType{.dtype = DType::kInt64, .shape = Shape{}});
        b.SubgraphInput(inner, "condition", ValueType{.dtype = DType::kBool, .shape = Shape{}});
        carried =
            b.SubgraphInput(inner, "carried", ValueType{.dtype = DType::kInt64, .shape = Shape{}});
      },
      [&]() -> Vals {
        const Val rows = Select(b, row_mask, 0, i), columns = Select(b, column_mask, 0, i);
        const Val pixels = b.And(b.Unsqueeze(rows, {1, 3}), b.Unsqueeze(columns, {0, 2}));
        const Val result = body(Select(b, r.batch, 0, i), pixels);
        if (result && type.shape) {
          result.get()->type.shape = Shape(type.shape->begin() + 1, type.shape->end());
        }
        return {b.ScalarInt(1, DType::kBool), carried, result};
      });
  return b.OpN("Loop", {b.Size(r.batch, 0), b.ScalarInt(1, DType::kBool), b.Int(0)},
               {{"body", graph}}, 2, {{DType::kInt64, Shape{}}, type})[1];
}

// Mean of each bin in the bin's own channels; 0 in empty bins.
void PsRoiPool(Op& op) {
  Builder& b = op.b;
  const Regions r = ReadRegions(op);
  if (!r.x || op.failed()) return;
  const DType dtype = r.x.dtype();
  const Val height = b.Size(r.x, 2), width = b.Size(r.x, 3), depth = Depth(b, r);
  const Val one = b.Scalar(1, dtype), zero = b.Scalar(0, dtype);
  // The last row and column are never read.
  const Span y = BinSpan(b, r.top, r.bottom, r.rows, 0, b.Sub(b.Cast(height, dtype), one));
  const Span x = BinSpan(b, r.left, r.right, r.columns, 0, b.Sub(b.Cast(width, dtype), one));
  const Val split = b.Vector({depth, b.Int(r.rows), b.Int(r.columns), height, width});
  const Val sums = ForEachRegion(
      b, r, SpanMask(b, y, height), SpanMask(b, x, width), {dtype, op.OutShape()},
      [&](Val batch, Val pixels) {
        const Val bins = b.Reshape(Select(b, r.x, 0, batch), split);
        return b.Reduce("ReduceSum", b.Where(pixels, bins, zero), {3, 4}, /*keepdims=*/false);
      });
  const auto extent = [&](const Span& span) { return b.Max(b.Sub(span.end, span.begin), zero); };
  const Val area = b.Mul(b.Unsqueeze(extent(y), {1, 3}), b.Unsqueeze(extent(x), {1, 2}));
  const Val mean = b.Where(b.Greater(area, zero), b.Div(sums, b.Max(area, one)), zero);
  op.Return(Vals{mean, ChannelMapping(b, r, depth)});
}

struct Maxima {
  Val values;  // 0 in empty bins
  Val places;  // in the plane, the first of equal ones; −1 in empty bins
};

Maxima FindMaxima(Op& op, const Regions& r) {
  Builder& b = op.b;
  const Val height = b.Size(r.x, 2), width = b.Size(r.x, 3);
  const DType dtype = r.x.dtype();
  const Span y = BinSpan(b, r.top, r.bottom, r.rows, 1, b.Cast(height, dtype));
  const Span x = BinSpan(b, r.left, r.right, r.columns, 1, b.Cast(width, dtype));
  const Val sizes = b.Vector({b.Size(r.x, 1), b.Int(r.rows), b.Int(r.columns), b.Int(-1)});
  const auto for_each = [&](DType result, const std::function<Val(Val)>& reduce) {
    return ForEachRegion(b, r, SpanMask(b, y, height), SpanMask(b, x, width),
                         {result, op.OutShape()}, [&](Val batch, Val pixels) {
                           const Val plane = b.Unsqueeze(Select(b, r.x, 0, batch), {1, 2});
                           const Val bins = b.Where(pixels, plane, Lowest(b, dtype));
                           return reduce(b.Reshape(bins, sizes));
                         });
  };
  const Val values =
      for_each(dtype, [&](Val bins) { return b.Reduce("ReduceMax", bins, {3}, false); });
  const Val places = for_each(DType::kInt64, [&](Val bins) { return b.ArgMax(bins, 3, false); });
  const auto some = [&](const Span& span) { return b.Greater(span.end, span.begin); };
  const Val filled = b.And(b.Unsqueeze(some(y), {1, 3}), b.Unsqueeze(some(x), {1, 2}));
  return {b.Where(filled, values, b.Scalar(0, dtype)),
          b.Cast(b.Where(filled, places, b.Int(-1)), DType::kInt32)};
}

// MaxRoiPool is torchvision's operator without the places. Its form of opset 22 only adds a type,
// and runtimes have not got it.
void RoiPool(Op& op) {
  Builder& b = op.b;
  const Regions r = ReadRegions(op);
  if (!r.x || op.failed()) return;
  const Maxima maxima = FindMaxima(op, r);
  const double scale = op.Float("spatial_scale");
  if (b.opset() >= 22 || !HoldsExactly(r.x.dtype(), scale)) {
    return op.Return(Vals{maxima.values, maxima.places});
  }
  const Val values = b.Op("MaxRoiPool", {r.x, op.Tensor("rois")},
                          {{"pooled_shape", Ints{r.rows, r.columns}}, {"spatial_scale", scale}},
                          {r.x.dtype(), op.OutShape()});
  op.Return(Vals{values, maxima.places});
}

}  // namespace

extern const Family kRoi;
const Family kRoi = {"roi", {
    {"torchvision::roi_align", RoiAlign},
    {"torchvision::roi_pool", RoiPool},
    {"torchvision::ps_roi_align", PsRoiAlign},
    {"torchvision::ps_roi_pool", PsRoiPool},
}};

}  // namespace rules_onnx::lowering
