// Other shapes over the same elements: view, reshape, squeeze, expand, and what only names them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/lowering.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

Val Reshaped(Op& op, Val x, absl::string_view sizes_name) {
  const Item item = op.Arg(sizes_name);
  if (item.is_val() && !item.val.numel()) return op.b.Reshape(x, SizeVector(op, sizes_name, {}));
  return op.b.Reshape(x, op.IntVals(sizes_name), op.OutShape());
}

template <const char* kSizes>
void Reshape(Op& op) {
  op.Return(Reshaped(op, op.Tensor("self"), kSizes));
}

constexpr char kSizeName[] = "size";
constexpr char kShapeName[] = "shape";

// The sizes as a tensor.
void ReshapeFromTensor(Op& op) {
  op.Return(op.b.Reshape(op.Tensor("self"), op.Tensor("shape", DType::kInt64)));
}

// The same bytes as elements of another type.
void ViewDtype(Op& op) {
  const Val x = op.Tensor("self");
  const DType dtype = op.OutDType();
  if (x.dtype() == dtype) return op.Return(x);
  if (!op.Require(ir::ElementSize(x.dtype()) == ir::ElementSize(dtype),
                  "a view of the bytes as elements of another size can't be expressed")) {
    return;
  }
  op.Return(op.b.Op("BitCast", {x}, {{"to", dtype}}, {dtype, x.get()->type.shape}));
}

void ViewAs(Op& op) { op.Return(ReshapeLike(op.b, op.Tensor("self"), op.Tensor("other"))); }

// Sizes before `start`, what is between them merged, sizes after `end`.
void Flatten(Op& op) {
  const Val x = op.Tensor("self");
  if (!x || x.rank() == 0) return op.Return(op.b.Flatten1D(x));
  const int start = op.Axis("start_dim", x), end = op.Axis("end_dim", x);
  if (!op.Require(start <= end, "start_dim must not come after end_dim")) return;
  if (start == end) return op.Return(x);
  const bool to_matrix = end == x.rank() - 1 && start <= 1;
  if (start == 1 && to_matrix && !(op.OutShape() && op.OutShape()->back().is_number())) {
    return op.Return(op.b.Op("Flatten", {x}, {{"axis", 1}}, {DType::kUndefined, Shape(2)}));
  }
  Vals sizes;
  for (int i = 0; i < start; ++i) sizes.push_back(op.b.Size(x, i));
  // No -1, which says nothing beside a size that is 0 at run time.
  Val merged = op.b.Int(1);
  for (int i = start; i <= end; ++i) merged = op.b.Mul(merged, op.b.Size(x, i));
  sizes.push_back(merged);
  for (int i = end + 1; i < x.rank(); ++i) sizes.push_back(op.b.Size(x, i));
  op.Return(op.b.Reshape(x, sizes, op.OutShape()));
}

// A -1 as the number that the axis of that size leaves for it.
Vals Inferred(Builder& b, Vals sizes, Val whole) {
  Val others = b.Int(1);
  for (const Val size : sizes) {
    if (size.int_value() != -1) others = b.Mul(others, size);
  }
  for (Val& size : sizes) {
    if (size.int_value() == -1) size = b.Div(whole, others);
  }
  return sizes;
}

void Unflatten(Op& op) {
  const Val x = op.Tensor("self");
  const int axis = op.Axis("dim", x);
  Vals sizes;
  for (int i = 0; i < axis; ++i) sizes.push_back(op.b.Size(x, i));
  for (const Val size : Inferred(op.b, op.IntVals("sizes"), op.b.Size(x, axis))) {
    sizes.push_back(size);
  }
  for (int i = axis + 1; i < x.rank(); ++i) sizes.push_back(op.b.Size(x, i));
  op.Return(op.b.Reshape(x, sizes, op.OutShape()));
}

void Ravel(Op& op) { op.Return(op.b.Flatten1D(op.Tensor("self"))); }

