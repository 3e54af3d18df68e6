// Writes to what was taken out of a list of unknown length. The list holds another form of it
// (convert_packed.cc), which is put back into its place where the program writes to a dict, an object
// or a list of numbers that it read from there (`objects[i].x = y`, `grid[i][j] = n`).
#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "exporter/torch/script/converter.h"

namespace rules_onnx::script {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;
namespace prim = c10::prim;

// Whether it can be written to, or holds what can.
bool IsMutable(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::ListType:
    case c10::TypeKind::DictType:
    case c10::TypeKind::ClassType: return true;
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::TupleType: {
      const auto parts = type->containedTypes();
      return std::any_of(parts.begin(), parts.end(), IsMutable);
    }
    default: return false;
  }
}

// Whether the value is made there, so that no list holds it yet.
bool IsMade(const Value* value) {
  if (!IsMutable(value->type())) return true;
  const Node* node = value->node();
  switch (node->kind()) {
    case prim::CreateObject:
    case prim::tolist:
    case c10::aten::pop: return true;
    case prim::ListConstruct:
    case prim::DictConstruct:
    case prim::TupleConstruct: break;
    case c10::aten::mul:
    case c10::aten::add:
    case c10::aten::slice:
    case c10::aten::list:
    case c10::aten::copy: {
      const auto list = value->type()->cast<c10::ListType>();
      return list && !IsMutable(list->getElementType());
    }
    default: return false;
  }
  return std::all_of(node->inputs().begin(), node->inputs().end(), IsMade);
}

// Whether lists of such items may hold one of them twice, or two lists the same one.
bool MayShare(const Block* block, const c10::TypePtr& item) {
  static const std::set<std::string> kShare = {"aten::slice", "aten::copy",  "aten::list",
                                               "aten::mul",   "aten::mul_",  "aten::add",
                                               "aten::add_",  "aten::extend"};
  static const std::set<std::string> kTake = {"aten::append", "aten::insert", "aten::_set_item"};
  for (const Node* node : block->nodes()) {
    for (const Block* inner : node->blocks()) {
      if (MayShare(inner, item)) return true;
    }
    const auto list =
        node->inputs().empty() ? nullptr : node->input(0)->type()->cast<c10::ListType>();
    if (!list || *list->getElementType() != *item) continue;
    const std::string op = node->kind().toQualString();
    if (kShare.count(op) || (kTake.count(op) && !IsMade(node->inputs().back()))) return true;
  }
  return false;
}

}  // namespace

// Remembers of the item, which `node` read from a list, and of what it holds where it is from.
void Converter::NoteTaken(const JitNode* node, const ItemRef& item, const c10::TypePtr& type) {
  if (node->kind() != c10::aten::__getitem__) return;
  const auto taking = std::make_shared<const Taking>(
      Taking{At(node->input(0)), item, ToArg(*At(node->input(1))), type, loop_, list_changes_});
  const std::function<void(const ItemRef&)> note = [&](const ItemRef& part) {
    if (part->held) takings_[part.get()] = taking;
    for (const ItemRef& inner : Parts(part->content)) note(inner);
  };
  note(item);
}

// A place in a list is that of the item until the list changes, and known in this iteration only.
void Converter::NoteHeldWrite(const JitNode* node, const Item& item) {
  const auto taking = takings_.find(&item);
  if (taking == takings_.end() || taking->second->loop != loop_ ||
      taking->second->list_changes != list_changes_) {
    Fail(node, "writes to a dict, list or object that a list holds whose length only the run tells, and "
               "that is not read from there just before");
  }
  written_takings_.push_back(taking->second);
}

// Another name may stand for the same item, or for one that it stands for in other iterations.
void Converter::RequireOneCopy(const JitNode* node, const ItemRef& item) {
  const std::function<void(const ItemRef&)> check = [&](const ItemRef& part) {
    const auto taking = takings_.find(part.get());
    if (part->held && (taking == takings_.end() || taking->second->item != item)) {
      Fail(node, "writes to a dict, list or object that a list holds whose length only the run tells, "
                 "while another name stands for one of that list");
    }
    for (const ItemRef& inner : Parts(part->content)) check(inner);
  };
  for (const JitValue* name : later_.try_emplace(node, node).first->second.names()) {
    if (const auto known = env_.find(name); known != env_.end()) check(known->second);
  }
}

void Converter::PutBack(const JitNode* node, const Taking& taking) {
  const ItemRef &list = taking.list, &item = taking.item;
  RequireOneCopy(node, item);
  if (MayShare(program_.graph->block(), taking.type)) {
    Fail(node, "writes to a dict, list or object that a list holds whose length only the run tells, and "
               "that this list or another may hold a second time");
  }
  RequireUnshared(node, Parts(item->content), {});
  ItemRef packed = PackItem(node, item, taking.type, list->value()->type.elements[0]);
  if (packed == item && item->is_value()) {  // the list takes no second name for it
    ir::Node* copy = Emit(node, "aten::list.t", {{"l", ir::Arg(item->value())}});
    copy->outputs.push_back(graph_.NewValue(item->value()->type));
    packed = Leaf(copy->output());
  }
  ir::Node* set = Emit(node, "aten::_set_item.t",
                       {{"l", ToArg(*list)}, {"idx", taking.index}, {"el", ToArg(*packed)}});
  set->outputs.push_back(graph_.NewValue(list->value()->type));
  if (list->held) NoteHeldWrite(node, *list);
}

void Converter::PutBackWritten(const JitNode* node) {
  for (size_t i = 0; i < written_takings_.size(); ++i) {
    const std::shared_ptr<const Taking> taking = written_takings_[i];
    PutBack(node, *taking);
  }
  written_takings_.clear();
}

}  // namespace rules_onnx::script
