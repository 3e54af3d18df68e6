#include "exporter/passes/places.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rules_onnx::passes {

std::vector<Place*> Place::roots() {
  Place* const at = root();
  if (at->choices.empty()) return {at};
  std::vector<Place*> all;
  for (const Choice& choice : at->choices) {
    for (Place* each : choice.place->roots()) {
      if (std::find(all.begin(), all.end(), each) == all.end()) all.push_back(each);
    }
  }
  return all;
}

void Memory::Bind(const ir::Value* value, Place* place) {
  objects_.push_back({place, depth()});
  names_[value] = &objects_.back();
}

void Memory::BindSame(const ir::Value* value, const ir::Arg& object) {
  names_[value] = ObjectOf(object.value());
}

Object* Memory::ObjectOf(const ir::Value* value) const {
  const auto it = names_.find(value);
  return it == names_.end() ? nullptr : it->second;
}

Place* Memory::PlaceOf(const ir::Arg& arg) const {
  if (!arg.is_value()) return nullptr;
  const Object* object = ObjectOf(arg.value());
  return object == nullptr ? nullptr : object->place;
}

bool Memory::AnyName(const std::function<bool(const ir::Value*, Place*)>& holds) const {
  return std::any_of(names_.begin(), names_.end(), [&](const auto& name) {
    return holds(name.first, name.second->place);
  });
}

Place* Memory::NewRoot(const ir::Type& type, ir::Arg current, int alias_class, Layout layout) {
  auto place = std::make_unique<Place>();
  place->order = static_cast<int>(places_.size());
  place->depth = depth();
  place->alias_class = alias_class;
  place->type = type;
  place->layout = std::move(layout);
  place->state.current = std::move(current);
  place->state.version = Tick();
  places_.push_back(std::move(place));
  visible_.push_back(places_.back().get());
  return places_.back().get();
}

Place* Memory::NewView(Place* viewed, std::unique_ptr<ir::Node> view, const ir::Type& type) {
  auto place = std::make_unique<Place>();
  place->order = static_cast<int>(places_.size());
  place->depth = depth();
  place->alias_class = viewed->alias_class;
  place->type = type;
  if (viewed->type.is_tensor() && type.is_tensor()) {
    place->layout = viewed->layout.AfterView(*view, viewed->type, type);
  }
  place->viewed = viewed;
  place->view = std::move(view);
  place->order_version = viewed->state.order_version;
  place->state.version = -1;
  if (place->is_item()) visible_.push_back(place.get());
  places_.push_back(std::move(place));
  return places_.back().get();
}

void Memory::Save(Place* place) {
  if (scopes_.empty() || place->depth >= depth()) return;
  Scope& scope = scopes_.back();
  if (scope.saved.emplace(place, place->state).second) scope.order.push_back(place);
}

void Memory::SetRoot(Place* root, ir::Arg value) {
  Save(root);
  root->state.current = std::move(value);
  root->state.version = Tick();
  root->state.knows_items = false;
  root->state.items.clear();
}

void Memory::EnterScope(bool is_loop) {
  scopes_.push_back({.saved = {},
                     .order = {},
                     .visible = visible_.size(),
                     .is_loop = is_loop,
                     .start = Tick()});
}

std::vector<Place*> Memory::ChangedRoots() const {
  const Scope& scope = scopes_.back();
  std::vector<Place*> changed;
  for (Place* place : scope.order) {
    if (place->is_root() && place->state.version != scope.saved.at(place).version) {
      changed.push_back(place);
    }
  }
  std::sort(changed.begin(), changed.end(),
            [](const Place* a, const Place* b) { return a->order < b->order; });
  return changed;
}

void Memory::LeaveScope() {
  for (auto& [place, state] : scopes_.back().saved) place->state = std::move(state);
  visible_.resize(scopes_.back().visible);
  scopes_.pop_back();
}

std::vector<Place*> Memory::visible_roots() const {
  std::vector<Place*> roots;
  std::copy_if(visible_.begin(), visible_.end(), std::back_inserter(roots),
               [](const Place* place) { return place->is_root(); });
  return roots;
}

std::vector<Place*> Memory::visible_items() const {
  std::vector<Place*> items;
  std::copy_if(visible_.begin(), visible_.end(), std::back_inserter(items),
               [](const Place* place) { return place->is_item(); });
  return items;
}

bool Memory::IsInLoopSince(const Place& place, int64_t tick) const {
  for (size_t i = 0; i < scopes_.size(); ++i) {
    if (scopes_[i].is_loop && place.depth <= static_cast<int>(i) && tick >= scopes_[i].start) {
      return true;
    }
  }
  return false;
}

}  // namespace rules_onnx::passes
