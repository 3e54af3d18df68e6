// What a loop carries from iteration to iteration: parameters of its body for leaves; lists, dicts
// and objects that other names stand for as well are carried as what they are.
#include <algorithm>
#include <functional>
#include <utility>

#include "exporter/torch/script/converter.h"

namespace rules_onnx::script {

// A parameter of the loop's body for each leaf of what is carried. Objects, and lists and dicts
// that no copy can stand for, are themselves; of a choice among them, the flags are carried.
ItemRef Converter::LoopParam(const ItemRef& initial, const ir::Type& seen, const LoopPlan& plan,
                             LoopAttempt* attempt) {
  if (initial->kind() == Item::Kind::kObject || initial->is_string() ||
      plan.kept.count(initial.get())) {
    return initial;
  }
  const auto part = [&](const ItemRef& item, const ir::Type& type) {
    return LoopParam(item, type, plan, attempt);
  };
  if (initial->is_choice()) {
    std::vector<ItemRef> flags;
    for (const ItemRef& flag : initial->content.flags) flags.push_back(part(flag, ir::Type()));
    return NewChoice(initial->content.items, std::move(flags), initial->chosen_by);
  }
  ItemRef whole;
  if (initial->is_leaf()) {
    ir::Value* param = graph_.NewValue(JoinTypes(TypeOfItem(*initial), seen));
    attempt->head.params.push_back(param);
    attempt->carried.push_back(initial->content.leaf);
    whole = Given(param);
    whole->held = initial->held;
  } else {
    whole = NewLike(*initial);
  }
  const auto& elements = seen.elements;
  for (size_t i = 0; i < initial->content.items.size(); ++i) {
    ir::Type type;
    if (initial->is_optional()) {
      if (i == 1 && seen.kind == ir::Type::Kind::kOptional) type = elements[0];
    } else if (initial->kind() == Item::Kind::kTuple ? i < elements.size() : !elements.empty()) {
      type = initial->kind() == Item::Kind::kTuple ? elements[i] : elements.back();
    }
    // All values of a dict were seen as one.
    const ir::Type own = TypeOfItem(*initial->content.items[i]);
    if (initial->kind() == Item::Kind::kDict && own.shape && !type.shape) {
      type = own;
      type.shape->assign(own.shape->size(), ir::Dim::Unknown());
    }
    whole->content.items.push_back(part(initial->content.items[i], type));
  }
  if (whole->has_identity()) attempt->copied[whole.get()] = initial;
  return whole;
}

ItemRef Converter::Snapshot(const ItemRef& item, LoopAttempt* attempt) {
  const auto copied = attempt->copied.find(item.get());
  if (item->has_identity() && copied == attempt->copied.end()) return item;
  auto copy = std::make_shared<Item>(*item);
  for (ItemRef& part : copy->content.items) part = Snapshot(part, attempt);
  if (item->has_identity()) attempt->copied[copy.get()] = copied->second;
  return copy;
}

// Whether an iteration leaves a parameter, which was as `before`, as it is.
bool Converter::IsInvariant(const ItemRef& param, const ItemRef& before, const ItemRef& result,
                            const LoopAttempt& attempt) {
  if (!param->has_identity()) {
    if (param->is_leaf() || result->has_identity()) return SameContent(*before, *result);
    if (!SameStructure(*before, *result)) return false;
    for (size_t i = 0; i < param->content.items.size(); ++i) {
      if (!IsInvariant(param->content.items[i], before->content.items[i], result->content.items[i],
                       attempt)) {
        return false;
      }
    }
    return true;
  }
  if (!attempt.copied.count(param.get())) return IsSame(*param, *result);
  return param == result && SameContent(*before, *result);
}

// False if the initial value has to take another form first.
bool Converter::CarriedResult(const JitNode* node, const ItemRef& param, const ItemRef& initial,
                              const ItemRef& result, LoopAttempt* attempt) {
  const auto carried = [&](const ItemRef& as) {
    return CarriedResult(node, param, initial, as, attempt);
  };
  ir::Block* const body = attempt->branch.block.get();
  if (result->content.unset && result->is_none()) return carried(Filler(node, param));
  if (param->is_entry() && !result->is_entry()) return carried(Entry(node, result, param));
  if (param->is_optional() && !result->is_optional()) return carried(Optional(node, result, param));
  if (param->is_choice()) {
    for (const ItemRef& item : param->content.items) {
      ItemRef flag = Leaf(item == result);
      for (size_t i = 0; i < result->content.flags.size(); ++i) {
        if (result->content.items[i] == item) flag = result->content.flags[i];
      }
      body->results.push_back(flag->content.leaf);
    }
    return true;
  }
  if (param->has_identity() && !attempt->copied.count(param.get())) {
    if (param != result && !result->content.unset) Fail(node, "carries different objects");
    return true;
  }
  if (param->is_string()) {
    if (!SameContent(*param, *result)) Fail(node, "carries a str that is not among those known");
    return true;
  }
  if (param->is_text() && result->is_string()) return carried(AsText(result));
  if (param->is_number() && IsIntOrFloat(*result) && result->is_leaf()) return carried(AsNumber(result));
  if (param->is_leaf() && result->is_leaf()) {
    const ir::Type before = TypeOfItem(*initial), after = TypeOfItem(*result);
    const bool tensors = before.is_tensor() && after.is_tensor() && !initial->content.unset;
    if (tensors && before.dtype != ir::DType::kUndefined && before.dtype != after.dtype) {
      Restructure(node);
      Fail(node, "carries a tensor whose dtype goes on changing: in ONNX it keeps one");
    }
    body->results.push_back(result->content.leaf);
    return true;
  }
  if (param->is_value() && param->value()->type.is_list() && result->is_list()) {
    ir::Block* const outer = std::exchange(block_, body);
    body->results.push_back(ir::Arg(ListValue(node, result, param->value()->type)));
    block_ = outer;
    return true;
  }
  const bool parts = param->kind() == result->kind() &&
                     (param->is_text() || param->content.keys == result->content.keys) &&
                     param->content.items.size() == result->content.items.size();
  if (param->is_list() && !parts) {
    MakeValue(node, initial, result->is_value() ? result->value()->type : ir::Type());
    return false;
  }
  if (!parts) Fail(node, "carries a value that changes its structure");
  for (size_t i = 0; i < param->content.items.size(); ++i) {
    if (!CarriedResult(node, param->content.items[i], initial->content.items[i],
                       result->content.items[i], attempt)) {
      return false;
    }
  }
  return true;
}

ItemRef Converter::LoopOutput(const ItemRef& param, const LoopAttempt& attempt,
                              const std::vector<ir::Type>& result_types, size_t* next,
                              ir::Node* emitted) {
  const auto output_of = [&](const ItemRef& part) {
    return LoopOutput(part, attempt, result_types, next, emitted);
  };
  if (param->is_choice()) {
    std::vector<ItemRef> flags;
    for (const ItemRef& flag : param->content.flags) flags.push_back(output_of(flag));
    return NewChoice(param->content.items, std::move(flags), param->chosen_by);
  }
  if (param->has_identity() && !attempt.copied.count(param.get())) return param;
  if (param->is_string()) return param;
  if (param->is_leaf()) {
    // After no iteration it is the initial value, after some a result.
    ir::Value* output = graph_.NewValue(JoinTypes(param->value()->type, result_types[(*next)++]));
    emitted->outputs.push_back(output);
    ItemRef given = Given(output);
    given->held = param->held;
    return given;
  }
  ItemRef whole = NewLike(*param);
  for (const ItemRef& part : param->content.items) whole->content.items.push_back(output_of(part));
  return whole;
}

bool Converter::FitInitial(const JitNode* node, const ItemRef& param, const ItemRef& result,
                           const LoopAttempt& attempt, LoopPlan* plan, ItemRef* initial) {
  const ItemRef before = *initial;
  if (result->content.unset && (result->is_none() || result->has_identity())) return false;
  if (before->content.unset && before->is_none()) {
    if (result->is_none()) return false;
    *initial = Filler(node, result);
    return *initial != before;
  }
  if (!before->is_optional() && (before->is_none() != result->is_none() || result->is_optional())) {
    *initial = Optional(node, before, result);
    return *initial != before;
  }
  if (before->is_string() && result->is_value()) {  // made of values: what nothing can ask for
    *initial = Leaf(before->content.leaf);
    MakeValue(node, *initial);
    return true;
  }
  if (IsText(*before) && IsText(*result)) {
    if (before->is_string() && SameContent(*before, *result)) return false;
    const ItemRef joined = JoinText(before, result);
    if (before->is_text() && joined->content.keys == before->content.keys) return false;
    *initial = joined;
    return true;
  }
  if (before->is_leaf() && AreMixed(*before, *result)) {
    *initial = AsNumber(before);
    return true;
  }
  if (result->held && !before->held && attempt.copied.count(param.get())) {
    *initial = NewLike(*before);
    (*initial)->content.items = before->content.items;
    (*initial)->held = true;
    return true;
  }
  if (before->has_identity()) {
    const bool copied = attempt.copied.count(param.get()) > 0;
    if (!copied || (param != result && attempt.shared.count(result.get()))) {
      return FitChoice(node, result, attempt, plan, initial);
    }
  }
  const std::vector<ItemRef>& parts = before->content.items;
  if (before->is_leaf() || before->kind() != result->kind() ||
      parts.size() != result->content.items.size() || before->is_choice()) {
    return false;
  }
  ItemRef whole = NewLike(*before);
  bool changed = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    whole->content.items.push_back(parts[i]);
    changed = FitInitial(node, param->content.items[i], result->content.items[i], attempt, plan,
                         &whole->content.items[i]) ||
              changed;
  }
  if (changed) *initial = whole;
  return changed;
}

