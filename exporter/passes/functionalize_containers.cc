// Lists, tuples and dicts: known item by item as long as the program order says what they hold,
// then values of prim::ListAppend and its like.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "exporter/passes/functionalizer.h"
#include "exporter/passes/views.h"

namespace rules_onnx::passes {
namespace {

using Kind = ir::Type::Kind;

// Python's index into a list of `size` items, or -1 where it is out of range.
int64_t Normalize(int64_t index, size_t size) {
  if (index < 0) index += static_cast<int64_t>(size);
  return index < static_cast<int64_t>(size) ? index : -1;
}

// Keys and values of a dict stand in turn.
constexpr int64_t kNoKey = -1;
int64_t FindKey(const ir::Arg::List& items, const ir::Arg& key) {
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i] == key) return static_cast<int64_t>(i);
  }
  return kNoKey;
}

bool HasConstantKeys(const ir::Arg::List& items) {
  for (size_t i = 0; i < items.size(); i += 2) {
    if (items[i].is_value()) return false;
  }
  return true;
}

ir::Arg::List EverySecond(const ir::Arg::List& items, size_t first) {
  ir::Arg::List picked;
  for (size_t i = first; i < items.size(); i += 2) picked.push_back(items[i]);
  return picked;
}

ir::Arg::List Sliced(const ir::Arg::List& items, const ir::Arg& start, const ir::Arg& end,
                     int64_t step) {
  const int64_t size = static_cast<int64_t>(items.size());
  const auto clamp = [&](const ir::Arg& arg, int64_t otherwise) {
    if (arg.is_none()) return otherwise;
    const int64_t index = arg.as_int() < 0 ? arg.as_int() + size : arg.as_int();
    return std::clamp<int64_t>(index, 0, size);
  };
  ir::Arg::List slice;
  for (int64_t i = clamp(start, 0); i < clamp(end, size); i += step) slice.push_back(items[i]);
  return slice;
}

// `list.sort(reverse=…)` by a known order.
bool IsSortOfNumbers(const ir::Node& node) {
  const ir::Arg* reverse = node.Find("reverse");
  return (node.op == "aten::sort.int" || node.op == "aten::sort.float") && reverse != nullptr &&
         reverse->is_bool();
}

ir::Value* EmitSort(const ir::Node& node, const ir::Arg& list, const ir::Type& type,
                    Emitter emitter) {
  const std::string overload = node.op.substr(node.base_op().size());
  ir::Value* sorted = emitter.Emit("aten::sorted" + overload, {{"input", list}}, type);
  if (!node.Find("reverse")->as_bool()) return sorted;
  return emitter.Emit("prim::ListReverse", {{"self", sorted}}, type);
}

bool IsDictOverload(const ir::Node& node) {
  return absl::StrContains(node.op, ".Dict_") ||
         (!node.args.empty() && node.args[0].value.is_value() &&
          node.args[0].value.value()->type.kind == Kind::kDict);
}

}  // namespace

// The functional operator for a change of a list: its arguments stand in the same order.
struct Functionalizer::ListChange {
  absl::string_view op;
  std::vector<absl::string_view> args;
  size_t added = 0;  // the argument that the list gets an item from; 0: none
};

const Functionalizer::ListChange* Functionalizer::FindListChange(absl::string_view base) {
  static const auto* const kChanges = new absl::flat_hash_map<absl::string_view, ListChange>{
      {"aten::append", {"prim::ListAppend", {"self", "el"}, 1}},
      {"aten::insert", {"prim::ListInsert", {"self", "idx", "el"}, 2}},
      {"aten::_set_item", {"prim::ListSet", {"self", "idx", "el"}, 2}},
      {"aten::extend", {"prim::ListExtend", {"self", "other"}, 1}},
      {"aten::add_", {"prim::ListExtend", {"self", "other"}, 1}},
      {"aten::reverse", {"prim::ListReverse", {"self"}}},
      {"aten::mul_", {"aten::mul.left_t", {"l", "n"}}},
      {"aten::Delete", {"prim::ListDelete", {"self", "idx"}}},
      {"aten::pop", {"prim::ListPop", {"self", "idx"}}},
  };
  const auto it = kChanges->find(base);
  return it == kChanges->end() ? nullptr : &it->second;
}

