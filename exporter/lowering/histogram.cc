// Counting and searching: histc, bincount, bucketize, searchsorted.
#include "exporter/lowering/families.h"
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
  if (!op.KnownFloat("min") || !op.KnownFloat("max") || *op.KnownFloat("min") == *op.KnownFloat("max")) {
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
  const Val row = b.Unsqueeze(b.Cast(sorted, dtype), {sorted.rank() == 1 ? 0 : sorted.rank() - 1});
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

const Family kHistogram = {"histogram", {
    {"aten::histc", Histc},
    {"aten::bincount", Bincount},
    {"aten::searchsorted", SearchSorted},
    {"aten::bucketize", Bucketize},
}};

}  // namespace rules_onnx::lowering
