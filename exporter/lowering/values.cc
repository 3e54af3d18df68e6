#include "exporter/lowering/values.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "exporter/builder/literal.h"
#include "exporter/lowering/loop.h"

namespace rules_onnx::lowering {

constexpr int64_t kFromEnd = std::numeric_limits<int64_t>::min();

// ---------------------------------------------------------------- sizes

Vals SizesOf(Builder& b, Val x) {
  Vals sizes;
  for (int i = 0; i < x.rank(); ++i) sizes.push_back(b.Size(x, i));
  return sizes;
}

bool SameShape(Val x, Val y) {
  if (!x.has_shape() || !y.has_shape() || x.rank() != y.rank()) return false;
  for (int i = 0; i < x.rank(); ++i) {
    if (!x.dim(i).Equals(y.dim(i))) return false;
  }
  return true;
}

Val Product(Builder& b, const Vals& sizes) {
  Val product = b.Int(1);
  for (const Val size : sizes) {
    product = product.int_value() == 1 ? size : b.Mul(product, size);
  }
  return product;
}

Val CeilDivide(Builder& b, Val x, Val y) {
  return b.Div(b.Sub(b.Add(x, y), b.Int(1)), y);
}

Val SizeVector(Op& op, absl::string_view name, const std::optional<Shape>& known) {
  const Item item = op.Arg(name);
  if (item.is_val() && item.val.rank() == 1 && !item.val.numel()) {
    return op.b.Cast(item.val, DType::kInt64);
  }
  Vals sizes = op.IntVals(name);
  if (known && known->size() == sizes.size()) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      if ((*known)[i].is_number()) sizes[i] = op.b.Int((*known)[i].value());
    }
  }
  return op.failed() ? Val() : op.b.Vector(sizes);
}

// ---------------------------------------------------------------- positions

Val Iota(Builder& b, Val n) { return b.Range(b.Int(0), n, b.Int(1)); }

Val AlongAxis(Builder& b, Val vector, int axis, int rank) {
  std::vector<int64_t> axes;
  for (int i = 0; i < rank; ++i) {
    if (i != axis) axes.push_back(i);
  }
  return b.Unsqueeze(vector, axes);
}

Val IotaLike(Builder& b, Val x, int axis) {
  return AlongAxis(b, Iota(b, b.Size(x, axis)), axis, x.rank());
}

Val NonNegative(Builder& b, Val indices, Val size) {
  indices = b.Cast(indices, DType::kInt64);
  const auto known = indices.ints();
  if (known && std::all_of(known->begin(), known->end(), [](int64_t i) { return i >= 0; })) {
    return indices;
  }
  return b.Where(b.Less(indices, b.Int(0)), b.Add(indices, size), indices);
}

// ---------------------------------------------------------------- order of axes

std::vector<int64_t> FrontPermutation(int rank, const std::vector<int64_t>& axes) {
  std::vector<int64_t> permutation = axes;
  for (int64_t i = 0; i < rank; ++i) {
    if (std::count(axes.begin(), axes.end(), i) == 0) permutation.push_back(i);
  }
  return permutation;
}

std::vector<int64_t> InversePermutation(const std::vector<int64_t>& permutation) {
  std::vector<int64_t> inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = i;
  return inverse;
}

std::vector<int64_t> PairsApart(int lead, int pairs, int first) {
  std::vector<int64_t> permutation(lead);
  std::iota(permutation.begin(), permutation.end(), 0);
  for (int i = 0; i < 2 * pairs; ++i) {
    permutation.push_back(lead + 2 * (i % pairs) + (i / pairs + first) % 2);
  }
  return permutation;
}

Val MoveAxis(Builder& b, Val x, int from, int to) {
  if (from == to || !x) return x;
  std::vector<int64_t> permutation(x.rank());
  std::iota(permutation.begin(), permutation.end(), 0);
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  return b.Transpose(x, permutation);
}

// ---------------------------------------------------------------- elements

Val Select(Builder& b, Val x, int axis, Val index) { return b.Gather(x, index, axis); }

