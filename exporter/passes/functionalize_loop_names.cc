// Which tensors a loop's parameters may be, before its body is visited.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "exporter/passes/loop_parts.h"

namespace rules_onnx::passes {

// Which tensors the parameters may be, themselves and in all their elements, or parts of; and which
// parameters may be one tensor. What is found are candidates: the end of the body says what each of
// them is, and refuses the rest.
class Functionalizer::CarriedNames {
 public:
  CarriedNames(const Functionalizer& all, LoopParts* loop) : all_(all), loop_(loop) {
    for (Slot& slot : loop->slots) {
      const ir::Value* param = loop->param(slot);
      if (all.IsTracked(param) && param->type.is_tensor()) by_param_[param] = &slot;
      if (by_param_.contains(param) && all.classes_.IsContentWritten(param)) written_.insert(&slot);
    }
    const auto is_outer = [&](const ir::Value* value) {
      return all.memory_.ObjectOf(value) != nullptr;
    };
    for (const auto& [param, slot] : by_param_) {
      for (const AliasClasses::Source& source :
           all.classes_.Sources(loop->result(*slot), is_outer)) {
        (source.is_part ? parts_ : wholes_)[slot].push_back(source.value);
        if (source.is_view) views_[slot].push_back(source.value);
      }
    }
  }

  void Find() {
    for (Slot& slot : loop_->slots) {
      slot.moves = Moves(slot);
      // It stays what it is in some iterations only, is what another slot is, or what another name
      // has at first.
      const Values& sources = wholes_[&slot];
      if (slot.moves || (sources.size() > 1 && Has(sources, loop_->param(slot))) ||
          SharesSource(slot) || StartsShared(slot)) {
        Tell(&slot);
      }
    }
    while (FollowSources()) {
    }
    for (Slot& slot : loop_->slots) Settle(&slot);
    PutInOrder();
    FindOwn();
    while (FindPeers()) {
    }
  }

 private:
  using Values = std::vector<const ir::Value*>;

  static bool Has(const Values& sources, const ir::Value* source) {
    return std::find(sources.begin(), sources.end(), source) != sources.end();
  }

  // A part of something that has another name: an outer tensor, what another slot carries, or its
  // own first value.
  bool Moves(const Slot& slot) {
    if (!written_.contains(&slot)) return false;
    const Values& parts = parts_[&slot];
    return std::any_of(parts.begin(), parts.end(), [&](const ir::Value* part) {
      if (part == loop_->param(slot)) return StartsShared(slot);
      if (by_param_.contains(part) || all_.memory_.ObjectOf(part) != nullptr) return true;
      return std::any_of(loop_->slots.begin(), loop_->slots.end(), [&](const Slot& other) {
        return &other != &slot && Has(wholes_[&other], part);
      });
    });
  }

  bool StartsShared(const Slot& slot) const {
    return written_.contains(&slot) && slot.init != nullptr && all_.HasLaterName(*loop_, slot);
  }

  bool SharesSource(const Slot& slot) {
    return std::any_of(loop_->slots.begin(), loop_->slots.end(), [&](const Slot& other) {
      const Values& own = wholes_[&slot];
      return &other != &slot && std::any_of(own.begin(), own.end(), [&](const ir::Value* source) {
        return Has(wholes_[&other], source);
      });
    });
  }

  Values SourcesOf(const Slot& slot) {
    Values sources = wholes_[&slot];
    if (slot.moves) sources.insert(sources.end(), parts_[&slot].begin(), parts_[&slot].end());
    return sources;
  }

  bool FollowSources() {
    bool changed = false;
    for (Slot& slot : loop_->slots) {
      for (const ir::Value* source : SourcesOf(slot)) {
        const auto other = by_param_.find(source);
        if (other != by_param_.end()) {
          if (other->second != &slot) changed = FollowSlot(&slot, other->second) || changed;
        } else if (Object* object = all_.memory_.ObjectOf(source)) {
          if (!object->place->type.is_tensor()) continue;
          changed = Tell(&slot) || changed;
          changed = Add(&slot, object->place) || changed;
        }
      }
    }
    return changed;
  }

  // What `other` was is what the slot is next.
  static bool FollowSlot(Slot* slot, Slot* other) {
    bool changed = Tell(slot);
    changed = Tell(other) || changed;
    if (other->moves && !slot->moves) {
      slot->moves = changed = true;
      for (Place* place : std::exchange(slot->places, {})) Add(slot, place);
    }
    changed = AddInit(slot, *other) || changed;
    for (Place* place : std::vector<Place*>(other->places)) changed = Add(slot, place) || changed;
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
    if (slot->moves) {
      bool changed = false;
      for (Place* root : place->roots()) changed = AddOne(slot, root) || changed;
      return changed;
    }
    if (place->choices.empty()) return AddOne(slot, place);
    bool changed = false;
    for (const Choice& choice : place->choices) changed = Add(slot, choice.place) || changed;
    return changed;
  }

