// Changes of lists, in value form: each gives a new list (see ir/graph.h on prim::List…).
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "exporter/lowering/dynamic_list.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// `self` in the form that the changed list has.
Item Self(Op& op) { return DynamicList(op, op.Arg("self"), op.OutType(op.num_outputs() - 1)); }

// The place of an item in a list of known length, if the index is known too.
std::optional<size_t> Position(const Item& list, std::optional<int64_t> index) {
  return list.is_list() ? KnownPosition(index, list.items) : std::nullopt;
}

void Append(Op& op) {
  Item list = op.Arg("self");
  const Item element = op.Arg("el");
  if (!list.is_list()) return op.Return(ListInsert(op.b, Self(op), {}, element));
  list.items.push_back(element);
  op.Return(std::move(list));
}

void Insert(Op& op) {
  Item list = op.Arg("self");
  const Item element = op.Arg("el");
  const auto index = op.KnownInt("idx");
  if (!list.is_list() || !index) {
    return op.Return(ListInsert(op.b, Self(op), op.IntVal("idx"), element));
  }
  const int64_t size = static_cast<int64_t>(list.items.size());
  const int64_t position = std::clamp<int64_t>(FromStart(*index, list.items), 0, size);
  list.items.insert(list.items.begin() + position, element);
  op.Return(std::move(list));
}

void Set(Op& op) {
  Item list = op.Arg("self");
  const Item element = op.Arg("el");
  if (const auto position = Position(list, op.KnownInt("idx"))) {
    list.items[*position] = element;
    return op.Return(std::move(list));
  }
  list = Self(op);
  if (op.failed()) return;
  const Val index = NonNegative(op.b, op.IntVal("idx"), ListLength(op.b, list));
  op.Return(ListInsert(op.b, ListErase(op.b, list, index), index, element));
}

void Extend(Op& op) {
  Item list = op.Arg("self");
  const Item other = op.Arg("other");
  if (!other.is_list()) {
    return op.Return(ListJoin(op.b, Self(op), DynamicList(op, other, op.OutType())));
  }
  if (list.is_list()) {
    list.items.insert(list.items.end(), other.items.begin(), other.items.end());
    return op.Return(std::move(list));
  }
  list = Self(op);
  for (const Item& element : other.items) list = ListInsert(op.b, list, {}, element);
  op.Return(std::move(list));
}

// Outputs: the item, the shorter list.
void Pop(Op& op) {
  Item list = op.Arg("self");
  if (const auto position = Position(list, op.KnownInt("idx"))) {
    const Item element = list.items[*position];
    list.items.erase(list.items.begin() + *position);
    return op.Return(std::vector<Item>{element, std::move(list)});
  }
  list = Self(op);
  const Val index = op.IntVal("idx");
  op.Return(std::vector<Item>{ListAt(op.b, list, index, op.OutType(0)),
                              ListErase(op.b, list, index)});
}

void Delete(Op& op) {
  Item list = op.Arg("self");
  if (const auto position = Position(list, op.KnownInt("idx"))) {
    list.items.erase(list.items.begin() + *position);
    return op.Return(std::move(list));
  }
  op.Return(ListErase(op.b, Self(op), op.IntVal("idx")));
}

void Reverse(Op& op) {
  Item list = op.Arg("self");
  if (list.is_list()) {
    std::reverse(list.items.begin(), list.items.end());
    return op.Return(std::move(list));
  }
  list = Self(op);
  const Val length = ListLength(op.b, list);
  op.Return(ListPick(op.b, list, op.b.Sub(op.b.Sub(length, op.b.Int(1)), Iota(op.b, length))));
}

// Numbers in ascending order.
void Sorted(Op& op) {
  const Item list = DynamicList(op, op.Arg(op.node.args.front().name), op.OutType());
  if (op.failed()) return;
  op.Return(op.b.TopK(list.val, ListLength(op.b, list), 0, /*largest=*/false)[0]);
}

constexpr char kOneByOne[] = "tensors that differ in size: opset 11, in branches and loops 13";
constexpr char kWhole[] = "tensors that differ in size: opset 13";

}  // namespace

extern const Family kListChanges;
const Family kListChanges = {"list_changes", {
    {"prim::ListAppend", Append, 9, kOneByOne},
    {"prim::ListInsert", Insert, 9, kOneByOne},
    {"prim::ListSet", Set, 9, kOneByOne},
    {"prim::ListExtend", Extend, 9, kWhole},
    {"prim::ListPop", Pop, 9, kOneByOne},
    {"prim::ListDelete", Delete, 9, kOneByOne},
    {"prim::ListReverse", Reverse, 9, kWhole},
    {"aten::sorted.int", Sorted, 11},
    {"aten::sorted.float", Sorted, 9, "a length that depends on the inputs: opset 10"},
}};

}  // namespace rules_onnx::lowering
