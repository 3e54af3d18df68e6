// Counting and searching: histc, bincount, bucketize, searchsorted.
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// How many of `places` (1-D) name each of 0, 1, …, bins − 1; with weights: the sum of those.
Val Counted(Builder& b, Val places, Val bins, Val weights) {
  const Val named = b.Equal(b.Unsqueeze(places, {1}), b.Unsqueeze(Iota(b, bins), {0}));
  if (!weights) return b.Reduce("ReduceSum", b.Cast(named, DType::kInt64), {0}, false);
  const Val zero = b.ScalarInt(0, weights.dtype());
  return b.Reduce("ReduceSum", b.Where(named, b.Unsqueeze(weights, {1}), zero), {0}, false);
}

// Bins of one width between min and max; what lies outside is not counted. min = max stands for
// the range of the data, and if that is one point, for one unit to each side of it.
void Histc(Op& op) {
  Builder& b = op.b;
  const Val x = b.Flatten1D(op.Tensor("self"));
  if (!x) return;
  const DType dtype = x.dtype();
  const Val bins = op.IntVal("bins");
  Val low = op.Scalar("min", dtype), high = op.Scalar("max", dtype);
  const auto min = op.KnownFloat("min"), max = op.KnownFloat("max");
  if (!min || !max || *min == *max) {
    const Val from_data = b.Equal(low, high);
    low = b.Where(from_data, b.Reduce("ReduceMin", x, {}, false), low);
    high = b.Where(from_data, b.Reduce("ReduceMax", x, {}, false), high);
    const Val one_point = b.Cast(b.Equal(low, high), dtype);
    low = b.Sub(low, one_point);
    high = b.Add(high, one_point);
  }
  const Val scaled = b.Mul(b.Div(b.Sub(x, low), b.Sub(high, low)), b.Cast(bins, dtype));
  const Val place = b.Min(b.Cast(scaled, DType::kInt64), b.Sub(bins, b.Int(1)));
  const Val inside = b.And(b.GreaterOrEqual(x, low), b.LessOrEqual(x, high));
  const Val counts = Counted(b, b.Where(inside, place, b.Int(-1)), bins, {});
  op.Return(b.Cast(counts, dtype));
}

// ---------------------------------------------------------------- bins with edges

// Edges of `bins` bins of one width over the range, given or that of the data; one point is
// widened by a half to each side. `range` holds (low, high) of axis `d` at 2 d.
Val EvenEdges(Op& op, Val x, Val bins, size_t d) {
  Builder& b = op.b;
  const DType dtype = x.dtype();
  Val low, high;
  if (op.Has("range")) {
    const std::vector<double> range = op.Floats("range");
    if (!op.Require(range.size() >= 2 * d + 2, "the range has too few numbers")) return {};
    low = b.Scalar(range[2 * d], dtype);
    high = b.Scalar(range[2 * d + 1], dtype);
  } else if (x.numel() == 0) {
    low = b.Scalar(0, dtype);
    high = b.Scalar(1, dtype);
  } else {
    low = b.Reduce("ReduceMin", x, {}, false);
    high = b.Reduce("ReduceMax", x, {}, false);
  }
  const Val widening = b.Mul(b.Cast(b.Equal(low, high), dtype), b.Scalar(0.5, dtype));
  low = b.Sub(low, widening);
  high = b.Add(high, widening);
  const Val width = b.Div(b.Sub(high, low), b.Cast(bins, dtype));
  const Val places = Iota(b, b.Add(bins, b.Int(1)));
  const Val from_low = b.Add(low, b.Mul(width, b.Cast(places, dtype)));
  const Val from_high = b.Sub(high, b.Mul(width, b.Cast(b.Sub(bins, places), dtype)));
  const Val half = b.Div(b.Add(bins, b.Int(1)), b.Int(2));
  return b.Where(b.Less(places, half), from_low, from_high);
}

// The bin of each value, edges[i] ≤ x < edges[i + 1], the last one closed; −1 outside.
Val BinOf(Builder& b, Val x, Val edges) {
  const Val bins = b.Sub(b.Size(edges, 0), b.Int(1));
  const Val begun = b.LessOrEqual(b.Unsqueeze(edges, {0}), b.Unsqueeze(x, {1}));
  const Val number = b.Reduce("ReduceSum", b.Cast(begun, DType::kInt64), {1}, false);
  const Val place = b.Min(b.Sub(number, b.Int(1)), b.Sub(bins, b.Int(1)));
  const Val last = Select(b, edges, 0, b.Int(-1));
  return b.Where(b.LessOrEqual(x, last), place, b.Int(-1));
}

// Sums of weights, or counts, divided by their total and by the volume of each bin for a density.
Val HistogramOf(Op& op, Val places, Val bins, const Vals& edges, DType dtype) {
  Builder& b = op.b;
  Val weights;
  if (op.Has("weight")) weights = b.Flatten1D(op.Tensor("weight", dtype));
  Val counts = b.Cast(Counted(b, places, bins, weights), dtype);
  const int rank = static_cast<int>(edges.size());
  Vals sizes;
  for (const Val edge : edges) sizes.push_back(b.Sub(b.Size(edge, 0), b.Int(1)));
  if (rank > 1) counts = b.Reshape(counts, sizes, op.OutShape());
  if (!op.Bool("density")) return counts;
  counts = b.Div(counts, b.Reduce("ReduceSum", counts, {}, false));
  for (int d = 0; d < rank; ++d) {
    const Val end = b.Size(edges[d], 0);
    const Val widths = b.Sub(b.Slice(edges[d], 0, b.Int(1), end),
                             b.Slice(edges[d], 0, b.Int(0), b.Int(-1)));
    counts = b.Div(counts, AlongAxis(b, widths, d, rank));
  }
  return counts;
}