Val SelectKept(Builder& b, Val x, int axis, Val index) {
  return b.Gather(x, b.Reshape(index, std::vector<int64_t>{1}), axis);
}

Val Filled(Builder& b, Val shape, Val fill) {
  if (!shape || !fill) return {};
  if (!fill.is_const() || !fill.numel() || fill.numel() != 1) return b.Expand(fill, shape);
  return b.ConstantOfShape(shape, fill);
}

namespace {

// Before opset 10 Slice has no steps.
Val FlipByIndex(Builder& b, Val x, int axis) {
  const Val last = b.Sub(b.Size(x, axis), b.Int(1));
  return b.Gather(x, b.Sub(last, Iota(b, b.Size(x, axis))), axis);
}

}  // namespace

Val Flip(Builder& b, Val x, const std::vector<int64_t>& axes) {
  if (axes.empty() || !x || x.rank() == 0) return x;
  if (b.opset() < 10) {
    for (const int64_t axis : axes) x = FlipByIndex(b, x, static_cast<int>(axis));
    return x;
  }
  const std::vector<int64_t> starts(axes.size(), -1), ends(axes.size(), kFromEnd);
  return b.Op("Slice", {x, b.Ints(starts), b.Ints(ends), b.Ints(axes), b.Ints(starts)}, {},
              {DType::kUndefined, x.shape()});
}

Val ExpandTo(Builder& b, Val x, const Vals& sizes) {
  if (!x) return {};
  const int lead = static_cast<int>(sizes.size()) - x.rank();
  bool needed = lead > 0;
  Vals targets;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Dim dim = static_cast<int>(i) < lead ? Dim(1) : x.dim(static_cast<int>(i) - lead);
    const auto size = sizes[i].int_value();
    // ONNX's Expand keeps an axis where the target is 1.
    const bool same = size && dim.is_number() && dim.value() == *size;
    needed |= !same;
    targets.push_back(same ? b.Int(1) : sizes[i]);
  }
  return needed ? b.Expand(x, b.Vector(targets)) : x;
}

Vals Broadcast(Builder& b, Vals values) {
  Vals results;
  for (size_t i = 0; i < values.size(); ++i) {
    Val x = values[i];
    for (size_t j = 0; j < values.size(); ++j) {
      if (i == j || !x || SameShape(x, values[j]) || values[j].rank() == 0) continue;
      x = b.Expand(x, b.ShapeOf(values[j]));
    }
    results.push_back(x);
  }
  return results;
}

Val AtLeast1D(Builder& b, Val x) { return x.rank() == 0 ? b.Unsqueeze(x, {0}) : x; }

Val ReshapeLike(Builder& b, Val x, Val like) {
  if (!x || !like || SameShape(x, like)) return x;
  if (!like.has_shape()) return b.Reshape(x, b.ShapeOf(like));
  return b.Reshape(x, SizesOf(b, like), like.shape());
}

// ---------------------------------------------------------------- gather and scatter