  static bool AddOne(Slot* slot, Place* place) {
    if (slot->is_outer(place)) return false;
    slot->places.push_back(place);
    return true;
  }

  static bool AddInit(Slot* slot, const Slot& from) {
    return from.init != nullptr && Add(slot, from.init);
  }

  // Flags choose among values of one dtype; the parts of a list's items have no numbers.
  void Settle(Slot* slot) {
    const ir::DType dtype = loop_->param(*slot)->type.dtype;
    const auto fits = [&](const Place* place) {
      return place->type.is_tensor() && place->type.dtype == dtype;
    };
    if (std::all_of(slot->places.begin(), slot->places.end(), fits)) return;
    slot->is_told = slot->moves = false;
    slot->places.clear();
  }

  void PutInOrder() {
    for (const bool moves : {false, true}) {
      for (Slot& slot : loop_->slots) {
        if (slot.moves == moves) loop_->order.push_back(&slot);
      }
    }
  }

  bool FindPeers() {
    bool changed = false;
    for (Slot* slot : loop_->order) {
      for (Slot* other : loop_->order) {
        if (other == slot) break;
        if (!slot->is_told || !other->is_told || ArePeers(*slot, *other)) continue;
        if (!other->may_be_own) continue;
        if (loop_->param(*slot)->type.dtype != loop_->param(*other)->type.dtype) continue;
        if (!MayMeet(*slot, *other)) continue;
        slot->peers.push_back(other);
        changed = true;
      }
    }
    return changed;
  }

  static bool ArePeers(const Slot& a, const Slot& b) { return a.has_peer(&b) || b.has_peer(&a); }

  bool MayMeet(const Slot& a, const Slot& b) {
    for (const ir::Value* x : SourcesOf(a)) {
      for (const ir::Value* y : SourcesOf(b)) {
        const auto slot_x = by_param_.find(x), slot_y = by_param_.find(y);
        const bool params = slot_x != by_param_.end() && slot_y != by_param_.end();
        if (params && ArePeers(*slot_x->second, *slot_y->second)) return true;
        if (x == y && all_.memory_.ObjectOf(x) == nullptr) return true;
      }
    }
    return false;
  }

  // Views that move are of their own only where one of the sources is.
  void FindOwn() {
    for (Slot& slot : loop_->slots) slot.may_be_own = !slot.moves || MakesOwn(slot);
    bool changed = true;
    while (changed) {
      changed = false;
      for (Slot& slot : loop_->slots) {
        const Values sources = SourcesOf(slot);
        const bool takes =
            std::any_of(sources.begin(), sources.end(), [&](const ir::Value* source) {
              const auto other = by_param_.find(source);
              return other != by_param_.end() && other->second->may_be_own;
            });
        if (!takes || slot.may_be_own) continue;
        slot.may_be_own = changed = true;
      }
    }
  }

  bool MakesOwn(const Slot& slot) {
    if (slot.init == nullptr) return true;
    const Values& views = views_[&slot];
    const Values sources = SourcesOf(slot);
    return std::any_of(sources.begin(), sources.end(), [&](const ir::Value* source) {
      return !by_param_.contains(source) && all_.memory_.ObjectOf(source) == nullptr &&
             !Has(views, source);
    });
  }

  const Functionalizer& all_;
  LoopParts* loop_;
  std::map<const ir::Value*, Slot*> by_param_;
  std::set<const Slot*> written_;  // in whose class some tensor is written to
  // Of each slot's result: what it may be, what it may be a part of, and those of the first that
  // are views.
  std::map<const Slot*, Values> wholes_, parts_, views_;
};

void Functionalizer::FindCarriedNames(LoopParts* loop) { CarriedNames(*this, loop).Find(); }

// A later line, or an earlier one of a loop around it, has a name for what the slot is at first, or
// holds it.
bool Functionalizer::HasLaterName(const LoopParts& loop, const Slot& slot) const {
  const std::vector<Place*> roots = slot.init->roots();
  if (std::any_of(roots.begin(), roots.end(),
                  [](Place* root) { return root->weight != nullptr; })) {
    return true;
  }
  return memory_.AnyName([&](const ir::Value* value, Place* place) {
    return sharing_.MayMeet(place, slot.init) && classes_.IsUsedFrom(*loop.node, value, slot.index);
  });
}

}  // namespace rules_onnx::passes