void Histogram(Op& op) {
  Builder& b = op.b;
  const Val x = b.Flatten1D(op.Tensor("self"));
  if (!x) return;
  const bool given = op.node.op == "aten::histogram.bins_tensor";
  const Val edges = given ? op.Tensor("bins", x.dtype()) : EvenEdges(op, x, op.IntVal("bins"), 0);
  if (!edges) return;
  const Val bins = b.Sub(b.Size(edges, 0), b.Int(1));
  const Val counts = HistogramOf(op, BinOf(b, x, edges), bins, {edges}, x.dtype());
  op.Return(Vals{counts, edges});
}

// Points along the last axis of self; bins as one number, a number or edges for each coordinate.
void HistogramDd(Op& op) {
  Builder& b = op.b;
  const Val self = op.Tensor("self");
  if (!self) return;
  const auto coordinates = self.dim(-1);
  if (!op.Require(coordinates.is_number(), "the number of coordinates must be known")) return;
  const int64_t rank = coordinates.value();
  const Val points = b.Reshape(self, std::vector<int64_t>{-1, rank});
  const Item bins = op.Arg("bins");
  Vals edges;
  Val place, inside;
  for (int64_t d = 0; d < rank; ++d) {
    const Val x = Select(b, points, 1, b.Int(d));
    const Val given = bins.is_list() ? bins.items[d].val : bins.val;
    edges.push_back(given.rank() == 1 ? given : EvenEdges(op, x, given, d));
    const Val bin = BinOf(b, x, edges.back());
    const Val here = b.GreaterOrEqual(bin, b.Int(0));
    const Val count = b.Sub(b.Size(edges.back(), 0), b.Int(1));
    place = place ? b.Add(b.Mul(place, count), bin) : bin;
    inside = inside ? b.And(inside, here) : here;
  }
  Vals counts;
  for (const Val edge : edges) counts.push_back(b.Sub(b.Size(edge, 0), b.Int(1)));
  const Val known = b.Where(inside, place, b.Int(-1));
  const Val hist = HistogramOf(op, known, Product(b, counts), edges, self.dtype());
  op.Return(std::vector<Item>{hist, Item::List(edges)});
}

// ---------------------------------------------------------------- integers

// At least `minlength` counts, and as many as the largest value asks for.
void Bincount(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self", DType::kInt64);
  if (!x) return;
  const Val largest = b.Reduce("ReduceMax", b.Concat({x, b.Ints({-1})}, 0), {}, false);
  const Val bins = b.Max(b.Add(largest, b.Int(1)), op.IntVal("minlength"));
  const Val weights = op.Has("weights") ? op.Tensor("weights", op.OutDType()) : Val();
  op.Return(b.Cast(Counted(b, x, bins, weights), op.OutDType()));
}

// ---------------------------------------------------------------- sorted sequences

// How many of the sorted ones (last axis) come before each value: those less than it, with
// `right` those equal to it too. A NaN comes last.
Val Before(Builder& b, Val sorted, Val values, bool right) {
  const DType dtype = ir::PromoteTypes(sorted.dtype(), values.dtype());
  Val row = b.Cast(sorted, dtype);  // 1-D: the same for all values
  if (sorted.rank() > 1) row = b.Unsqueeze(row, {sorted.rank() - 1});
  const Val column = b.Unsqueeze(b.Cast(values, dtype), {values.rank()});
  const Val after = right ? b.Greater(row, column) : b.GreaterOrEqual(row, column);
  const Val counted = b.Cast(b.Not(after), DType::kInt64);
  return b.Reduce("ReduceSum", counted, {counted.rank() - 1}, false);
}

bool IsRight(Op& op) {
  return op.Bool("right") || (op.Has("side") && op.String("side") == "right");
}

void SearchSorted(Op& op) {
  Builder& b = op.b;
  Val sorted = op.Tensor("sorted_sequence");
  const Val values = op.Tensor("self");
  if (!sorted || !values) return;
  if (op.Has("sorter")) {
    sorted = GatherAlong(b, sorted, sorted.rank() - 1, op.Tensor("sorter", DType::kInt64));
  }
  op.Return(b.Cast(Before(b, sorted, values, IsRight(op)), op.OutDType()));
}

void Bucketize(Op& op) {
  const Val sorted = op.Tensor("boundaries"), values = op.Tensor("self");
  if (!sorted || !values) return;
  op.Return(op.b.Cast(Before(op.b, sorted, values, op.Bool("right")), op.OutDType()));
}

}  // namespace

extern const Family kHistogram;
const Family kHistogram = {"histogram", {
    {"aten::histc", Histc},
    {"aten::histogram", Histogram},
    {"aten::histogramdd", HistogramDd},
    {"aten::bincount", Bincount},
    {"aten::searchsorted", SearchSorted},
    {"aten::bucketize", Bucketize},
}};

}  // namespace rules_onnx::lowering
