// Branches that the inputs decide; all others are followed.
#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "exporter/torch/script/converter.h"
#include "exporter/torch/values/tensors.h"

namespace rules_onnx::script {

// Converts an inner block into a block of its own; whatever it changed of outer items is undone
// and handed back.
Converter::Branch Converter::ConvertInner(const JitBlock* block) {
  Branch branch;
  branch.block = std::make_unique<ir::Block>();
  ir::Block* const outer = block_;
  block_ = branch.block.get();
  journals_.emplace_back();
  const auto leave = [&] {
    Journal journal = std::move(journals_.back());
    journals_.pop_back();
    for (auto& [item, before] : journal.before) {
      branch.changed.emplace_back(item, item->content);
      item->content = std::move(before);
    }
    block_ = outer;
  };
  try {
    branch.raises = ConvertBlock(block);
    if (!branch.raises) {
      for (const JitValue* output : block->outputs()) branch.outputs.push_back(At(output));
    }
  } catch (...) {
    leave();
    throw;
  }
  leave();
  return branch;
}

bool Converter::ConvertIf(const JitNode* node) {
  const ItemRef condition = At(node->input(0));
  const auto follow = [&](const JitBlock* block) {
    if (ConvertBlock(block)) return true;
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      Define(node->outputs()[i], At(block->outputs()[i]));
      if (untrusted_values_.count(block->outputs()[i])) {
        untrusted_values_.insert(node->outputs()[i]);
      }
    }
    return false;
  };
  if (const auto known = ConstantBool(condition)) return follow(node->blocks()[*known ? 0 : 1]);
  const bool untrusted = Untrusted(node);
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    try {
      Branch a = ConvertInner(node->blocks()[0]);
      Branch b = ConvertInner(node->blocks()[1]);
      if (a.raises && b.raises) return true;
      if (a.raises || b.raises) {
        Warn(node, "dropped-check",
             "a check that depends on the inputs is dropped: the exported model does not raise");
        return follow(node->blocks()[a.raises ? 1 : 0]);
      }
      AddPoint(node, DynamicPoint::Kind::kCondition);
      auto emitted = graph_.NewNode("prim::If", {{"cond", ToArg(*condition)}});
      std::vector<ItemRef> outputs;
      for (size_t i = 0; i < node->outputs().size(); ++i) {
        RequireUnshared(node, *a.outputs[i], *b.outputs[i], {node->outputs()[i]});
        outputs.push_back(MergeItems(node, a.outputs[i], b.outputs[i], &a, &b, emitted.get()));
        const bool inner = untrusted_values_.count(node->blocks()[0]->outputs()[i]) > 0 ||
                           untrusted_values_.count(node->blocks()[1]->outputs()[i]) > 0;
        if (untrusted || inner) untrusted_values_.insert(node->outputs()[i]);
      }
      MergeChanges(node, &a, &b, emitted.get());
      PlaceIf(node, emitted.get(), &a, &b);
      for (size_t i = 0; i < outputs.size(); ++i) Define(node->outputs()[i], outputs[i]);
      return false;
    } catch (const NeedsValue& needs) {
      MakeValue(node, needs.item);
    }
  }
  Fail(node, "has branches that cannot be brought together");
}

void Converter::PlaceIf(const JitNode* node, ir::Node* emitted, Branch* a, Branch* b) {
  ir::Node* placed = Emit(node, "prim::If", std::move(emitted->args));
  placed->outputs = std::move(emitted->outputs);
  placed->blocks.push_back(std::move(a->block));
  placed->blocks.push_back(std::move(b->block));
}

// Of two tensors that an If gives.
void Converter::RequireOneType(const JitNode* node, const ir::Type& a, const ir::Type& b) {
  if (!a.is_tensor() || !b.is_tensor()) return;
  const bool dtypes = a.dtype != b.dtype && a.dtype != ir::DType::kUndefined &&
                      b.dtype != ir::DType::kUndefined;
  const bool ranks = a.shape && b.shape && a.shape->size() != b.shape->size();
  if (dtypes || ranks) Restructure(node);
  if (dtypes) {
    Fail(node, "gives tensors of different dtypes in its two branches, up to a result of the program "
               "or of a loop's body: in ONNX it has one");
  }
}

// Of two items one of which the run chooses: a container is copied then, and must be no one else's.
void Converter::RequireUnshared(const JitNode* node, const Item& a, const Item& b,
                                const torch::jit::ValueSet& names) const {
  if (!aliases_ || SameContent(a, b) || !(a.is_container() || b.is_container())) return;
  if (IsSharedLater(*aliases_, node, names)) {
    Fail(node, "takes one of several lists or dicts, as the inputs decide, which is written to and "
               "read under another name; copy it first");
  }
}

// Asks for the program in another form, unless it was found that there is none.
void Converter::Restructure(const JitNode* node) const {
  if (!input_.as_it_is.count(node)) throw NeedsRestructuring{node};
}

