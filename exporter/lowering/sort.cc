// Sorting and what is read off sorted values: topk, kthvalue, median, quantile, mode.
#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/math.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// Values and indices along the axis; equal ones in their order. Booleans as integers.
Vals Sorted(Builder& b, Val x, Val count, int axis, bool descending) {
  if (!x) return Vals(2);
  if (x.rank() == 0) return {x, b.Int(0)};
  const DType dtype = x.dtype();
  if (dtype == DType::kBool) x = b.Cast(x, DType::kInt32);
  if (!count) count = b.Size(x, axis);
  Vals sorted = b.TopK(x, count, axis, descending);
  return {b.Cast(sorted[0], dtype), sorted[1]};
}

void Sort(Op& op) {
  const Val x = op.Tensor("self");
  op.Return(Sorted(op.b, x, {}, op.Axis("dim", x), op.Bool("descending")));
}

void ArgSort(Op& op) {
  const Val x = op.Tensor("self");
  op.Return(Sorted(op.b, x, {}, op.Axis("dim", x), op.Bool("descending"))[1]);
}

void Msort(Op& op) { op.Return(Sorted(op.b, op.Tensor("self"), {}, 0, false)[0]); }

void TopK(Op& op) {
  const Val x = op.Tensor("self");
  op.Return(Sorted(op.b, x, op.IntVal("k"), op.Axis("dim", x), op.Bool("largest")));
}

// ---------------------------------------------------------------- one of the sorted values

// A value and its index at a place along the axis, which stays with size 1.
Vals At(Builder& b, const Vals& sorted, int axis, Val place) {
  if (!sorted[0] || sorted[0].rank() == 0) return sorted;
  return {SelectKept(b, sorted[0], axis, place), SelectKept(b, sorted[1], axis, place)};
}

Vals KeptOrSqueezed(Op& op, Vals results, Val x, int axis) {
  if (op.Bool("keepdim") || !x || x.rank() == 0) return results;
  for (Val& result : results) result = op.b.Squeeze(result, {axis});
  return results;
}

void KthValue(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const int axis = op.Axis("dim", x);
  const Val count = op.IntVal("k");
  const Vals kth = At(b, Sorted(b, x, count, axis, false), axis, b.Sub(count, b.Int(1)));
  op.Return(KeptOrSqueezed(op, kth, x, axis));
}

// The lower one of the two in the middle; NaN, and where it stands first, if there is one.
Vals Median(Builder& b, Val x, int axis) {
  if (!x || x.rank() == 0) return {x, b.Int(0)};
  const Val place = b.Div(b.Sub(b.Size(x, axis), b.Int(1)), b.Int(2));
  const Vals median = At(b, Sorted(b, x, b.Add(place, b.Int(1)), axis, false), axis, place);
  if (!ir::IsFloat(x.dtype())) return median;
  const Val nans = b.Cast(b.Unary("IsNaN", x), DType::kInt32);
  const Val any = b.Cast(b.Reduce("ReduceMax", nans, {axis}, true), DType::kBool);
  const Val nan = b.Scalar(std::numeric_limits<double>::quiet_NaN(), x.dtype());
  return {b.Where(any, nan, median[0]), b.Where(any, b.ArgMax(nans, axis, true), median[1])};
}

// The same of what is not NaN; NaN where there is nothing else.
Vals NanMedian(Builder& b, Val x, int axis) {
  if (!x || x.rank() == 0 || !ir::IsFloat(x.dtype())) return Median(b, x, axis);
  const Val nans = b.Unary("IsNaN", x);
  const Val count =
      b.Reduce("ReduceSum", b.Cast(b.Not(nans), DType::kInt64), {axis}, true);
  // NaNs sort behind everything else.
  const Vals sorted = Sorted(b, b.Where(nans, Highest(b, x.dtype()), x), {}, axis, false);
  const Val place = b.Div(b.Max(b.Sub(count, b.Int(1)), b.Int(0)), b.Int(2));
  const Val nan = b.Scalar(std::numeric_limits<double>::quiet_NaN(), x.dtype());
  return {b.Where(b.Equal(count, b.Int(0)), nan, GatherAlong(b, sorted[0], axis, place)),
          GatherAlong(b, sorted[1], axis, place)};
}

template <Vals (*kMedian)(Builder&, Val, int)>
void MedianOp(Op& op) {
  const Val x = op.Tensor("self");
  if (op.Has("dim")) {
    const int axis = op.Axis("dim", x);
    return op.Return(KeptOrSqueezed(op, kMedian(op.b, x, axis), x, axis));
  }
  const Val value = kMedian(op.b, op.b.Flatten1D(x), 0)[0];
  op.Return(op.b.Reshape(value, std::vector<int64_t>{}));
}

