// Parts of a tensor along an axis: split, chunk, unbind, select, slice, narrow.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/arithmetic.h"
#include "exporter/lowering/dynamic_list.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

std::optional<int64_t> KnownSize(Val x, int axis) {
  const Dim dim = x.dim(axis);
  return dim.is_number() ? std::optional(dim.value()) : std::nullopt;
}

std::optional<std::vector<int64_t>> Numbers(const Vals& values) {
  std::vector<int64_t> numbers;
  for (const Val value : values) {
    const auto number = value.int_value();
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

// ---------------------------------------------------------------- split

// Pieces of one size, the last one smaller: a sequence where the run tells how many.
void SplitBy(Op& op, Val x, Val size, int axis) {
  const auto length = KnownSize(x, axis), step = size.int_value();
  if (!length || !step) return op.Return(Item(SplitToSequence(op.b, x, size, axis)));
  if (*step == 0) return op.Return(Item::List(Vals{x}));
  std::vector<int64_t> sizes;
  for (int64_t start = 0; start < std::max<int64_t>(*length, 1); start += *step) {
    sizes.push_back(std::min(*step, *length - start));
  }
  op.Return(Item::List(op.b.Split(x, axis, sizes)));
}

void SplitInto(Op& op, Val x, const Vals& sizes, int axis) {
  if (const auto numbers = Numbers(sizes)) {
    const auto length = KnownSize(x, axis);
    const int64_t sum = std::accumulate(numbers->begin(), numbers->end(), int64_t{0});
    if (!op.Require(!length || sum == *length, "the parts are not as large as the whole")) return;
    return op.Return(Item::List(op.b.Split(x, axis, *numbers)));
  }
  Vals parts;
  Val start = op.b.Int(0);
  for (const Val size : sizes) {
    const Val end = op.b.Add(start, size);
    parts.push_back(op.b.Slice(x, axis, start, end));
    start = end;
  }
  op.Return(Item::List(parts));
}

void SplitSize(Op& op) {
  const Val x = op.Tensor("self");
  SplitBy(op, x, op.IntVal("split_size"), op.Axis("dim", x));
}

// Pieces of those sizes: a sequence where the run tells how many there are.
template <const char* kName>
void SplitSizes(Op& op) {
  const Val x = op.Tensor("self");
  const int axis = op.Axis("dim", x);
  const Item sizes = op.Arg(kName);
  if (sizes.is_val() && sizes.val.rank() == 1 && !sizes.val.numel()) {
    return op.Return(Item(SplitToSequence(op.b, x, sizes.val, axis)));
  }
  SplitInto(op, x, op.IntVals(kName), axis);
}

constexpr char kSplitSize[] = "split_size";
constexpr char kSplitSizes[] = "split_sizes";

// At most `chunks` pieces of ceil(size / chunks).
void Chunk(Op& op) {
  const Val x = op.Tensor("self");
  if (!x) return;
  const int axis = op.Axis("dim", x);
  const Val size = op.b.Size(x, axis);
  if (!op.KnownInt("chunks")) {
    return SplitBy(op, x, CeilDivide(op.b, size, op.IntVal("chunks")), axis);
  }
  if (size.int_value() == 0) {
    const Vals parts(static_cast<size_t>(std::max<int64_t>(op.Int("chunks"), 0)), x);
    return op.Return(Item::List(parts));
  }
  const Val step = CeilDivide(op.b, size, op.IntVal("chunks"));
  if (size.int_value()) return SplitBy(op, x, step, axis);
  Vals parts;
  Val start = op.b.Int(0);
  for (int64_t i = 0; i < op.Int("chunks"); ++i) {
    const Val end = op.b.Add(start, step);
    parts.push_back(op.b.Slice(x, axis, start, end));
    start = end;
  }
  op.Return(Item::List(parts));
}

// Pieces of floor(size / n), the first size mod n of them one longer.
void SplitSections(Op& op, Val x, int64_t sections, int axis) {
  Builder& b = op.b;
  if (!op.Require(sections > 0, "the number of sections must be positive")) return;
  if (sections == 1) return op.Return(Item::List(Vals{x}));
  const Val size = b.Size(x, axis), count = b.Int(sections);
  const Val base = b.Div(size, count);
  const Val longer = b.Sub(size, b.Mul(base, count));
  Vals sizes;
  for (int64_t i = 0; i < sections; ++i) {
    sizes.push_back(b.Add(base, b.Cast(b.Less(b.Int(i), longer), DType::kInt64)));
  }
  SplitInto(op, x, sizes, axis);
}

// Cut before each index; indices may be negative, out of range or falling.
void SplitAt(Op& op, Val x, const Vals& indices, int axis) {
  Vals parts;
  Val start = op.b.Int(0);
  for (const Val index : indices) {
    parts.push_back(op.b.Slice(x, axis, start, index));
    start = index;
  }
  parts.push_back(op.b.Slice(x, axis, start, op.b.Int(kEnd)));
  op.Return(Item::List(parts));
}

void TensorSplitSections(Op& op) {
  const Val x = op.Tensor("self");
  SplitSections(op, x, op.Int("sections"), op.Axis("dim", x));
}

void TensorSplitIndices(Op& op) {
  const Val x = op.Tensor("self");
  SplitAt(op, x, op.IntVals("indices"), op.Axis("dim", x));
}

void TensorSplitTensor(Op& op) {
  const Val x = op.Tensor("self");
  const Val where = op.Tensor("tensor_indices_or_sections", DType::kInt64);
  const int axis = op.Axis("dim", x);
  if (where.rank() == 1) return SplitAt(op, x, op.b.Elements(where), axis);
  SplitSections(op, x, op.Int("tensor_indices_or_sections"), axis);
}

template <int kAxis>
void NumpySplit(Op& op) {
  const Val x = op.Tensor("self");
  const int axis = kAxis == 1 && x.rank() == 1 ? 0 : kAxis;
  if (op.Has("indices")) return SplitAt(op, x, op.IntVals("indices"), axis);
  SplitSections(op, x, op.Int("sections"), axis);
}

void Unbind(Op& op) {
  const Val x = op.Tensor("self");
  const int axis = op.Axis("dim", x);
  const auto length = KnownSize(x, axis);
  if (!length) return op.Return(Item(SplitToSequence(op.b, x, {}, axis)));
  Vals parts;
  for (int64_t i = 0; i < *length; ++i) parts.push_back(Select(op.b, x, axis, op.b.Int(i)));
  op.Return(Item::List(parts));
}

// ---------------------------------------------------------------- one part

void SelectOp(Op& op) {
  const Val x = op.Tensor("self");
  op.Return(Select(op.b, x, op.Axis("dim", x), op.IntVal("index")));
}

void SliceOp(Op& op) {
  const Val x = op.Tensor("self");
  const int axis = op.Axis("dim", x);
  const Val start = op.Has("start") ? op.IntVal("start") : op.b.Int(0);
  const Val end = op.Has("end") ? op.IntVal("end") : op.b.Int(kEnd);
  const Val step = op.IntVal("step");
  const bool known = start.int_value() && end.int_value() && step.int_value();
  if (!known) return op.Return(op.b.Slice(x, axis, start, end, step));
  const auto length = KnownSize(x, axis);
  const bool whole = *start.int_value() == 0 && *step.int_value() == 1 && length &&
                     *end.int_value() >= *length;
  op.Return(whole ? x
                  : op.b.Slice(x, axis, *start.int_value(), *end.int_value(), *step.int_value()));
}

void Narrow(Op& op) {
  const Val x = op.Tensor("self");
  const int axis = op.Axis("dim", x);
  const Val start = NonNegative(op.b, op.IntVal("start"), op.b.Size(x, axis));
  op.Return(op.b.Slice(x, axis, start, op.b.Add(start, op.IntVal("length"))));
}

}  // namespace

extern const Family kSplit;
const Family kSplit = {"split", {
    {"aten::split.Tensor", SplitSize, 9, "pieces of a dynamic axis: opset 11"},
    {"aten::split.sizes", SplitSizes<kSplitSize>},
    {"aten::split", SplitSizes<kSplitSizes>},
    {"aten::split_copy", SplitSize},
    {"aten::unsafe_split", SplitSize},
    {"aten::split_with_sizes", SplitSizes<kSplitSizes>},
    {"aten::split_with_sizes_copy", SplitSizes<kSplitSizes>},
    {"aten::unsafe_split_with_sizes", SplitSizes<kSplitSizes>},
    {"aten::chunk", Chunk, 9, "an unknown number of pieces: opset 11"},
    {"aten::unsafe_chunk", Chunk, 9, "an unknown number of pieces: opset 11"},
    {"aten::tensor_split.sections", TensorSplitSections},
    {"aten::tensor_split.indices", TensorSplitIndices},
    {"aten::tensor_split.tensor_indices_or_sections", TensorSplitTensor},
    {"aten::hsplit", NumpySplit<1>},
    {"aten::vsplit", NumpySplit<0>},
    {"aten::dsplit", NumpySplit<2>},
    {"aten::unbind", Unbind, 9, "of a dynamic axis: opset 11"},
    {"aten::unbind_copy", Unbind},
    {"aten::select.int", SelectOp},
    {"aten::select_copy.int", SelectOp},
    {"aten::slice.Tensor", SliceOp, 9, "with a step or computed bounds: opset 10"},
    {"aten::slice_copy.Tensor", SliceOp},
    {"aten::narrow", Narrow},
    {"aten::narrow_copy", Narrow},
}};

}  // namespace rules_onnx::lowering
