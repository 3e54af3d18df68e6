#include "exporter/lowering/dynamic_list.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/loop.h"
#include "exporter/lowering/lowering.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

using builder::OutputType;
using builder::ValueType;

constexpr int kSequencesInLoops = 13;  // the first opset whose Loop and If take them

OutputType SequenceType(DType dtype) {
  return {dtype, std::nullopt, ValueType::Kind::kSequence};
}

// ---------------------------------------------------------------- forms

// Whether a size is the same for all items of a list: not where it depends on values, which differ
// from one iteration of a loop to the next.
bool IsUniform(const Lowering& lowering, const Dim& dim) {
  if (dim.is_unknown()) return false;
  std::set<std::string> symbols;
  dim.CollectSymbols(&symbols);
  return std::all_of(symbols.begin(), symbols.end(), [&](const std::string& name) {
    const auto it = lowering.graph().symbols.find(name);
    return it != lowering.graph().symbols.end() && !it->second.data_dependent;
  });
}

bool IsStackedType(Op& op, const ir::Type& type) {
  const ir::Type& element = type.elements.front();
  if (element.is_number()) return true;
  if (!element.is_tensor() || !element.shape || op.b.opset() >= kSequencesInLoops) return false;
  return std::all_of(element.shape->begin(), element.shape->end(),
                     [&](const Dim& dim) { return IsUniform(op.lowering, dim); });
}

bool IsColumnsType(const ir::Type& type) {
  const ir::Type::Kind kind = type.elements.front().kind;
  return kind == ir::Type::Kind::kTuple || kind == ir::Type::Kind::kList;
}

// Tensors of a dtype that no run saw, too.
bool HasTensor(const ir::Type& element) {
  using Kind = ir::Type::Kind;
  if (element.is_tensor()) return !ir::IsQuantized(element.dtype);
  return element.is_number() || element.kind == Kind::kComplex || element.kind == Kind::kUnknown;
}

bool IsSequence(const Item& list) { return list.is_val() && list.val.is_sequence(); }

// Each column by `change`, which gets it and its position.
template <typename Change>
Item ByColumn(const Item& list, Change change) {
  Item result;
  result.kind = Item::Kind::kColumns;
  for (size_t i = 0; i < list.items.size(); ++i) {
    result.items.push_back(change(list.items[i], i));
    if (result.items.back().failed()) return {};
  }
  return result;
}

Val EmptySequence(Builder& b, DType dtype) {
  return b.Op("SequenceEmpty", {}, {{"dtype", dtype}}, SequenceType(dtype));
}

Val SequenceAppend(Builder& b, Val sequence, Val element) {
  return b.Op("SequenceInsert", {sequence, element}, {}, SequenceType(sequence.dtype()));
}

Val ConcatOf(Builder& b, Val sequence, int axis, bool new_axis,
             std::optional<Shape> shape = std::nullopt) {
  return b.Op("ConcatFromSequence", {sequence}, {{"axis", axis}, {"new_axis", new_axis ? 1 : 0}},
              {sequence.dtype(), std::move(shape)});
}

Val StackedOf(Builder& b, const Item& list, const ir::Type& type) {
  if (IsSequence(list)) return ConcatOf(b, list.val, 0, /*new_axis=*/true, StackedShape(type));
  const DType dtype = type.elements.front().TensorDType();
  Vals rows;
  for (const Item& item : list.items) rows.push_back(b.Unsqueeze(b.Cast(item.val, dtype), {0}));
  if (!rows.empty()) return b.Concat(rows, 0);
  std::vector<int64_t> sizes;
  for (const Dim& dim : StackedShape(type)) sizes.push_back(dim.is_number() ? dim.value() : 0);
  return b.Full(0, dtype, sizes);
}

// Whether the items have sizes that the list's type leaves open: ONNX's inference would take those of
// the list that a loop begins with for the sizes of all that it may hold.
bool KnowsMore(const Vals& elements, const ir::Type& type) {
  const std::optional<Shape> shape = Lowering::TypeOf(type.elements.front()).shape;
  return std::any_of(elements.begin(), elements.end(), [&](Val element) {
    if (!element || !element.has_shape()) return false;
    if (!shape || shape->size() != element.shape().size()) return true;
    for (size_t i = 0; i < shape->size(); ++i) {
      if (!(*shape)[i].is_number() && element.shape()[i].is_number()) return true;
    }
    return false;
  });
}