// Without the axes in `ones`, and without those in `maybe` whose size is 1.
Val SqueezeAtRunTime(Builder& b, Val x, const std::vector<int64_t>& ones,
                     const std::vector<int64_t>& maybe) {
  Vals keep;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const bool gone = std::count(ones.begin(), ones.end(), axis) > 0;
    const bool moves = std::count(maybe.begin(), maybe.end(), axis) > 0;
    keep.push_back(moves ? b.Cast(b.Not(b.Equal(b.Size(x, axis), b.Int(1))), DType::kInt64)
                         : b.Int(!gone));
  }
  const Val sizes = b.Op("Compress", {b.ShapeOf(x), b.Cast(b.Vector(keep), DType::kBool)},
                         {{"axis", 0}});
  return b.Reshape(x, sizes);
}

// What is known of a dim that is a symbol; nullptr for others.
const ir::SymbolInfo* SymbolOf(Op& op, const Dim& dim) {
  const auto& symbols = op.lowering.graph().symbols;
  const auto symbol = symbols.find(dim.ToString());
  return symbol == symbols.end() ? nullptr : &symbol->second;
}

// False for a size that the program's ranges keep above 1.
bool MayBeOne(Op& op, const Dim& dim) {
  const ir::SymbolInfo* symbol = SymbolOf(op, dim);
  return symbol == nullptr || symbol->min <= 1;
}

// Axes of size 1 go away. Where a size is dynamic, the rank that capture saw decides; an axis that
// is named and stayed there goes at run time if it has size 1.
void Squeeze(Op& op) {
  const Val x = op.Tensor("self");
  if (!x) return;
  if (x.rank() < 0 && !op.Has("dim")) return op.Return(op.b.Op("Squeeze", {x}));
  if (op.node.op == "aten::squeeze.dim" && !op.KnownInt("dim")) {
    // An axis that only the run tells; ONNX fails where its size is not 1.
    return op.Return(op.b.Op("Squeeze", {x, op.b.Vector({op.IntVal("dim")})}, {},
                             {DType::kUndefined, op.OutShape()}));
  }
  std::vector<int64_t> ones, dynamic;
  for (const int64_t axis : op.Has("dim") ? op.Axes("dim", x) : op.Axes("", x)) {
    if (axis >= x.rank()) continue;
    const Dim dim = x.dim(static_cast<int>(axis));
    if (!dim.is_number()) {
      dynamic.push_back(axis);
    } else if (dim.value() == 1) {
      ones.push_back(axis);
    }
  }
  const int num_ones = static_cast<int>(ones.size());
  const int rank =
      op.OutShape() ? static_cast<int>(op.OutShape()->size()) : x.rank() - num_ones;
  const int gone = x.rank() - rank - num_ones;
  const bool stays = op.Has("dim") && gone == 0 &&
                     std::any_of(dynamic.begin(), dynamic.end(), [&](int64_t axis) {
                       return MayBeOne(op, x.dim(static_cast<int>(axis)));
                     });
  if (!dynamic.empty() && (!op.OutShape() || stays)) {
    return op.Return(SqueezeAtRunTime(op.b, x, ones, dynamic));
  }
  if (gone == static_cast<int>(dynamic.size())) {
    ones.insert(ones.end(), dynamic.begin(), dynamic.end());
  } else if (!op.Require(gone == 0, "which dynamic axes have size 1 is not known")) {
    return;
  }
  op.Return(op.b.Squeeze(x, ones));
}

// An empty list of axes squeezes nothing.
void SqueezeDims(Op& op) {
  if (op.Ints("dim").empty()) return op.Return(op.Tensor("self"));
  Squeeze(op);
}

void Unsqueeze(Op& op) { op.Return(op.b.Unsqueeze(op.Tensor("self"), {op.Int("dim")})); }

// Of a size that is asked for: it comes from data or from a number that the program is given.
bool MayBeNegative(Op& op, const Dim& dim) {
  const ir::SymbolInfo* symbol = SymbolOf(op, dim);
  return dim.is_unknown() || (symbol != nullptr && symbol->data_dependent);
}

