// Loops: what they write outside themselves becomes a carried value. Where a carried tensor may be one
// from outside the loop, or another one that it carries, flags are carried that tell which.
#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "exporter/passes/functionalizer.h"
#include "exporter/passes/loop_parts.h"

namespace rules_onnx::passes {

std::vector<Place*> Functionalizer::RootsToCarry(const ir::Node& loop) const {
  const AliasClasses::Writes& writes = classes_.WrittenIn(loop);
  std::vector<Place*> roots;
  for (Place* root : memory_.visible_roots()) {
    const bool container = !root->type.is_tensor();
    const bool immutable = root->construct == "prim::TupleConstruct";
    if (immutable || !root->choices.empty()) continue;
    const bool holds_tensors = !container || (root->owns_items && !root->state.knows_items);
    if ((container && writes.containers.contains(root->alias_class)) ||
        (holds_tensors && writes.tensors.contains(root->alias_class))) {
      roots.push_back(root);
    }
  }
  return roots;
}

// Whether the tensor at `place` is the one at `target`.
ir::Arg Functionalizer::IsPlace(Place* place, const Place* target, const ir::Node& origin) {
  if (place == target) return true;
  ir::Arg is = false;
  if (place == nullptr) return is;
  for (const Choice& choice : place->choices) {
    is = Either(is, Both(choice.chosen, IsPlace(choice.place, target, origin), origin), origin);
  }
  return is;
}

ir::Arg Functionalizer::Both(const ir::Arg& a, const ir::Arg& b, const ir::Node& origin) {
  if (a.is_bool()) return a.as_bool() ? b : a;
  if (b.is_bool()) return b.as_bool() ? a : b;
  return EmitTruth("aten::__and__.bool", {{"a", a}, {"b", b}}, origin);
}

ir::Arg Functionalizer::Either(const ir::Arg& a, const ir::Arg& b, const ir::Node& origin) {
  if (a.is_bool()) return a.as_bool() ? a : b;
  if (b.is_bool()) return b.as_bool() ? b : a;
  return EmitTruth("aten::__or__.bool", {{"a", a}, {"b", b}}, origin);
}

// Whether the slot's next tensor is the one that the loop made for `other`, or a part of it.
ir::Arg Functionalizer::AreOne(const Slot& slot, const Slot& other, const ir::Node& origin) {
  const Slot& maker = slot.moves ? other : slot;
  ir::Arg one = false;
  for (Place* place : OwnPlaces(maker, maker.result)) {
    const ir::Arg here = slot.moves ? IsIn(slot.result, place, origin)
                                    : IsPlace(slot.result, place, origin);
    one = Either(one, Both(here, IsPlace(other.result, place, origin), origin), origin);
  }
  return one;
}

// What the place may be beside the slot's outer ones.
std::vector<Place*> Functionalizer::OwnPlaces(const Slot& slot, Place* place) {
  if (place == nullptr || slot.is_outer(place)) return {};
  std::vector<Place*> all;
  if (slot.moves) {
    for (Place* root : place->roots()) {
      if (!slot.is_outer(root)) all.push_back(root);
    }
    return all;
  }
  if (place->choices.empty()) return {place};
  for (const Choice& choice : place->choices) {
    for (Place* own : OwnPlaces(slot, choice.place)) {
      if (!std::count(all.begin(), all.end(), own)) all.push_back(own);
    }
  }
  return all;
}

// For each of the slot's places and peers, and then for a tensor of its own. `is_peer` says whether
// `place` is a peer's.
ir::Arg::List Functionalizer::PlaceFlags(Place* place, const Slot& slot, const ir::Node& origin,
                                         const IsPeer& is_peer) {
  ir::Arg::List flags;
  if (slot.is_always_there()) return flags;
  for (const Place* target : slot.places) {
    flags.push_back(slot.moves ? IsIn(place, target, origin) : IsPlace(place, target, origin));
  }
  for (const Slot* peer : slot.peers) flags.push_back(is_peer(*peer));
  if (!slot.may_be_own) return flags;
  ir::Arg any = false;
  for (const ir::Arg& flag : flags) any = Either(any, flag, origin);
  flags.push_back(any.is_bool() ? ir::Arg(!any.as_bool())
                                : EmitTruth("aten::__not__", {{"self", any}}, origin));
  return flags;
}

// A root that is one of the slot's places or peers, or a part of it, or a tensor of its own; or a view of the place
// that it always is a part of.
Place* Functionalizer::BindCarried(ir::Value* value, Slot* slot,
                                   const std::vector<ir::Value*>& told) {
  if (slot->is_always_there()) {
    Place* made = Numbered(slot->places[0], value, *slot, told[0]);
    made->state.current = value;
    made->state.version = made->newest_version();
    memory_.Bind(value, made);
    return made;
  }
  std::vector<Place*> places = slot->places;
  for (const Slot* peer : slot->peers) places.push_back(peer->own);
  for (size_t i = 0; i < slot->numbers(); ++i) {
    places[i] = Numbered(places[i], value, *slot, told[slot->flags() + i]);
  }
  if (slot->may_be_own) {
    slot->own = memory_.NewRoot(value->type, value, classes_.ClassOf(value), Layout());
    places.push_back(slot->own);
  }
  Place* made = BindNewRoot(value);
  for (size_t i = 0; i < places.size(); ++i) {
    made->choices.push_back({places[i], told[i], i < slot->numbers()});
  }
  made->state.version = made->newest_version();
  return made;
}

void Functionalizer::CollectSlots(LoopParts* loop) {
  const ir::Arg::List inits = loop->node->Find("carried")->list();
  for (size_t k = 0; k < inits.size(); ++k) {
    ir::Value* param = loop->body()->params[k + 1];
    Place* init = PlaceOf(inits[k]);
    if (init != nullptr && classes_.IsSameObject(loop->body()->results[k + 1], param)) {
      // Every iteration sees the same object: one more name of it.
      memory_.BindSame(param, inits[k]);
      memory_.BindSame(loop->node->outputs[k], inits[k]);
      continue;
    }
    loop->slots.push_back({.index = k, .named = inits[k], .init = init});
    loop->Carry(AsOneValue(Read(inits[k], *loop->node), param->type, *loop->node, ""), param,
                loop->node->outputs[k]);
  }
}

void Functionalizer::CarryOuter(LoopParts* loop) {
  const AliasClasses::Writes& writes = classes_.WrittenIn(*loop->node);
  loop->outer = RootsToCarry(*loop->node);
  for (Place* root : loop->outer) {
    // In the loop a list or dict is a value of its own, which no longer follows its items.
    if (root->type.is_list()) {
      TakeKnownItems(root, *loop->node);
      if (writes.orders.contains(root->alias_class)) Reorder(root, *loop->node);
    } else {
      sharing_.LinkItems(root, root->state.items);
    }
    loop->Carry(PassRoot(root, *loop->node), root->type, context_->graph);
  }
}

// What tells which tensors the slots are, at first.
void Functionalizer::CarryTold(LoopParts* loop) {
  const auto apart = [](const Slot&) { return ir::Arg(false); };
  for (Slot* slot : loop->order) {
    if (!slot->is_told) continue;
    for (ir::Arg& flag : PlaceFlags(slot->init, *slot, *loop->node, apart)) {
      slot->told.push_back(loop->Carry(std::move(flag), BoolType(), context_->graph));
    }
    if (!slot->moves) continue;
    const ir::Type& type = loop->param(*slot)->type;
    for (ir::Arg& numbers : PlaceNumbers(slot->init, *slot, type, *loop->node, apart)) {
      slot->told.push_back(
          loop->Carry(std::move(numbers), NumbersType(*slot, type), context_->graph));
    }
  }
}

// The names that the body has for what is carried.
void Functionalizer::BindParams(LoopParts* loop) {
  for (Slot* slot : loop->order) {
    ir::Value* param = loop->body()->params[slot->index + 1];
    if (!IsTracked(param)) continue;
    if (slot->is_told) {
      slot->param = BindCarried(param, slot, slot->told);
      if (slot->own != nullptr) slot->own->carried = true;
    } else {
      slot->param = BindNewRoot(param);
      slot->param->carried = true;
      if (slot->init != nullptr) sharing_.Link(slot->param, slot->init);
      sharing_.LinkItems(slot->param, {slot->named});
      if (slot->init != nullptr && slot->init->is_root()) {
        sharing_.LinkItems(slot->param, slot->init->state.items);
      }
    }
    slot->version = slot->param->state.version;
  }
}

// What else a carried tensor is known by, where one of both is written to, must be known to the next
// iteration as well.
void Functionalizer::CheckNames(const LoopParts& loop, Slot* slot, SeenNames* seen) {
  if (slot->result == nullptr) return;
  const bool written =
      classes_.WrittenIn(*loop.node).tensors.contains(slot->result->root()->alias_class);
  if (slot->param != nullptr && slot->param->is_item() &&
      (seen->contains(slot->result->root()) || !sharing_.IsMadeHere(*slot->result))) {
    Disown(slot->param->root(), *loop.node);  // the list may hold it from an earlier iteration
  }
  const std::vector<Place*> places = OwnPlaces(*slot, slot->result);
  const bool other_name = std::any_of(places.begin(), places.end(), [&](Place* place) {
    return HasOtherName(loop, *slot, place, *seen);
  });
  for (Place* place : places) {
    for (Place* root : place->roots()) (*seen)[root].emplace_back(slot, place);
  }
  if (!LeavesItsPlaces(*slot) && (!other_name || !written)) return;
  context_->Report(diagnostics::Severity::kError, "ambiguous-alias", *loop.node,
                   "a loop carries one tensor to the next iteration under two names and "
                   "writes to it",
                   "clone the tensor before it is carried");
}

// Whether `place`, which the next iteration has for the slot's parameter, has a name that no flag tells of.
bool Functionalizer::HasOtherName(const LoopParts& loop, const Slot& slot, Place* place,
                                  const SeenNames& seen) {
  const std::vector<Place*> roots = place->roots();
  return std::any_of(roots.begin(), roots.end(), [&](Place* root) {
    return HasOtherName(loop, slot, *place, root, seen);
  });
}

bool Functionalizer::HasOtherName(const LoopParts& loop, const Slot& slot, const Place& place,
                                  Place* root, const SeenNames& seen) {
  if (root->type.is_list() && !place.is_root()) {
    return slot.param == nullptr || slot.param->state.version != slot.version ||
           !slot.param->choices.empty() || memory_.IsInLoopSince(*root, root->items.last_write);
  }
  if (root == slot.param || root == slot.own) return IsSeen(slot, place, root, seen);
  const auto is_param = [&](const Place* other) {
    return std::any_of(loop.slots.begin(), loop.slots.end(),
                       [&](const Slot& each) { return each.param == other; });
  };
  const auto is_other = [&](Place* other) {
    return other != slot.param && (IsSeen(slot, place, other, seen) || is_param(other) ||
                                   other->depth < memory_.depth());
  };
  const auto is_new = [&](Place* other) {  // not known from the start
    if (slot.param == nullptr) return true;
    const auto& known = slot.param->type.is_tensor() ? slot.param->content.places
                                                     : slot.param->items.places;
    return !std::count(known.begin(), known.end(), other);
  };
  const auto& related = root->type.is_tensor() ? root->content.places : root->items.places;
  return is_other(root) || std::any_of(related.begin(), related.end(), [&](Place* other) {
           const bool follows = !other->type.is_tensor() && other->owns_items;
           return !follows && is_other(other) && is_new(other);
         });
}

// An earlier slot shows it, too, and no flag tells so.
bool Functionalizer::IsSeen(const Slot& slot, const Place& place, Place* root,
                            const SeenNames& seen) {
  const auto at = seen.find(root);
  return at != seen.end() && std::any_of(at->second.begin(), at->second.end(), [&](const auto& by) {
           const auto& [other, shown] = by;
           const bool is_told = slot.moves ? IsWhole(other->result, root) : shown == &place;
           return !is_told || !slot.has_peer(other);
         });
}

// Where it is the root or a part of it, it is the root.
bool Functionalizer::IsWhole(const Place* place, Place* root) {
  if (!place->is_root()) return false;
  return std::all_of(place->choices.begin(), place->choices.end(), [&](const Choice& choice) {
    const std::vector<Place*> roots = choice.place->roots();
    return !std::count(roots.begin(), roots.end(), root) || IsWhole(choice.place, root);
  });
}

void Functionalizer::FinishBody(LoopParts* loop) {
  ir::Block* body = loop->body();
  loop->results.push_back(Read(body->results[0], *loop->node));
  for (Slot& slot : loop->slots) {
    const ir::Arg& result = loop->result(slot);
    slot.result = PlaceOf(result);
    loop->results.push_back(AsOneValue(Read(result, *loop->node),
                                       loop->node->outputs[slot.index]->type, *loop->node, ""));
  }
  SeenNames seen;
  for (Slot* slot : loop->order) CheckNames(*loop, slot, &seen);
  for (Place* root : loop->outer) loop->results.push_back(PassRoot(root, *loop->node));
  for (const Slot* slot : loop->order) {
    if (slot->is_told) DeliverTold(loop, *slot);
  }
}

void Functionalizer::DeliverTold(LoopParts* loop, const Slot& slot) {
  const ir::Node& origin = *loop->node;
  const auto is_peer = [&](const Slot& peer) { return AreOne(slot, peer, origin); };
  ir::Arg::List told = PlaceFlags(slot.result, slot, origin, is_peer);
  loop->results.insert(loop->results.end(), told.begin(), told.end());
  if (!slot.moves) return;
  told = PlaceNumbers(slot.result, slot, loop->param(slot)->type, origin, is_peer);
  loop->results.insert(loop->results.end(), told.begin(), told.end());
}

// The names that the program has for what the loop leaves.
void Functionalizer::BindLoopOutputs(LoopParts* loop, const std::vector<ir::Value*>& named) {
  size_t next = loop->slots.size() + loop->outer.size();
  for (Slot* slot : loop->order) {
    ir::Value* output = named[slot->index];
    if (!IsTracked(output)) continue;
    if (!slot->is_told) {
      Place* made = BindNewRoot(output);
      if (slot->init != nullptr) sharing_.Link(made, slot->init);
      sharing_.LinkToOuter(made, slot->result);
      sharing_.LinkItems(made, {slot->named});
      continue;
    }
    const auto told = loop->outputs.begin() + static_cast<std::ptrdiff_t>(next);
    const size_t count = slot->flags() + slot->numbers();
    next += count;
    BindCarried(output, slot, {told, told + static_cast<std::ptrdiff_t>(count)});
    if (slot->own == nullptr) continue;
    for (Place* place : OwnPlaces(*slot, slot->result)) sharing_.LinkToOuter(slot->own, place);
  }
  LinkSlots(*loop, named);
}

// Two of the loop's own results that are, or hold, one tensor, where no flag tells so.
void Functionalizer::LinkSlots(const LoopParts& loop, const std::vector<ir::Value*>& named) {
  for (const Slot& slot : loop.slots) {
    Place* later = OwnPlace(named[slot.index]);
    for (const Slot& other : loop.slots) {
      if (&other == &slot) break;
      Place* earlier = OwnPlace(named[other.index]);
      if (later == nullptr || earlier == nullptr) continue;
      const bool told = slot.has_peer(&other) || other.has_peer(&slot);
      for (Place* place : OwnPlaces(slot, slot.result)) {
        for (Place* other_place : OwnPlaces(other, other.result)) {
          if (told && place == other_place) continue;
          if (sharing_.MayMeet(place, other_place)) sharing_.LinkHolders(later, earlier);
        }
      }
    }
  }
}

void Functionalizer::VisitLoop(NodePtr node) {
  LoopParts loop{.node = std::move(node)};
  for (const char* name : {"max_trip_count", "cond"}) {
    *loop.node->Find(name) = Read(*loop.node->Find(name), *loop.node);
  }
  ir::Block* body = loop.body();
  loop.params = {body->params[0]};
  counters_.insert(body->params[0]);
  CollectSlots(&loop);
  FindCarriedNames(&loop);
  CarryOuter(&loop);
  CarryTold(&loop);

  memory_.EnterScope(/*is_loop=*/true);
  for (size_t i = 0; i < loop.outer.size(); ++i) {
    memory_.SetRoot(loop.outer[i], loop.params[1 + loop.slots.size() + i]);
    NoteChangesIn(*loop.node, loop.outer[i]);
  }
  BindParams(&loop);
  VisitBlock(body, [&] { FinishBody(&loop); });
  memory_.LeaveScope();

  *loop.node->Find("carried") = ir::Arg(std::move(loop.carried));
  body->params = loop.params;
  body->results = std::move(loop.results);
  const std::vector<ir::Value*> named = std::exchange(loop.node->outputs, loop.outputs);
  for (size_t i = 0; i < loop.outer.size(); ++i) {
    memory_.SetRoot(loop.outer[i], loop.outputs[loop.slots.size() + i]);
    NoteChangesIn(*loop.node, loop.outer[i]);
  }
  BindLoopOutputs(&loop, named);
  Emit(std::move(loop.node));
}

}  // namespace rules_onnx::passes
