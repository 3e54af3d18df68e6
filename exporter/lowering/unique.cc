// Distinct values: torch.unique and torch.unique_consecutive in all forms.
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// What PyTorch returns for a result that was not asked for.
Val NotAsked(Builder& b) { return b.Ints({}); }

struct Distinct {
  Val values, inverse, counts;
};

// The results that the node has, in order.
void ReturnDistinct(Op& op, const Distinct& distinct) {
  Builder& b = op.b;
  const bool inverse = op.Bool("return_inverse");
  Vals results = {distinct.values, inverse ? distinct.inverse : NotAsked(b)};
  if (op.num_outputs() > 2) {
    results.push_back(op.Bool("return_counts") ? distinct.counts : NotAsked(b));
  }
  op.Return(results);
}

// ---------------------------------------------------------------- sorted

Distinct SortedDistinct(Builder& b, Val x, std::optional<int> axis) {
  if (!x) return {};
  // No sorting is asked for where the result may have any order: the sorted one is right as well.
  Attrs attrs = {{"sorted", 1}};
  Shape shape = {Dim::Unknown()};
  if (axis) {
    attrs.emplace_back("axis", *axis);
    shape = x.shape();
    shape[*axis] = Dim::Unknown();
  }
  const builder::OutputType vector{DType::kInt64, Shape{Dim::Unknown()}};
  const Vals unique =
      b.OpN("Unique", {x}, std::move(attrs), 4, {{x.dtype(), shape}, vector, vector, vector});
  return {unique[0], unique[2], unique[3]};
}

void Unique(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  Distinct distinct = SortedDistinct(b, x, std::nullopt);
  distinct.inverse = ReshapeLike(b, distinct.inverse, x);
  ReturnDistinct(op, distinct);
}

void UniqueDim(Op& op) {
  const Val x = op.Tensor("self");
  ReturnDistinct(op, SortedDistinct(op.b, x, op.Axis("dim", x)));
}

// ---------------------------------------------------------------- consecutive

// Which slices along the axis differ from the one before, as 1-D bool; the first one does.
Val Changes(Builder& b, Val x, int axis) {
  const Val size = b.Size(x, axis);
  const Val later = b.Slice(x, axis, b.Int(1), size);
  const Val earlier = b.Slice(x, axis, b.Int(0), b.Int(-1));
  Val differs = b.Cast(b.Not(b.Equal(later, earlier)), DType::kInt64);
  std::vector<int64_t> others;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis) others.push_back(i);
  }
  if (!others.empty()) differs = b.Reduce("ReduceMax", differs, others, false);
  // Nothing is first where there is nothing.
  const Val first = b.Slice(b.Ints({1}), 0, b.Int(0), size);
  return b.Cast(b.Concat({first, differs}, 0), DType::kBool);
}

Distinct ConsecutiveDistinct(Builder& b, Val x, int axis) {
  if (!x) return {};
  const Val changes = Changes(b, x, axis);
  Shape shape = x.shape();
  shape[axis] = Dim::Unknown();
  const Val group = b.CumSum(b.Cast(changes, DType::kInt64), 0);
  const Val starts = b.Squeeze(b.NonZero(changes), {0});
  const Val end = b.Vector({b.Size(x, axis)});
  const Val ends = b.Slice(b.Concat({starts, end}, 0), 0, b.Int(1), b.Int(INT64_MAX));
  return {b.Op("Compress", {x, changes}, {{"axis", axis}}, {x.dtype(), shape}),
          b.Sub(group, b.Int(1)), b.Sub(ends, starts)};
}

void UniqueConsecutive(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  if (op.Has("dim")) {
    return ReturnDistinct(op, ConsecutiveDistinct(b, x, op.Axis("dim", x)));
  }
  Distinct distinct = ConsecutiveDistinct(b, b.Flatten1D(x), 0);
  distinct.inverse = ReshapeLike(b, distinct.inverse, x);
  ReturnDistinct(op, distinct);
}

}  // namespace

extern const Family kUnique;
const Family kUnique = {"unique", {
    {"aten::_unique", Unique, 11},
    {"aten::_unique2", Unique, 11},
    {"aten::unique_dim", UniqueDim, 11},
    {"aten::unique_consecutive", UniqueConsecutive, 11},
    {"aten::unique_dim_consecutive", UniqueConsecutive, 11},
}};

}  // namespace rules_onnx::lowering
