// Loops whose course the inputs decide; all others are unrolled.
#include <algorithm>
#include <limits>
#include <utility>

#include "exporter/torch/script/converter.h"
#include "exporter/torch/script/restructure.h"

namespace rules_onnx::script {
namespace {

// Loops with a known count are unrolled up to this many nodes.
constexpr int64_t kMaxUnrolledNodes = 20000;

std::optional<int64_t> ConstantInt(const ItemRef& item) {
  if (!item->is_constant() || !item->content.leaf.is_int()) return std::nullopt;
  return item->content.leaf.as_int();
}

// Whether a list of known length has that length still.
bool KeepsLength(const Item& list, const Item::Content& after) {
  return after.kind == Item::Kind::kList && after.items.size() == list.content.items.size();
}

}  // namespace

bool Converter::ConvertLoop(const JitNode* node) {
  std::vector<ItemRef> state;
  for (size_t i = 2; i < node->inputs().size(); ++i) state.push_back(At(node->input(i)));
  ItemRef condition = At(node->input(1));
  int64_t iteration = 0;
  bool raised = false;
  if (!Unroll(node, &state, &condition, &iteration, &raised)) {
    if (!raised) ConvertDynamicLoop(node, std::move(state), condition, iteration);
    return raised;
  }
  for (size_t i = 0; i < state.size(); ++i) Define(node->outputs()[i], state[i]);
  return false;
}

// Follows the loop while its course is known; true if that is to its end.
bool Converter::Unroll(const JitNode* node, std::vector<ItemRef>* state, ItemRef* condition,
                       int64_t* iteration, bool* raised) {
  const JitBlock* body = node->blocks()[0];
  const auto trips = ConstantInt(At(node->input(0)));
  const bool counted = trips && *trips < std::numeric_limits<int64_t>::max();
  const int64_t limit =
      std::min(Contexts::kMaxIterations, kMaxUnrolledNodes / std::max<int64_t>(CountNodes(body), 1));
  if (trips && *trips <= 0) return true;
  if (!trips || (counted && *trips > limit)) return ConstantBool(*condition) == false;
  const std::vector<int> outer = contexts_;
  while (true) {
    const auto goes_on = ConstantBool(*condition);
    if (goes_on == false || *iteration >= *trips) return true;
    if (!goes_on || *iteration >= limit) return false;
    std::set<int> inside;
    for (const int context : outer) {
      const int child = input_.contexts->Find(context, node, *iteration);
      if (child >= 0) inside.insert(child);
    }
    contexts_.assign(inside.begin(), inside.end());
    Define(body->inputs()[0], Leaf(*iteration));
    for (size_t i = 0; i < state->size(); ++i) Define(body->inputs()[i + 1], (*state)[i]);
    *raised = ConvertBlock(body);
    contexts_ = outer;
    if (*raised) return false;
    *condition = At(body->outputs()[0]);
    for (size_t i = 0; i < state->size(); ++i) (*state)[i] = At(body->outputs()[i + 1]);
    ++*iteration;
  }
}

ItemRef Converter::SlotItem(const Slot& slot) {
  if (slot.holder->kind() == Item::Kind::kObject) return Attribute(slot.holder, slot.attribute);
  return slot.holder->content.items[slot.index];
}

void Converter::SetSlot(const Slot& slot, ItemRef item) {
  Mutate(slot.holder);
  if (slot.holder->kind() == Item::Kind::kObject) {
    slot.holder->content.attributes[slot.attribute] = std::move(item);
  } else {
    slot.holder->content.items[slot.index] = std::move(item);
  }
}

void Converter::ConvertDynamicLoop(const JitNode* node, std::vector<ItemRef> state,
                                   const ItemRef& condition, int64_t done) {
  const std::vector<int> inside = LoopContexts(node, done);
  AddPoint(node, DynamicPoint::Kind::kLoop);
  LoopPlan plan;
  plan.state = std::move(state);
  const auto sharing = SharingAfter(node, plan.state);
  const std::function<void(const ItemRef&)> keep = [&](const ItemRef& item) {
    if (item->has_identity() && !item->is_choice() && sharing->KeepsIdentity(*item)) {
      plan.kept.insert(item.get());
      return;
    }
    for (const ItemRef& part : item->content.items) keep(part);
  };
  for (const ItemRef& item : plan.state) keep(item);
  const size_t warnings = result_.warnings.size();
  const auto warned = warned_;
  for (int i = 0; i < kMaxAttempts; ++i) {
    // What an attempt that is void warned of may not be so.
    result_.warnings.erase(result_.warnings.begin() + static_cast<std::ptrdiff_t>(warnings),
                           result_.warnings.end());
    warned_ = warned;
    DropSlotsOfValues(&plan);
    LoopAttempt attempt;
    const bool complete = TryLoop(node, inside, done, plan, &attempt);
    if (complete && ChangePlan(node, attempt, &plan)) continue;
    if (complete && AddLoopResults(node, plan, &attempt)) {
      return EmitLoop(node, condition, done, plan, &attempt);
    }
    plan.invariant.clear();  // with a list as a value the body may do more
  }
  Fail(node, "carries values whose structure does not settle");
}

// A list that became a value has no items any more.
void Converter::DropSlotsOfValues(LoopPlan* plan) {
  for (size_t s = plan->slots.size(); s-- > 0;) {
    if (!plan->slots[s].holder->is_value()) continue;
    plan->slots.erase(plan->slots.begin() + static_cast<std::ptrdiff_t>(s));
    plan->slot_types.erase(plan->slot_types.begin() + static_cast<std::ptrdiff_t>(s));
  }
}

// What a loop leaves in an entry; null where the list has another length now.
ItemRef Converter::SlotResult(const JitNode* node, const Slot& slot, const Branch& branch) {
  const Item::Content after = ContentAfter(branch, slot.holder);
  switch (slot.holder->kind()) {
    case Item::Kind::kObject:
      return after.attributes.at(slot.attribute);
    case Item::Kind::kDict:
      return EntryAfter(node, after, slot.holder->content.keys[slot.index], SlotItem(slot));
    default:
      return KeepsLength(*slot.holder, after) ? after.items[slot.index] : nullptr;
  }
}

// The contexts of the iterations that were not unrolled.
std::vector<int> Converter::LoopContexts(const JitNode* node, int64_t done) const {
  std::set<int> inside;
  for (const int context : contexts_) {
    const std::vector<int> children = input_.contexts->Children(context, node);
    for (size_t i = static_cast<size_t>(std::min<int64_t>(
             done, static_cast<int64_t>(std::max<size_t>(children.size(), 1)) - 1));
         i < children.size(); ++i) {
      inside.insert(children[i]);
    }
  }
  return {inside.begin(), inside.end()};
}

void Converter::AddLoopParams(const JitNode* node, const std::vector<int>& inside,
                              const LoopPlan& plan, LoopAttempt* attempt) {
  const JitBlock* body = node->blocks()[0];
  // Parameters belong to the body: what it does to them is no change of outer items.
  journals_.emplace_back();
  for (size_t i = 0; i < plan.state.size(); ++i) {
    const ItemRef& initial = plan.state[i];
    const ir::Type seen =
        typing_.TypeOf(body->inputs()[i + 1], inside, Typing::Hints(), {});
    const ItemRef param = plan.invariant.count(i) || initial->is_none()
                              ? initial
                              : LoopParam(initial, seen, plan, attempt);
    Define(body->inputs()[i + 1], param);
    attempt->state_items.push_back(param);
    attempt->params.push_back(Snapshot(param, attempt));
  }
  for (size_t s = 0; s < plan.slots.size(); ++s) {
    attempt->slot_initials.push_back(SlotItem(plan.slots[s]));
    attempt->slot_items.push_back(
        LoopParam(attempt->slot_initials[s], plan.slot_types[s], plan, attempt));
    attempt->slot_params.push_back(Snapshot(attempt->slot_items[s], attempt));
  }
  // As it is before the loop, unless an attempt showed that it does not stay so.
  ForEachTwoEntries(plan.slots, [&](size_t first, size_t second) {
    const auto& initials = attempt->slot_initials;
    const Slot &one = plan.slots[first], &other = plan.slots[second];
    if (!plan.apart.count({one.holder.get(), one.index, other.index}) &&
        Implies(initials[second], initials[first])) {
      NoteImplied(attempt->slot_items[second], attempt->slot_items[first]);
    }
  });
  journals_.pop_back();
}

bool Converter::TryLoop(const JitNode* node, const std::vector<int>& inside, int64_t done,
                        const LoopPlan& plan, LoopAttempt* attempt) {
  ir::Value* index = graph_.NewValue(ir::Type::Scalar(ir::Type::Kind::kInt), "i");
  attempt->head.params.push_back(index);
  AddLoopParams(node, inside, plan, attempt);
  NoteParams(node, *attempt);
  const std::vector<int> outer = std::exchange(contexts_, inside);
  const JitNode* const outer_loop = std::exchange(loop_, node);
  const auto set_slots = [&](const std::vector<ItemRef>& items) {
    for (size_t s = 0; s < items.size(); ++s) SetSlot(plan.slots[s], items[s]);
  };
  set_slots(attempt->slot_items);
  const auto restore = [&] {
    contexts_ = outer;
    loop_ = outer_loop;
    set_slots(attempt->slot_initials);
  };
  Define(node->blocks()[0]->inputs()[0], Leaf(index));
  try {
    attempt->branch = ConvertLoopBody(node, index, done);
  } catch (const NeedsValue& needs) {
    restore();
    MakeValue(node, needs.item);
    return false;
  } catch (...) {
    restore();
    throw;
  }
  for (const Slot& slot : plan.slots) {
    attempt->slot_results.push_back(SlotResult(node, slot, attempt->branch));
  }
  NoteShared(node, plan, attempt);
  restore();
  if (DoubtsMore(node, plan, *attempt)) return false;
  for (size_t s = 0; s < plan.slots.size(); ++s) {
    if (attempt->slot_results[s] != nullptr) continue;
    MakeValue(node, plan.slots[s].holder);
    return false;
  }
  if (attempt->branch.raises) Fail(node, "raises an error in every iteration");
  return true;
}

bool Converter::ChangePlan(const JitNode* node, const LoopAttempt& attempt, LoopPlan* plan) {
  bool changed = false;
  for (size_t s = 0; s < attempt.slot_results.size(); ++s) {
    ir::Type& type = plan->slot_types[s];
    const ItemRef& result = attempt.slot_results[s];
    ir::Type left = TypeOfItem(*result);
    if (attempt.slot_params[s]->is_entry() && !result->is_entry()) {
      left = {.kind = ir::Type::Kind::kOptional, .elements = {std::move(left)}};
    }
    ir::Type joined = JoinTypes(type, left);
    changed = changed || joined.ToString() != type.ToString();
    type = std::move(joined);
  }
  for (const auto& [item, after] : attempt.branch.changed) {
    changed = AddSlots(node, item, after, &plan->slots) || changed;
  }
  plan->slot_types.resize(plan->slots.size());
  for (size_t s = 0; s < attempt.slot_results.size(); ++s) {
    ItemRef initial = attempt.slot_initials[s];
    if (!FitInitial(node, attempt.slot_items[s], attempt.slot_results[s], attempt, plan, &initial)) {
      continue;
    }
    SetSlot(plan->slots[s], initial);
    changed = true;
  }
  for (size_t i = 0; i < plan->state.size(); ++i) {
    if (plan->invariant.count(i)) continue;
    changed = FitInitial(node, attempt.state_items[i], attempt.branch.outputs[i + 1], attempt, plan,
                         &plan->state[i]) ||
              changed;
  }
  ForEachTwoEntries(plan->slots, [&](size_t first, size_t second) {
    const auto& results = attempt.slot_results;
    if (second >= results.size() || first >= results.size()) return;
    const bool assumed = Implies(attempt.slot_params[second], attempt.slot_params[first]);
    if (!assumed || Implies(results[second], results[first])) return;
    const Slot &one = plan->slots[first], &other = plan->slots[second];
    changed = plan->apart.emplace(one.holder.get(), one.index, other.index).second || changed;
  });
  if (changed) {  // what the body left alone it may change now
    plan->invariant.clear();
    return true;
  }
  for (size_t i = 0; i < plan->state.size(); ++i) {
    if (plan->invariant.count(i)) continue;
    if (IsInvariant(attempt.state_items[i], attempt.params[i], attempt.branch.outputs[i + 1], attempt)) {
      plan->invariant.insert(i);
      changed = true;
    }
  }
  return changed;
}

bool Converter::AddLoopResults(const JitNode* node, const LoopPlan& plan, LoopAttempt* attempt) {
  const Branch& branch = attempt->branch;
  ir::Block* block = branch.block.get();
  block->params = attempt->head.params;
  block->results.push_back(ToArg(*branch.outputs[0]));
  for (size_t i = 0; i < plan.state.size(); ++i) {
    if (!plan.invariant.count(i) && !CarriedResult(node, attempt->params[i], plan.state[i],
                                                   branch.outputs[i + 1], attempt)) {
      return false;
    }
  }
  for (size_t s = 0; s < plan.slots.size(); ++s) {
    if (!CarriedResult(node, attempt->slot_params[s], attempt->slot_initials[s],
                       attempt->slot_results[s], attempt)) {
      return false;
    }
  }
  return true;
}

// The iterations that were not unrolled.
ir::Arg Converter::TripCount(const JitNode* node, int64_t done) {
  ir::Arg trips = ToArg(*At(node->input(0)));
  if (done == 0) return trips;
  if (trips.is_int()) {
    const bool counted = trips.as_int() < std::numeric_limits<int64_t>::max();
    return counted ? ir::Arg(trips.as_int() - done) : trips;
  }
  return EmitScalar(node, "aten::sub.int", {{"a", trips}, {"b", done}}, ir::Type::Kind::kInt);
}

// What a truth value that a loop carries must be when the loop ends by its condition: as in
// `while True` whose every way out returns, which TorchScript writes with a flag that says so.
std::optional<bool> Converter::AtEnd(const ir::Arg& trips, const ItemRef& condition,
                                     const ItemRef& initial, const ItemRef& result,
                                     const Branch& body) const {
  const bool endless = trips.is_int() && trips.as_int() == std::numeric_limits<int64_t>::max();
  const auto agrees = Agrees(result, body.outputs[0]);
  if (!endless || !agrees) return std::nullopt;
  const bool runs = ConstantBool(condition) == true;
  if (runs || ConstantBool(initial) == !*agrees || Agrees(initial, condition) == agrees) {
    return !*agrees;
  }
  return std::nullopt;
}

void Converter::EmitLoop(const JitNode* node, const ItemRef& condition, int64_t done,
                         const LoopPlan& plan, LoopAttempt* attempt) {
  std::unique_ptr<ir::Block> block = std::move(attempt->branch.block);
  std::vector<ir::Type> result_types;
  for (size_t i = 1; i < block->results.size(); ++i) {
    result_types.push_back(TypeOfArg(block->results[i]));
    ir::Type& param = block->params[i]->type;
    if (param.is_list()) param = JoinTypes(param, result_types.back());
  }
  const ir::Arg trips = TripCount(node, done);
  ir::Node* loop = Emit(node, "prim::Loop",
                        {{"max_trip_count", trips},
                         {"cond", ToArg(*condition)},
                         {"carried", std::move(attempt->carried)}});
  loop->blocks.push_back(std::move(block));
  size_t next = 0;
  for (size_t i = 0; i < plan.state.size(); ++i) {
    ItemRef output = plan.state[i];
    if (!plan.invariant.count(i)) {
      output = LoopOutput(attempt->params[i], *attempt, result_types, &next, loop);
      const auto known =
          AtEnd(trips, condition, plan.state[i], attempt->branch.outputs[i + 1], attempt->branch);
      if (known) output = Leaf(*known);
    }
    Define(node->outputs()[i], std::move(output));
  }
  for (size_t s = 0; s < plan.slots.size(); ++s) {
    SetSlot(plan.slots[s],
            LoopOutput(attempt->slot_params[s], *attempt, result_types, &next, loop));
  }
  ForEachTwoEntries(plan.slots, [&](size_t first, size_t second) {
    if (Implies(attempt->slot_params[second], attempt->slot_params[first])) {
      NoteImplied(SlotItem(plan.slots[second]), SlotItem(plan.slots[first]));
    }
  });
}

// The body with its counter, which goes on from the iterations that were unrolled before it.
Converter::Branch Converter::ConvertLoopBody(const JitNode* node, ir::Value* index, int64_t done) {
  const JitBlock* body = node->blocks()[0];
  const Side side = {[&] { return ConvertBlock(body); },
                     {body->outputs().begin(), body->outputs().end()}};
  if (done == 0) return ConvertInner(side);
  auto add = graph_.NewNode("aten::add.int", {{"a", ir::Arg(index)}, {"b", done}});
  add->outputs.push_back(graph_.NewValue(ir::Type::Scalar(ir::Type::Kind::kInt)));
  Define(body->inputs()[0], Leaf(add->output()));
  Branch branch = ConvertInner(side);
  branch.block->nodes.insert(branch.block->nodes.begin(), std::move(add));
  return branch;
}

// Records which entries of an outer item a loop changed. True if there are new ones; a list whose
// length changes becomes a value.
bool Converter::AddSlots(const JitNode* node, const ItemRef& item, const Item::Content& after,
                         std::vector<Slot>* slots) {
  const auto add = [&](Slot slot) {
    const bool known = std::any_of(slots->begin(), slots->end(), [&](const Slot& other) {
      return other.holder == slot.holder && other.attribute == slot.attribute &&
             other.index == slot.index;
    });
    if (!known) slots->push_back(std::move(slot));
    return !known;
  };
  if (item->is_list() && !KeepsLength(*item, after)) {
    MakeValue(node, item);
    return true;
  }
  bool added = false;
  for (size_t i = 0; item->is_list() && i < after.items.size(); ++i) {
    if (IsSame(*after.items[i], *item->content.items[i])) continue;
    added = add({item, "", i}) || added;
  }
  for (const auto& [name, value] : after.attributes) {
    const auto before = item->content.attributes.find(name);
    if (before != item->content.attributes.end() && IsSame(*before->second, *value)) continue;
    added = add({item, name, 0}) || added;
  }
  if (item->kind() == Item::Kind::kDict) {
    Item::Content before = item->content, changed = after;
    if (!(before.keys == changed.keys)) MergeKeys(node, &before, &changed);
    for (size_t i = 0; i < before.items.size(); ++i) {
      const bool turns = changed.items[i]->is_entry() && !before.items[i]->is_entry();
      if (turns) before.items[i] = Entry(node, before.items[i], changed.items[i]);
      if (turns || !IsSame(*changed.items[i], *before.items[i])) {
        added = add({item, "", i}) || added;
      }
    }
    before.unordered = before.unordered || changed.unordered;
    added = added || before.unordered != item->content.unordered;
    if (added) {
      Mutate(item);
      item->content = std::move(before);
    }
  }
  return added;
}

}  // namespace rules_onnx::script
