// Loops: what they write outside themselves becomes a carried value. Where a carried tensor may be one
// from outside the loop, or another one that it carries, flags are carried that tell which.
#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "exporter/passes/functionalizer.h"

namespace rules_onnx::passes {
// A carried value that may be another tensor in each iteration.
struct Functionalizer::Slot {
  size_t index;                // among the program's carried values
  ir::Arg named;               // the initial value, as the program names it
  Place* init;                 // nullptr where untracked
  Place* param = nullptr;
  Place* result = nullptr;
  int64_t version = 0;         // of the param, before the body
  // What the param may be, if flags tell which:
  std::vector<Place*> places;  // outer tensors,
  std::vector<Slot*> peers;    // or the own one of an earlier slot,
  Place* own = nullptr;        // or one of its own
  bool is_told = false;
  bool is_outer(const Place* place) const {
    return std::find(places.begin(), places.end(), place) != places.end();
  }
};

struct Functionalizer::LoopParts {
  NodePtr node;
  ir::Arg::List carried, results;
  std::vector<ir::Value*> params, outputs;
  std::vector<Slot> slots;
  std::vector<Place*> outer;  // roots from outside that the body may write to
  ir::Block* body() const { return node->blocks[0].get(); }
  const ir::Value* param(const Slot& slot) const { return body()->params[slot.index + 1]; }
  const ir::Arg& result(const Slot& slot) const { return body()->results[slot.index + 1]; }

  // One more carried value; its parameter.
  ir::Value* Carry(ir::Arg initial, ir::Value* param, ir::Value* output) {
    carried.push_back(std::move(initial));
    params.push_back(param);
    outputs.push_back(output);
    return param;
  }
  ir::Value* Carry(ir::Arg initial, const ir::Type& type, ir::Graph* graph) {
    ir::Value* param = graph->NewValue(type);
    return Carry(std::move(initial), param, graph->NewValue(type));
  }
};

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

// Which tensors the parameters may be, themselves and in all their elements, and which parameters may be
// one tensor.
class Functionalizer::CarriedNames {
 public:
  CarriedNames(const Functionalizer& all, LoopParts* loop) : all_(all), loop_(loop) {
    for (Slot& slot : loop->slots) {
      const ir::Value* param = loop->param(slot);
      if (all.IsTracked(param) && param->type.is_tensor()) by_param_[param] = &slot;
    }
    const auto is_outer = [&](const ir::Value* value) { return all.memory_.ObjectOf(value) != nullptr; };
    for (const auto& [param, slot] : by_param_) {
      sources_[slot] = all.classes_.Sources(loop->result(*slot), is_outer);
    }
  }

  void Find() {
    for (Slot& slot : loop_->slots) {
      const std::vector<const ir::Value*>& sources = sources_[&slot];
      // It stays what it is in some iterations only, or is what another slot is.
      if ((sources.size() > 1 && Has(sources, loop_->param(slot))) || SharesSource(slot)) Tell(&slot);
    }
    while (FollowSources()) {
    }
    for (Slot& slot : loop_->slots) {
      const ir::DType dtype = loop_->param(slot)->type.dtype;
      const auto fits = [&](const Place* place) { return place->type.dtype == dtype; };
      if (std::all_of(slot.places.begin(), slot.places.end(), fits)) continue;
      slot.is_told = false;
      slot.places.clear();
    }
    while (FindPeers()) {
    }
  }

 private:
  static bool Has(const std::vector<const ir::Value*>& sources, const ir::Value* source) {
    return std::find(sources.begin(), sources.end(), source) != sources.end();
  }

  bool SharesSource(const Slot& slot) {
    return std::any_of(loop_->slots.begin(), loop_->slots.end(), [&](const Slot& other) {
      const std::vector<const ir::Value*>& own = sources_[&slot];
      return &other != &slot &&
             std::any_of(own.begin(), own.end(), [&](const ir::Value* source) {
               return Has(sources_[&other], source);
             });
    });
  }

