// Segments of an axis: reduced one by one, or multiplied by a matrix each.
#include <functional>
#include <string>

#include "exporter/lowering/linear.h"
#include "exporter/lowering/loop.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// ---------------------------------------------------------------- segment_reduce

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

// ---------------------------------------------------------------- products of groups

// For each group, `step` on the number of the group, the indices that it takes up (`ends` says where
// each stops) and what stands so far.
Val OverGroups(Builder& b, Val ends, Val start,
               const std::function<Val(Val group, Val indices, Val so_far)>& step) {
  const Val begins = b.Concat({b.Ints({0}), b.Slice(ends, 0, b.Int(0), b.Int(-1))}, 0);
  return Repeat(b, b.Size(ends, 0), {}, {start}, [&](Val group, const Vals& carried) {
    const Val indices = b.Range(b.Gather(begins, group, 0), b.Gather(ends, group, 0), b.Int(1));
    return LoopStep{{step(group, indices, carried[0])}};
  })[0];
}

// Each group of rows of x [M, K] times its matrix of y [G, K, N].
Val RowGroups(Builder& b, Val x, Val y, Val ends) {
  const Val start = b.ConstantOfShape(b.Vector({b.Size(x, 0), b.Size(y, 2)}), 0, x.dtype());
  return OverGroups(b, ends, start, [&](Val group, Val rows, Val so_far) {
    const Val product = MatMul(b, b.Gather(x, rows, 0), Select(b, y, 0, group));
    return ScatterFirst(b, so_far, {rows}, product);
  });
}

// Each group of columns of x [M, K] times the same rows of y [K, N]: [G, M, N].
Val InnerGroups(Builder& b, Val x, Val y, Val ends) {
  const Vals sizes = {b.Size(ends, 0), b.Size(x, 0), b.Size(y, 1)};
  const Val start = b.ConstantOfShape(b.Vector(sizes), 0, x.dtype());
  return OverGroups(b, ends, start, [&](Val group, Val places, Val so_far) {
    const Val product = MatMul(b, b.Gather(x, places, 1), b.Gather(y, places, 0));
    return ScatterFirst(b, so_far, {b.Unsqueeze(group, {0})}, b.Unsqueeze(product, {0}));
  });
}

void GroupedMm(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self"), y = op.Tensor("mat2");
  if (!x || !y || !op.Require(!op.Has("bias"), "grouped products with a bias")) return;
  const auto cast = [&](Val product) { return b.Cast(product, op.OutDType()); };
  if (x.rank() == 3 && y.rank() == 3) return op.Return(cast(MatMul(b, x, y)));
  const Val ends = op.Tensor("offs", DType::kInt64);
  if (!ends) return;
  if (y.rank() == 3) return op.Return(cast(RowGroups(b, x, y, ends)));
  if (x.rank() == 2) return op.Return(cast(InnerGroups(b, x, y, ends)));
  const Val turned = RowGroups(b, b.SwapAxes(y, 0, 1), b.SwapAxes(x, 1, 2), ends);
  op.Return(cast(b.SwapAxes(turned, 0, 1)));
}

}  // namespace

extern const Family kSegment;
const Family kSegment = {"segment", {
    {"aten::segment_reduce", SegmentReduce, 9, "lengths: opset 11"},
    {"aten::_grouped_mm", GroupedMm, 9, "groups: opset 11"},
}};

}  // namespace rules_onnx::lowering
