// Elements taken by integer indices: gather, take, index_select, embedding, one_hot.
#include "absl/strings/str_cat.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

Val IntIndex(Op& op, absl::string_view name) {
  const Val index = op.Tensor(name);
  return index.dtype() == DType::kInt32 ? index : op.b.Cast(index, DType::kInt64);
}

void IndexSelect(Op& op) {
  const Val x = op.Tensor("self"), index = AtLeast1D(op.b, IntIndex(op, "index"));
  const int axis = op.Axis("dim", x);
  op.Return(x.rank() == 0 ? x : op.b.Gather(x, index, axis));
}

void Gather(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self"), index = IntIndex(op, "index");
  if (!x || !index) return;
  const int axis = op.Axis("dim", x);
  const Val taken = GatherAlong(b, AtLeast1D(b, x), axis, AtLeast1D(b, index));
  op.Return(index.rank() == 0 ? b.Reshape(taken, std::vector<int64_t>{}) : taken);
}

void Take(Op& op) {
  op.Return(op.b.Gather(op.b.Flatten1D(op.Tensor("self")), IntIndex(op, "index"), 0));
}

// gather after self and indices are broadcast in all axes but one.
void TakeAlongDim(Op& op) {
  Builder& b = op.b;
  Val x = op.Tensor("self"), indices = IntIndex(op, "indices");
  if (!x || !indices) return;
  if (!op.Has("dim")) {
    return op.Return(GatherAlong(b, b.Flatten1D(x), 0, b.Flatten1D(indices)));
  }
  const int axis = op.Axis("dim", x);
  const auto spread = [&](Val value, Val other) {
    Vals sizes = SizesOf(b, other);
    for (int i = 0; i < value.rank(); ++i) {
      const bool equal = value.dim(i).Equals(other.dim(i));
      if (i == axis || equal || other.dim(i).Equals(Dim(1))) sizes[i] = b.Int(1);
    }
    return b.Expand(value, b.Vector(sizes));
  };
  const Val wide = SameShape(x, indices) ? x : spread(x, indices);
  op.Return(GatherAlong(b, wide, axis, SameShape(x, indices) ? indices : spread(indices, x)));
}

void Embedding(Op& op) {
  op.Return(op.b.Gather(op.Tensor("weight"), IntIndex(op, "indices"), 0));
}

// The rows that are looked up, where their norm is larger than max_norm, are scaled to it.
void EmbeddingRenorm(Op& op) {
  Builder& b = op.b;
  const Val table = op.Tensor("self");
  const Val indices = b.Flatten1D(IntIndex(op, "indices"));
  if (!table || !indices) return;
  const double order = op.Float("norm_type");
  if (!op.Require(order == 1 || order == 2, "norm_type must be 1 or 2")) return;
  const DType dtype = table.dtype();
  const Val norms = b.Reduce(order == 1 ? "ReduceL1" : "ReduceL2", table, {1}, true);
  const Val limit = op.Scalar("max_norm", dtype);
  const Val none = Filled(b, b.Vector({b.Size(table, 0)}), b.Int(0));
  const Val ones = Filled(b, b.ShapeOf(indices), b.Int(1));
  const Val used = ScatterAlong(b, none, 0, b.Cast(indices, DType::kInt64), ones);
  const Val scaled = b.And(b.Unsqueeze(b.Cast(used, DType::kBool), {1}), b.Greater(norms, limit));
  const Val factor = b.Div(limit, b.Add(norms, b.Scalar(1e-7, dtype)));
  op.Return(b.Where(scaled, b.Mul(table, factor), table));
}

// Classes counted from the data where their number is −1.
void OneHot(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  if (!x) return;
  Val classes = op.IntVal("num_classes");
  if (classes.int_value() == -1) {
    classes = b.Add(b.Reduce("ReduceMax", x, {}, false), b.Int(1));
  }
  const Val hot = b.Op("OneHot", {AtLeast1D(b, x), b.Vector({classes}), b.Ints({0, 1})},
                       {{"axis", -1}}, {DType::kInt64});
  op.Return(x.rank() == 0 ? b.Squeeze(hot, {0}) : hot);
}

// ---------------------------------------------------------------- repetition of elements

// i as often as repeats[i] says, for all i: the rows of what is true of `column < repeats[row]`.
Val RepeatedPlaces(Builder& b, Val repeats) {
  const Val most = b.Reduce("ReduceMax", b.Concat({repeats, b.Ints({0})}, 0), {}, false);
  const Val used = b.Less(b.Unsqueeze(Iota(b, most), {0}), b.Unsqueeze(repeats, {1}));
  return b.Gather(b.NonZero(used), b.Int(0), 0);
}

void RepeatPlaces(Op& op) {
  op.Return(op.b.Cast(RepeatedPlaces(op.b, op.Tensor("repeats", DType::kInt64)), op.OutDType()));
}

// Each slice along the axis several times; without an axis, each element.
void RepeatInterleave(Op& op) {
  Builder& b = op.b;
  const Val self = op.Tensor("self");
  if (!self) return;
  const bool flat = !op.Has("dim") || self.rank() == 0;
  const Val x = flat ? b.Flatten1D(self) : self;
  const int axis = flat ? 0 : op.Axis("dim", self);
  const Val size = b.Size(x, axis);
  Val repeats = op.Tensor("repeats", DType::kInt64);
  if (repeats.rank() == 0) {
    const Val count = b.Mul(size, repeats);
    return op.Return(b.Gather(x, b.Div(Iota(b, count), repeats), axis));
  }
  const Dim given = repeats.dim(0);
  if (!given.is_number() || given.value() == 1) repeats = b.Expand(repeats, b.Vector({size}));
  op.Return(b.Gather(x, RepeatedPlaces(b, repeats), axis));
}

}  // namespace

extern const Family kGather;
const Family kGather = {"gather", {
    {"aten::index_select", IndexSelect},
    {"aten::gather", Gather},
    {"aten::take", Take},
    {"aten::take_along_dim", TakeAlongDim},
    {"aten::embedding", Embedding},
    {"aten::embedding_renorm", EmbeddingRenorm},
    {"aten::one_hot", OneHot},
    {"aten::repeat_interleave", RepeatInterleave},
    {"aten::repeat_interleave.Tensor", RepeatPlaces},
}};

}  // namespace rules_onnx::lowering