  bool FollowSources() {
    bool changed = false;
    for (Slot& slot : loop_->slots) {
      for (const ir::Value* source : sources_[&slot]) {
        const auto other = by_param_.find(source);
        if (other != by_param_.end()) {
          if (other->second == &slot) continue;
          changed = Tell(&slot) || changed;
          changed = Tell(other->second) || changed;
          changed = AddInit(&slot, *other->second) || changed;
          for (Place* place : std::vector<Place*>(other->second->places)) {
            changed = Add(&slot, place) || changed;
          }
        } else if (Object* object = all_.memory_.ObjectOf(source)) {
          if (!object->place->type.is_tensor()) continue;
          changed = Tell(&slot) || changed;
          changed = Add(&slot, object->place) || changed;
        }
      }
    }
    return changed;
  }

  // Flags are to tell what the slot's tensor is.
  static bool Tell(Slot* slot) {
    if (slot->is_told) return false;
    slot->is_told = true;
    AddInit(slot, *slot);
    return true;
  }

  static bool Add(Slot* slot, Place* place) {
    if (place->choices.empty()) {
      if (slot->is_outer(place)) return false;
      slot->places.push_back(place);
      return true;
    }
    bool changed = false;
    for (const Choice& choice : place->choices) changed = Add(slot, choice.place) || changed;
    return changed;
  }

  static bool AddInit(Slot* slot, const Slot& from) {
    return from.init != nullptr && Add(slot, from.init);
  }

  bool FindPeers() {
    bool changed = false;
    for (Slot& slot : loop_->slots) {
      for (Slot& other : loop_->slots) {
        if (&other == &slot) break;
        if (!slot.is_told || !other.is_told || ArePeers(slot, other)) continue;
        if (loop_->param(slot)->type.dtype != loop_->param(other)->type.dtype) continue;
        if (!MayMeet(slot, other)) continue;
        slot.peers.push_back(&other);
        changed = true;
      }
    }
    return changed;
  }

  static bool ArePeers(const Slot& a, const Slot& b) {
    return std::count(a.peers.begin(), a.peers.end(), &b) > 0 ||
           std::count(b.peers.begin(), b.peers.end(), &a) > 0;
  }

  bool MayMeet(const Slot& a, const Slot& b) const {
    for (const ir::Value* x : sources_.at(&a)) {
      for (const ir::Value* y : sources_.at(&b)) {
        const auto slot_x = by_param_.find(x), slot_y = by_param_.find(y);
        const bool params = slot_x != by_param_.end() && slot_y != by_param_.end();
        if (x == y || (params && ArePeers(*slot_x->second, *slot_y->second))) return true;
      }
    }
    return false;
  }

