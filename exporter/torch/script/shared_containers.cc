#include "exporter/torch/script/shared_containers.h"

#include <algorithm>

#include "exporter/torch/script/typing.h"

namespace rules_onnx::script {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

c10::TypePtr WithoutOptional(c10::TypePtr type) {
  while (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  return type;
}

bool IsContainer(const c10::TypePtr& type) {
  return type->kind() == c10::TypeKind::ListType || type->kind() == c10::TypeKind::DictType;
}

// Whether an item may be of the type, as far as its kind and the kinds of its parts tell.
bool MayBe(const Item& item, const c10::TypePtr& declared) {
  const c10::TypePtr type = WithoutOptional(declared);
  if (item.is_optional()) return MayBe(*item.content.items[1], type);
  if (item.is_choice()) {
    return std::any_of(item.content.items.begin(), item.content.items.end(),
                       [&](const ItemRef& each) { return MayBe(*each, type); });
  }
  const bool object = type->kind() == c10::TypeKind::ClassType;
  if (object || item.kind() == Item::Kind::kObject) {
    return object && item.kind() == Item::Kind::kObject;
  }
  const auto list = type->cast<c10::ListType>();
  if (item.is_list()) {
    if (!list) return false;
    return std::all_of(item.content.items.begin(), item.content.items.end(),
                       [&](const ItemRef& each) { return MayBe(*each, list->getElementType()); });
  }
  if (item.kind() == Item::Kind::kDict) return type->kind() == c10::TypeKind::DictType;
  using Kind = ir::Type::Kind;
  const std::function<bool(const ir::Type&, const ir::Type&)> agree = [&](const ir::Type& a,
                                                                          const ir::Type& b) {
    if (a.kind == Kind::kUnknown || b.kind == Kind::kUnknown || a.kind == Kind::kNone) return true;
    if (a.kind != b.kind) return false;
    return a.elements.size() != 1 || b.elements.size() != 1 || agree(a.elements[0], b.elements[0]);
  };
  return agree(TypeOfItem(item), DeclaredType(type));
}

}  // namespace

Later::Later(const Node* node) {
  if (node->kind() == c10::prim::Loop) VisitBlock(node->blocks()[0], node);
  const Node* from = node;
  while (true) {
    const Block* block = from->owningBlock();
    for (const Node* next = from->next(); next != block->return_node(); next = next->next()) {
      Visit(next, node);
    }
    Visit(block->return_node(), node);
    from = block->owningNode();
    if (from == nullptr) return;
    // The next iteration makes anew what the body makes.
    if (from->kind() == c10::prim::Loop) VisitBlock(block, from);
  }
}

void Later::VisitBlock(const Block* block, const Node* before) {
  for (const Node* node : block->nodes()) Visit(node, before);
  Visit(block->return_node(), before);
}

void Later::Visit(const Node* node, const Node* before) {
  for (const Value* input : node->inputs()) {
    if (input->node() != before && input->node()->isBefore(before) && known_.insert(input).second) {
      names_.push_back(input);
    }
  }
  if (node->kind() == c10::prim::SetAttr) {
    const auto type = node->input(0)->type()->cast<c10::ClassType>();
    const Node* made = node->input(0)->node();
    const bool anew = made->kind() == c10::prim::CreateObject && !made->isBefore(before);
    if (type && !type->is_module() && !anew) written_.push_back(type);
  }
  const auto* schema = node->maybeSchema();
  for (size_t i = 0; schema != nullptr && schema->is_mutable() && i < node->inputs().size() &&
                     i < schema->arguments().size();
       ++i) {
    const auto* alias = schema->arguments()[i].alias_info();
    const c10::TypePtr type = WithoutOptional(node->input(i)->type());
    if (alias != nullptr && alias->isWrite() && IsContainer(type)) written_.push_back(type);
  }
  for (const Block* block : node->blocks()) VisitBlock(block, before);
}

bool Later::MayWrite(const Item& item) const {
  return std::any_of(written_.begin(), written_.end(),
                     [&](const c10::TypePtr& type) { return MayBe(item, type); });
}

Sharing::Sharing(const Later* later, const std::vector<ItemRef>& holders,
                 const ContentOf& content_of)
    : later_(later) {
  for (const ItemRef& holder : holders) Reach(holder, content_of);
}

void Sharing::Reach(const ItemRef& item, const ContentOf& content_of) {
  if (item->has_identity()) {
    int& ways = ways_[item.get()];
    if (ways == 2) return;
    // What is never copied holds its parts once, however many ways lead to it.
    if (++ways == 2 && KeepsIdentity(*item) && !item->is_choice()) return;
  }
  for (const ItemRef& part : Parts(content_of(item))) Reach(part, content_of);
}

bool Sharing::KeepsIdentity(const Item& item) const {
  if (item.is_choice()) {
    return std::any_of(item.content.items.begin(), item.content.items.end(),
                       [&](const ItemRef& each) { return KeepsIdentity(*each); });
  }
  return item.kind() == Item::Kind::kObject || IsWrittenElsewhere(item);
}

bool Sharing::IsWrittenElsewhere(const Item& item) const {
  if (item.is_choice()) {
    return std::any_of(item.content.items.begin(), item.content.items.end(),
                       [&](const ItemRef& each) { return IsWrittenElsewhere(*each); });
  }
  const auto ways = ways_.find(&item);
  return ways != ways_.end() && ways->second > 1 && later_->MayWrite(item);
}

}  // namespace rules_onnx::script
