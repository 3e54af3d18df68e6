// Dicts: their keys are known while the graph is converted. An entry that a branch or loop may add or
// take away is an Item::Kind::kOptional with `entry` set.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/torch/script/converter.h"

namespace rules_onnx::script {
namespace {

// The place of a key; nullopt for one that is known to be missing.
std::optional<size_t> FindKey(const Item::Content& dict, const ir::Arg& key) {
  const auto at = std::find(dict.keys.begin(), dict.keys.end(), key);
  if (at == dict.keys.end()) return std::nullopt;
  const auto place = static_cast<size_t>(at - dict.keys.begin());
  const Item& item = *dict.items[place];
  if (item.is_entry() && ConstantBool(item.content.items[0]) == false) return std::nullopt;
  return place;
}

// The value of an entry that is there.
ItemRef ValueOf(const ItemRef& item) { return item->is_entry() ? item->content.items[1] : item; }

// The item at a key; null where there is none.
ItemRef ItemAt(const Item::Content& dict, const ir::Arg& key) {
  const auto at = std::find(dict.keys.begin(), dict.keys.end(), key);
  return at == dict.keys.end() ? nullptr
                               : dict.items[static_cast<size_t>(at - dict.keys.begin())];
}

void Erase(Item::Content* dict, size_t place) {
  dict->keys.erase(dict->keys.begin() + static_cast<std::ptrdiff_t>(place));
  dict->items.erase(dict->items.begin() + static_cast<std::ptrdiff_t>(place));
}

}  // namespace

ItemRef Converter::Entry(const JitNode* node, const ItemRef& item, const ItemRef& like) {
  if (item != nullptr && item->is_entry()) return item;
  const ItemRef& form = ValueOf(like);
  if (form->is_none() || form->is_optional() || (item != nullptr && item->is_none())) {
    Fail(node, "adds or removes a dict's key, as the inputs decide, whose value may be None");
  }
  ItemRef entry = NewItem(Item::Kind::kOptional);
  entry->content.entry = true;
  entry->content.items = {Leaf(item != nullptr), item != nullptr ? item : Filler(node, form)};
  return entry;
}

ItemRef Converter::There(const ItemRef& item) {
  return item->is_entry() ? item->content.items[0] : Leaf(true);
}

ItemRef Converter::EntryAfter(const JitNode* node, const Item::Content& after, const ir::Arg& key,
                              const ItemRef& like) {
  const ItemRef item = ItemAt(after, key);
  return item == nullptr ? Entry(node, nullptr, like) : item;
}

void Converter::SetEntry(const ItemRef& dict, const ir::Arg& key, ItemRef value) {
  Item::Content& content = dict->content;
  const auto at = std::find(content.keys.begin(), content.keys.end(), key);
  if (at == content.keys.end()) {
    content.keys.push_back(key);
    content.items.push_back(std::move(value));
    return;
  }
  const auto place = static_cast<size_t>(at - content.keys.begin());
  // A key that was missing comes last: behind those that are there.
  for (size_t i = place + 1; i < content.keys.size(); ++i) {
    content.unordered = content.unordered || !Implies(content.items[i], content.items[place]);
  }
  content.items[place] = std::move(value);
}

bool Converter::Implies(const ItemRef& entry, const ItemRef& other) {
  const ItemRef first = There(entry), second = There(other);
  if (ConstantBool(first) == false || ConstantBool(second) == true) return true;
  if (!first->is_value() || !second->is_value()) return false;
  return first->value() == second->value() || implied_.count({first->value(), second->value()}) > 0;
}

void Converter::NoteImplied(const ItemRef& entry, const ItemRef& other) {
  const ItemRef first = There(entry), second = There(other);
  if (first->is_value() && second->is_value()) implied_.emplace(first->value(), second->value());
}

void Converter::ForEachTwoEntries(const std::vector<Slot>& slots,
                                  const std::function<void(size_t, size_t)>& visit) {
  for (size_t i = 0; i < slots.size(); ++i) {
    for (size_t j = 0; j < slots.size(); ++j) {
      const bool dict = slots[i].holder->kind() == Item::Kind::kDict;
      if (dict && slots[i].holder == slots[j].holder && slots[i].index < slots[j].index)
        visit(i, j);
    }
  }
}

void Converter::MergeKeys(const JitNode* node, Item::Content* left, Item::Content* right) {
  std::vector<ir::Arg> keys = left->keys;
  for (const ir::Arg& key : right->keys) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }
  auto from = keys.begin();
  for (const ir::Arg& key : right->keys) {
    from = std::find(from, keys.end(), key);
    if (from == keys.end()) left->unordered = true;
    if (left->unordered) break;
  }
  left->unordered = left->unordered || right->unordered;
  std::vector<ItemRef> left_items, right_items;
  for (const Item::Content* side : {left, right}) {
    std::vector<ItemRef>& items = side == left ? left_items : right_items;
    const Item::Content& other = side == left ? *right : *left;
    for (const ir::Arg& key : keys) {
      items.push_back(EntryAfter(node, *side, key, ItemAt(other, key)));
    }
  }
  left->items = std::move(left_items);
  right->items = std::move(right_items);
  left->keys = keys;
  right->keys = std::move(keys);
}

