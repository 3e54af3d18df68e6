// Lists, dicts and objects that are one of several, as the run decides. A copy of the one that is
// taken would not be seen under its other names, so the item keeps all of them
// (Item::Kind::kChoice), and each node that takes it is converted once for each, in the branches of
// an If.
#include <algorithm>
#include <functional>
#include <utility>

#include "exporter/torch/script/converter.h"

namespace rules_onnx::script {
namespace {

namespace prim = c10::prim;

// Whether the node only passes its input on, or keeps it in something else.
bool PassesOn(const torch::jit::Node* node, size_t input) {
  switch (node->kind()) {
    case prim::ListConstruct:
    case prim::TupleConstruct:
    case prim::Print:
    case prim::Loop:
    case prim::unchecked_cast:
    case prim::unchecked_unwrap_optional: return true;
    case prim::DictConstruct: return input % 2 == 1;
    case prim::SetAttr:
    case c10::aten::append:
    case c10::aten::insert: return input > 0;
    case c10::aten::_set_item: return input > 1;
    default: return false;
  }
}

}  // namespace

// Of what holds after the node, where `branch` (if given) was taken.
std::unique_ptr<Sharing> Converter::SharingAfter(const JitNode* node, std::vector<ItemRef> holders,
                                                 const Branch* branch) {
  const Later& later = later_.try_emplace(node, node).first->second;
  for (const JitValue* name : later.names()) {
    if (const auto known = env_.find(name); known != env_.end()) holders.push_back(known->second);
  }
  return std::make_unique<Sharing>(&later, holders, [&](const ItemRef& item) {
    return branch == nullptr ? item->content : ContentAfter(*branch, item);
  });
}

bool Converter::MustChoose(Merge* merge, const ItemRef& a, const ItemRef& b) {
  if (merge->copies || !a->has_identity() || !b->has_identity()) return false;
  const auto keeps = [&](const ItemRef& item, const Branch& side,
                         std::unique_ptr<Sharing>* sharing) {
    if (item->content.unset) return false;
    if (*sharing == nullptr) *sharing = SharingAfter(merge->node, side.outputs, &side);
    return item->is_choice() || (*sharing)->KeepsIdentity(*item);
  };
  return keeps(a, merge->a, &merge->sharing_a) || keeps(b, merge->b, &merge->sharing_b);
}

ItemRef Converter::NewChoice(std::vector<ItemRef> items, std::vector<ItemRef> flags,
                             const JitNode* by) {
  ItemRef choice = NewItem(Item::Kind::kChoice);
  choice->content.items = std::move(items);
  choice->content.flags = std::move(flags);
  choice->chosen_by = by;
  return choice;
}

ItemRef Converter::MergeChoices(Merge* merge, const ItemRef& a, const ItemRef& b) {
  std::vector<ItemRef> items;
  std::vector<std::pair<ItemRef, ItemRef>> sides;  // whether it is that item, in either branch
  const auto add = [&](const ItemRef& item, const ItemRef& flag, bool left) {
    const ItemRef outer = Lift(merge, item, left ? merge->a : merge->b);
    const auto at = std::find(items.begin(), items.end(), outer);
    const auto place = static_cast<size_t>(at - items.begin());
    if (at == items.end()) {
      items.push_back(outer);
      sides.emplace_back(Leaf(false), Leaf(false));
    }
    (left ? sides[place].first : sides[place].second) = flag;
  };
  for (const bool left : {true, false}) {
    const ItemRef& side = left ? a : b;
    if (side->content.unset) continue;
    if (!side->is_choice()) add(side, Leaf(true), left);
    for (size_t i = 0; i < side->content.flags.size(); ++i) {
      add(side->content.items[i], side->content.flags[i], left);
    }
  }
  if (items.empty()) return a;  // both are fillers
  if (items.size() == 1) return items[0];
  std::vector<ItemRef> flags;
  for (const auto& [first, second] : sides) flags.push_back(MergeItems(merge, first, second));
  return NewChoice(std::move(items), std::move(flags), merge->chooser);
}

// What a branch made itself, as an item that is there after the other branch as well.
ItemRef Converter::Lift(Merge* merge, const ItemRef& item, const Branch& side) {
  if (IsOuter(*item)) return item;
  if (const auto known = merge->lifted.find(item.get()); known != merge->lifted.end()) {
    return known->second;
  }
  const bool left = &side == &merge->a;
  if (item->is_leaf()) {  // a list value
    const ItemRef filler =
        ListValueIn(merge->node, Filler(merge->node, item), left ? merge->b : merge->a);
    const ItemRef value =
        left ? MergeLeaves(merge, item, filler) : MergeLeaves(merge, filler, item);
    return merge->lifted[item.get()] = value;
  }
  const auto part = [&](const ItemRef& inner) {
    const ItemRef filler = Filler(merge->node, inner);
    return left ? MergeItems(merge, inner, filler) : MergeItems(merge, filler, inner);
  };
  ItemRef lifted = NewLike(*item);
  merge->lifted[item.get()] = lifted;
  for (const ItemRef& inner : item->content.items) lifted->content.items.push_back(part(inner));
  for (const auto& [name, inner] : item->content.attributes) {
    lifted->content.attributes[name] = part(inner);
  }
  return lifted;
}

std::optional<bool> Converter::DecidedTruth(const ItemRef& flag) const {
  const auto known = flag->is_value() ? decided_.find(flag->value()) : decided_.end();
  return known != decided_.end() ? known->second : ConstantBool(flag);
}

ItemRef Converter::Decided(const ItemRef& choice) {
  if (choice->is_text()) {
    return choice->content.keys.size() == 1 ? Leaf(choice->content.keys[0]) : choice;
  }
  if (choice->is_number()) {
    const auto is_float = DecidedTruth(choice->content.items[0]);
    return is_float ? choice->content.items[*is_float ? 2 : 1] : choice;
  }
  std::vector<ItemRef> items, flags;
  for (size_t i = 0; i < choice->content.items.size(); ++i) {
    const ItemRef& flag = choice->content.flags[i];
    const auto taken = DecidedTruth(flag);
    if (taken == true) return choice->content.items[i];
    if (taken == false) continue;
    items.push_back(choice->content.items[i]);
    flags.push_back(flag);
  }
  if (items.size() == 1) return items[0];
  return NewChoice(std::move(items), std::move(flags), choice->chosen_by);
}

Converter::Alternatives Converter::Split(const JitNode* node, const ItemRef& item) {
  const auto rest = [](const auto& all) {
    return std::vector(all.begin() + 1, all.end());
  };
  const Item::Content& content = item->content;
  if (item->is_text()) {
    const ItemRef first = Leaf(content.keys[0]);
    const ItemRef others =
        content.keys.size() == 2 ? Leaf(content.keys[1]) : NewText(content.items[0], rest(content.keys));
    return {SameText(node, item, first), first, others, node};
  }
  if (item->is_number()) {
    const JitNode* chooser = item->chosen_by != nullptr ? item->chosen_by : node;
    return {content.items[0], content.items[2], content.items[1], chooser};
  }
  const ItemRef others =
      content.items.size() == 2
          ? content.items[1]
          : NewChoice(rest(content.items), rest(content.flags), item->chosen_by);
  return {content.flags[0], content.items[0], others, item->chosen_by};
}

Converter::Side Converter::WithInput(const JitNode* node, const JitValue* input, ItemRef item) {
  const auto convert = [this, node, input, item = std::move(item)] {
    const ItemRef whole = At(input);
    Define(input, item);
    bool raised = false;
    try {
      raised = ConvertNode(node);
    } catch (const RaisedError&) {
      raised = true;
    } catch (...) {
      Define(input, whole);
      throw;
    }
    Define(input, whole);
    return raised;
  };
  return {convert, {node->outputs().begin(), node->outputs().end()}};
}

bool Converter::ConvertChosen(const JitNode* node, bool* raises) {
  for (size_t i = 0; i < node->inputs().size(); ++i) {
    const JitValue* input = node->input(i);
    const auto known = env_.find(input);
    if (known == env_.end() || PassesOn(node, i)) continue;
    const ItemRef whole = known->second;
    const bool text = whole->is_text() && !whole->content.keys.empty();
    if (!whole->is_choice() && !whole->is_number() && !text) continue;
    const ItemRef chosen = Decided(whole);
    const auto side = [&](ItemRef item) { return WithInput(node, input, std::move(item)); };
    if (!chosen->is_choice() && !chosen->is_text() && !chosen->is_number()) {
      *raises = side(chosen).convert();
    } else {
      const Alternatives either = Split(node, chosen);
      *raises = ConvertBranches(node, either.chooser, either.condition, side(either.first),
                                side(either.rest));
    }
    return true;
  }
  return false;
}

ItemRef Converter::Resolved(const JitNode* node, const ItemRef& item) {
  if (item->is_choice()) {
    ItemRef one = Resolved(node, item->content.items.back());
    for (size_t i = item->content.items.size() - 1; i-- > 0;) {
      one = Select(node, item->content.flags[i], Resolved(node, item->content.items[i]), one,
                   /*copies=*/true);
    }
    return one;
  }
  if (item->is_leaf() || item->kind() == Item::Kind::kObject) return item;
  ItemRef whole = NewLike(*item);
  for (const ItemRef& part : item->content.items) {
    whole->content.items.push_back(Resolved(node, part));
  }
  return whole->content.items == item->content.items ? item : whole;
}

// Whether an index, from the end where it is negative, means that place.
ItemRef Converter::IsAt(const JitNode* node, const ItemRef& index, size_t place, size_t size) {
  const auto emit = [&](const char* op, std::vector<ir::NamedArg> args) {
    return ir::Arg(EmitScalar(node, op, std::move(args), ir::Type::Kind::kBool));
  };
  const auto from_start = static_cast<int64_t>(place);
  const auto is = [&](int64_t number) {
    return emit("aten::eq.int", {{"a", ToArg(*index)}, {"b", number}});
  };
  const ir::Arg start = is(from_start);
  return Leaf(emit("aten::__or__.bool",
                   {{"a", start}, {"b", is(from_start - static_cast<int64_t>(size))}}));
}

// `list[index]` of lists, dicts or objects that a copy cannot stand for; null where one can.
ItemRef Converter::PickShared(const JitNode* node, const ItemRef& list, const ItemRef& index) {
  const std::vector<ItemRef>& items = list->content.items;
  if (!list->is_list() || items.empty()) return nullptr;
  const auto all = [&](const auto& test) { return std::all_of(items.begin(), items.end(), test); };
  if (!all([](const ItemRef& item) { return item->has_identity(); })) return nullptr;
  const auto sharing = SharingAfter(node, items);
  const bool copy = all([&](const ItemRef& item) {
    return !sharing->KeepsIdentity(*item) && item->kind() != Item::Kind::kDict &&
           !item->is_choice();
  });
  if (copy) return nullptr;
  ItemRef picked = items.back();
  for (size_t i = items.size() - 1; i-- > 0;) {
    picked = Select(node, IsAt(node, index, i, items.size()), items[i], picked);
  }
  return picked;
}

// `list[index] = item` where the list holds lists, dicts or objects, which a list value would copy.
bool Converter::SetAtUnknown(const JitNode* node, const ItemRef& list) {
  const ItemRef index = At(node->input(1)), item = At(node->input(2));
  if (!list->is_list() || !item->has_identity()) return false;
  std::vector<ItemRef> after = list->content.items;
  for (size_t i = 0; i < after.size(); ++i) {
    after[i] = Select(node, IsAt(node, index, i, after.size()), item, after[i]);
  }
  Mutate(list);
  list->content.items = std::move(after);
  return true;
}

void Converter::RequireUnshared(const JitNode* node, const std::vector<ItemRef>& parts,
                                const std::vector<ItemRef>& holders) {
  std::vector<ItemRef> held;
  const std::function<void(const ItemRef&)> add = [&](const ItemRef& part) {
    const Item::Kind kind = part->kind();
    if (part->has_identity()) held.push_back(part);
    if (part->is_list() || part->is_choice()) return;
    for (const ItemRef& inner : part->content.items) add(inner);
    for (const auto& [name, inner] : part->content.attributes) {
      if (kind == Item::Kind::kObject) add(inner);
    }
  };
  for (const ItemRef& part : parts) add(part);
  if (held.empty()) return;
  const auto sharing = SharingAfter(node, holders);
  if (std::any_of(held.begin(), held.end(),
                  [&](const ItemRef& part) { return sharing->IsWrittenElsewhere(*part); })) {
    Fail(node,
         "puts a list, dict or object that is written to under another name into a list whose "
         "length only the run tells; copy it first");
  }
}

}  // namespace rules_onnx::script
