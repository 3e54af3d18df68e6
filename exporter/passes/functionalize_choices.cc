// Tensors that lie in one of several places, as the run decides: an item of a list at a computed place,
// a result that two branches take from different tensors. A write changes each place where it is the
// chosen one; a read after a write chooses anew.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "exporter/passes/functionalizer.h"

namespace rules_onnx::passes {
namespace {

void CollectDefined(const ir::Block& block, std::unordered_set<const ir::Value*>* defined) {
  defined->insert(block.params.begin(), block.params.end());
  for (const auto& node : block.nodes) {
    defined->insert(node->outputs.begin(), node->outputs.end());
    for (const auto& inner : node->blocks) CollectDefined(*inner, defined);
  }
}

bool IsOneDType(const std::vector<Place*>& places, ir::DType dtype) {
  return std::all_of(places.begin(), places.end(), [&](const Place* place) {
    return place == nullptr || (place->type.is_tensor() && place->type.dtype == dtype);
  });
}

}  // namespace

ir::Value* Functionalizer::EmitTruth(absl::string_view op, std::vector<ir::NamedArg> args,
                                     const ir::Node& origin) {
  return EmitterFor(origin).Emit(op, std::move(args), BoolType());
}

ir::Arg Functionalizer::EmitChoice(const ir::Arg& condition, const ir::Arg& a, const ir::Arg& b,
                                   const ir::Type& type, const ir::Node& origin) {
  if (a == b) return a;
  ir::Node* choice = EmitterFor(origin).EmitNode("prim::If", {{"cond", condition}}, {type});
  for (const ir::Arg& result : {a, b}) {
    choice->blocks.push_back(std::make_unique<ir::Block>());
    choice->blocks.back()->results = {result};
  }
  return choice->output();
}

// `items[index]`, where only the run knows the index.
bool Functionalizer::BindPickedItem(const ir::Node& node, const ir::Arg::List& items,
                                    const ir::Arg& index) {
  ir::Value* output = node.output();
  if (!IsTracked(output) || !output->type.is_tensor() || items.empty()) return false;
  std::vector<Place*> places;
  ir::Arg::List values;
  for (const ir::Arg& item : items) {
    places.push_back(PlaceOf(item));
    if (places.back() == nullptr) return false;
  }
  if (!IsOneDType(places, places[0]->type.dtype)) return false;
  for (Place* place : places) {
    sharing_.RequireReadable(place, node);
    values.push_back(PassPlace(place, node));
  }
  const ir::Arg at = Read(index, node);
  auto pick = context_->graph->NewNode(node.op, node.args);
  context_->InheritPlace(node, pick.get());
  pick->args[1].value = at;
  std::vector<ir::NamedArg> args = pick->args;
  args[0].value = ir::Arg(std::move(values));
  ir::Node* emitted = EmitterFor(node).EmitNode(node.op, std::move(args), {});
  emitted->outputs = {output};
  const bool contiguous = std::all_of(places.begin(), places.end(), [](const Place* place) {
    return place->layout.IsContiguous(place->type) == Answer::kYes;
  });
  Place* made = BindNewRoot(output, contiguous ? Layout::Contiguous(output->type) : Layout());
  const auto size = static_cast<int64_t>(places.size());
  for (int64_t i = 0; i < size; ++i) {
    const auto is = [&](int64_t number) -> ir::Value* {
      return EmitTruth("aten::eq.int", {{"a", at}, {"b", number}}, node);
    };
    ir::Arg chosen = EmitTruth("aten::__or__.bool", {{"a", is(i)}, {"b", is(i - size)}}, node);
    made->choices.push_back({places[static_cast<size_t>(i)], std::move(chosen)});
  }
  made->pick = std::move(pick);
  made->state.version = made->newest_version();
  return true;
}

Place* Functionalizer::Lifted(Place* place, const ir::Node& branch) {
  if (place->depth <= memory_.depth()) return place;
  if (place->is_root() || place->is_list_of_views) return nullptr;
  std::unordered_set<const ir::Value*> inside;
  for (const auto& block : branch.blocks) CollectDefined(*block, &inside);
  for (size_t i = 1; i < place->view->args.size(); ++i) {
    bool fixed = true;
    place->view->args[i].value.ForEachValue(
        [&](ir::Value* value) { fixed = fixed && !inside.contains(value); });
    if (!fixed) return nullptr;
  }
  Place* viewed = Lifted(place->viewed, branch);
  if (viewed == nullptr) return nullptr;
  auto view = context_->graph->NewNode(place->view->op, place->view->args);
  context_->InheritPlace(*place->view, view.get());
  view->outputs = place->view->outputs;
  Place* lifted = memory_.NewView(viewed, std::move(view), place->type);
  lifted->order_version = place->order_version;
  return lifted;
}

// A tensor that is one of several inside of a branch, as one of these outside: whether the branch was
// taken and chose it becomes one more result of the If. A place that lies inside is left to be `own`, which is
// made where it is needed. Empty where all lie inside.
std::vector<Choice> Functionalizer::LiftedChoices(const Place& place, ir::Node* branch, size_t side,
                                                  const std::function<Place*()>& own) {
  std::vector<Choice> choices;
  bool any = false;
  for (const Choice& choice : place.choices) {
    choices.push_back({Lifted(choice.place, *branch), choice.chosen});
    any = any || choices.back().place != nullptr;
  }
  if (!any) return {};
  for (size_t i = 0; i < choices.size(); ++i) {
    Choice& choice = choices[i];
    if (choice.place == nullptr) {
      choice.place = own();
      sharing_.LinkToOuter(choice.place, place.choices[i].place);
    }
    for (size_t b = 0; b < branch->blocks.size(); ++b) {
      branch->blocks[b]->results.push_back(b == side ? choice.chosen : ir::Arg(false));
    }
    branch->outputs.push_back(context_->graph->NewValue(BoolType()));
    choice.chosen = branch->outputs.back();
  }
  return choices;
}

// A result that is another tensor after either branch. What a branch makes itself becomes a place of
// its own, which the other branch leaves unused.
bool Functionalizer::BindChosenResult(ir::Node* node, size_t index,
                                      const std::vector<Ending>& endings) {
  ir::Value* output = node->outputs[index];
  std::vector<Place*> places;
  for (const Ending& ending : endings) places.push_back(ending.places[index]);
  if (endings.size() != 2 || !IsOneDType(places, output->type.dtype)) return false;
  const ir::Arg condition = *node->Find("cond");
  const auto taken = [&](size_t side) {
    return side == 0 ? condition : EmitTruth("aten::__not__", {{"self", condition}}, *node);
  };
  const auto own = [&] {
    return memory_.NewRoot(output->type, output, classes_.ClassOf(output), Layout());
  };
  std::vector<std::vector<Choice>> sides(2);
  for (size_t b = 0; b < places.size(); ++b) {
    if (places[b] == nullptr) continue;
    if (Place* lifted = Lifted(places[b], *node)) {
      sides[b] = {{lifted, taken(b)}};
    } else if (places[b]->is_root()) {
      sides[b] = LiftedChoices(*places[b], node, b, own);
    }
  }
  if (sides[0].empty() && sides[1].empty()) return false;
  for (size_t b = 0; b < places.size(); ++b) {
    if (!sides[b].empty()) continue;
    sides[b] = {{own(), taken(b)}};
    sharing_.LinkToOuter(sides[b][0].place, places[b]);
  }
  Place* made = BindNewRoot(output);
  for (const std::vector<Choice>& side : sides) {
    made->choices.insert(made->choices.end(), side.begin(), side.end());
  }
  made->state.version = made->newest_version();
  return true;
}

ir::Arg Functionalizer::ReadChoice(Place* place, const ir::Node& reader) {
  ir::Arg::List values;
  for (const Choice& choice : place->choices) values.push_back(PassPlace(choice.place, reader));
  ir::Arg value = values.back();
  if (place->pick != nullptr) {
    std::vector<ir::NamedArg> args = place->pick->args;
    args[0].value = ir::Arg(std::move(values));
    value = EmitterFor(*place->pick).Emit(place->pick->op, std::move(args), place->type);
  } else {
    for (size_t i = values.size() - 1; i-- > 0;) {
      value = EmitChoice(place->choices[i].chosen, values[i], value, place->type, reader);
    }
  }
  memory_.Save(place);
  place->state.current = value;
  place->state.version = place->newest_version();
  return value;
}

void Functionalizer::WriteChoices(Place* place, const ir::Arg& value, const ir::Node& writer) {
  for (const Choice& choice : place->choices) {
    if (choice.none_elsewhere) {
      WriteNumbered(choice.place, value, writer);
      continue;
    }
    const ir::Arg before = PassPlace(choice.place, writer);
    WritePlace(choice.place,
               EmitChoice(choice.chosen, value, before, choice.place->type, writer), writer);
  }
  memory_.Save(place);
  place->state.current = value;
  place->state.version = place->newest_version();
}

}  // namespace rules_onnx::passes