ItemRef Converter::Select(const JitNode* node, const ItemRef& condition, const ItemRef& a,
                          const ItemRef& b, bool copies) {
  if (const auto known = ConstantBool(condition)) return *known ? a : b;
  Merge merge;
  merge.node = merge.chooser = node;
  merge.condition = ToArg(*condition);
  merge.copies = copies;
  merge.emitted = graph_.NewNode("prim::If", {{"cond", merge.condition}});
  for (auto [branch, item] : {std::pair(&merge.a, a), std::pair(&merge.b, b)}) {
    branch->block = std::make_unique<ir::Block>();
    branch->outputs = {item};
  }
  ItemRef merged = MergeItems(&merge, a, b);
  if (!merge.emitted->outputs.empty()) PlaceIf(&merge);
  return merged;
}

// An operator that looks a number up that only the run tells.
bool Converter::ConvertLookup(const JitNode* node, const ItemRef& dict) {
  const std::string op = node->kind().toQualString();
  const ItemRef key = At(node->input(1));
  const auto& content = dict->content;
  if (op != "aten::__getitem__" && op != "aten::get" && op != "aten::__contains__") {
    Fail(node, "changes a dict at a key that is not a constant");
  }
  const bool numbers = std::all_of(content.keys.begin(), content.keys.end(),
                                   [](const ir::Arg& each) { return each.is_int(); });
  if (!key->is_text() && (TypeOfItem(*key).kind != ir::Type::Kind::kInt || !numbers)) {
    Fail(node, "has a key that is not a constant");
  }
  const auto is_key = [&](const ir::Arg& at) {
    if (key->is_text()) return SameText(node, key, Leaf(at));
    return Leaf(EmitScalar(node, "aten::eq.int", {{"a", ToArg(*key)}, {"b", at}},
                           ir::Type::Kind::kBool));
  };
  const bool get = op == "aten::get", contains = op == "aten::__contains__";
  ItemRef found;
  if (contains) found = Leaf(false);
  if (get) found = node->inputs().size() > 2 ? At(node->input(2)) : Leaf(ir::Arg());
  for (size_t i = content.items.size(); i-- > 0;) {
    const ItemRef& item = content.items[i];
    const ItemRef value = contains ? There(item) : ValueOf(item);
    if (found == nullptr) {
      found = value;  // the key is one of the dict's
      continue;
    }
    const ItemRef here = get ? Select(node, There(item), value, found) : value;
    found = Select(node, is_key(content.keys[i]), here, found);
  }
  if (found == nullptr) Fail(node, "asks an empty dict for a key");
  Define(node->output(), found);
  return true;
}

ItemRef Converter::DictLength(const JitNode* node, const ItemRef& dict) {
  ItemRef length = Leaf(int64_t{0});
  for (const ItemRef& item : dict->content.items) {
    ItemRef more;
    if (length->is_constant()) {
      more = Leaf(length->content.leaf.as_int() + 1);
    } else {
      more = Leaf(EmitScalar(node, "aten::add.int", {{"a", ToArg(*length)}, {"b", int64_t{1}}},
                             ir::Type::Kind::kInt));
    }
    length = Select(node, There(item), more, length);
  }
  return length;
}

// Keys, values or both, as a list.
ItemRef Converter::DictView(const JitNode* node, const ItemRef& dict) {
  const std::string op = node->kind().toQualString();
  const auto& content = dict->content;
  if (content.unordered && content.keys.size() > 1) {
    Fail(node, "goes through a dict whose order of keys depends on the inputs");
  }
  ItemRef all = ListOf({});
  for (size_t i = 0; i < content.items.size(); ++i) {
    ItemRef each = op == "aten::values" ? ValueOf(content.items[i]) : Leaf(content.keys[i]);
    if (op == "aten::items") {
      const ItemRef key = std::exchange(each, NewItem(Item::Kind::kTuple));
      each->content.items = {key, ValueOf(content.items[i])};
    }
    const auto there = ConstantBool(There(content.items[i]));
    if (!there) Fail(node, "goes through a dict whose keys depend on the inputs");
    if (*there) all->content.items.push_back(each);
  }
  return all;
}