namespace {

// Indices broadcast and stacked along a new last axis, as GatherND takes them.
Val StackedIndices(Builder& b, Vals indices) {
  for (Val& index : indices) index = b.Cast(index, DType::kInt64);
  if (indices.size() == 1) return b.Unsqueeze(indices[0], {-1});
  indices = Broadcast(b, std::move(indices));
  Vals columns;
  for (const Val index : indices) columns.push_back(b.Unsqueeze(index, {-1}));
  return b.Concat(columns, -1);
}

// Before opset 11: one index into the flattened first axes.
Val GatherFlat(Builder& b, Val x, const Vals& indices) {
  const Vals sizes = SizesOf(b, x);
  Val position;
  Vals target = {b.Int(-1)};
  for (size_t i = 0; i < indices.size(); ++i) {
    const Val index = NonNegative(b, indices[i], sizes[i]);
    position = position ? b.Add(b.Mul(position, sizes[i]), index) : index;
  }
  target.insert(target.end(), sizes.begin() + indices.size(), sizes.end());
  return b.Gather(b.Reshape(x, target, std::nullopt), position, 0);
}

bool HasReduction(const Builder& b, absl::string_view reduction) {
  return b.opset() >= (reduction == "max" || reduction == "min" ? 18 : 16);
}

Val Combined(Builder& b, Val old, Val update, absl::string_view reduction) {
  if (reduction == "add") return b.Add(old, update);
  if (reduction == "mul") return b.Mul(old, update);
  return reduction == "max" ? b.Max(old, update) : b.Min(old, update);
}

// Indices of slices of x: [n, number of indices]. One write after the other.
Val CombineSlices(Builder& b, Val x, Val indices, Val updates, absl::string_view reduction) {
  const auto write = [&](Val i, const Vals& carried) {
    const Val place = SelectKept(b, indices, 0, i);
    const Val old = b.Op("GatherND", {carried[0], place});
    const Val combined = Combined(b, old, SelectKept(b, updates, 0, i), reduction);
    return LoopStep{{b.Op("ScatterND", {carried[0], place, combined})}};
  };
  return Repeat(b, b.Size(indices, 0), {}, {x}, write)[0];
}

// Places of one position along the axis differ: they are written at once.
Val CombineAlong(Builder& b, Val x, int axis, Val indices, Val updates,
                 absl::string_view reduction) {
  const auto write = [&](Val i, const Vals& carried) {
    const Val place = SelectKept(b, indices, axis, i);
    const Val old = GatherAlong(b, carried[0], axis, place);
    const Val combined = Combined(b, old, SelectKept(b, updates, axis, i), reduction);
    return LoopStep{{ScatterAlong(b, carried[0], axis, place, combined)}};
  };
  return Repeat(b, b.Size(indices, axis), {}, {x}, write)[0];
}

// Booleans are reduced as integers, short floats in float32.
DType ReducedIn(DType dtype) {
  if (dtype == DType::kBool) return DType::kInt32;
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 ? DType::kFloat32 : dtype;
}

// By `scatter(x, updates, attributes)`, ONNX's operator with its reduction. What it makes of NaN is
// left open: the largest and the smallest with a NaN are NaN.
template <typename Scatter>
Val NativeScatter(Builder& b, Val x, Val updates, absl::string_view reduction,
                  const Scatter& scatter) {
  if (reduction == "none") return scatter(x, updates, {});
  const auto reduced = [&](Val x, Val updates, absl::string_view reduction) {
    return scatter(x, updates, {{"reduction", builder::Attr::Data(std::string(reduction))}});
  };
  const Val result = reduced(x, updates, reduction);
  if (reduction == "add" || reduction == "mul" || !ir::IsFloat(x.dtype())) return result;
  const auto nans = [&](Val v) { return b.Cast(b.Unary("IsNaN", v), DType::kInt32); };
  const Val any = b.Cast(reduced(nans(x), nans(updates), "max"), DType::kBool);
  return b.Where(any, b.Scalar(std::numeric_limits<double>::quiet_NaN(), x.dtype()), result);
}

}  // namespace

Val GatherFirst(Builder& b, Val x, Vals indices) {
  if (!x) return {};
  if (indices.size() == 1) return b.Gather(x, indices[0], 0);
  if (b.opset() < 11) return GatherFlat(b, x, indices);
  return b.Op("GatherND", {x, StackedIndices(b, std::move(indices))});
}

Val ScatterFirst(Builder& b, Val x, Vals indices, Val updates, absl::string_view reduction) {
  if (!x || !updates) return {};
  if (const DType wide = ReducedIn(x.dtype()); reduction != "none" && wide != x.dtype()) {
    return b.CastLike(ScatterFirst(b, b.Cast(x, wide), std::move(indices),
                                   b.Cast(updates, wide), reduction), x);
  }
  const int num_axes = static_cast<int>(indices.size());
  const Val places = StackedIndices(b, std::move(indices));
  if (reduction == "none" || HasReduction(b, reduction)) {
    return NativeScatter(b, x, updates, reduction, [&](Val x, Val updates, Attrs attrs) {
      return b.Op("ScatterND", {x, places, updates}, std::move(attrs));
    });
  }
  const Val count = Product(b, SizesOf(b, Select(b, places, places.rank() - 1, b.Int(0))));
  Vals slices = {count};
  for (int i = num_axes; i < x.rank(); ++i) slices.push_back(b.Size(x, i));
  return CombineSlices(b, x, b.Reshape(places, {count, b.Int(num_axes)}, std::nullopt),
                       b.Reshape(updates, slices, std::nullopt), reduction);
}