const ir::Arg::List* Functionalizer::KnownItems(const ir::Arg& container) const {
  if (container.is_list()) return &container.list();
  const Place* place = PlaceOf(container);
  return place != nullptr && place->is_root() && place->state.knows_items ? &place->state.items
                                                                          : nullptr;
}

void Functionalizer::BindContainer(const ir::Value* output, std::string construct,
                                   ir::Arg::List items) {
  Place* place = memory_.NewRoot(output->type, {}, classes_.ClassOf(output), {});
  place->construct = std::move(construct);
  place->owns_items = place->construct == "prim::ListConstruct";
  place->state.knows_items = true;
  place->state.items = std::move(items);
  memory_.Bind(output, place);
}

// The output is the item itself, under another name.
void Functionalizer::BindItem(ir::Value* output, const ir::Arg& item) {
  if (PlaceOf(item) != nullptr) {
    memory_.BindSame(output, item);
  } else if (item.is_list() && IsTracked(output)) {
    BindContainer(output, "prim::ListConstruct", item.list());
  } else {
    const ir::Arg* renamed = item.is_value() ? renamed_.Find(item.value()) : nullptr;
    renamed_.Set(output, renamed == nullptr ? item : *renamed);
  }
}

bool Functionalizer::VisitConstruct(const ir::Node& node) {
  if (node.op != "prim::ListConstruct" && node.op != "prim::TupleConstruct" &&
      node.op != "prim::DictConstruct") {
    return false;
  }
  if (!IsTracked(node.output())) return false;
  BindContainer(node.output(), node.op, node.Find("items")->list());
  return true;
}

bool Functionalizer::ReadItem(const ir::Node& node, const ir::Arg& container, int64_t index,
                              ir::Value* output) {
  if (const ir::Arg::List* items = KnownItems(container)) {
    const int64_t at = Normalize(index, items->size());
    if (at < 0) return false;
    BindItem(output, ir::Arg((*items)[at]));
    return true;
  }
  Place* list = PlaceOf(container);
  if (list != nullptr && list->is_item()) {
    BindTupleItem(node, list, index, output);
    return true;
  }
  if (list == nullptr || !list->is_list_of_views) return false;
  return BindItemOfViews(node, list, index, output);
}

// Item `index` of what split and its like give.
bool Functionalizer::BindItemOfViews(const ir::Node& node, Place* list, const ir::Arg& index,
                                     ir::Value* output) {
  Place* viewed = list->viewed;
  // The split's first argument is to be the newest value, for the sizes that may be computed.
  ir::Node split;
  split.op = list->view->op;
  split.args = list->view->args;
  split.args[0].value = PassPlace(viewed, node);
  Emitter emitter = EmitterFor(node);
  auto view = ItemOfListOfViews(split, index, &emitter);
  if (view == nullptr) return false;
  context_->InheritPlace(node, view.get());
  view->outputs = {output};
  memory_.Bind(output, memory_.NewView(viewed, std::move(view), output->type));
  return true;
}

bool Functionalizer::Unpack(const ir::Node& node) {
  const ir::Arg container = node.args[0].value;
  const ir::Arg::List* items = KnownItems(container);
  if (items != nullptr && items->size() != node.outputs.size()) return false;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (ReadItem(node, container, static_cast<int64_t>(i), node.outputs[i])) continue;
    if (i > 0) {
      Refuse(node, absl::StrCat(node.op, " takes a list apart whose content is not known"));
    }
    return i > 0;
  }
  return true;
}

bool Functionalizer::DictRead(const ir::Node& node, const ir::Arg::List& known) {
  const ir::Arg::List items = known;
  if (!HasConstantKeys(items)) return false;
  const absl::string_view base = node.base_op();
  if (base == "aten::keys" || base == "aten::values") {
    BindContainerOrList(node.output(), EverySecond(items, base == "aten::keys" ? 0 : 1));
    return true;
  }
  if (base == "aten::len") {
    renamed_.Set(node.output(), static_cast<int64_t>(items.size() / 2));
    return true;
  }
  if (node.args.size() < 2 || node.args[1].value.is_value()) return false;
  const int64_t at = FindKey(items, node.args[1].value);
  if (base == "aten::__contains__") {
    renamed_.Set(node.output(), at != kNoKey);
    return true;
  }
  if (base != "aten::__getitem__" && base != "aten::get") return false;
  if (at != kNoKey) {
    BindItem(node.output(), items[at + 1]);
  } else if (base == "aten::get") {
    BindItem(node.output(), node.args.size() > 2 ? node.args[2].value : ir::Arg());
  } else {
    return false;
  }
  return true;
}