// ONNX's Expand keeps an axis where 1 is asked for, PyTorch's where it is −1.
Val OneForMinusOne(Builder& b, Val sizes) {
  return b.Where(b.Op("Less", {sizes, b.Int(0)}), b.Int(1), sizes);
}

// Sizes as given, −1 for an axis that stays.
Val Expanded(Op& op, Val x) {
  const Item item = op.Arg("size");
  if (!x || (item.is_val() && !item.val.numel())) {
    return op.b.Expand(x, OneForMinusOne(op.b, SizeVector(op, "size", {})));
  }
  Vals sizes = op.IntVals("size");
  const int lead = static_cast<int>(sizes.size()) - x.rank();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool captured = op.OutShape() && i < op.OutShape()->size();
    const Dim out = captured ? (*op.OutShape())[i] : Dim::Unknown();
    const Dim from = static_cast<int>(i) < lead ? Dim(1) : x.dim(static_cast<int>(i) - lead);
    if (sizes[i].int_value() == -1 || from.Equals(out)) {
      sizes[i] = static_cast<int>(i) < lead ? op.b.Int(1)
                 : from.is_number()         ? op.b.Int(from.value())
                                            : op.b.Int(1);
    } else if (out.is_number()) {
      sizes[i] = op.b.Int(out.value());
    } else if (!sizes[i].int_value() && MayBeNegative(op, out)) {
      sizes[i] = OneForMinusOne(op.b, sizes[i]);
    }
  }
  const bool stays = lead == 0 && std::all_of(sizes.begin(), sizes.end(), [](Val size) {
    return size.int_value() == 1;
  });
  return stays ? x : ExpandTo(op.b, x, sizes);
}

void Expand(Op& op) { op.Return(Expanded(op, op.Tensor("self"))); }

void ExpandAs(Op& op) {
  const Val x = op.Tensor("self"), other = op.Tensor("other");
  op.Return(SameShape(x, other) ? x : op.b.Expand(x, op.b.ShapeOf(other)));
}

// The reverse of expand: sums over the axes that were broadcast.
void SumToSize(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self", op.OutDType());
  const std::optional<Shape>& shape = op.OutShape();
  if (!op.Require(shape.has_value(), "the rank of the result is not known")) return;
  const int lead = x.rank() - static_cast<int>(shape->size());
  std::vector<int64_t> leading, kept;
  for (int i = 0; i < x.rank(); ++i) {
    if (i < lead) {
      leading.push_back(i);
    } else if ((*shape)[i - lead].Equals(Dim(1)) && !x.dim(i).Equals(Dim(1))) {
      kept.push_back(i - lead);
    }
  }
  Val sum = leading.empty() ? x : b.Reduce("ReduceSum", x, leading, false);
  if (!kept.empty()) sum = b.Reduce("ReduceSum", sum, kept, true);
  op.Return(sum);
}

void BroadcastTensors(Op& op) {
  op.Return(Item::List(Broadcast(op.b, op.Tensors("tensors"))));
}

// x with at least `rank` axes; 1-D data lies along the last of two axes, the middle one of three.
Val AtLeast(Builder& b, Val x, int rank) {
  if (!x || x.rank() >= rank) return x;
  if (rank == 1) return b.Unsqueeze(x, {0});
  if (rank == 2) return b.Unsqueeze(x, x.rank() == 0 ? std::vector<int64_t>{0, 1}
                                                     : std::vector<int64_t>{0});
  if (x.rank() == 0) return b.Unsqueeze(x, {0, 1, 2});
  return b.Unsqueeze(x, x.rank() == 1 ? std::vector<int64_t>{0, 2} : std::vector<int64_t>{2});
}

