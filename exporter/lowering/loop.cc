#include "exporter/lowering/loop.h"

#include <utility>

namespace rules_onnx::lowering {

using builder::Graph;
using builder::OutputType;
using builder::ValueType;

Vals Repeat(Builder& b, Val count, Val first, const Vals& initial,
            const std::function<LoopStep(Val iteration, const Vals& carried)>& body) {
  const Vals nothing(initial.size());
  for (const Val val : initial) {
    if (!val) return nothing;
  }
  const Val start = first ? first : b.ScalarInt(1, DType::kBool);
  Val iteration;
  Vals carried;
  std::vector<OutputType> types;
  const auto add_inputs = [&](Graph* graph) {
    iteration = b.SubgraphInput(graph, "iteration",
                                ValueType{.dtype = DType::kInt64, .shape = Shape{}});
    b.SubgraphInput(graph, "condition", ValueType{.dtype = DType::kBool, .shape = Shape{}});
    for (const Val val : initial) {
      const auto& type = val.get()->type;
      carried.push_back(b.SubgraphInput(graph, "carried", type));
      types.push_back({type.dtype, type.shape});
    }
  };
  const auto graph = b.Subgraph("body", add_inputs, [&] {
    LoopStep step = body(iteration, carried);
    Vals results = {step.go_on ? step.go_on : b.ScalarInt(1, DType::kBool)};
    results.insert(results.end(), step.carried.begin(), step.carried.end());
    return results;
  });
  if (b.failed()) return nothing;
  Vals inputs = {count, start};
  inputs.insert(inputs.end(), initial.begin(), initial.end());
  return b.OpN("Loop", inputs, {{"body", graph}}, initial.size(), types);
}

Val Any(Builder& b, Val mask) {
  const Val counted = b.Reduce("ReduceSum", b.Cast(mask, DType::kInt32), {}, /*keepdims=*/false);
  return b.Greater(counted, b.ScalarInt(0, DType::kInt32));
}

}  // namespace rules_onnx::lowering
