#include "exporter/torch/script/shared_containers.h"

#include <algorithm>
#include <utility>

namespace rules_onnx::script {
namespace {

using torch::jit::AliasDb;
using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;
using torch::jit::ValueSet;

bool MayHoldContainer(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::ListType:
    case c10::TypeKind::DictType:
    case c10::TypeKind::TupleType:
      return true;
    case c10::TypeKind::OptionalType:
      return MayHoldContainer(type->expectRef<c10::OptionalType>().getElementType());
    case c10::TypeKind::ClassType:
      return !type->expectRef<c10::ClassType>().is_module();
    default:
      return false;
  }
}

// Containers of containers.
bool MayNestContainers(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::ClassType) return true;
  if (type->kind() == c10::TypeKind::OptionalType) {
    return MayNestContainers(type->expectRef<c10::OptionalType>().getElementType());
  }
  const auto parts = type->containedTypes();
  return std::any_of(parts.begin(), parts.end(), MayHoldContainer);
}

// Values of the node's own blocks and those made later go by one of the names.
bool IsMadeBefore(const Value* value, const Node* node) {
  return value->node() == node || value->node()->isBefore(node);
}

// What becomes of a container that goes by some names from a node on.
class Fate {
 public:
  Fate(const AliasDb& aliases, const Node* node, ValueSet names)
      : aliases_(aliases), node_(node), names_(std::move(names)) {}

  bool is_shared() const { return written_ && read_; }

  // The node and all inside of it.
  void Visit(Node* node) {
    written_ = written_ || aliases_.writesToAlias(node, names_);
    read_ = read_ || std::any_of(node->inputs().begin(), node->inputs().end(),
                                 [&](Value* input) { return IsOtherName(input); });
    for (Block* inner : node->blocks()) VisitBlock(inner);
  }
  void VisitBlock(Block* block) {
    for (Node* node : block->nodes()) Visit(node);
    Visit(block->return_node());
  }
  void VisitAfter(Node* node) {
    Node* const end = node->owningBlock()->return_node();
    for (Node* next = node->next(); next != end; next = next->next()) Visit(next);
    Visit(end);
  }

  // Where a block delivers the container, it goes by another name.
  void Follow(at::ArrayRef<Value*> from, at::ArrayRef<Value*> to) {
    for (size_t i = 0; i < to.size(); ++i) {
      if (names_.count(from[i])) names_.insert(to[i]);
    }
  }

 private:
  bool IsOtherName(Value* value) const {
    if (names_.count(value) || !MayHoldContainer(value->type()) || !IsMadeBefore(value, node_)) {
      return false;
    }
    const bool nests = MayNestContainers(value->type());
    return std::any_of(names_.begin(), names_.end(), [&](const Value* name) {
      return aliases_.mayAlias(value, name) ||
             (nests && aliases_.mayContainAlias(value, const_cast<Value*>(name)));
    });
  }

  const AliasDb& aliases_;
  const Node* node_;
  ValueSet names_;
  bool written_ = false, read_ = false;
};

}  // namespace

bool IsSharedLater(const AliasDb& aliases, const Node* chosen, const ValueSet& names) {
  Fate fate(aliases, chosen, names);
  auto* node = const_cast<Node*>(chosen);  // AliasDb asks for it, and changes nothing
  if (node->kind() == c10::prim::Loop) fate.VisitBlock(node->blocks()[0]);
  while (node != nullptr) {
    fate.VisitAfter(node);
    Block* block = node->owningBlock();
    node = block->owningNode();
    if (node == nullptr) break;
    const bool loop = node->kind() == c10::prim::Loop;
    const auto results = block->outputs().slice(loop ? 1 : 0);
    if (loop) {
      fate.Follow(results, block->inputs().slice(1));
      fate.VisitBlock(block);
    }
    fate.Follow(results, node->outputs());
  }
  return fate.is_shared();
}

}  // namespace rules_onnx::script
