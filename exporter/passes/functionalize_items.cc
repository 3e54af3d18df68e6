// Tensors in lists of unknown length. As long as each tensor lies in one such list alone, and once, the
// list owns its items: these are views of it, and a write to one sets it there. What is put into a list
// becomes such a view under all its names.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exporter/passes/functionalizer.h"

namespace rules_onnx::passes {
namespace {

using Kind = ir::Type::Kind;

constexpr int64_t kNowhere = -1;  // an order that no list has

}  // namespace

// Whether a branch that knows all items only added tensors of its own to those from before it.
bool Functionalizer::KeepsItemsApart(const Ending& ending, const Place& list) const {
  const auto held = ending.held.find(list.order);
  if (held == ending.held.end()) return true;
  const ir::Arg::List& before = list.state.items;
  const std::vector<Place*>& after = held->second;
  if (after.size() < before.size()) return false;
  std::set<const Place*> own;
  for (size_t i = 0; i < after.size(); ++i) {
    if (i < before.size() ? after[i] != PlaceOf(before[i])
                          : after[i] == nullptr || after[i]->depth <= memory_.depth() ||
                                !sharing_.CanMoveInto(*after[i], list, memory_.depth() + 1) ||
                                !own.insert(after[i]).second) {
      return false;
    }
  }
  return true;
}

// After branches that change a list each item of which was known.
void Functionalizer::TakeBranchItems(Place* list, ir::Value* result,
                                     const std::vector<Ending>& endings, const ir::Node& by) {
  const ir::Arg::List items = list->state.items;
  const bool moves = classes_.WrittenIn(by).orders.contains(list->alias_class);
  const bool apart = !moves && std::all_of(endings.begin(), endings.end(), [&](const Ending& ending) {
    return KeepsItemsApart(ending, *list);
  });
  memory_.SetRoot(list, result);
  if (!apart) Disown(list, by);
  for (size_t i = 0; i < items.size(); ++i) PutIn(list, items[i], static_cast<int64_t>(i), by);
  for (const Ending& ending : endings) {
    const auto held = ending.held.find(list->order);
    if (held == ending.held.end()) continue;
    for (Place* item : held->second) {
      if (item == nullptr || item->root() == list) continue;
      if (item->depth <= memory_.depth()) {
        sharing_.LinkItem(item, list);
      } else {
        sharing_.LinkToOuter(list, item);
      }
    }
  }
}

// A result of a branch is a tensor that it put into a list as well.
void Functionalizer::LinkToHolders(Place* made, Place* result, const Ending& ending,
                                   const std::map<int, Place*>& changed) {
  for (const auto& [order, items] : ending.held) {
    const auto is_result = [&](Place* item) {
      return item != nullptr && item->root() == result->root();
    };
    const auto list = changed.find(order);
    if (list != changed.end() && std::any_of(items.begin(), items.end(), is_result)) {
      sharing_.LinkItem(made, list->second);
    }
  }
}

// Blocks leave names of items with values from before, or at indices from before.
void Functionalizer::NoteChangesIn(const ir::Node& node, Place* list) {
  const AliasClasses::Writes& writes = classes_.WrittenIn(node);
  if (writes.tensors.contains(list->alias_class)) list->state.items_version = memory_.Tick();
  if (writes.orders.contains(list->alias_class)) list->state.order_version = memory_.Tick();
}

// From the start; an index that is known to count from there stays as it is.
ir::Arg Functionalizer::PlaceInList(const ir::Arg& list, const ir::Arg& index,
                                    const ir::Node& origin) {
  if (index.is_int() ? index.as_int() >= 0 : counters_.contains(index.value())) return index;
  Emitter emitter = EmitterFor(origin);
  const ir::Arg length = emitter.Emit("aten::len.t", {{"a", list}}, IntType());
  if (index.is_int()) return emitter.Emit("aten::add.int", {{"a", length}, {"b", index}}, IntType());
  return emitter.Emit("aten::remainder.int", {{"a", index}, {"b", length}}, IntType());
}

bool Functionalizer::BindItemOfUnknown(const ir::Node& node) {
  Place* list = PlaceOf(node.args[0].value);
  if (list == nullptr || !list->owns_items || list->state.knows_items) return false;
  const ir::Type& type = node.output()->type;
  if (!IsTracked(node.output()) || (!type.is_tensor() && type.kind != Kind::kTuple)) return false;
  std::vector<ir::NamedArg> args = node.args;
  for (ir::NamedArg& arg : args) arg.value = Read(arg.value, node);
  EmitterFor(node).EmitNode(node.op, args, {})->outputs = {node.output()};
  args[1].value = PlaceInList(args[0].value, args[1].value, node);
  BindItem(node, list, node.op, std::move(args), node.output());
  return true;
}

void Functionalizer::BindTupleItem(const ir::Node& node, Place* tuple, int64_t index,
                                   ir::Value* output) {
  const std::vector<ir::NamedArg> args = {{"self", ReadPlace(tuple, node)}, {"index", index}};
  EmitterFor(node).EmitNode("prim::TupleIndex", args, {})->outputs = {output};
  if (IsTracked(output)) BindItem(node, tuple, "prim::TupleIndex", args, output);
}

// The output is the operator's item of `whole`, which is up to date.
void Functionalizer::BindItem(const ir::Node& node, Place* whole, const std::string& op,
                              std::vector<ir::NamedArg> args, ir::Value* output) {
  auto view = context_->graph->NewNode(op, std::move(args));
  context_->InheritPlace(node, view.get());
  view->outputs = {output};
  Place* made = memory_.NewView(whole, std::move(view), output->type);
  made->state.current = output;
  made->state.version = made->newest_version();
  memory_.Bind(output, made);
}

// An item of what split and its like give, at an index that only the run knows.
bool Functionalizer::BindViewAt(const ir::Node& node) {
  Place* list = PlaceOf(node.args[0].value);
  if (list == nullptr || !list->is_list_of_views) return false;
  const ir::Arg index =
      PlaceInList(ReadPlace(list, node), Read(node.args[1].value, node), node);
  return BindItemOfViews(node, list, index, node.output());
}

bool Functionalizer::SetsSameItem(const ir::Node& node, const Place& list) const {
  if (!list.owns_items || !classes_.SetsSameItem(node)) return false;
  const Place* item = PlaceOf(node.args[2].value);
  return item != nullptr && item->viewed == &list;
}

// A list each of whose items was known becomes a value of its own.
void Functionalizer::TakeKnownItems(Place* list, const ir::Node& by) {
  if (!list->state.knows_items) return;
  const ir::Arg::List items = list->state.items;
  memory_.SetRoot(list, PassRoot(list, by));
  for (size_t i = 0; i < items.size(); ++i) PutIn(list, items[i], static_cast<int64_t>(i), by);
}

// `item` is at `index` of the list now, counted from its start; None: at a place that is not known.
void Functionalizer::PutIn(Place* list, const ir::Arg& item, const ir::Arg& index,
                           const ir::Node& by) {
  auto view = context_->graph->NewNode("aten::__getitem__.t", {{"list", ir::Arg()}, {"idx", index}});
  context_->InheritPlace(by, view.get());
  if (list->owns_items && MoveInto(list, item, std::move(view))) return;
  if (sharing_.MayHoldTwice(*list, item)) Disown(list, by);
  sharing_.LinkItems(list, {item});
}

bool Functionalizer::MoveInto(Place* whole, const ir::Arg& item, NodePtr view) {
  Place* place = PlaceOf(item);
  if (place == nullptr) {
    bool holds_tensors = false;
    item.ForEachValue([&](ir::Value* value) { holds_tensors |= IsMutable(value->type); });
    return !holds_tensors;
  }
  const bool somewhere = !view->args[1].value.is_none();
  if (place->construct == "prim::TupleConstruct" && place->state.knows_items) {
    Place* tuple = memory_.NewView(whole, std::move(view), place->type);
    if (!somewhere) tuple->order_version = kNowhere;
    bool moved = true;
    for (size_t k = 0; k < place->state.items.size(); ++k) {
      auto part = context_->graph->NewNode(
          "prim::TupleIndex", {{"self", ir::Arg()}, {"index", static_cast<int64_t>(k)}});
      context_->InheritPlace(*tuple->view, part.get());
      moved = MoveInto(tuple, place->state.items[k], std::move(part)) && moved;
    }
    return moved;
  }
  Place* list = whole->root();
  if (!sharing_.CanMoveInto(*place, *list, memory_.depth())) return false;
  for (Place* other : place->content.places) sharing_.LinkHolders(list, other);
  place->viewed = whole;
  place->view = std::move(view);
  place->order_version = somewhere ? whole->state.order_version : kNowhere;
  place->state.version = list->state.items_version;
  return true;
}

// One tensor may be two of its items, or has other names that are no views of it.
void Functionalizer::Disown(Place* list, const ir::Node& by) {
  if (!list->owns_items) return;
  list->owns_items = false;
  if (list->items.writer == nullptr || !memory_.IsInLoopSince(*list, list->items.last_write)) return;
  Refuse(*list->items.writer,
         absl::StrCat(list->items.writer->op, " writes to an item of a list into which ", by.op,
                      " puts a tensor that may have another name, in the same loop"),
         "clone the tensor that is put into the list");
}

// Before items leave or change their places. The names that items have keep what they stand for.
void Functionalizer::Reorder(Place* list, const ir::Node& by) {
  for (Place* item : memory_.visible_items()) {
    const bool in_place = item->viewed == list && item->order_version == list->state.order_version;
    if (in_place && item->state.version != item->newest_version()) Derive(item, by);
  }
  memory_.Save(list);
  list->state.order_version = memory_.Tick();
}

bool Functionalizer::RequireInPlace(const Place& item, const ir::Node& reader) {
  if (!item.viewed->type.is_list() || item.order_version == item.viewed->state.order_version) {
    return true;
  }
  context_->Report(diagnostics::Severity::kError, "ambiguous-alias", reader,
                   absl::StrCat(reader.op.empty() ? "an output" : reader.op,
                                " takes an item of a list of unknown length after other items left "
                                "the list or changed their places, and one was written to"),
                   "take the item from the list again");
  return false;
}

bool Functionalizer::RequireOwnItem(const Place& item, const ir::Node& writer) {
  if (!item.viewed->type.is_list()) return true;
  if (item.viewed->owns_items) return RequireInPlace(item, writer);
  Refuse(writer,
         absl::StrCat(writer.op, " writes to an item of a list of unknown length, which may hold "
                                 "the tensor twice, or another list may hold it as well"),
         "clone the tensor that is put into the list");
  return false;
}

}  // namespace rules_onnx::passes
