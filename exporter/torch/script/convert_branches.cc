// Branches that the inputs decide; all others are followed.
#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "exporter/torch/script/converter.h"
#include "exporter/torch/values/tensors.h"

namespace rules_onnx::script {
// Converts one side into a block of its own; whatever it changed of outer items is undone and
// handed back.
Converter::Branch Converter::ConvertInner(const Side& side) {
  Branch branch;
  branch.block = std::make_unique<ir::Block>();
  ir::Block* const outer = block_;
  const std::vector<int> contexts = contexts_;
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
    contexts_ = contexts;
  };
  try {
    branch.raises = side.convert();
    if (!branch.raises) {
      for (const JitValue* result : side.results) branch.outputs.push_back(At(result));
    }
  } catch (...) {
    leave();
    throw;
  }
  leave();
  return branch;
}

bool Converter::ConvertIf(const JitNode* node) {
  const auto side = [&](const JitBlock* block) {
    return Side{[this, block] { return ConvertBlock(block); },
                {block->outputs().begin(), block->outputs().end()}};
  };
  return ConvertBranches(node, node, At(node->input(0)), side(node->blocks()[0]),
                         side(node->blocks()[1]));
}

// True if the program raises on both sides, or on the one that is known to be taken. `chooser`: the
// If that another form of the program can do without.
bool Converter::ConvertBranches(const JitNode* node, const JitNode* chooser,
                                const ItemRef& condition, const Side& first, const Side& second) {
  const auto follow = [&](const Side& side) {
    if (side.convert()) return true;
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      Define(node->outputs()[i], At(side.results[i]));
    }
    return false;
  };
  if (const auto known = ConstantBool(condition)) return follow(*known ? first : second);
  const auto convert = [&](const Side& side, bool decided) {
    const auto outer = decided_;
    decided_[condition->value()] = decided;
    const auto restore = [&] { decided_ = outer; };
    try {
      Branch branch = ConvertInner(side);
      restore();
      return branch;
    } catch (const RaisedError&) {
      restore();
      Branch branch;
      branch.raises = true;
      return branch;
    } catch (...) {
      restore();
      throw;
    }
  };
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    try {
      Merge merge;
      merge.node = node;
      merge.chooser = chooser;
      merge.condition = ToArg(*condition);
      merge.a = convert(first, true);
      merge.b = convert(second, false);
      if (merge.a.raises && merge.b.raises) return true;
      if (merge.a.raises || merge.b.raises) {
        Warn(node, "dropped-check",
             "a check that depends on the inputs is dropped: the exported model does not raise");
        return follow(merge.a.raises ? second : first);
      }
      if (node->kind() == c10::prim::If) AddPoint(node, DynamicPoint::Kind::kCondition);
      merge.emitted = graph_.NewNode("prim::If", {{"cond", merge.condition}});
      std::vector<ItemRef> outputs;
      for (size_t i = 0; i < node->outputs().size(); ++i) {
        outputs.push_back(MergeItems(&merge, merge.a.outputs[i], merge.b.outputs[i]));
      }
      MergeChanges(&merge);
      PlaceIf(&merge);
      for (size_t i = 0; i < outputs.size(); ++i) Define(node->outputs()[i], outputs[i]);
      return false;
    } catch (const NeedsValue& needs) {
      MakeValue(node, needs.item);
    }
  }
  Fail(node, "has branches that cannot be brought together");
}

void Converter::PlaceIf(Merge* merge) {
  ir::Node* placed = Emit(merge->node, "prim::If", std::move(merge->emitted->args));
  placed->outputs = std::move(merge->emitted->outputs);
  placed->blocks.push_back(std::move(merge->a.block));
  placed->blocks.push_back(std::move(merge->b.block));
}