void Functionalizer::BindContainerOrList(ir::Value* output, ir::Arg::List items) {
  if (IsTracked(output)) return BindContainer(output, "prim::ListConstruct", std::move(items));
  renamed_.Set(output, ir::Arg(std::move(items)));
}

bool Functionalizer::VisitContainerRead(const ir::Node& node) {
  if (node.args.empty()) return false;
  const absl::string_view base = node.base_op();
  const ir::Arg self = node.args[0].value;
  if (node.op == "prim::ListUnpack" || node.op == "prim::TupleUnpack") {
    if (Unpack(node)) return true;
  }
  if (node.op == "prim::TupleIndex" || node.op == "aten::__getitem__.t") {
    const ir::Arg& index = node.args[1].value;
    if (index.is_int() && ReadItem(node, self, index.as_int(), node.output())) return true;
  }
  const ir::Arg::List* items = KnownItems(self);
  if (items != nullptr && node.op == "aten::__getitem__.t" &&
      BindPickedItem(node, ir::Arg::List(*items), node.args[1].value)) {
    return true;
  }
  if (items != nullptr && IsDictOverload(node)) return DictRead(node, *items);
  if (node.op == "aten::__getitem__.t" && (BindItemOfUnknown(node) || BindViewAt(node))) return true;
  if (node.op == "prim::ListUnpack" || node.op == "prim::TupleUnpack" ||
      node.op == "prim::TupleIndex" || node.op == "aten::__getitem__.t") {
    return ReadUnknownItem(node);
  }
  if (items == nullptr || ChangesContainer(node)) return false;
  if (node.op == "aten::len.t") {
    renamed_.Set(node.output(), static_cast<int64_t>(items->size()));
    return true;
  }
  if (base == "aten::list" || node.op == "aten::copy.t") {
    BindContainerOrList(node.output(), ir::Arg::List(*items));
    return true;
  }
  if (node.op == "aten::add.t") {
    const ir::Arg::List* more = KnownItems(node.args[1].value);
    if (more == nullptr) return false;
    ir::Arg::List joined = *items;
    joined.insert(joined.end(), more->begin(), more->end());
    BindContainerOrList(node.output(), std::move(joined));
    return true;
  }
  if (node.op == "aten::slice.t") {
    const auto constant = [](const ir::Arg* arg) { return arg->is_none() || arg->is_int(); };
    const ir::Arg* step = node.Find("step");
    if (!constant(node.Find("start")) || !constant(node.Find("end")) || !step->is_int() ||
        step->as_int() <= 0) {
      return false;
    }
    BindContainerOrList(node.output(),
                        Sliced(*items, *node.Find("start"), *node.Find("end"), step->as_int()));
    return true;
  }
  return false;
}

// An item that could be any of the tensors that ever came near the list.
bool Functionalizer::ReadUnknownItem(const ir::Node& node) {
  ir::Node* copy = EmitterFor(node).EmitNode(node.op, node.args, {});
  ReadArgs(copy);
  copy->outputs = node.outputs;
  for (ir::Value* output : node.outputs) {
    if (!IsTracked(output)) continue;
    sharing_.LinkToClass(BindNewRoot(output));
  }
  return true;
}

void Functionalizer::SetItems(Place* place, ir::Arg::List items) {
  memory_.SetRoot(place, {});
  place->state.knows_items = true;
  place->state.items = std::move(items);
}