// What a loop carries is one of several lists, dicts or objects: makes `initial` a choice among
// those.
bool Converter::FitChoice(const JitNode* node, const ItemRef& result, const LoopAttempt& attempt,
                          LoopPlan* plan, ItemRef* initial) {
  ItemRef before = *initial;
  std::vector<ItemRef> items = before->content.items, flags = before->content.flags;
  bool changed = false;
  if (!before->is_choice()) {
    changed = plan->kept.insert(before.get()).second;
    items = {before};
    flags = {Leaf(true)};
  }
  for (const ItemRef& item :
       result->is_choice() ? result->content.items : std::vector<ItemRef>{result}) {
    ItemRef outer = item;
    if (const auto copied = attempt.copied.find(item.get()); copied != attempt.copied.end()) {
      outer = copied->second;
      changed = plan->kept.insert(outer.get()).second || changed;
    } else if (!IsOuter(*item)) {
      Fail(node,
           "carries a list, dict or object that each iteration makes anew, which is written to "
           "and read under another name; copy it first");
    }
    if (std::find(items.begin(), items.end(), outer) != items.end()) continue;
    items.push_back(outer);
    flags.push_back(Leaf(false));
  }
  if (items.size() == (before->is_choice() ? before->content.items.size() : 1)) return changed;
  *initial = NewChoice(std::move(items), std::move(flags), node);
  return true;
}

// Results that no copy can stand for.
void Converter::NoteShared(const JitNode* node, const LoopPlan& plan, LoopAttempt* attempt) {
  const std::vector<ItemRef>& outputs = attempt->branch.outputs;
  if (attempt->branch.raises) return;
  std::unique_ptr<Sharing> sharing;
  const std::function<void(const ItemRef&)> note = [&](const ItemRef& item) {
    if (item->has_identity()) {
      if (sharing == nullptr) sharing = SharingAfter(node, outputs, &attempt->branch);
      if (item->is_choice() || sharing->KeepsIdentity(*item)) attempt->shared.insert(item.get());
    }
    if (item->is_choice()) return;
    for (const ItemRef& part : ContentAfter(attempt->branch, item).items) note(part);
  };
  for (size_t i = 0; i < plan.state.size(); ++i) note(outputs[i + 1]);
  for (const ItemRef& result : attempt->slot_results) {
    if (result != nullptr) note(result);
  }
}

}  // namespace rules_onnx::script
