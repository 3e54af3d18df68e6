// Changes of lists, in value form: each gives a new list (see ir/graph.h on prim::List…).
#include "exporter/lowering/sequence.h"

#include <algorithm>

#include "exporter/lowering/registry.h"
#include "exporter/lowering/lowering.h"

namespace rules_onnx::lowering {
namespace {

using builder::OutputType;
using builder::ValueType;

OutputType SequenceType(Val like) {
  return {like.dtype(), std::nullopt, ValueType::Kind::kSequence};
}

// Both operands of a list operation as a static list, where that is what they are.
bool IsStatic(const Item& list) { return list.is_list(); }

Val SequenceOf(Op& op, absl::string_view name) {
  return AsSequence(op.b, op.Arg(name), op.OutType(op.num_outputs() - 1));
}

// A static list where the position is known too.
std::optional<size_t> Position(const Item& list, std::optional<int64_t> index) {
  if (!list.is_list() || !index) return std::nullopt;
  const int64_t size = static_cast<int64_t>(list.items.size());
  const int64_t position = *index < 0 ? *index + size : *index;
  if (position < 0 || position > size) return std::nullopt;
  return position;
}

void Append(Op& op) {
  Item list = op.Arg("self");
  const Item element = op.Arg("el");
  if (element.failed()) return;
  if (IsStatic(list)) {
    list.items.push_back(element);
    return op.Return(std::move(list));
  }
  const Val sequence = SequenceOf(op, "self");
  op.Return(op.b.Op("SequenceInsert", {sequence, element.val}, {}, SequenceType(sequence)));
}

void Insert(Op& op) {
  Item list = op.Arg("self");
  const Item element = op.Arg("el");
  if (const auto position = Position(list, op.KnownInt("idx"))) {
    list.items.insert(list.items.begin() + *position, element);
    return op.Return(std::move(list));
  }
  const Val sequence = SequenceOf(op, "self");
  op.Return(op.b.Op("SequenceInsert", {sequence, element.val, op.IntVal("idx")}, {},
                    SequenceType(sequence)));
}

void Set(Op& op) {
  Item list = op.Arg("self");
  const Item element = op.Arg("el");
  const auto position = Position(list, op.KnownInt("idx"));
  if (position && *position < list.items.size()) {
    list.items[*position] = element;
    return op.Return(std::move(list));
  }
  Builder& b = op.b;
  const Val sequence = SequenceOf(op, "self"), index = op.IntVal("idx");
  const Val from_start = b.Where(b.Less(index, b.Int(0)),
                                 b.Add(index, SequenceLength(b, sequence)), index);
  const Val without = b.Op("SequenceErase", {sequence, from_start}, {}, SequenceType(sequence));
  op.Return(b.Op("SequenceInsert", {without, element.val, from_start}, {},
                 SequenceType(sequence)));
}

void Extend(Op& op) {
  Item list = op.Arg("self");
  const Item other = op.Arg("other");
  if (!IsStatic(other)) return op.Fail("a list extended by one of unknown length"), void();
  if (IsStatic(list)) {
    list.items.insert(list.items.end(), other.items.begin(), other.items.end());
    return op.Return(std::move(list));
  }
  Val sequence = SequenceOf(op, "self");
  for (const Item& element : other.items) {
    sequence = op.b.Op("SequenceInsert", {sequence, element.val}, {}, SequenceType(sequence));
  }
  op.Return(sequence);
}

// Outputs: the element, the shorter list.
void Pop(Op& op) {
  Item list = op.Arg("self");
  const auto position = Position(list, op.KnownInt("idx"));
  if (position && *position < list.items.size()) {
    const Item element = list.items[*position];
    list.items.erase(list.items.begin() + *position);
    return op.Return(std::vector<Item>{element, std::move(list)});
  }
  const Val sequence = SequenceOf(op, "self"), index = op.IntVal("idx");
  op.Return(std::vector<Item>{
      SequenceAt(op.b, sequence, index, op.OutType(0)),
      op.b.Op("SequenceErase", {sequence, index}, {}, SequenceType(sequence))});
}

void Delete(Op& op) {
  Item list = op.Arg("self");
  const auto position = Position(list, op.KnownInt("idx"));
  if (position && *position < list.items.size()) {
    list.items.erase(list.items.begin() + *position);
    return op.Return(std::move(list));
  }
  const Val sequence = SequenceOf(op, "self");
  op.Return(op.b.Op("SequenceErase", {sequence, op.IntVal("idx")}, {}, SequenceType(sequence)));
}

}  // namespace

Val AsSequence(Builder& b, const Item& list, const ir::Type& type) {
  if (list.failed() || b.failed()) return {};
  if (list.is_val() && list.val.is_sequence()) return list.val;
  if (!list.is_list()) return b.Fail("a value that must be a list is none");
  Vals elements;
  for (const Item& item : list.items) {
    if (!item.is_val() || item.val.is_sequence()) {
      return b.Fail("a list of lists has no form in ONNX");
    }
    elements.push_back(item.val);
  }
  if (!elements.empty()) {
    return b.Op("SequenceConstruct", elements, {}, SequenceType(elements.front()));
  }
  const DType dtype = type.elements.empty() ? DType::kUndefined : type.elements[0].TensorDType();
  if (dtype == DType::kUndefined) return b.Fail("the type of an empty list is not known");
  return b.Op("SequenceEmpty", {}, {{"dtype", dtype}},
              {dtype, std::nullopt, ValueType::Kind::kSequence});
}

Val SequenceAt(Builder& b, Val sequence, Val index, const ir::Type& element) {
  if (!sequence || !index) return {};
  const ValueType type = Lowering::TypeOf(element);
  return b.Op("SequenceAt", {sequence, index}, {}, {sequence.dtype(), type.shape});
}

Val SequenceLength(Builder& b, Val sequence) {
  return b.Op("SequenceLength", {sequence}, {}, {DType::kInt64, Shape{}});
}

Val SplitToSequence(Builder& b, Val x, Val size, int axis) {
  if (!x) return {};
  const OutputType type = SequenceType(x);
  if (!size) return b.Op("SplitToSequence", {x}, {{"axis", axis}, {"keepdims", 0}}, type);
  return b.Op("SplitToSequence", {x, size}, {{"axis", axis}}, type);
}

Val ConcatSequence(Builder& b, Val sequence, int axis, bool new_axis) {
  if (!sequence) return {};
  return b.Op("ConcatFromSequence", {sequence}, {{"axis", axis}, {"new_axis", new_axis ? 1 : 0}},
              {sequence.dtype()});
}

extern const Family kSequence;
const Family kSequence = {"sequence", {
    {"prim::ListAppend", Append, 11},
    {"prim::ListInsert", Insert, 11},
    {"prim::ListSet", Set, 11},
    {"prim::ListExtend", Extend, 11},
    {"prim::ListPop", Pop, 11},
    {"prim::ListDelete", Delete, 11},
}};

}  // namespace rules_onnx::lowering
