// x[…] with index tensors and masks, read and written: aten::index, aten::index_put.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// The indexed axes of x with an integer index each, masks taken apart.
struct Indices {
  std::vector<int64_t> axes;
  Vals indices;
  int rank = 0;          // of the indices, broadcast
  bool together = true;  // the axes follow each other: the indices' axes take their place,
                         // else they come first

  // Where the indices' axes begin in the result.
  int64_t place() const { return together && !axes.empty() ? axes.front() : 0; }
};

bool IsMask(Val index) {
  return index.dtype() == DType::kBool || index.dtype() == DType::kUInt8;
}

Indices IndicesOf(Op& op, Val x) {
  Indices result;
  int64_t axis = 0;
  const auto add = [&](Val index) {
    result.together &= result.axes.empty() || result.axes.back() == axis - 1;
    result.axes.push_back(axis++);
    result.indices.push_back(index);
    result.rank = std::max(result.rank, index.rank());
  };
  for (const Val index : op.Tensors("indices")) {
    if (!index) {
      ++axis;
    } else if (IsMask(index)) {
      const Val places = op.b.NonZero(op.b.Cast(index, DType::kBool));
      for (int i = 0; i < index.rank(); ++i) add(op.b.Gather(places, op.b.Int(i), 0));
    } else if (index.rank() >= 0) {
      add(index.dtype() == DType::kInt32 ? index : op.b.Cast(index, DType::kInt64));
    } else {
      op.Fail("the rank of an index is not known");
    }
  }
  if (op.Require(x.rank() >= 0, "the rank of the indexed tensor is not known")) {
    op.Require(axis <= x.rank(), "there are more indices than axes");
  }
  return result;
}

// The axes of the result with the indices' ones first → as PyTorch places them.
std::vector<int64_t> ResultOrder(const Indices& indices, int rank) {
  const int64_t place = indices.place();
  std::vector<int64_t> order;
  for (int64_t i = 0; i < place; ++i) order.push_back(indices.rank + i);
  for (int64_t i = 0; i < indices.rank; ++i) order.push_back(i);
  for (int64_t i = indices.rank + place; i < rank; ++i) order.push_back(i);
  return order;
}

void Index(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const Indices indices = IndicesOf(op, x);
  if (!x || op.failed()) return;
  if (indices.axes.empty()) return op.Return(x);
  if (indices.axes.size() == 1) {
    return op.Return(b.Gather(x, indices.indices[0], static_cast<int>(indices.axes[0])));
  }
  const Val moved = b.Transpose(x, FrontPermutation(x.rank(), indices.axes));
  const Val taken = GatherFirst(b, moved, indices.indices);
  const int rank = x.rank() - static_cast<int>(indices.axes.size()) + indices.rank;
  op.Return(b.Transpose(taken, ResultOrder(indices, rank)));
}

// ---------------------------------------------------------------- writing

// The mask, if it is the only index.
Val OnlyMask(const Vals& indices, int* axis) {
  Val mask;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    if (mask || !IsMask(indices[i])) return {};
    mask = indices[i];
    *axis = static_cast<int>(i);
  }
  return mask;
}

// x[mask] = values, where each place gets the same values.
Val MaskedPut(Op& op, Val x, Val mask, int axis, Val values) {
  Builder& b = op.b;
  std::vector<int64_t> inner;
  for (int i = axis + mask.rank(); i < x.rank(); ++i) inner.push_back(i - axis);
  mask = b.Unsqueeze(b.Cast(mask, DType::kBool), inner);
  if (!op.Bool("accumulate")) return b.Where(mask, values, x);
  if (x.dtype() == DType::kBool) return b.Or(x, b.And(mask, values));
  return b.Where(mask, b.Add(x, values), x);
}

