// Strings that the run chooses among those known while the graph is converted: there they are
// numbers (Item::Kind::kText). Comparisons compare these; any other node is converted once for each
// string that it may be.
#include <algorithm>
#include <utility>

#include "exporter/torch/script/converter.h"

namespace rules_onnx::script {

int64_t Converter::NumberOf(const std::string& text) {
  const auto at = std::find(texts_.begin(), texts_.end(), text);
  const auto number = at - texts_.begin();
  if (at == texts_.end()) texts_.push_back(text);
  return number;
}

ItemRef Converter::NewText(ItemRef number, std::vector<ir::Arg> strings) {
  ItemRef text = NewItem(Item::Kind::kText);
  text->content.items = {std::move(number)};
  text->content.keys = std::move(strings);
  return text;
}

ItemRef Converter::AsText(const ItemRef& item) {
  if (item->is_text()) return item;
  return NewText(Leaf(NumberOf(item->content.leaf.as_string())), {item->content.leaf});
}

ItemRef Converter::JoinText(const ItemRef& text, const ItemRef& other) {
  const ItemRef whole = AsText(text), more = AsText(other);
  std::vector<ir::Arg> strings = whole->content.keys;
  for (const ir::Arg& each : more->content.keys) {
    if (std::find(strings.begin(), strings.end(), each) == strings.end()) strings.push_back(each);
  }
  if (whole->content.keys.empty() || more->content.keys.empty()) strings.clear();
  return NewText(whole->content.items[0], std::move(strings));
}

ItemRef Converter::MergeTexts(Merge* merge, const ItemRef& a, const ItemRef& b) {
  ItemRef merged = JoinText(a, b);
  merged->content.items = {
      MergeItems(merge, AsText(a)->content.items[0], AsText(b)->content.items[0])};
  return merged;
}

ItemRef Converter::SameText(const JitNode* node, const ItemRef& a, const ItemRef& b) {
  if (a->is_string() && b->is_string()) return Leaf(a->content.leaf == b->content.leaf);
  return Leaf(EmitScalar(
      node, "aten::eq.int",
      {{"a", ToArg(*AsText(a)->content.items[0])}, {"b", ToArg(*AsText(b)->content.items[0])}},
      ir::Type::Kind::kBool));
}

bool Converter::ConvertText(const JitNode* node) {
  const bool takes_text =
      std::any_of(node->inputs().begin(), node->inputs().end(), [&](const JitValue* input) {
        const auto known = env_.find(input);
        return known != env_.end() && known->second->is_text();
      });
  if (!takes_text) return false;
  const bool same = node->kind() == c10::aten::eq;
  if (!same && node->kind() != c10::aten::ne) return false;
  const ItemRef &a = At(node->input(0)), &b = At(node->input(1));
  if (!IsText(*a) || !IsText(*b)) return false;
  const ItemRef equal = SameText(node, a, b);
  Define(node->output(), same ? equal : Negated(node, equal));
  return true;
}

}  // namespace rules_onnx::script
