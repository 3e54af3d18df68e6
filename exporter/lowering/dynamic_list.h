// Lists whose length is known at run time only.
//
// Such a list is one of
// - a tensor that has the items along a first axis of its own: lists of numbers, and below opset 13,
//   where neither Loop nor If takes sequences, of tensors that all have one shape;
// - an ONNX sequence (opset 11 and later): lists of other tensors;
// - columns (Item::Kind::kColumns): a list for each field of the tuples, or of the lists of one
//   length, that are its items.
// Which one it is follows from the list's captured type and the opset. What takes an Item takes lists
// of known length too and, like all the rest of a lowering, nothing after a failure.
#ifndef RULES_ONNX_EXPORTER_LOWERING_DYNAMIC_LIST_H_
#define RULES_ONNX_EXPORTER_LOWERING_DYNAMIC_LIST_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// Any list in the form that `type`, a list type, has. A failure for values that no tensor carries.
Item DynamicList(Op& op, const Item& list, const ir::Type& type);
// Whether the value is a list in one of the forms above.
bool IsDynamicList(const Item& item, const ir::Type& type);
// The list type of a column.
ir::Type ColumnType(const ir::Type& list_type, size_t column);
// The dimensions of a list's tensor form; those that an empty list does not have are unknown.
Shape StackedShape(const ir::Type& list_type);

// ---- of lists of known length
// Python's index into `items` counted from the start: it may lie before or behind them.
int64_t FromStart(int64_t index, const std::vector<Item>& items);
// The same where it is known and that of an item.
std::optional<size_t> KnownPosition(std::optional<int64_t> index, const std::vector<Item>& items);

// ---- of lists that DynamicList gave
Val ListLength(Builder& b, const Item& list);  // 0-d int64
// The item at a 0-d index, from the end if negative.
Item ListAt(Builder& b, const Item& list, Val index, const ir::Type& element);
// The list with an item more: before the item at `index`, as Python's insert; at the end where
// `index` is null.
Item ListInsert(Builder& b, const Item& list, Val index, const Item& element);
Item ListErase(Builder& b, const Item& list, Val index);
// The items at a 1-D int64 of positions, none of them negative.
Item ListPick(Builder& b, const Item& list, Val positions);
Item ListJoin(Builder& b, const Item& first, const Item& second);
// All tensors of a list joined along an axis, or stacked along a new one.
Val ListCat(Builder& b, const Item& list, int axis);
Val ListStack(Builder& b, const Item& list, int axis);

// One of several tensors, which may differ in shape, at a 0-d index; from opset kSequences on.
Val ElementOf(Builder& b, const Vals& elements, Val index);
inline constexpr int kSequences = 11;

// What the program gives, as outputs of the model: a list of unknown length is a sequence there at
// every opset, the tensor of a list of known length its items. Items of other types as they are.
Item OutputForm(Builder& b, const Item& item, const ir::Type& type);

// ---- sequences that operators give
// Pieces of that size (a 0-d integer) along an axis, the last one smaller; where `size` is null,
// single slices without the axis.
Val SplitToSequence(Builder& b, Val x, Val size, int axis);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_DYNAMIC_LIST_H_