// Broadcast to the shape that reading at the indices gives, indices' axes first.
Val ValuesFor(Builder& b, Val values, Val moved, const Indices& indices) {
  const int num_axes = static_cast<int>(indices.axes.size());
  const Vals spread = Broadcast(b, indices.indices);
  Val widest = spread[0];
  for (const Val index : spread) {
    if (index.rank() == indices.rank) widest = index;
  }
  Vals sizes = SizesOf(b, widest);  // indices' axes first
  for (int i = num_axes; i < moved.rank(); ++i) sizes.push_back(b.Size(moved, i));
  const std::vector<int64_t> order = ResultOrder(indices, static_cast<int>(sizes.size()));
  Vals placed;
  for (const int64_t axis : order) placed.push_back(sizes[axis]);
  return b.Transpose(ExpandTo(b, values, placed), InversePermutation(order));
}

void IndexPut(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const Val values = op.Tensor("values", x.dtype());
  if (!x || !values) return;
  int mask_axis = 0;
  const Vals given = op.Tensors("indices");
  const Val mask = OnlyMask(given, &mask_axis);
  if (mask && values.rank() <= x.rank() - mask_axis - mask.rank()) {
    return op.Return(MaskedPut(op, x, mask, mask_axis, values));
  }
  const Indices indices = IndicesOf(op, x);
  if (op.failed()) return;
  if (indices.axes.empty()) {
    const Val spread = ExpandTo(b, values, SizesOf(b, x));
    return op.Return(op.Bool("accumulate") ? b.Add(x, spread) : spread);
  }
  const std::vector<int64_t> order = FrontPermutation(x.rank(), indices.axes);
  const Val moved = b.Transpose(x, order);
  const Val updates = ValuesFor(b, values, moved, indices);
  const Val written = ScatterFirst(b, moved, indices.indices, updates,
                                   op.Bool("accumulate") ? "add" : "none");
  op.Return(b.Transpose(written, InversePermutation(order)));
}

// ---------------------------------------------------------------- masked indices

// Indices that may point anywhere where the mask is false.
Vals ClampedIndices(Op& op, Val x) {
  Builder& b = op.b;
  Vals indices = op.Tensors("indices");
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    const Val last = b.Sub(b.Size(x, static_cast<int>(i)), b.Int(1));
    indices[i] = b.Max(b.Min(b.Cast(indices[i], DType::kInt64), last), b.Int(0));
  }
  return indices;
}

bool IndexesAll(Op& op, Val x, const Vals& indices) {
  return op.Require(static_cast<int>(indices.size()) == x.rank() &&
                        std::count(indices.begin(), indices.end(), Val()) == 0,
                    "a masked index must index every axis");
}

// What lies at the indices, `fill` where the mask is false. Every axis is indexed.
void MaskedIndex(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const Vals indices = ClampedIndices(op, x);
  if (!IndexesAll(op, x, indices)) return;
  const Val taken = GatherFirst(b, x, indices);
  op.Return(b.Where(op.Tensor("mask", DType::kBool), taken, op.Scalar("fill", x.dtype())));
}

// Adds the values where the mask is true, at indices of every axis.
void MaskedIndexPut(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const Vals indices = ClampedIndices(op, x);
  const Val values = op.Tensor("values", x.dtype());
  if (!IndexesAll(op, x, indices)) return;
  const Val kept = b.Where(op.Tensor("mask", DType::kBool), values, b.ScalarInt(0, x.dtype()));
  Vals spread = indices;
  spread.push_back(kept);
  spread = Broadcast(b, spread);
  const Val updates = spread.back();
  spread.pop_back();
  op.Return(ScatterFirst(b, x, spread, updates, "add"));
}

}  // namespace

extern const Family kIndex;
const Family kIndex = {"index", {
    {"aten::index", Index, 9, "masks and several indices: opset 11 where sizes are dynamic"},
    {"aten::_unsafe_index", Index},
    {"aten::_unsafe_masked_index", MaskedIndex},
    {"aten::_unsafe_masked_index_put_accumulate", MaskedIndexPut, 11},
    {"aten::index_put", IndexPut, 11},
    {"aten::_unsafe_index_put", IndexPut, 11},
}};

}  // namespace rules_onnx::lowering
