// Branches: what they write outside themselves becomes an output.
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

void Functionalizer::BindIfOutput(ir::Node* node, size_t index,
                                  const std::vector<Ending>& endings,
                                  const std::map<int, Place*>& changed) {
  ir::Value* output = node->outputs[index];
  if (!IsTracked(output)) return;
  Place* first = endings[0].places[index];
  const bool same = std::all_of(endings.begin(), endings.end(), [&](const Ending& ending) {
    return ending.places[index] == first;
  });
  if (same && first != nullptr && first->depth <= memory_.depth()) {
    return memory_.Bind(output, first);
  }
  if (output->type.is_tensor() && BindChosenResult(node, index, endings)) return;
  Place* made = BindNewRoot(output);
  for (const Ending& ending : endings) {
    sharing_.LinkToOuter(made, ending.places[index]);
    sharing_.LinkItems(made, {ending.results_named[index]});
    Place* place = ending.places[index];
    if (place != nullptr && place->is_root()) sharing_.LinkItems(made, place->state.items);
    if (place != nullptr) LinkToHolders(made, place, ending, changed);
  }
}

// Two results of a branch that are, or hold, one tensor.
void Functionalizer::LinkResults(const ir::Node& node, size_t count,
                                 const std::vector<Ending>& endings) {
  std::vector<Place*> own;
  for (size_t k = 0; k < count; ++k) {
    Place* later = own.emplace_back(OwnPlace(node.outputs[k]));
    for (size_t j = 0; j < k; ++j) {
      Place* earlier = own[j];
      if (later == nullptr || earlier == nullptr) continue;
      for (const Ending& ending : endings) {
        if (sharing_.MayMeet(ending.places[k], ending.places[j])) {
          sharing_.LinkHolders(later, earlier);
        }
      }
    }
  }
}

// The output's place that is no place from before its node.
Place* Functionalizer::OwnPlace(const ir::Value* output) const {
  const Object* object = memory_.ObjectOf(output);
  if (object == nullptr) return nullptr;
  const auto is_own = [&](const Place* place) {
    const ir::Arg& current = place->state.current;
    return place->is_root() && current.is_value() && current.value() == output;
  };
  if (object->place->choices.empty()) return is_own(object->place) ? object->place : nullptr;
  for (const Choice& choice : object->place->choices) {
    if (is_own(choice.place)) return choice.place;
  }
  return nullptr;
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
      sharing_.LinkItems(root, root->state.items);
      memory_.SetRoot(root, result);
    }
    NoteChangesIn(*node, root);
  }
  for (size_t k = 0; k < own_outputs; ++k) BindIfOutput(node.get(), k, endings, changed);
  LinkResults(*node, own_outputs, endings);
  Emit(std::move(node));
}

// prim::Scan: its body may write to what it makes itself, not to what lies outside, nor to slices
// and carried values, which may lie there.
void Functionalizer::VisitScan(NodePtr node) {
  const std::vector<Place*> args = PlacesIn(*node);
  ReadArgs(node.get());
  for (const auto& block : node->blocks) {
    memory_.EnterScope(/*is_loop=*/true);
    std::vector<std::pair<Place*, int64_t>> given;
    for (ir::Value* param : block->params) {
      if (!IsTracked(param)) continue;
      Place* place = BindNewRoot(param, LayoutWhenMade(*param));
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
  BindOutputs(*node);
  // torch.vmap may give views of what it is given.
  for (ir::Value* output : node->outputs) {
    Place* made = PlaceOf(output);
    if (made == nullptr) continue;
    for (Place* arg : args) {
      if (arg->alias_class == made->alias_class) sharing_.LinkHolders(made, arg->root());
    }
  }
  Emit(std::move(node));
}

}  // namespace rules_onnx::passes
