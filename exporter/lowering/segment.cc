// Segments of an axis, reduced one by one.
#include <string>

#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// Segments that follow each other along the last axis of these, int64.
struct Segments {
  Val begin;  // of the first: [..., 1]; null: 0
  Val ends;   // [..., S]
  Val sizes;  // [..., S]
};

Segments ReadSegments(Op& op, int axis) {
  Builder& b = op.b;
  Segments s;
  if (op.Has("lengths")) {
    s.sizes = op.Tensor("lengths", DType::kInt64);
    s.ends = b.CumSum(s.sizes, axis);
    return s;
  }
  const Val offsets = op.Tensor("offsets", DType::kInt64);
  if (!offsets) return s;
  s.begin = SelectKept(b, offsets, axis, b.Int(0));
  s.ends = b.Slice(offsets, axis, b.Int(1), b.Size(offsets, axis));
  s.sizes = b.Sub(s.ends, b.Slice(offsets, axis, b.Int(0), b.Int(-1)));
  return s;
}

// The segment of each of n positions, [..., n]; S for those in none.
Val SegmentOfEach(Builder& b, const Segments& s, Val n, int axis) {
  const Val places = Iota(b, n);
  const Val over = b.LessOrEqual(b.Unsqueeze(s.ends, {axis}), b.Unsqueeze(places, {1}));
  if (!over) return {};
  const Val segment = b.Reduce("ReduceSum", b.Cast(over, DType::kInt64), {axis + 1}, false);
  if (!s.begin) return segment;
  return b.Where(b.Less(places, s.begin), b.Size(s.ends, axis), segment);
}

// Scattered into one segment more, which takes what lies in none.
void SegmentReduce(Op& op) {
  Builder& b = op.b;
  const Val data = op.Tensor("data");
  if (!data || !op.Require(!op.Has("indices"), "segments given by indices")) return;
  const int axis = op.Axis("axis", data);
  const Segments segments = ReadSegments(op, axis);
  const std::string name = op.String("reduce");
  const std::string reduction = ScatterReduction(op, name);
  const DType dtype = data.dtype();
  const Val start = op.Has("initial") ? op.Scalar("initial", dtype) : Neutral(b, reduction, dtype);
  const Val segment = SegmentOfEach(b, segments, b.Size(data, axis), axis);
  if (!segment || op.failed()) return;
  std::vector<int64_t> inner;
  for (int i = axis + 1; i < data.rank(); ++i) inner.push_back(i);
  const Val count = b.Size(segments.ends, axis);
  Vals sizes = SizesOf(b, data);
  sizes[axis] = b.Add(count, b.Int(1));
  const Val places = b.Expand(b.Unsqueeze(segment, inner), b.ShapeOf(data));
  const Val all = ScatterAlong(b, Filled(b, b.Vector(sizes), start), axis, places, data,
                               reduction);
  const Val reduced = b.Slice(all, axis, b.Int(0), count);
  if (name != "mean") return op.Return(reduced);
  // Without a start, the mean of nothing is NaN.
  const Val members = op.Has("initial") ? b.Max(segments.sizes, b.Int(1)) : segments.sizes;
  op.Return(b.Div(reduced, b.Cast(b.Unsqueeze(members, inner), data.dtype())));
}

}  // namespace

extern const Family kSegment;
const Family kSegment = {"segment", {
    {"aten::segment_reduce", SegmentReduce, 9, "lengths: opset 11"},
}};

}  // namespace rules_onnx::lowering