// Of two tensors that an If gives.
void Converter::RequireOneType(const Merge& merge, const ir::Type& a, const ir::Type& b) {
  if (!a.is_tensor() || !b.is_tensor()) return;
  const bool dtypes =
      a.dtype != b.dtype && a.dtype != ir::DType::kUndefined && b.dtype != ir::DType::kUndefined;
  const bool ranks = a.shape && b.shape && a.shape->size() != b.shape->size();
  if (dtypes || ranks) Restructure(merge.chooser);
  if (dtypes) {
    Fail(merge.node,
         "gives tensors of different dtypes in its two branches, up to a result of the "
         "program or of a loop's body: in ONNX it has one");
  }
}

// Asks for the program in another form, unless it was found that there is none.
void Converter::Restructure(const JitNode* node) const {
  if (node->kind() != c10::prim::If && node->kind() != c10::prim::Loop) return;
  if (!input_.as_it_is.count(node)) throw NeedsRestructuring{{node, std::nullopt}};
}

// One item for two branches' results; where they differ, a result of the If.
ItemRef Converter::MergeItems(Merge* merge, const ItemRef& a, const ItemRef& b) {
  const JitNode* node = merge->node;
  if (a == b) return a;
  if (a->content.unset && a->is_none()) {
    return b->is_none() ? b : MergeItems(merge, Filler(node, b), b);
  }
  if (b->content.unset && b->is_none()) {
    return a->is_none() ? a : MergeItems(merge, a, Filler(node, a));
  }
  if (MustChoose(merge, a, b)) return MergeChoices(merge, a, b);
  if (a->is_entry() != b->is_entry()) {
    return MergeItems(merge, Entry(node, a, b), Entry(node, b, a));
  }
  if (a->is_leaf() && b->is_leaf() && SameContent(*a, *b)) return a;
  if (a->is_none() || b->is_none() || a->is_optional() != b->is_optional()) {
    return MergeItems(merge, Optional(node, a, b), Optional(node, b, a));
  }
  if (IsText(*a) && IsText(*b)) return MergeTexts(merge, a, b);
  if (AreMixed(*a, *b)) {
    const ItemRef number = MergeParts(merge, AsNumber(a), AsNumber(b));
    number->chosen_by = merge->chooser;
    return number;
  }
  if (a->is_leaf() && b->is_leaf()) return MergeLeaves(merge, a, b);
  const bool parts = a->kind() == b->kind() && a->content.keys == b->content.keys &&
                     a->content.items.size() == b->content.items.size();
  if (parts && a->kind() != Item::Kind::kObject) return MergeParts(merge, a, b);
  const auto sequence = [](const Item& item) {
    return item.is_list() || (item.is_value() && item.value()->type.is_list());
  };
  if (sequence(*a) && sequence(*b)) {
    const auto form = [](const ItemRef& list) {
      return list->is_value() ? list->value()->type : ir::Type();
    };
    return MergeLeaves(merge, ListValueIn(node, a, merge->a, form(b)),
                       ListValueIn(node, b, merge->b, form(a)));
  }
  if (a->has_identity() && b->has_identity() && !merge->copies) return MergeChoices(merge, a, b);
  Fail(node, "gives values of different structure in its two branches");
}

ItemRef Converter::ListValueIn(const JitNode* node, const ItemRef& list, const Branch& branch,
                               const ir::Type& form) {
  ir::Block* const outer = std::exchange(block_, branch.block.get());
  ir::Value* value = ListValue(node, list, form);
  block_ = outer;
  return Leaf(value);
}

ItemRef Converter::MergeParts(Merge* merge, const ItemRef& a, const ItemRef& b) {
  ItemRef merged = NewLike(*a);
  merged->content.unordered = a->content.unordered || b->content.unordered;
  merged->held = a->held || b->held;
  for (size_t i = 0; i < a->content.items.size(); ++i) {
    merged->content.items.push_back(MergeItems(merge, a->content.items[i], b->content.items[i]));
  }
  // Neither a filler nor what one branch made stands for a list that is there after both.
  return merged->content.items == a->content.items && !a->has_identity() ? a : merged;
}