Val SequenceOf(Builder& b, const Item& list, const ir::Type& type) {
  if (list.is_val()) return SplitToSequence(b, list.val, {}, 0);
  Vals elements;
  for (const Item& item : list.items) elements.push_back(item.val);
  const DType dtype =
      elements.empty() ? type.elements.front().TensorDType() : elements.front().dtype();
  if (!elements.empty() && !KnowsMore(elements, type)) {
    return b.Op("SequenceConstruct", elements, {}, SequenceType(dtype));
  }
  Val sequence = EmptySequence(b, dtype);
  for (const Val element : elements) sequence = SequenceAppend(b, sequence, element);
  return sequence;
}

// Lists of numbers in a list of tensors, as these.
Item NumbersAsTensors(Op& op, Item list, const ir::Type& element) {
  using Kind = ir::Type::Kind;
  for (Item& item : list.items) {
    if (!element.is_tensor() || !item.is_list()) continue;
    const Kind kind = element.dtype == DType::kInt64  ? Kind::kInt
                      : element.dtype == DType::kBool ? Kind::kBool
                                                      : Kind::kFloat;
    item = DynamicList(op, item, ir::Type::List(ir::Type::Scalar(kind)));
  }
  return list;
}

// A list of known length of tuples or lists.
Item ColumnsOf(Op& op, const Item& list, const ir::Type& type) {
  const ir::Type& element = type.elements.front();
  const bool tuples = element.kind == ir::Type::Kind::kTuple;
  if (!tuples && list.items.empty()) {
    return op.Fail("lists in a list that starts empty and whose length depends on the inputs");
  }
  const size_t width = tuples ? element.elements.size() : list.items[0].items.size();
  std::vector<std::vector<Item>> columns(width);
  for (const Item& item : list.items) {
    if (!item.is_list() || item.items.size() != width) {
      return op.Fail("lists of different lengths in a list whose length depends on the inputs");
    }
    for (size_t i = 0; i < width; ++i) columns[i].push_back(item.items[i]);
  }
  Item result;
  result.kind = Item::Kind::kColumns;
  for (size_t i = 0; i < width; ++i) {
    result.items.push_back(DynamicList(op, Item::List(columns[i]), ColumnType(type, i)));
    if (result.items.back().failed()) return {};
  }
  return result;
}

// ---------------------------------------------------------------- tensors

Val WithSizes(Builder& b, Val stacked, Val item_sizes) {
  return b.Reshape(stacked, b.Concat({b.Vector({b.Size(stacked, 0)}), item_sizes}, 0));
}

// An empty list does not know its items' sizes that are no numbers: it takes those of the other.
Val JoinStacked(Builder& b, Val first, Val second) {
  if (!first || !second) return {};
  const auto known = [](const Dim& dim) { return dim.is_number(); };
  const Shape &x = first.shape(), &y = second.shape();
  const bool fixed = x.size() == y.size() && std::all_of(x.begin() + 1, x.end(), known) &&
                     std::all_of(y.begin() + 1, y.end(), known);
  if (fixed) return b.Concat({first, second}, 0);
  const Val sizes = b.Max(b.Slice(b.ShapeOf(first), 0, 1, kEnd),
                          b.Slice(b.ShapeOf(second), 0, 1, kEnd));
  return b.Concat({WithSizes(b, first, sizes), WithSizes(b, second, sizes)}, 0);
}

Val Before(Builder& b, Val stacked, Val index) { return b.Slice(stacked, 0, b.Int(0), index); }
Val From(Builder& b, Val stacked, Val index) {
  return b.Slice(stacked, 0, index, b.Int(kEnd));
}

// ---------------------------------------------------------------- sequences

Val SequenceAt(Builder& b, Val sequence, Val index, const std::optional<Shape>& shape) {
  return b.Op("SequenceAt", {sequence, index}, {}, {sequence.dtype(), shape});
}

// The sequence with items of another at its end: those at `positions`, which must not be null.
Val AppendAt(Builder& b, Val sequence, Val other, Val positions) {
  if (!sequence || !other || !positions) return {};
  if (b.opset() < kSequencesInLoops) {
    return b.Fail(absl::StrCat("a list of tensors that differ in size is made from another of "
                               "unknown length, which needs opset ", kSequencesInLoops));
  }
  return Repeat(b, b.Size(positions, 0), {}, {sequence}, [&](Val i, const Vals& carried) {
    const Val item = SequenceAt(b, other, b.Gather(positions, i, 0), std::nullopt);
    return LoopStep{{SequenceAppend(b, carried[0], item)}, {}};
  })[0];
}

}  // namespace