bool Functionalizer::WriteKnownDict(const ir::Node& node, Place* place) {
  ir::Arg::List items = place->state.items;
  const absl::string_view base = node.base_op();
  if (base == "aten::clear") {
    items.clear();
  } else {
    if (node.args.size() < 2 || !HasConstantKeys(items)) return false;
    if (base == "aten::update") {
      const ir::Arg::List* more = KnownItems(node.args[1].value);
      if (more == nullptr || !HasConstantKeys(*more)) return false;
      for (size_t i = 0; i + 1 < more->size(); i += 2) {
        const int64_t at = FindKey(items, (*more)[i]);
        if (at != kNoKey) {
          items[at + 1] = (*more)[i + 1];
        } else {
          items.push_back((*more)[i]);
          items.push_back((*more)[i + 1]);
        }
      }
    } else {
      const ir::Arg key = node.args[1].value;
      if (key.is_value()) return false;
      const int64_t at = FindKey(items, key);
      if (base == "aten::_set_item" || (base == "aten::setdefault" && at == kNoKey)) {
        if (at != kNoKey) {
          items[at + 1] = node.args[2].value;
        } else {
          items.push_back(key);
          items.push_back(node.args[2].value);
        }
        if (base == "aten::setdefault") BindItem(node.outputs[0], node.args[2].value);
      } else if (base == "aten::setdefault") {
        BindItem(node.outputs[0], items[at + 1]);
      } else if (base == "aten::pop" || base == "aten::Delete") {
        if (at == kNoKey && node.args.size() < 3) return false;
        if (base == "aten::pop") {
          BindItem(node.outputs[0], at == kNoKey ? node.args[2].value : items[at + 1]);
        }
        if (at != kNoKey) items.erase(items.begin() + at, items.begin() + at + 2);
      } else {
        return false;
      }
    }
  }
  SetItems(place, std::move(items));
  return true;
}

bool Functionalizer::WriteKnownList(const ir::Node& node, Place* place) {
  ir::Arg::List items = place->state.items;
  const absl::string_view base = node.base_op();
  const auto arg = [&](size_t i) -> const ir::Arg& { return node.args[i].value; };
  if (base == "aten::append") {
    items.push_back(arg(1));
  } else if (base == "aten::clear") {
    items.clear();
  } else if (base == "aten::reverse") {
    std::reverse(items.begin(), items.end());
  } else if (base == "aten::extend" || node.op == "aten::add_.t") {
    const ir::Arg::List* more = KnownItems(arg(1));
    if (more == nullptr) return false;
    const ir::Arg::List copy = *more;
    items.insert(items.end(), copy.begin(), copy.end());
  } else if (base == "aten::insert") {
    if (!arg(1).is_int()) return false;
    const int64_t size = static_cast<int64_t>(items.size());
    const int64_t at = arg(1).as_int() < 0 ? arg(1).as_int() + size : arg(1).as_int();
    items.insert(items.begin() + std::clamp<int64_t>(at, 0, size), arg(2));
  } else if (base == "aten::_set_item" || base == "aten::pop" || base == "aten::Delete") {
    if (!arg(1).is_int()) return false;
    const int64_t at = Normalize(arg(1).as_int(), items.size());
    if (at < 0) return false;
    if (base == "aten::_set_item") {
      items[at] = arg(2);
    } else {
      if (base == "aten::pop") BindItem(node.outputs[0], items[at]);
      items.erase(items.begin() + at);
    }
  } else {
    return false;
  }
  SetItems(place, std::move(items));
  return true;
}

// By a functional operator that gives the list's next value.
bool Functionalizer::WriteUnknownList(const ir::Node& node, Place* place) {
  if (node.base_op() == "aten::clear") {
    Reorder(place, node);
    place->construct = "prim::ListConstruct";
    SetItems(place, {});
    return true;
  }
  if (node.base_op() == "aten::remove" && node.op != "aten::remove.Tensor") {
    return WriteUnknownList(*AsDelete(node), place);
  }
  const ListChange* change = FindListChange(node.base_op());
  const bool sort = IsSortOfNumbers(node);
  if (change == nullptr && !sort) return false;
  TakeKnownItems(place, node);
  if (SetsSameItem(node, *place)) return true;
  const ir::Arg list = AsOneValue(PassRoot(place, node), place->type, node, "");
  if (classes_.MovesItems(node)) Reorder(place, node);
  ir::Value* next = sort ? EmitSort(node, list, place->type, EmitterFor(node))
                         : EmitListChange(node, *change, list, place->type);
  if (node.base_op() == "aten::mul_") Disown(place, node);
  if (change != nullptr && change->added > 0) PutInAdded(node, *change, list, place);
  memory_.SetRoot(place, next);
  return true;
}