ItemRef Converter::MergeLeaves(Merge* merge, const ItemRef& a, const ItemRef& b) {
  if (ConstantBool(a) == true && ConstantBool(b) == false) return Leaf(merge->condition);
  if (ConstantBool(a) == false && ConstantBool(b) == true) {
    return Negated(merge->node, Leaf(merge->condition));
  }
  const ir::Type left = TypeOfItem(*a), right = TypeOfItem(*b);
  if (!a->content.unset && !b->content.unset) RequireOneType(*merge, left, right);
  // What nothing reads is of another size, perhaps: a run allocates by the sizes that are stated.
  const bool joined = left.kind == right.kind && left.dtype == right.dtype;
  ir::Value* output = graph_.NewValue(joined || (!a->content.unset && !b->content.unset)
                                          ? JoinTypes(left, right)
                                          : (a->content.unset ? right : left));
  merge->emitted->outputs.push_back(output);
  merge->a.block->results.push_back(a->content.leaf);
  merge->b.block->results.push_back(b->content.leaf);
  ItemRef merged = Given(output);
  merged->held = a->held || b->held;
  return merged;
}

ItemRef Converter::Filler(const JitNode* node, const ItemRef& like) {
  // A list that is there already saves a choice.
  if (like->is_constant() || (like->has_identity() && IsOuter(*like))) return like;
  if (like->kind() == Item::Kind::kObject || like->is_choice()) {
    Fail(node, "gives an object in one branch only");
  }
  if (!like->is_leaf()) {
    ItemRef whole = NewLike(*like);
    whole->content.unset = like->has_identity();
    for (const ItemRef& part : like->content.items) {
      whole->content.items.push_back(Filler(node, part));
    }
    return whole;
  }
  return FillerOf(node, like->value()->type);
}

ItemRef Converter::FillerOf(const JitNode* node, const ir::Type& type) {
  switch (type.kind) {
    case ir::Type::Kind::kBool: return Unset(false);
    case ir::Type::Kind::kInt: return Unset(int64_t{0});
    case ir::Type::Kind::kFloat: return Unset(0.0);
    case ir::Type::Kind::kList: {
      ItemRef list = ListOf({});
      list->content.unset = true;
      return list;
    }
    case ir::Type::Kind::kTuple: {
      ItemRef tuple = NewItem(Item::Kind::kTuple);
      tuple->field_names = type.field_names;
      for (const ir::Type& element : type.elements) {
        tuple->content.items.push_back(FillerOf(node, element));
      }
      return tuple;
    }
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
void Converter::MergeChanges(Merge* merge) {
  std::vector<ItemRef> items;
  for (const Branch* branch : {&merge->a, &merge->b}) {
    for (const auto& [item, content] : branch->changed) {
      if (std::find(items.begin(), items.end(), item) == items.end()) items.push_back(item);
    }
  }
  std::vector<std::pair<ItemRef, Item::Content>> merged;
  for (const ItemRef& item : items) {
    Item::Content left = ContentAfter(merge->a, item), right = ContentAfter(merge->b, item);
    if (item->is_list() && left.items.size() != right.items.size()) throw NeedsValue{item};
    if (!(left.keys == right.keys)) MergeKeys(merge->node, &left, &right);
    Item::Content result = left;
    result.unordered = left.unordered || right.unordered;
    for (size_t i = 0; i < left.items.size(); ++i) {
      result.items[i] = MergeItems(merge, left.items[i], right.items[i]);
    }
    for (size_t i = 0; item->kind() == Item::Kind::kDict && i < result.items.size(); ++i) {
      for (size_t j = i + 1; j < result.items.size(); ++j) {
        const bool both =
            Implies(left.items[j], left.items[i]) && Implies(right.items[j], right.items[i]);
        if (both) NoteImplied(result.items[j], result.items[i]);
      }
    }
    for (const Item::Content* side : {&left, &right}) {
      for (const auto& [name, unused] : side->attributes) {
        if (result.attributes.count(name) && side == &right && left.attributes.count(name))
          continue;
        const ItemRef from_a =
            left.attributes.count(name) ? left.attributes[name] : Attribute(item, name);
        const ItemRef from_b =
            right.attributes.count(name) ? right.attributes[name] : Attribute(item, name);
        result.attributes[name] = MergeItems(merge, from_a, from_b);
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