Item DynamicList(Op& op, const Item& given, const ir::Type& type) {
  if (given.failed() || op.failed()) return {};
  const Item list = NumbersAsTensors(op, given, type.elements.front());
  if (list.kind == Item::Kind::kConstant) {
    return op.Fail("a value that must be a list is none");
  }
  if (list.kind == Item::Kind::kColumns) return list;
  if (IsColumnsType(type)) return ColumnsOf(op, list, type);
  const ir::Type& element = type.elements.front();
  if (!HasTensor(element)) {
    return op.Fail(absl::StrCat("a list of ", element.ToString(),
                                " whose length depends on the inputs has no form in ONNX"));
  }
  for (const Item& item : list.items) {
    if (!item.is_val() || item.is_quantized()) {
      return op.Fail("a list of values that no plain tensor carries");
    }
  }
  if (list.is_list() && list.items.empty() && element.TensorDType() == DType::kUndefined) {
    return op.Fail("the type of an empty list is not known");
  }
  // What is empty in every run has no type of its own.
  if (list.is_val() && element.kind == ir::Type::Kind::kUnknown) return list;
  const bool stacked = IsStackedType(op, type);
  if (list.is_val() && list.val.is_sequence() != stacked) return list;
  return stacked ? StackedOf(op.b, list, type) : SequenceOf(op.b, list, type);
}

Item OutputForm(Builder& b, const Item& item, const ir::Type& type) {
  if (!type.is_list() || item.failed()) return item;
  if (item.kind == Item::Kind::kColumns) {
    Item columns = item;
    for (size_t i = 0; i < item.items.size(); ++i) {
      columns.items[i] = OutputForm(b, item.items[i], ColumnType(type, i));
    }
    return columns;
  }
  if (!item.is_val() || item.val.is_sequence()) return item;
  if (!item.val.dim(0).is_number()) return SplitToSequence(b, item.val, {}, 0);
  Vals items;
  for (int64_t i = 0; i < item.val.dim(0).value(); ++i) {
    items.push_back(b.Gather(item.val, b.Int(i), 0));
  }
  return Item::List(items);
}

bool IsDynamicList(const Item& item, const ir::Type& type) {
  return item.kind == Item::Kind::kColumns || (item.is_val() && type.is_list());
}

ir::Type ColumnType(const ir::Type& list_type, size_t column) {
  const ir::Type& item = list_type.elements.front();
  return ir::Type::List(item.elements[item.is_list() ? 0 : column]);
}

Shape StackedShape(const ir::Type& list_type) {
  Shape shape = {Dim::Unknown()};
  const std::optional<Shape> element = Lowering::TypeOf(list_type).shape;
  for (const Dim& dim : element.value_or(Shape())) {
    shape.push_back(dim.is_number() ? dim : Dim::Unknown());
  }
  return shape;
}

int64_t FromStart(int64_t index, const std::vector<Item>& items) {
  return index < 0 ? index + static_cast<int64_t>(items.size()) : index;
}

std::optional<size_t> KnownPosition(std::optional<int64_t> index, const std::vector<Item>& items) {
  if (!index) return std::nullopt;
  const int64_t position = FromStart(*index, items);
  if (position < 0 || position >= static_cast<int64_t>(items.size())) return std::nullopt;
  return position;
}

Val ListLength(Builder& b, const Item& list) {
  if (list.failed()) return {};
  if (list.kind == Item::Kind::kColumns) return ListLength(b, list.items[0]);
  if (!IsSequence(list)) return b.Size(list.val, 0);
  return b.Op("SequenceLength", {list.val}, {}, {DType::kInt64, Shape{}});
}

Item ListAt(Builder& b, const Item& list, Val index, const ir::Type& element) {
  if (list.failed() || !index) return {};
  if (list.kind == Item::Kind::kColumns) {
    std::vector<Item> fields;
    const bool tuples = element.kind == ir::Type::Kind::kTuple;
    for (size_t i = 0; i < list.items.size(); ++i) {
      fields.push_back(ListAt(b, list.items[i], index, element.elements[tuples ? i : 0]));
      if (fields.back().failed()) return {};
    }
    return Item::List(std::move(fields));
  }
  if (!IsSequence(list)) return b.Gather(list.val, index, 0);
  return SequenceAt(b, list.val, index, Lowering::TypeOf(element).shape);
}

Val ElementOf(Builder& b, const Vals& elements, Val index) {
  if (elements.empty() || !elements[0]) return {};
  const DType dtype = elements[0].dtype();
  std::optional<Shape> shape;
  if (elements[0].has_shape()) shape = Shape(elements[0].rank(), Dim::Unknown());
  for (const Val& element : elements) {
    if (!element) return {};
    const bool same_rank = shape && element.has_shape() &&
                           element.rank() == static_cast<int>(shape->size());
    if (!same_rank) shape.reset();
  }
  return SequenceAt(b, b.Op("SequenceConstruct", elements, {}, SequenceType(dtype)), index, shape);
}

