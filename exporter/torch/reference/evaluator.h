// Computes a captured graph with LibTorch, whichever front end it came from.
#ifndef RULES_ONNX_EXPORTER_TORCH_REFERENCE_EVALUATOR_H_
#define RULES_ONNX_EXPORTER_TORCH_REFERENCE_EVALUATOR_H_

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exporter/ir/graph.h"

namespace rules_onnx::reference {

// What an inner block is run for: its node, and that node's iteration from 0; 0 for a branch.
struct Enclosing {
  int32_t node = 0;
  int64_t iteration = 0;
  friend bool operator==(const Enclosing&, const Enclosing&) = default;
};
// From outside in; empty in the main block.
using Place = std::vector<Enclosing>;

// Sees what nodes give and inner blocks take, as it is computed. What it throws ends the run, and is
// an error of Evaluate.
using Observer = std::function<void(const Place&, const ir::Value&, const c10::IValue&)>;

// The weights of `graph` from its weights file, in the order of graph.weights.
absl::StatusOr<std::vector<c10::IValue>> ReadWeights(const ir::Graph& graph,
                                                     const std::string& path);

// The graph's outputs for `inputs` (one a parameter: tensors, or numbers) and `weights` (one a
// weight). Operators run by schema name through LibTorch's dispatcher; a graph from before or
// after functionalize will do. Errors name the operator.
absl::StatusOr<std::vector<c10::IValue>> Evaluate(const ir::Graph& graph,
                                                  const std::vector<c10::IValue>& inputs,
                                                  const std::vector<c10::IValue>& weights,
                                                  const Observer& observer = nullptr);

}  // namespace rules_onnx::reference

#endif  // RULES_ONNX_EXPORTER_TORCH_REFERENCE_EVALUATOR_H_