std::string ScatterReduction(Op& op, absl::string_view name) {
  if (name == "add" || name == "sum" || name == "mean") return "add";
  if (name == "multiply" || name == "prod") return "mul";
  if (name == "amax" || name == "max") return "max";
  if (name == "amin" || name == "min") return "min";
  op.Fail(absl::StrCat("reduction ", name, " is unknown"));
  return "none";
}

Val Neutral(Builder& b, absl::string_view reduction, DType dtype) {
  if (reduction == "max") return Lowest(b, dtype);
  if (reduction == "min") return Highest(b, dtype);
  return b.ScalarInt(reduction == "mul" ? 1 : 0, dtype);
}

Val GatherAlong(Builder& b, Val x, int axis, Val indices) {
  if (!x || !indices) return {};
  if (b.opset() >= 11) return b.GatherElements(x, indices, axis);
  Vals all;
  for (int i = 0; i < x.rank(); ++i) all.push_back(i == axis ? indices : IotaLike(b, indices, i));
  return GatherFirst(b, x, all);
}

Val ScatterAlong(Builder& b, Val x, int axis, Val indices, Val updates,
                 absl::string_view reduction) {
  if (!x || !indices || !updates) return {};
  if (const DType wide = ReducedIn(x.dtype()); reduction != "none" && wide != x.dtype()) {
    return b.CastLike(ScatterAlong(b, b.Cast(x, wide), axis, indices, b.Cast(updates, wide),
                                   reduction), x);
  }
  if (reduction != "none" && !HasReduction(b, reduction)) {
    return CombineAlong(b, x, axis, indices, updates, reduction);
  }
  if (b.opset() < 11) {
    return b.Op("Scatter", {x, NonNegative(b, indices, b.Size(x, axis)), updates},
                {{"axis", axis}});
  }
  return NativeScatter(b, x, updates, reduction, [&](Val x, Val updates, Attrs attrs) {
    attrs.emplace_back("axis", axis);
    return b.Op("ScatterElements", {x, indices, updates}, std::move(attrs));
  });
}

Val ScatterSlices(Builder& b, Val x, int axis, Val index, Val source,
                  absl::string_view reduction) {
  if (!x || !source) return {};
  const Val moved = ScatterFirst(b, MoveAxis(b, x, axis, 0), {index},
                                 MoveAxis(b, source, axis, 0), reduction);
  return MoveAxis(b, moved, 0, axis);
}

// ---------------------------------------------------------------- types

namespace {

int Bits(DType dtype) { return static_cast<int>(ir::ElementSize(dtype)) * 8; }

}  // namespace

Val Highest(Builder& b, DType dtype) {
  if (ir::IsFloat(dtype)) return b.Scalar(std::numeric_limits<double>::infinity(), dtype);
  if (dtype == DType::kBool) return b.ScalarInt(1, dtype);
  if (dtype == DType::kUInt64) return b.ScalarInt(-1, dtype);
  const int bits = Bits(dtype) - (ir::IsUnsigned(dtype) ? 0 : 1);
  const int64_t value = bits >= 63 ? std::numeric_limits<int64_t>::max()
                                   : (int64_t{1} << bits) - 1;
  return b.ScalarInt(value, dtype);
}

Val Lowest(Builder& b, DType dtype) {
  if (ir::IsFloat(dtype)) return b.Scalar(-std::numeric_limits<double>::infinity(), dtype);
  if (dtype == DType::kBool || ir::IsUnsigned(dtype)) return b.ScalarInt(0, dtype);
  return b.ScalarInt(std::numeric_limits<int64_t>::min() >> (64 - Bits(dtype)), dtype);
}

}  // namespace rules_onnx::lowering