Item ListInsert(Builder& b, const Item& list, Val index, const Item& element) {
  if (list.failed() || element.failed() || b.failed()) return {};
  if (list.kind == Item::Kind::kColumns) {
    if (!element.is_list() || element.items.size() != list.items.size()) {
      return b.Fail("lists of different lengths in a list whose length depends on the inputs");
    }
    return ByColumn(list, [&](const Item& column, size_t i) {
      return ListInsert(b, column, index, element.items[i]);
    });
  }
  if (!element.is_val() || element.is_quantized()) {
    return b.Fail("a list of values that no plain tensor carries");
  }
  if (!index && IsSequence(list)) return SequenceAppend(b, list.val, element.val);
  if (index) {
    const Val length = ListLength(b, list);
    index = b.Min(b.Max(NonNegative(b, index, length), b.Int(0)), length);
  }
  if (IsSequence(list)) {
    return b.Op("SequenceInsert", {list.val, element.val, index}, {},
                SequenceType(list.val.dtype()));
  }
  const Val row = b.Unsqueeze(b.Cast(element.val, list.val.dtype()), {0});
  if (!index) return JoinStacked(b, list.val, row);
  return JoinStacked(b, JoinStacked(b, Before(b, list.val, index), row),
                     From(b, list.val, index));
}

Item ListErase(Builder& b, const Item& list, Val index) {
  if (list.failed() || !index) return {};
  if (list.kind == Item::Kind::kColumns) {
    return ByColumn(list,
                    [&](const Item& column, size_t) { return ListErase(b, column, index); });
  }
  if (IsSequence(list)) {
    return b.Op("SequenceErase", {list.val, index}, {}, SequenceType(list.val.dtype()));
  }
  const Val at = NonNegative(b, index, b.Size(list.val, 0));
  return b.Concat({Before(b, list.val, at), From(b, list.val, b.Add(at, b.Int(1)))}, 0);
}

Item ListPick(Builder& b, const Item& list, Val positions) {
  if (list.failed() || !positions) return {};
  if (list.kind == Item::Kind::kColumns) {
    return ByColumn(list,
                    [&](const Item& column, size_t) { return ListPick(b, column, positions); });
  }
  if (!IsSequence(list)) return b.Gather(list.val, positions, 0);
  return AppendAt(b, EmptySequence(b, list.val.dtype()), list.val, positions);
}

Item ListJoin(Builder& b, const Item& first, const Item& second) {
  if (first.failed() || second.failed()) return {};
  if (first.kind == Item::Kind::kColumns) {
    if (first.items.size() != second.items.size()) {
      return b.Fail("lists of different lengths in a list whose length depends on the inputs");
    }
    return ByColumn(first, [&](const Item& column, size_t i) {
      return ListJoin(b, column, second.items[i]);
    });
  }
  if (!IsSequence(first)) return JoinStacked(b, first.val, second.val);
  return AppendAt(b, first.val, second.val, Iota(b, ListLength(b, second)));
}

Val ListCat(Builder& b, const Item& list, int axis) {
  if (list.failed()) return {};
  if (IsSequence(list)) return ConcatOf(b, list.val, axis, /*new_axis=*/false);
  // The axis of the items comes before the one along which they are joined.
  const Val moved = MoveAxis(b, list.val, 0, axis);
  if (!moved) return {};
  Vals sizes;
  for (int i = 0; i < moved.rank(); ++i) {
    if (i == axis + 1) continue;
    const Val size = b.Size(moved, i);
    sizes.push_back(i == axis ? b.Mul(size, b.Size(moved, i + 1)) : size);
  }
  return b.Reshape(moved, sizes, std::nullopt);
}

Val ListStack(Builder& b, const Item& list, int axis) {
  if (list.failed()) return {};
  if (!IsSequence(list)) return MoveAxis(b, list.val, 0, axis);
  return ConcatOf(b, list.val, axis, /*new_axis=*/true);
}

Val SplitToSequence(Builder& b, Val x, Val size, int axis) {
  if (!x) return {};
  const OutputType type = SequenceType(x.dtype());
  if (!size) return b.Op("SplitToSequence", {x}, {{"axis", axis}, {"keepdims", 0}}, type);
  return b.Op("SplitToSequence", {x, size}, {{"axis", axis}}, type);
}

}  // namespace rules_onnx::lowering
