#include "exporter/passes/sharing.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exporter/passes/alias_classes.h"

namespace rules_onnx::passes {
namespace {

using TypeKind = ir::Type::Kind;

// Whether a change of a list or dict may be one of a value of this type: a tuple cannot be changed.
bool HoldsContainer(const ir::Type& type) {
  if (type.kind == TypeKind::kTuple || type.kind == TypeKind::kOptional) {
    return std::any_of(type.elements.begin(), type.elements.end(), HoldsContainer);
  }
  return !type.is_tensor() && IsMutable(type);
}

bool Has(const Place::Dependents& dependents, const Place* place) {
  return std::find(dependents.places.begin(), dependents.places.end(), place) !=
         dependents.places.end();
}

bool AreLinked(const Place& a, const Place& b) {
  return Has(a.content, &b) || Has(a.items, &b) || Has(b.content, &a) || Has(b.items, &a);
}

// No list, and no item of one.
bool IsTensorApart(Place* place) {
  return place->type.is_tensor() && place->root()->type.is_tensor();
}

}  // namespace

// ---- what is noted ----

// A write that an earlier line of a loop does comes after the current one as well.
void Sharing::Depend(Place* owner, Kind kind, Place* dependent) {
  Place::Dependents* on = &(owner->*kind);
  if (Has(*on, dependent)) return;
  on->places.push_back(dependent);
  if (on->writer == nullptr || !memory_->IsInLoopSince(*owner, on->last_write) ||
      !memory_->IsInLoopSince(*dependent, on->last_write)) {
    return;
  }
  const bool structure = kind == &Place::content && !owner->type.is_tensor();
  MakeUnreadable(dependent, structure ? &Place::itself : &Place::contents, *on->writer);
}

// What a tensor of `on`, itself or an item of it, tells of `dependent`.
void Sharing::DependOnContent(Place* on, Place* dependent) {
  Depend(on, on->type.is_tensor() ? &Place::content : &Place::items, dependent);
}

void Sharing::DependBothWays(Place* a, Place* b) {
  DependOnContent(a, b);
  DependOnContent(b, a);
}

void Sharing::Link(Place* made, Place* other) {
  made = made->root();
  other = other->root();
  for (const Choice& choice : made->choices) Link(choice.place, other);
  for (const Choice& choice : other->choices) Link(made, choice.place);
  if (made == other || !made->choices.empty() || !other->choices.empty()) return;
  std::vector<Place*> others = other->content.places;
  others.insert(others.end(), other->items.places.begin(), other->items.places.end());
  others.push_back(other);
  for (Place* one : others) {
    if (one == made) continue;
    DependBothWays(made, one);
    // A change of a list leaves the tensors alone that it held, and tuples of them.
    if (one == other && HoldsContainer(made->type) && HoldsContainer(one->type)) {
      Depend(made, &Place::content, one);
      Depend(one, &Place::content, made);
    }
  }
}

void Sharing::LinkHolders(Place* a, Place* b) {
  if (a == b) return;
  if (a->type.is_tensor() && b->type.is_tensor()) return Link(a, b);
  DependBothWays(a, b);
}

void Sharing::LinkItem(Place* place, Place* container) {
  Place* root = place->root();
  for (const Choice& choice : root->choices) LinkItem(choice.place, container);
  if (root == container) return;
  DependBothWays(root, container);
  if (root == place && !root->type.is_tensor()) Depend(root, &Place::content, container);
}

void Sharing::LinkItems(Place* container, const ir::Arg::List& items) {
  for (const ir::Arg& item : items) {
    item.ForEachValue([&](ir::Value* value) {
      Place* place = memory_->PlaceOf(value);
      if (place != nullptr) LinkItem(place, container);
    });
  }
}

void Sharing::LinkToItemsOf(Place* container, Place* arg) {
  Place* root = arg->root();
  LinkHolders(container, root);
  for (Place* item : std::vector<Place*>(root->items.places)) LinkHolders(container, item);
  for (const Choice& choice : root->choices) LinkToItemsOf(container, choice.place);
  LinkItems(container, root->state.items);
}

void Sharing::LinkToClass(Place* place) {
  for (Place* other : memory_->visible_roots()) {
    if (other->alias_class != place->alias_class) continue;
    const bool apart = other->owns_items && other->items.places.empty();
    if (!apart) Link(place, other);
  }
}

void Sharing::LinkToOuter(Place* place, Place* other) {
  if (other == nullptr) return;
  Place* root = other->root();
  for (const Choice& choice : root->choices) LinkToOuter(place, choice.place);
  if (root->depth <= memory_->depth()) return Link(place, root);
  for (Place* dependent : std::vector<Place*>(root->content.places)) {
    if (dependent->depth <= memory_->depth()) Link(place, dependent);
  }
  for (Place* dependent : std::vector<Place*>(root->items.places)) {
    if (dependent->depth <= memory_->depth()) LinkHolders(place, dependent);
  }
}

void Sharing::LinkPopped(Place* list, Place* popped) {
  if (!list->owns_items || !popped->type.is_tensor()) return LinkToClass(popped);
  for (Place* item : memory_->visible_items()) {
    if (item->root() == list) DependOnContent(popped, item);
  }
  for (Place* other : std::vector<Place*>(list->items.places)) Link(popped, other);
}

// ---- what is told ----

void Sharing::WroteTensor(Place* root, const ir::Node& writer) {
  MakeUnreadable(root->type.is_tensor() ? &root->content : &root->items, &Place::contents, writer);
}

void Sharing::ChangedContainer(Place* container, const ir::Node& writer) {
  MakeUnreadable(&container->content, &Place::itself, writer);
}

void Sharing::MakeUnreadable(Place::Dependents* dependents, Part part, const ir::Node& writer) {
  dependents->last_write = memory_->Tick();
  dependents->writer = &writer;
  for (Place* dependent : dependents->places) MakeUnreadable(dependent, part, writer);
}

void Sharing::MakeUnreadable(Place* place, Part part, const ir::Node& writer) {
  Place::Reading& reading = place->*part;
  if (reading.unreadable_since == nullptr) reading.unreadable_since = &writer;
  if (!memory_->IsInLoopSince(*place, reading.last_read)) return;
  context_->Report(diagnostics::Severity::kError, "ambiguous-alias", writer,
                   absl::StrCat(writer.op,
                                " writes in a loop to a tensor or list that the "
                                "next iteration reads under another name; whether both share "
                                "memory is not known before run time"),
                   "clone the tensor before it is written to");
}

void Sharing::RequireReadable(Place* place, const ir::Node& reader) {
  RequireReadable(&place->contents, reader);
  RequireReadable(&place->itself, reader);
  for (const Choice& choice : place->choices) RequireReadable(choice.place, reader);
  if (place->is_root()) return;
  if (place->is_item() && place->state.version == place->newest_version()) {
    // It has its value from before the list changed.
    for (Place* at = place->viewed; at != nullptr; at = at->viewed) {
      RequireReadable(&at->contents, reader);
    }
  } else {
    RequireReadable(place->viewed, reader);
  }
}

void Sharing::RequireReadable(Place::Reading* reading, const ir::Node& reader) {
  reading->last_read = memory_->Tick();
  if (reading->unreadable_since == nullptr) return;
  context_->Report(
      diagnostics::Severity::kError, "ambiguous-alias", *reading->unreadable_since,
      absl::StrCat(reading->unreadable_since->op, " writes to a tensor or list that ",
                   reader.op.empty() ? "an output" : reader.op,
                   " reads afterwards under another name; whether both share memory is not "
                   "known before run time"),
      "clone the tensor before it is written to");
}

// ---- what is asked ----

bool Sharing::MayMeet(Place* a, Place* b) const {
  if (a == nullptr || b == nullptr) return false;
  a = a->root();
  b = b->root();
  return a == b || AreLinked(*a, *b) || HoldsWhatMeets(*a, b) || HoldsWhatMeets(*b, a);
}

bool Sharing::HoldsWhatMeets(const Place& holder, Place* other) const {
  for (const Choice& choice : holder.choices) {
    if (MayMeet(choice.place, other)) return true;
  }
  if (!holder.state.knows_items) return false;
  bool meets = false;
  for (const ir::Arg& item : holder.state.items) {
    item.ForEachValue(
        [&](ir::Value* value) { meets = meets || MayMeet(memory_->PlaceOf(value), other); });
  }
  return meets;
}

bool Sharing::IsMadeHere(const Place& place) const {
  return place.is_root() && place.depth == memory_->depth() && !place.carried &&
         place.choices.empty() &&
         std::all_of(place.content.places.begin(), place.content.places.end(), [&](Place* other) {
           return other->root()->type.is_tensor() && other->depth == place.depth;
         });
}

bool Sharing::CanMoveInto(const Place& place, const Place& list, int depth) const {
  return place.is_root() && place.type.is_tensor() && place.depth == depth &&
         list.depth <= place.depth && place.choices.empty() && place.weight == nullptr &&
         place.contents.unreadable_since == nullptr &&
         std::all_of(place.content.places.begin(), place.content.places.end(), IsTensorApart);
}

bool Sharing::MayHoldTwice(const Place& list, const ir::Arg& item) const {
  bool may = false;
  item.ForEachValue([&](ir::Value* value) {
    if (!IsMutable(value->type)) return;
    Place* place = memory_->PlaceOf(value);
    if (place != nullptr && place->state.knows_items) {
      may = may || MayHoldTwice(list, ir::Arg(ir::Arg::List(place->state.items)));
    } else {
      may = may || place == nullptr || MayHoldTwice(list, place->root());
    }
  });
  return may;
}

bool Sharing::MayHoldTwice(const Place& list, Place* root) const {
  const auto is_in_list = [&](Place* other) {
    return !IsTensorApart(other) || Has(list.items, other);
  };
  return !root->choices.empty() || root->carried || is_in_list(root) ||
         memory_->IsInLoopSince(*root, memory_->now()) ||
         std::any_of(root->content.places.begin(), root->content.places.end(), is_in_list);
}

}  // namespace rules_onnx::passes
