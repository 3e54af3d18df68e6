// The memory of a program while it is made functional: places, their newest values, scopes.
#ifndef RULES_ONNX_EXPORTER_PASSES_PLACES_H_
#define RULES_ONNX_EXPORTER_PASSES_PLACES_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "exporter/ir/graph.h"
#include "exporter/passes/layout.h"
#include "exporter/passes/rewrite.h"

namespace rules_onnx::passes {

struct Place;

// One of the places that a tensor may lie in, and a truth value that says whether it does.
struct Choice {
  Place* place;
  ir::Arg chosen;
  // The place is a view by numbers (functionalize_moving.cc), and has none where it is not chosen.
  bool none_elsewhere = false;
};

// Memory that a tensor or container lies in: a root owns it, a view shows a part of another.
struct Place {
  // What a write changes; a scope restores it.
  struct State {
    ir::Arg current;             // the newest value; a view's may be out of date
    int64_t version = 0;         // root: rises with each write; view: the root's at `current`
    bool knows_items = false;    // a container of which every item is known
    ir::Arg::List items;         // in the program's own values, before any replacement
    // A list of unknown length:
    int64_t items_version = 0;   // rises with each write to an item
    int64_t order_version = 0;   // rises when items leave or change their places
  };
  struct Reading {
    const ir::Node* unreadable_since = nullptr;  // the write after which the value is not known
    int64_t last_read = -1;
  };
  // What a place's change may change as well, and the last change that did.
  struct Dependents {
    std::vector<Place*> places;  // become unreadable
    int64_t last_write = -1;
    const ir::Node* writer = nullptr;
  };

  int order = 0;                 // of creation
  int depth = 0;                 // number of scopes around it
  int alias_class = -1;
  ir::Type type;
  Layout layout;
  State state;

  Place* viewed = nullptr;         // null: a root
  std::unique_ptr<ir::Node> view;  // the operator, its first argument to be set
  int64_t order_version = 0;       // of a list: when the item was at `view`'s index
  bool is_list_of_views = false;   // the output of split and its like

  // A root that is no memory of its own but that of one of several other places, as the run decides:
  // an item at a computed place, a branch's result. `pick` gives the tensor out of the places' newest
  // values, which are its first argument; without it conditions choose.
  std::vector<Choice> choices;
  std::unique_ptr<ir::Node> pick;

  // Roots only.
  const ir::Weight* weight = nullptr;
  std::string construct;           // "prim::ListConstruct", …, where items were known
  Dependents content;              // of a tensor's content; of a list or dict itself
  Dependents items;                // of what lies in a list or dict
  bool owns_items = false;         // a list: each of its tensors lies in it alone, and once
  bool carried = false;            // a loop's parameter: another tensor in each iteration, or the same
  // Roots and items of lists.
  Reading contents;  // of a tensor; of what lies in a list or dict
  Reading itself;    // a list or dict: which items it has

  Place* root() { return viewed == nullptr ? this : viewed->root(); }
  bool is_root() const { return viewed == nullptr; }
  bool is_item() const {
    return viewed != nullptr &&
           (viewed->type.is_list() || viewed->type.kind == ir::Type::Kind::kTuple);
  }
  // The roots that it may lie in, each once.
  std::vector<Place*> roots();
  // The tensor whose memory this one shows.
  Place* whole() { return is_root() || is_item() ? this : viewed->whole(); }
  // What `state.version` is where `current` is up to date.
  int64_t newest_version() {
    Place* const at = root();
    if (at->choices.empty()) {
      return at != this && at->type.is_list() ? at->state.items_version : at->state.version;
    }
    int64_t newest = -1;
    for (const Choice& choice : at->choices) {
      newest = std::max(newest, choice.place->newest_version());
    }
    return newest;
  }
};

// What a name stands for. Geometry changes in place (`t_`) move an object to another place.
struct Object {
  Place* place = nullptr;
  int depth = 0;
};

// All places and the program's names for them, and the scopes (branches, loop bodies) whose changes are
// undone at their end.
class Memory {
 public:
  // The value names an object of its own at `place`, or the one that `object` names.
  void Bind(const ir::Value* value, Place* place);
  void BindSame(const ir::Value* value, const ir::Arg& object);
  // nullptr for what names none.
  Object* ObjectOf(const ir::Value* value) const;
  Place* PlaceOf(const ir::Arg& arg) const;
  bool AnyName(const std::function<bool(const ir::Value*, Place*)>& holds) const;

  // A root in the current scope.
  Place* NewRoot(const ir::Type& type, ir::Arg current, int alias_class, Layout layout);
  Place* NewView(Place* viewed, std::unique_ptr<ir::Node> view, const ir::Type& type);

  // Before any change of `place->state`.
  void Save(Place* place);
  // The root gets a new value; all its views are out of date.
  void SetRoot(Place* root, ir::Arg value);

  int depth() const { return static_cast<int>(scopes_.size()); }
  int64_t Tick() { return ++clock_; }
  int64_t now() const { return clock_; }

  void EnterScope(bool is_loop);
  // Outer roots whose content changed since EnterScope, in order of creation.
  std::vector<Place*> ChangedRoots() const;
  void LeaveScope();

  // Roots of the enclosing scopes and this one, in order of creation.
  std::vector<Place*> visible_roots() const;
  // Items of lists that names stand for.
  std::vector<Place*> visible_items() const;
  // A loop around the current point, outside which `place` lies, has begun before `tick`.
  bool IsInLoopSince(const Place& place, int64_t tick) const;

 private:
  struct Scope {
    std::unordered_map<Place*, Place::State> saved;
    std::vector<Place*> order;
    size_t visible = 0;
    bool is_loop = false;
    int64_t start = 0;
  };

  std::vector<std::unique_ptr<Place>> places_;
  std::vector<Place*> visible_;  // roots and items
  std::deque<Object> objects_;
  std::unordered_map<const ir::Value*, Object*> names_;
  std::vector<Scope> scopes_;
  int64_t clock_ = 0;
};

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_PLACES_H_
