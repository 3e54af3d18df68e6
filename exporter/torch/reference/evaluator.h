// Computes a captured graph with LibTorch, whichever front end it came from.
#ifndef RULES_ONNX_EXPORTER_TORCH_REFERENCE_EVALUATOR_H_
#define RULES_ONNX_EXPORTER_TORCH_REFERENCE_EVALUATOR_H_

#include <ATen/core/ivalue.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exporter/ir/graph.h"

namespace rules_onnx::reference {

// Sees every value as it is computed, in inner blocks once an iteration.
using Observer = std::function<void(const ir::Value&, const c10::IValue&)>;

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