void Functionalizer::PutInAdded(const ir::Node& node, const ListChange& change,
                                const ir::Arg& list, Place* place) {
  const ir::Arg added = node.args[change.added].value;
  const absl::string_view base = node.base_op();
  if (base == "aten::extend" || base == "aten::add_") {
    const ir::Arg::List* items = KnownItems(added);
    for (const ir::Arg& item : items == nullptr ? ir::Arg::List{added} : ir::Arg::List(*items)) {
      PutIn(place, item, ir::Arg(), node);
    }
    return;
  }
  ir::Arg index;
  if (base == "aten::append") {
    index = EmitterFor(node).Emit("aten::len.t", {{"a", list}}, IntType());
  } else if (base == "aten::_set_item") {
    index = PlaceInList(list, Read(node.args[1].value, node), node);
  } else if (node.args[1].value.is_int() && node.args[1].value.as_int() == 0) {
    index = 0;
  }
  PutIn(place, added, index, node);
}

// `list.remove(x)` as `del list[list.index(x)]`.
const ir::Node* Functionalizer::AsDelete(const ir::Node& node) {
  const std::string overload = node.op.substr(node.base_op().size() + 1);
  std::vector<ir::NamedArg> args = node.args;
  args[0].value = AsOneValue(Read(args[0].value, node), PlaceOf(args[0].value)->type, node, "");
  args[1].value = Read(args[1].value, node);
  ir::Value* index = EmitterFor(node).Emit("aten::index.list_" + overload, std::move(args),
                                           IntType());
  auto removal = context_->graph->NewNode("aten::Delete.t",
                                          {{"self", node.args[0].value}, {"idx", index}});
  context_->InheritPlace(node, removal.get());
  retired_.push_back(std::move(removal));
  return retired_.back().get();
}

ir::Value* Functionalizer::EmitListChange(const ir::Node& node, const ListChange& change,
                                          const ir::Arg& list, const ir::Type& type) {
  std::vector<ir::NamedArg> args = {{std::string(change.args[0]), list}};
  for (size_t i = 1; i < change.args.size(); ++i) {
    args.push_back({std::string(change.args[i]), Read(node.args[i].value, node)});
  }
  Emitter emitter = EmitterFor(node);
  if (node.base_op() != "aten::pop") {
    return emitter.Emit(change.op, std::move(args), type);
  }
  const ir::Node* popped =
      emitter.EmitNode(change.op, std::move(args), {node.output()->type, type});
  if (IsTracked(node.output())) {
    Place* item = memory_.NewRoot(node.output()->type, popped->outputs[0],
                                  classes_.ClassOf(node.output()), {});
    memory_.Bind(node.output(), item);
    sharing_.LinkPopped(PlaceOf(node.args[0].value), item);
  } else {
    renamed_.Set(node.output(), popped->outputs[0]);
  }
  return popped->outputs[1];
}

bool Functionalizer::VisitContainerWrite(const ir::Node& node) {
  Place* place = PlaceOf(node.args[0].value);
  if (place == nullptr || !place->is_root()) return false;
  bool done = false;
  if (IsDictOverload(node)) {
    done = place->state.knows_items && WriteKnownDict(node, place);
  } else {
    done = (place->state.knows_items && WriteKnownList(node, place)) ||
           WriteUnknownList(node, place);
  }
  if (done) sharing_.ChangedContainer(place, node);
  return done;
}

// Operators that return the list they changed: `aten::append.t`, `aten::add_.t`.
void Functionalizer::FinishContainerWrite(const ir::Node& node) {
  for (ir::Value* output : node.outputs) {
    if (memory_.ObjectOf(output) != nullptr || renamed_.Find(output) != nullptr) continue;
    if (memory_.ObjectOf(node.args[0].value.value()) != nullptr) memory_.BindSame(output, node.args[0].value);
  }
}

}  // namespace rules_onnx::passes
