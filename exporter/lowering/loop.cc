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
      types.push_back({type.dtype, type.shape, type.kind});
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

// The state starts one before the first element: what `combine` gives is taken from then on, the
// first element itself before.
Val Accumulate(Builder& b, Val x, int axis,
               const std::function<Val(Val so_far, Val next)>& combine) {
  if (!x || b.failed()) return {};
  Shape slice = x.shape();
  slice.erase(slice.begin() + axis);
  const ValueType type{.dtype = x.dtype(), .shape = slice};
  const ValueType flag{.dtype = DType::kBool, .shape = Shape{}};
  Val started, so_far, next;
  const auto body = b.Subgraph(
      "body",
      [&](Graph* graph) {
        started = b.SubgraphInput(graph, "started", flag);
        so_far = b.SubgraphInput(graph, "so_far", type);
        next = b.SubgraphInput(graph, "next", type);
      },
      [&]() -> Vals {
        const Val result = b.Where(started, combine(so_far, next), next);
        return {b.ScalarInt(1, DType::kBool), result, result};
      });
  Vals sizes;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis) sizes.push_back(b.Size(x, i));
  }
  const Val zeros = b.ConstantOfShape(b.Vector(sizes), 0, x.dtype());
  const std::vector<int64_t> axes = {axis};
  const Vals results = b.OpN("Scan", {b.ScalarInt(0, DType::kBool), zeros, x},
                             {{"body", body}, {"num_scan_inputs", 1}, {"scan_input_axes", axes},
                              {"scan_output_axes", axes}},
                             3,
                             {{DType::kBool, Shape{}}, {x.dtype(), slice},
                              {x.dtype(), x.shape()}});
  return results[2];
}

Val Any(Builder& b, Val mask) {
  const Val counted = b.Reduce("ReduceSum", b.Cast(mask, DType::kInt32), {}, /*keepdims=*/false);
  return b.Greater(counted, b.ScalarInt(0, DType::kInt32));
}

}  // namespace rules_onnx::lowering
