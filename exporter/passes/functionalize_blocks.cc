// Branches and loops: what they write outside themselves becomes an output or a carried value.
#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/passes/functionalizer.h"

namespace rules_onnx::passes {

ir::Arg Functionalizer::PassRoot(Place* root, const ir::Node& reader) {
  return AsOneValue(PassPlace(root, reader), root->type, reader, root->construct);
}

void Functionalizer::VisitBranch(ir::Node* node, size_t index, Ending* ending) {
  ir::Block* block = node->blocks[index].get();
  memory_.EnterScope(/*is_loop=*/false);
  VisitBlock(block, [&] {
    for (size_t k = 0; k < block->results.size(); ++k) {
      const ir::Arg& result = block->results[k];
      ending->results_named.push_back(result);
      ending->places.push_back(PlaceOf(result));
      ending->results.push_back(
          AsOneValue(Read(result, *node), node->outputs[k]->type, *node, ""));
    }
    for (Place* root : memory_.ChangedRoots()) {
      ending->changed[root->order] = root;
      if (root->type.is_list() && root->state.knows_items) {
        std::vector<Place*>& held = ending->held[root->order];
        for (const ir::Arg& item : root->state.items) held.push_back(PlaceOf(item));
      }
      ending->values[root->order] = PassRoot(root, *node);
    }
    // Another branch may change the container; this one may have changed its items.
    const auto& containers = classes_.WrittenIn(*node).containers;
    for (Place* root : memory_.visible_roots()) {
      if (root->depth < memory_.depth() && root->state.knows_items &&
          containers.contains(root->alias_class) && !ending->values.contains(root->order)) {
        ending->values[root->order] = PassRoot(root, *node);
      }
    }
  });
  memory_.LeaveScope();
}

// `place` lies in an enclosing block (or is a branch's own); a later write to one of both may be
// a write to the other.
void Functionalizer::LinkToOuter(Place* place, Place* other) {
  if (other == nullptr) return;
  Place* root = other->root();
  for (const Choice& choice : root->choices) LinkToOuter(place, choice.place);
  if (root->depth <= memory_.depth()) return MayShare(place, root);
  // The branch's own tensor may share with outer ones.
  for (Place* dependent : std::vector<Place*>(root->content.places)) {
    if (dependent->depth <= memory_.depth()) MayShare(place, dependent);
  }
}

void Functionalizer::BindIfOutput(ir::Node* node, size_t index,
                                  const std::vector<Ending>& endings,
                                  const std::map<int, Place*>& changed) {
  ir::Value* output = node->outputs[index];
  if (!IsTracked(output)) return;
  Place* first = endings[0].places[index];
  const bool same = std::all_of(endings.begin(), endings.end(), [&](const Ending& ending) {
    return ending.places[index] == first;
  });
  if (same && first != nullptr && first->depth <= memory_.depth()) return Bind(output, first);
  if (output->type.is_tensor() && BindChosenResult(node, index, endings)) return;
  Place* made = BindNewRoot(output);
  for (const Ending& ending : endings) {
    LinkToOuter(made, ending.places[index]);
    DependOnItems(made, {ending.results_named[index]});
    Place* place = ending.places[index];
    if (place != nullptr && place->is_root()) DependOnItems(made, place->state.items);
    if (place != nullptr) LinkToHolders(made, place, ending, changed);
    // Two results of a branch that are one tensor.
    for (size_t k = 0; k < index; ++k) {
      Place* earlier = PlaceOf(node->outputs[k]);
      if (place != nullptr && ending.places[k] != nullptr && earlier != nullptr &&
          ending.places[k]->root() == place->root()) {
        MayShare(made, earlier);
      }
    }
  }
}

void Functionalizer::VisitIf(NodePtr node) {
  ReadArgs(node.get());
  std::vector<Ending> endings(node->blocks.size());
  std::map<int, Place*> changed;
  for (size_t b = 0; b < node->blocks.size(); ++b) {
    VisitBranch(node.get(), b, &endings[b]);
    changed.insert(endings[b].changed.begin(), endings[b].changed.end());
  }
  const size_t own_outputs = node->outputs.size();
  for (size_t b = 0; b < node->blocks.size(); ++b) node->blocks[b]->results = endings[b].results;
  for (const auto& [order, root] : changed) {
    for (size_t b = 0; b < node->blocks.size(); ++b) {
      const auto own = endings[b].values.find(order);
      node->blocks[b]->results.push_back(own != endings[b].values.end() ? own->second
                                                                        : PassRoot(root, *node));
    }
    node->outputs.push_back(context_->graph->NewValue(root->type));
  }
  size_t next = own_outputs;
  for (const auto& [order, root] : changed) {
    ir::Value* result = node->outputs[next++];
    if (root->type.is_list() && root->state.knows_items) {
      TakeBranchItems(root, result, endings, *node);
    } else {
      DependOnItems(root, root->state.items);
      memory_.SetRoot(root, result);
    }
    NoteChangesIn(*node, root);
  }
  for (size_t k = 0; k < own_outputs; ++k) BindIfOutput(node.get(), k, endings, changed);
  Emit(std::move(node));
}

// A tensor of the current block that nothing outside shows.
bool Functionalizer::IsMadeHere(const Place& place) const {
  return place.is_root() && place.depth == memory_.depth() && !place.carried &&
         place.choices.empty() &&
         std::all_of(place.content.places.begin(), place.content.places.end(),
                     [&](Place* other) {
                       return other->root()->type.is_tensor() && other->depth == place.depth;
                     });
}

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

void Functionalizer::VisitLoop(NodePtr node) {
  ir::Block* body = node->blocks[0].get();
  const ir::Arg::List inits = node->Find("carried")->list();
  for (const char* name : {"max_trip_count", "cond"}) {
    *node->Find(name) = Read(*node->Find(name), *node);
  }
  struct Slot {
    size_t index;        // among the program's carried values
    Place* init;         // nullptr where untracked
    Place* result = nullptr;
    int64_t version = 0;  // of the param, before the body
  };
  std::vector<Slot> slots;
  ir::Arg::List carried;
  std::vector<ir::Value*> params = {body->params[0]};
  counters_.insert(body->params[0]);
  std::vector<ir::Value*> outputs;
  for (size_t k = 0; k < inits.size(); ++k) {
    ir::Value* param = body->params[k + 1];
    Place* init = PlaceOf(inits[k]);
    if (init != nullptr && classes_.IsSameObject(body->results[k + 1], param)) {
      // Every iteration sees the same object: one more name of it.
      BindSame(param, inits[k]);
      BindSame(node->outputs[k], inits[k]);
      continue;
    }
    slots.push_back({k, init});
    carried.push_back(AsOneValue(Read(inits[k], *node), param->type, *node, ""));
    params.push_back(param);
    outputs.push_back(node->outputs[k]);
  }
  const std::vector<Place*> outer = RootsToCarry(*node);
  for (Place* root : outer) {
    // In the loop a list or dict is a value of its own, which no longer follows its items.
    if (root->type.is_list()) {
      TakeKnownItems(root, *node);
      if (classes_.WrittenIn(*node).orders.contains(root->alias_class)) Reorder(root, *node);
    } else {
      DependOnItems(root, root->state.items);
    }
    carried.push_back(PassRoot(root, *node));
    params.push_back(context_->graph->NewValue(root->type));
    outputs.push_back(context_->graph->NewValue(root->type));
  }

  const AliasClasses::Writes& writes = classes_.WrittenIn(*node);
  ir::Arg::List results;
  memory_.EnterScope(/*is_loop=*/true);
  for (Slot& slot : slots) {
    ir::Value* param = body->params[slot.index + 1];
    if (!IsTracked(param)) continue;
    Place* made = BindNewRoot(param);
    made->carried = true;
    slot.version = made->state.version;
    if (slot.init != nullptr) MayShare(made, slot.init);
    DependOnItems(made, {inits[slot.index]});
    if (slot.init != nullptr && slot.init->is_root()) {
      DependOnItems(made, slot.init->state.items);
    }
  }
  for (size_t i = 0; i < outer.size(); ++i) {
    memory_.SetRoot(outer[i], params[1 + slots.size() + i]);
    NoteChangesIn(*node, outer[i]);
  }
  VisitBlock(body, [&] {
    results.push_back(Read(body->results[0], *node));
    std::map<Place*, bool> seen;
    for (Slot& slot : slots) {
      const ir::Arg& result = body->results[slot.index + 1];
      slot.result = PlaceOf(result);
      results.push_back(AsOneValue(Read(result, *node),
                                   node->outputs[slot.index]->type, *node, ""));
      if (slot.result == nullptr) continue;
      // The next iteration's param is this tensor, which has, or may have, other names as well.
      Place* root = slot.result->root();
      Place* param = PlaceOf(body->params[slot.index + 1]);
      if (param != nullptr && param->is_item() && (seen.contains(root) || !IsMadeHere(*slot.result))) {
        Disown(param->root(), *node);  // the list may hold it from an earlier iteration
      }
      const auto is_other = [&](Place* place) {
        return place != param && (seen.contains(place) || place->depth < memory_.depth() ||
                                  std::any_of(slots.begin(), slots.end(), [&](const Slot& other) {
                                    return PlaceOf(body->params[other.index + 1]) == place;
                                  }));
      };
      const auto is_new = [&](const Place* place) {  // not known from the start
        return param == nullptr ||
               std::find(param->content.places.begin(), param->content.places.end(), place) ==
                   param->content.places.end();
      };
      const std::function<bool(Place*)> has_other_name = [&](Place* place) {
        if (place == param) return false;
        const std::vector<Choice>& choices = place->choices;
        return is_other(place) ||
               std::any_of(choices.begin(), choices.end(), [&](const Choice& choice) {
                 return has_other_name(choice.place->root());
               }) ||
               std::any_of(place->content.places.begin(), place->content.places.end(),
                           [&](Place* other) {
                             return other->type.is_tensor() && is_other(other) && is_new(other);
                           });
      };
      const bool other_name =
          root->type.is_list() && !slot.result->is_root()
              ? param == nullptr || param->state.version != slot.version ||
                    !param->choices.empty() ||
                    memory_.IsInLoopSince(*root, root->items.last_write)
              : has_other_name(root);
      seen[root] = true;
      if (other_name && writes.tensors.contains(root->alias_class)) {
        context_->Report(diagnostics::Severity::kError, "ambiguous-alias", *node,
                         "a loop carries one tensor to the next iteration under two names and "
                         "writes to it",
                         "clone the tensor before it is carried");
      }
    }
    for (Place* root : outer) results.push_back(PassRoot(root, *node));
  });
  memory_.LeaveScope();

  *node->Find("carried") = ir::Arg(std::move(carried));
  body->params = params;
  body->results = std::move(results);
  std::vector<ir::Value*> own_outputs = node->outputs;
  node->outputs = outputs;
  for (size_t i = 0; i < outer.size(); ++i) {
    memory_.SetRoot(outer[i], outputs[slots.size() + i]);
    NoteChangesIn(*node, outer[i]);
  }
  for (const Slot& slot : slots) {
    ir::Value* output = own_outputs[slot.index];
    if (!IsTracked(output)) continue;
    Place* made = BindNewRoot(output);
    if (slot.init != nullptr) MayShare(made, slot.init);
    LinkToOuter(made, slot.result);
    DependOnItems(made, {inits[slot.index]});
  }
  Emit(std::move(node));
}

// prim::Scan: its body may write to what it makes itself, not to what lies outside, nor to slices
// and carried values, which may lie there.
void Functionalizer::VisitScan(NodePtr node) {
  ReadArgs(node.get());
  for (const auto& block : node->blocks) {
    memory_.EnterScope(/*is_loop=*/true);
    std::vector<std::pair<Place*, int64_t>> given;
    for (ir::Value* param : block->params) {
      if (!IsTracked(param)) continue;
      Place* place = BindNewRoot(param, Layout::Contiguous(param->type));
      given.emplace_back(place, place->state.version);
    }
    VisitBlock(block.get(), [&] {
      for (ir::Arg& result : block->results) result = Read(result, *node);
      const bool writes_given = std::any_of(given.begin(), given.end(), [](const auto& entry) {
        return entry.first->state.version != entry.second;
      });
      if (writes_given || !memory_.ChangedRoots().empty()) {
        Refuse(*node,
               absl::StrCat("the body of ", node->op, " writes to a tensor from outside it"));
      }
    });
    memory_.LeaveScope();
  }
  BindOutputs(*node, /*rough_inputs=*/false);
  Emit(std::move(node));
}

}  // namespace rules_onnx::passes