// dict() and dict(pairs); a dict of a dict is a copy.
bool Converter::MakeDict(const JitNode* node) {
  const ItemRef pairs = node->inputs().empty() ? ListOf({}) : At(node->input(0));
  if (pairs->kind() != Item::Kind::kList) Fail(node, "makes a dict of pairs of unknown number");
  const ItemRef dict = NewItem(Item::Kind::kDict);
  for (const ItemRef& pair : pairs->content.items) {
    if (pair->kind() != Item::Kind::kTuple) Fail(node, "makes a dict of pairs that are not known");
    const ItemRef& key = pair->content.items[0];
    if (!key->is_constant()) Fail(node, "has a key that is not a constant");
    SetEntry(dict, key->content.leaf, pair->content.items[1]);
  }
  Define(node->output(), dict);
  return true;
}

bool Converter::ConvertDictOperator(const JitNode* node) {
  const bool made = node->kind() == c10::Symbol::fromQualString("aten::dict");
  if (made && (node->inputs().empty() || At(node->input(0))->kind() != Item::Kind::kDict)) {
    return MakeDict(node);
  }
  if (node->inputs().empty()) return false;
  const ItemRef dict = At(node->input(0));
  if (dict->kind() != Item::Kind::kDict) return false;
  const std::string op = node->kind().toQualString();
  auto& content = dict->content;
  const auto done = [&](ItemRef item) {
    if (!node->outputs().empty()) Define(node->output(), std::move(item));
    return true;
  };
  if (op == "aten::len") return done(DictLength(node, dict));
  if (op == "aten::copy" || op == "aten::dict") {
    ItemRef copy = NewItem(Item::Kind::kDict);
    copy->content = content;
    return done(copy);
  }
  if (op == "aten::keys" || op == "aten::values" || op == "aten::items") {
    return done(DictView(node, dict));
  }
  if (op == "aten::clear") {
    Mutate(dict);
    content = Item::Content{.kind = Item::Kind::kDict};
    return done(dict);
  }
  if (op == "aten::update" && At(node->input(1))->kind() == Item::Kind::kDict) {
    const Item::Content other = At(node->input(1))->content;
    Mutate(dict);
    content.unordered = content.unordered || other.unordered;
    for (size_t i = 0; i < other.keys.size(); ++i) {
      if (other.items[i]->is_entry()) Fail(node, "takes keys that depend on the inputs");
      SetEntry(dict, other.keys[i], other.items[i]);
    }
    return done(dict);
  }
  return node->inputs().size() > 1 && ConvertKeyOperator(node, dict);
}

// Operators that take a key.
bool Converter::ConvertKeyOperator(const JitNode* node, const ItemRef& dict) {
  const std::string op = node->kind().toQualString();
  const ItemRef key = At(node->input(1));
  if (!key->is_constant()) return ConvertLookup(node, dict);
  auto& content = dict->content;
  const auto at = FindKey(content, key->content.leaf);
  const ItemRef item = at ? content.items[*at] : nullptr;
  const ItemRef otherwise = node->inputs().size() > 2 ? At(node->input(2)) : nullptr;
  const auto done = [&](ItemRef result) {
    if (!node->outputs().empty()) Define(node->output(), std::move(result));
    return true;
  };
  const auto or_else = [&](const ItemRef& other) {
    return item == nullptr ? other : Select(node, There(item), ValueOf(item), other);
  };
  if (op == "aten::__contains__") return done(item == nullptr ? Leaf(false) : There(item));
  if (op == "aten::get") return done(or_else(otherwise == nullptr ? Leaf(ir::Arg()) : otherwise));
  if (op == "aten::_set_item") {
    Mutate(dict);
    SetEntry(dict, key->content.leaf, otherwise);
    return done(dict);
  }
  if (op == "aten::setdefault") {
    const ItemRef value = or_else(otherwise);
    Mutate(dict);
    SetEntry(dict, key->content.leaf, value);
    return done(value);
  }
  const bool removes = op == "aten::pop" || op == "aten::Delete";
  if (!removes && op != "aten::__getitem__") return false;
  if (item == nullptr && (otherwise == nullptr || !removes)) {
    FailAsProgram(node, "asks a dict for a key that it does not hold");
  }
  const ItemRef value = otherwise == nullptr ? ValueOf(item) : or_else(otherwise);
  if (removes && at) {
    Mutate(dict);
    Erase(&content, *at);
  }
  return done(value);
}

}  // namespace rules_onnx::script
