// Views that a loop carries and that show another part of a tensor in each iteration: `row = y[i]`,
// `cur = cur[1:]`. The loop carries the numbers of their elements as well; reading takes these, and
// writing puts them.
#include <algorithm>
#include <utility>

#include "exporter/passes/loop_parts.h"
#include "exporter/passes/views.h"

namespace rules_onnx::passes {
namespace {

constexpr char kTake[] = "aten::take";

// Of one dtype and rank, and of any size.
ir::Type AnySizes(const ir::Type& type, ir::DType dtype) {
  if (!type.shape) return ir::Type::Tensor(dtype, std::nullopt);
  return ir::Type::Tensor(dtype, ir::Shape(type.shape->size(), ir::Dim::Unknown()));
}

}  // namespace

// Whether it is the tensor of `root` or a part of it.
ir::Arg Functionalizer::IsIn(Place* place, const Place* root, const ir::Node& origin) {
  ir::Arg is = false;
  if (place == nullptr) return is;
  Place* at = place->root();
  if (at == root) return true;
  for (const Choice& choice : at->choices) {
    is = Either(is, Both(choice.chosen, IsIn(choice.place, root, origin), origin), origin);
  }
  return is;
}

// Which elements of its root it shows, counted row by row. None where that is no matter of
// elements.
ir::Arg Functionalizer::NumbersOf(Place* place, const ir::Node& origin) {
  if (!place->type.is_tensor() || place->is_item()) return {};
  Emitter emitter = EmitterFor(origin);
  if (place->is_root()) {
    if (!place->choices.empty()) return NumbersOfChosen(*place, nullptr, origin);
    const ir::Arg value = PassPlace(place, origin);
    return value.is_value() ? ir::Arg(ElementNumbers(value.value(), &emitter)) : ir::Arg();
  }
  if (place->view->op == kTake) return place->view->args[1].value;
  if (!MovesElements(*place->view)) return {};
  std::vector<ir::NamedArg> args = place->view->args;
  args[0].value = NumbersOf(place->viewed, origin);
  if (args[0].value.is_none()) return {};
  return emitter.Emit(place->view->op, std::move(args),
                      ir::Type::Tensor(ir::DType::kInt64, place->type.shape));
}

// The same where only those of the roots in `wanted` matter: none elsewhere.
ir::Arg Functionalizer::NumbersIn(const std::vector<Place*>& wanted, Place* place,
                                  const ir::Node& origin) {
  const std::vector<Place*> roots = place == nullptr ? std::vector<Place*>() : place->roots();
  const bool matters = std::any_of(roots.begin(), roots.end(), [&](const Place* root) {
    return std::find(wanted.begin(), wanted.end(), root) != wanted.end();
  });
  if (!matters) return NoNumbers(place == nullptr ? ir::Type() : place->type, origin);
  if (place->is_root() && !place->choices.empty()) return NumbersOfChosen(*place, &wanted, origin);
  return NumbersOf(place, origin);
}

ir::Arg Functionalizer::NumbersOfChosen(const Place& place, const std::vector<Place*>* wanted,
                                        const ir::Node& origin) {
  const ir::Type type = wanted == nullptr ? ir::Type::Tensor(ir::DType::kInt64, place.type.shape)
                                          : AnySizes(place.type, ir::DType::kInt64);
  ir::Arg numbers;
  for (size_t i = place.choices.size(); i-- > 0;) {
    Place* choice = place.choices[i].place;
    const ir::Arg chosen =
        wanted == nullptr ? NumbersOf(choice, origin) : NumbersIn(*wanted, choice, origin);
    if (chosen.is_none()) return {};
    numbers = numbers.is_none()
                  ? chosen
                  : EmitChoice(place.choices[i].chosen, chosen, numbers, type, origin);
  }
  return numbers;
}

ir::Arg Functionalizer::NoNumbers(const ir::Type& type, const ir::Node& origin) {
  const std::vector<int64_t> sizes(type.shape ? type.shape->size() : 1, 0);
  return EmitterFor(origin).Emit(
      "aten::zeros", {{"size", ir::Arg::Ints(sizes)}, {"dtype", ir::DType::kInt64}},
      ir::Type::Tensor(ir::DType::kInt64, ir::Shape(sizes.begin(), sizes.end())));
}

ir::Type Functionalizer::NumbersType(const Slot& slot, const ir::Type& type) {
  return slot.is_always_there() ? ir::Type::Tensor(ir::DType::kInt64, type.shape)
                                : AnySizes(type, ir::DType::kInt64);
}

// None in what the place is no part of, so that reading and writing it there does nothing.
ir::Arg::List Functionalizer::PlaceNumbers(Place* place, const Slot& slot, const ir::Type& type,
                                           const ir::Node& origin, const IsPeer& is_peer) {
  std::vector<Place*> wanted = slot.places;
  for (const Slot* peer : slot.peers) {
    const std::vector<Place*> own = OwnPlaces(*peer, peer->result);
    wanted.insert(wanted.end(), own.begin(), own.end());
  }
  ir::Arg numbers = NumbersIn(wanted, place, origin);
  if (numbers.is_none()) {
    Refuse(origin, "a loop carries a view whose elements are not those of another tensor");
    numbers = NoNumbers(type, origin);
  }
  if (slot.is_always_there()) return {numbers};
  const ir::Type numbers_type = NumbersType(slot, type);
  const auto in = [&](const ir::Arg& is_in) -> ir::Arg {
    if (is_in.is_bool()) return is_in.as_bool() ? numbers : NoNumbers(type, origin);
    return EmitChoice(is_in, numbers, NoNumbers(type, origin), numbers_type, origin);
  };
  ir::Arg::List all;
  for (const Place* target : slot.places) all.push_back(in(IsIn(place, target, origin)));
  for (const Slot* peer : slot.peers) all.push_back(in(is_peer(*peer)));
  return all;
}

// The elements of these numbers.
Place* Functionalizer::Numbered(Place* root, ir::Value* value, const Slot& slot,
                                ir::Value* numbers) {
  auto view = context_->graph->NewNode(kTake, {{"self", ir::Arg()}, {"index", numbers}});
  view->outputs = {value};
  const ir::Type& type = value->type;
  return memory_.NewView(root, std::move(view),
                         slot.is_always_there() ? type : AnySizes(type, type.dtype));
}

// One of several: as many elements are written as it has numbers, all or none.
void Functionalizer::WriteNumbered(Place* place, const ir::Arg& value, const ir::Node& writer) {
  const ir::Type some = ir::Type::Tensor(place->type.dtype, ir::Shape{ir::Dim::Unknown()});
  Emitter emitter = EmitterFor(writer);
  const ir::Arg count =
      emitter.Emit("aten::numel", {{"self", place->view->args[1].value}}, IntType());
  const ir::Arg flat =
      emitter.Emit("aten::reshape", {{"self", value}, {"shape", ir::Arg::Ints({-1})}}, some);
  WritePlace(place,
             emitter.Emit("aten::slice.Tensor",
                          {{"self", flat}, {"dim", 0}, {"start", 0}, {"end", count}}, some),
             writer);
  place->state.version = -1;  // what was written has another shape
}

// It was to stay a part of its places, and is not known to.
bool Functionalizer::LeavesItsPlaces(const Slot& slot) {
  return slot.is_told && !slot.may_be_own &&
         (slot.result == nullptr || !OwnPlaces(slot, slot.result).empty());
}

}  // namespace rules_onnx::passes