// The first elements in another shape. What is added to them is not set, which is 0 here.
void Resize(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const Vals sizes = op.IntVals("size");
  const Val count = Product(b, sizes);
  const Val added = b.Max(b.Sub(count, b.NumElements(x)), b.Int(0));
  const Val longer =
      b.Concat({b.Flatten1D(x), b.ConstantOfShape(b.Vector({added}), 0, x.dtype())}, 0);
  op.Return(b.Reshape(b.Slice(longer, 0, b.Int(0), count), sizes, op.OutShape()));
}

template <int kRank>
void AtLeastOp(Op& op) {
  op.Return(AtLeast(op.b, op.Tensor("self"), kRank));
}

template <int kRank>
void AtLeastSequence(Op& op) {
  Vals results;
  for (const Val x : op.Tensors("tensors")) results.push_back(AtLeast(op.b, x, kRank));
  op.Return(Item::List(results));
}

// Copies, views of the whole, and conjugates of reals.
void Same(Op& op) { op.Return(op.Arg("self")); }

void Conjugate(Op& op) {
  if (!op.Require(!IsComplex(op.OutDType()), "conjugation of complex tensors is not supported")) {
    return;
  }
  op.Return(op.Tensor("self"));
}

}  // namespace

extern const Family kView;
const Family kView = {"view", {
    {"aten::view", Reshape<kSizeName>},
    {"aten::view.dtype", ViewDtype, 26},
    {"aten::view_copy", Reshape<kSizeName>},
    {"aten::view_copy.dtype", ViewDtype, 26},
    {"aten::reshape", Reshape<kShapeName>},
    {"aten::_unsafe_view", Reshape<kSizeName>},
    {"aten::_reshape_alias", Reshape<kSizeName>},
    {"aten::_reshape_alias_copy", Reshape<kSizeName>},
    {"aten::_reshape_copy", Reshape<kSizeName>},
    {"aten::resize", Resize, 9, "of a contiguous tensor"},
    {"aten::view_as", ViewAs},
    {"aten::_reshape_from_tensor", ReshapeFromTensor},
    {"aten::reshape_as", ViewAs},
    {"aten::flatten", Flatten},
    {"aten::unflatten", Unflatten},
    {"aten::ravel", Ravel},
    {"aten::squeeze", Squeeze, 9, "a dynamic axis is squeezed if the captured rank says so"},
    {"aten::squeeze.dims", SqueezeDims},
    {"aten::squeeze_copy", Squeeze},
    {"aten::squeeze_copy.dims", SqueezeDims},
    {"aten::unsqueeze", Unsqueeze},
    {"aten::unsqueeze_copy", Unsqueeze},
    {"aten::expand", Expand},
    {"aten::expand_copy", Expand},
    {"aten::broadcast_to", Expand},
    {"aten::expand_as", ExpandAs},
    {"aten::sum_to_size", SumToSize},
    {"aten::broadcast_tensors", BroadcastTensors},
    {"aten::atleast_1d", AtLeastOp<1>},
    {"aten::atleast_2d", AtLeastOp<2>},
    {"aten::atleast_3d", AtLeastOp<3>},
    {"aten::atleast_1d.Sequence", AtLeastSequence<1>},
    {"aten::atleast_2d.Sequence", AtLeastSequence<2>},
    {"aten::atleast_3d.Sequence", AtLeastSequence<3>},
    {"aten::alias", Same},
    {"aten::alias_copy", Same},
    {"aten::detach", Same},
    {"aten::detach_copy", Same},
    {"aten::clone", Same},
    {"aten::contiguous", Same},
    {"aten::lift", Same},
    {"aten::lift_fresh", Same},
    {"aten::lift_fresh_copy", Same},
    {"aten::resolve_conj", Same},
    {"aten::resolve_neg", Same},
    {"aten::positive", Same},
    {"aten::_conj", Conjugate},
    {"aten::_conj_copy", Conjugate},
    {"aten::conj", Conjugate},
    {"aten::conj_physical", Conjugate},
    {"aten::_conj_physical", Conjugate},
}};

}  // namespace rules_onnx::lowering