  const Functionalizer& all_;
  LoopParts* loop_;
  std::map<const ir::Value*, Slot*> by_param_;
  std::map<const Slot*, std::vector<const ir::Value*>> sources_;
};

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

// Whether both are one tensor that the loop made.
ir::Arg Functionalizer::AreOne(const Slot& slot, const Slot& other, const ir::Node& origin) {
  ir::Arg one = false;
  for (Place* place : OwnPlaces(slot, slot.result)) {
    one = Either(one, Both(IsPlace(slot.result, place, origin), IsPlace(other.result, place, origin),
                           origin), origin);
  }
  return one;
}

// What the place may be beside the slot's outer ones.
std::vector<Place*> Functionalizer::OwnPlaces(const Slot& slot, Place* place) {
  if (place == nullptr || slot.is_outer(place)) return {};
  if (place->choices.empty()) return {place};
  std::vector<Place*> all;
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
                                         const std::function<ir::Arg(const Slot&)>& is_peer) {
  ir::Arg::List flags;
  for (const Place* target : slot.places) flags.push_back(IsPlace(place, target, origin));
  for (const Slot* peer : slot.peers) flags.push_back(is_peer(*peer));
  ir::Arg any = false;
  for (const ir::Arg& flag : flags) any = Either(any, flag, origin);
  flags.push_back(any.is_bool() ? ir::Arg(!any.as_bool())
                                : EmitTruth("aten::__not__", {{"self", any}}, origin));
  return flags;
}

// A root that is one of the slot's places or peers, or a tensor of its own.
Place* Functionalizer::BindCarried(ir::Value* value, Slot* slot,
                                   const std::vector<ir::Value*>& flags) {
  slot->own = memory_.NewRoot(value->type, value, classes_.ClassOf(value), Layout());
  std::vector<Place*> places = slot->places;
  for (const Slot* peer : slot->peers) places.push_back(peer->own);
  places.push_back(slot->own);
  Place* made = BindNewRoot(value);
  for (size_t i = 0; i < places.size(); ++i) made->choices.push_back({places[i], flags[i]});
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

// The names that the body has for what is carried.
void Functionalizer::BindParams(LoopParts* loop) {
  for (Slot& slot : loop->slots) {
    ir::Value* param = loop->body()->params[slot.index + 1];
    if (!IsTracked(param)) continue;
    if (slot.is_told) {
      std::vector<ir::Value*> flags;
      const auto apart = [](const Slot&) { return ir::Arg(false); };
      for (ir::Arg& initial : PlaceFlags(slot.init, slot, *loop->node, apart)) {
        flags.push_back(loop->Carry(std::move(initial), BoolType(), context_->graph));
      }
      slot.param = BindCarried(param, &slot, flags);
      slot.own->carried = true;
    } else {
      slot.param = BindNewRoot(param);
      slot.param->carried = true;
      if (slot.init != nullptr) sharing_.Link(slot.param, slot.init);
      sharing_.LinkItems(slot.param, {slot.named});
      if (slot.init != nullptr && slot.init->is_root()) {
        sharing_.LinkItems(slot.param, slot.init->state.items);
      }
    }
    slot.version = slot.param->state.version;
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
  if (!other_name || !written) return;
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
           return shown != &place ||
                  !std::count(slot.peers.begin(), slot.peers.end(), other);
         });
}

void Functionalizer::FinishBody(LoopParts* loop) {
  ir::Block* body = loop->body();
  loop->results.push_back(Read(body->results[0], *loop->node));
  SeenNames seen;
  for (Slot& slot : loop->slots) {
    const ir::Arg& result = loop->result(slot);
    slot.result = PlaceOf(result);
    loop->results.push_back(AsOneValue(Read(result, *loop->node),
                                       loop->node->outputs[slot.index]->type, *loop->node, ""));
    CheckNames(*loop, &slot, &seen);
  }
  for (Place* root : loop->outer) loop->results.push_back(PassRoot(root, *loop->node));
  for (const Slot& slot : loop->slots) {
    if (!slot.is_told) continue;
    const auto is_peer = [&](const Slot& peer) { return AreOne(slot, peer, *loop->node); };
    for (ir::Arg& flag : PlaceFlags(slot.result, slot, *loop->node, is_peer)) {
      loop->results.push_back(std::move(flag));
    }
  }
}

// The names that the program has for what the loop leaves.
void Functionalizer::BindLoopOutputs(LoopParts* loop, const std::vector<ir::Value*>& named) {
  size_t next_flag = loop->slots.size() + loop->outer.size();
  for (Slot& slot : loop->slots) {
    ir::Value* output = named[slot.index];
    if (!IsTracked(output)) continue;
    if (!slot.is_told) {
      Place* made = BindNewRoot(output);
      if (slot.init != nullptr) sharing_.Link(made, slot.init);
      sharing_.LinkToOuter(made, slot.result);
      sharing_.LinkItems(made, {slot.named});
      continue;
    }
    const auto flags = loop->outputs.begin() + static_cast<std::ptrdiff_t>(next_flag);
    const auto count = static_cast<std::ptrdiff_t>(slot.places.size() + slot.peers.size() + 1);
    next_flag += static_cast<size_t>(count);
    BindCarried(output, &slot, {flags, flags + count});
    for (Place* place : OwnPlaces(slot, slot.result)) sharing_.LinkToOuter(slot.own, place);
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
      const bool told = std::count(slot.peers.begin(), slot.peers.end(), &other) > 0;
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
  CarriedNames(*this, &loop).Find();
  CarryOuter(&loop);

  memory_.EnterScope(/*is_loop=*/true);
  BindParams(&loop);
  for (size_t i = 0; i < loop.outer.size(); ++i) {
    memory_.SetRoot(loop.outer[i], loop.params[1 + loop.slots.size() + i]);
    NoteChangesIn(*loop.node, loop.outer[i]);
  }
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