// The smallest of the values that occur most often, and where it stands last.
void Mode(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  if (!x) return;
  if (x.rank() == 0) return op.Return(Vals{x, b.Int(0)});
  const int axis = op.Axis("dim", x);
  const DType dtype = x.dtype() == DType::kBool ? DType::kInt32 : x.dtype();
  const Val number = b.Cast(x, dtype);
  const Val equal = b.Equal(b.Unsqueeze(number, {axis}), b.Unsqueeze(number, {axis + 1}));
  const Val counts = b.Reduce("ReduceSum", b.Cast(equal, DType::kInt64), {axis}, false);
  const Val most = b.Equal(counts, b.Reduce("ReduceMax", counts, {axis}, true));
  const Val candidates = b.Where(most, number, Highest(b, dtype));
  const Val mode = b.Reduce("ReduceMin", candidates, {axis}, true);
  const Val places = b.Where(b.Equal(number, mode), IotaLike(b, x, axis), b.Int(-1));
  const Val last = b.Reduce("ReduceMax", places, {axis}, true);
  op.Return(KeptOrSqueezed(op, {b.Cast(mode, x.dtype()), last}, x, axis));
}

// ---------------------------------------------------------------- quantiles

// Sorted values at fractional ranks along the last axis; both [*, n].
Val AtRanks(Op& op, Val sorted, Val ranks, const std::string& interpolation) {
  Builder& b = op.b;
  const int axis = sorted.rank() - 1;
  const auto at = [&](Val rank) {
    return GatherAlong(b, sorted, axis, b.Cast(rank, DType::kInt64));
  };
  if (interpolation == "lower") return at(b.Unary("Floor", ranks));
  if (interpolation == "higher") return at(b.Unary("Ceil", ranks));
  if (interpolation == "nearest") return at(b.Unary("Round", ranks));
  const Val below = b.Unary("Floor", ranks);
  const Val low = at(below), high = at(b.Unary("Ceil", ranks));
  if (interpolation == "midpoint") return Lerp(b, low, high, b.Scalar(0.5, low.dtype()));
  if (!op.Require(interpolation == "linear",
                  absl::StrCat("interpolation ", interpolation, " is unknown"))) {
    return {};
  }
  return Lerp(b, low, high, b.Sub(ranks, below));
}

// One quantile for each q along a new last axis; x is reduced along its last one.
Val Quantiles(Op& op, Val x, Val q, bool ignore_nan) {
  Builder& b = op.b;
  const int axis = x.rank() - 1;
  const Val nans = b.Unary("IsNaN", x);
  const Val present = b.Reduce("ReduceSum", b.Cast(b.Not(nans), DType::kInt64), {axis}, true);
  const Val size = b.Size(x, axis);
  const Val filled = b.Where(nans, Highest(b, x.dtype()), x);
  const Val sorted = Sorted(b, filled, {}, axis, false)[0];
  const Val last = b.Max(b.Sub(present, b.Int(1)), b.Int(0));
  const Val ranks = b.Mul(b.Cast(last, x.dtype()), q);
  const Val values = AtRanks(op, sorted, ranks, op.String("interpolation"));
  const Val enough = ignore_nan ? b.Int(1) : size;
  const Val nan = b.Scalar(std::numeric_limits<double>::quiet_NaN(), x.dtype());
  return b.Where(b.Less(present, enough), nan, values);
}

template <bool kIgnoreNan>
void Quantile(Op& op) {
  Builder& b = op.b;
  const Val self = op.Tensor("self");
  const Val q = op.Tensor("q", self.dtype());
  if (!self || !q) return;
  const bool flat = !op.Has("dim") || self.rank() == 0;
  const int axis = flat ? 0 : op.Axis("dim", self);
  const Val x = flat ? b.Flatten1D(self) : MoveAxis(b, self, axis, self.rank() - 1);
  Val result = Quantiles(op, x, AtLeast1D(b, q), kIgnoreNan);
  if (!result) return;
  result = MoveAxis(b, result, x.rank() - 1, 0);  // [q, *]
  if (op.Bool("keepdim") && self.rank() > 0) {
    std::vector<int64_t> axes;
    for (int i = 0; i < self.rank(); ++i) {
      if (flat || i == axis) axes.push_back(i + 1);
    }
    result = b.Unsqueeze(result, axes);
  }
  op.Return(q.rank() == 0 ? b.Squeeze(result, {0}) : result);
}

constexpr char kRanks[] = "a dynamic axis: opset 10; interpolation nearest: opset 11";
constexpr char kLater[] = "a dynamic axis: opset 10; int64: opset 11";

}  // namespace

extern const Family kSort;
const Family kSort = {"sort", {
    {"aten::sort", Sort, 9, kLater},
    {"aten::argsort", ArgSort, 9, kLater},
    {"aten::msort", Msort, 9, kLater},
    {"aten::topk", TopK, 9, kLater},
    {"aten::kthvalue", KthValue, 9, kLater},
    {"aten::median", MedianOp<Median>, 9, kLater},
    {"aten::nanmedian", MedianOp<NanMedian>, 9, kLater},
    {"aten::mode", Mode, 9, kLater},
    {"aten::quantile", Quantile<false>, 9, kRanks},
    {"aten::nanquantile", Quantile<true>, 9, kRanks},
}};

}  // namespace rules_onnx::lowering