// One item for two branches' results; where they differ, a result of the emitted If.
ItemRef Converter::MergeItems(const JitNode* node, const ItemRef& a, const ItemRef& b,
                              Branch* branch_a, Branch* branch_b, ir::Node* emitted) {
  const auto merge = [&](const ItemRef& left, const ItemRef& right) {
    return MergeItems(node, left, right, branch_a, branch_b, emitted);
  };
  if (a->content.unset && a->is_none()) return b->is_none() ? b : merge(Filler(node, b), b);
  if (b->content.unset && b->is_none()) return a->is_none() ? a : merge(a, Filler(node, a));
  if (SameContent(*a, *b)) return a;
  const auto merged_leaf = [&](ir::Arg left, ir::Arg right) {
    const ir::Type left_type = TypeOfArg(left), right_type = TypeOfArg(right);
    if (!a->content.unset && !b->content.unset) RequireOneType(node, left_type, right_type);
    ir::Value* output = graph_.NewValue(a->content.unset   ? right_type
                                        : b->content.unset ? left_type
                                                           : JoinTypes(left_type, right_type));
    emitted->outputs.push_back(output);
    branch_a->block->results.push_back(std::move(left));
    branch_b->block->results.push_back(std::move(right));
    return Leaf(output);
  };
  if (a->is_entry() != b->is_entry()) return merge(Entry(node, a, b), Entry(node, b, a));
  if (a->is_none() || b->is_none() || a->is_optional() != b->is_optional()) {
    return merge(Optional(node, a, b), Optional(node, b, a));
  }
  if (a->is_leaf() && b->is_leaf()) return merged_leaf(a->content.leaf, b->content.leaf);
  if (SameStructure(*a, *b) && a->kind() != Item::Kind::kObject) {
    ItemRef merged = NewLike(*a);
    merged->content.unordered = a->content.unordered || b->content.unordered;
    for (size_t i = 0; i < a->content.items.size(); ++i) {
      merged->content.items.push_back(MergeItems(node, a->content.items[i], b->content.items[i],
                                                 branch_a, branch_b, emitted));
    }
    return merged;
  }
  const auto sequence = [](const Item& item) {
    return item.is_list() || (item.is_value() && item.value()->type.is_list());
  };
  if (sequence(*a) && sequence(*b)) {
    const auto value_in = [&](const ItemRef& item, Branch* branch) {
      ir::Block* const outer = block_;
      block_ = branch->block.get();
      ir::Value* value = ListValue(node, item);
      block_ = outer;
      return value;
    };
    return merged_leaf(value_in(a, branch_a), value_in(b, branch_b));
  }
  Fail(node, "gives values of different structure in its two branches");
}

ItemRef Converter::Filler(const JitNode* node, const ItemRef& like) {
  if (like->is_constant() || like->kind() == Item::Kind::kObject) return like;
  if (!like->is_leaf()) {
    ItemRef whole = NewLike(*like);
    for (const ItemRef& part : like->content.items) {
      whole->content.items.push_back(Filler(node, part));
    }
    return whole;
  }
  const ir::Type& type = like->value()->type;
  switch (type.kind) {
    case ir::Type::Kind::kBool: return Unset(false);
    case ir::Type::Kind::kInt: return Unset(int64_t{0});
    case ir::Type::Kind::kFloat: return Unset(0.0);
    case ir::Type::Kind::kList: return ListOf({});
    case ir::Type::Kind::kTensor: break;
    default: Fail(node, "gives a value in one branch only");
  }
  const auto dtype = torch_values::ScalarTypeOf(type.dtype);
  if (!dtype || ir::IsQuantized(type.dtype)) Fail(node, "gives a value in one branch only");
  // Of the same sizes where that costs little, as ONNX's inference compares both branches.
  constexpr int64_t kMaxElements = 256;
  const ir::Shape shape = type.shape.value_or(ir::Shape());
  std::vector<int64_t> sizes(shape.size(), 1);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (shape[i].is_number()) sizes[i] = shape[i].value();
  }
  if (c10::multiply_integers(sizes) > kMaxElements) sizes.assign(sizes.size(), 1);
  return Unset(torch_values::LiteralOf(at::zeros(sizes, *dtype)));
}

ItemRef Converter::Optional(const JitNode* node, const ItemRef& item, const ItemRef& like) {
  if (item->is_optional()) return item;
  const ItemRef& form = like->is_optional() ? like->content.items[1] : like;
  ItemRef optional = NewItem(Item::Kind::kOptional);
  optional->content.items = {Leaf(!item->is_none()), item->is_none() ? Filler(node, form) : item};
  return optional;
}

Item::Content Converter::ContentAfter(const Branch& branch, const ItemRef& item) const {
  for (const auto& [changed, content] : branch.changed) {
    if (changed == item) return content;
  }
  return item->content;
}

// Outer items that a branch changed get what holds after the If.
void Converter::MergeChanges(const JitNode* node, Branch* a, Branch* b, ir::Node* emitted) {
  std::vector<ItemRef> items;
  for (const Branch* branch : {a, b}) {
    for (const auto& [item, content] : branch->changed) {
      if (std::find(items.begin(), items.end(), item) == items.end()) items.push_back(item);
    }
  }
  std::vector<std::pair<ItemRef, Item::Content>> merged;
  for (const ItemRef& item : items) {
    Item::Content left = ContentAfter(*a, item), right = ContentAfter(*b, item);
    if (item->is_list() && left.items.size() != right.items.size()) throw NeedsValue{item};
    if (!(left.keys == right.keys)) MergeKeys(node, &left, &right);
    Item::Content result = left;
    result.unordered = left.unordered || right.unordered;
    for (size_t i = 0; i < left.items.size(); ++i) {
      result.items[i] = MergeItems(node, left.items[i], right.items[i], a, b, emitted);
    }
    for (const Item::Content* side : {&left, &right}) {
      for (const auto& [name, unused] : side->attributes) {
        if (result.attributes.count(name) && side == &right && left.attributes.count(name)) continue;
        const ItemRef from_a = left.attributes.count(name) ? left.attributes[name]
                                                           : Attribute(item, name);
        const ItemRef from_b = right.attributes.count(name) ? right.attributes[name]
                                                            : Attribute(item, name);
        result.attributes[name] = MergeItems(node, from_a, from_b, a, b, emitted);
      }
    }
    merged.emplace_back(item, std::move(result));
  }
  for (auto& [item, content] : merged) {
    Mutate(item);
    item->content = std::move(content);
  }
}

}  // namespace rules_onnx::script
