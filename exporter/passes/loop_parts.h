// What a loop carries, while it is made functional; internal to passes/functionalize_loop*.cc.
#ifndef RULES_ONNX_EXPORTER_PASSES_LOOP_PARTS_H_
#define RULES_ONNX_EXPORTER_PASSES_LOOP_PARTS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "exporter/passes/functionalizer.h"

namespace rules_onnx::passes {

// A carried value that may be another tensor in each iteration.
struct Functionalizer::Slot {
  size_t index;   // among the program's carried values
  ir::Arg named;  // the initial value, as the program names it
  Place* init;    // nullptr where untracked
  Place* param = nullptr;
  Place* result = nullptr;
  int64_t version = 0;  // of the param, before the body
  // What the param may be, if flags tell which:
  std::vector<Place*> places;  // outer tensors,
  std::vector<Slot*> peers;    // or the own one of an earlier slot,
  Place* own = nullptr;        // or one of its own
  bool is_told = false;
  std::vector<ir::Value*> told;  // the body's flags, and numbers where it moves
  // It may be a part of one of these, another one in each iteration: the numbers of its elements in
  // each are carried as well, and `places` are roots.
  bool moves = false;
  // It may be none of these, but a tensor of its own.
  bool may_be_own = true;

  bool is_outer(const Place* place) const {
    return std::find(places.begin(), places.end(), place) != places.end();
  }
  bool has_peer(const Slot* slot) const {
    return std::find(peers.begin(), peers.end(), slot) != peers.end();
  }
  // It is a part of the only place, for sure.
  bool is_always_there() const {
    return moves && !may_be_own && peers.empty() && places.size() == 1;
  }
  size_t flags() const {
    return !is_told || is_always_there() ? 0 : places.size() + peers.size() + may_be_own;
  }
  size_t numbers() const { return moves ? places.size() + peers.size() : 0; }
};

struct Functionalizer::LoopParts {
  NodePtr node;
  ir::Arg::List carried, results;
  std::vector<ir::Value*> params, outputs;
  std::vector<Slot> slots;
  std::vector<Slot*> order;   // a slot comes after those that it may be a part of
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

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_LOOP_PARTS_H_
