// One call of one TorchScript node on given values, with real or meta tensors.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_OPERATOR_CALL_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_OPERATOR_CALL_H_

#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <torch/csrc/jit/ir/ir.h>

#include <optional>
#include <string>
#include <vector>

namespace rules_onnx::script {

// Thrown where a meta tensor's values are asked for.
struct NeedsValues {
  std::string message;
};

// Nodes that TorchScript's interpreter runs as instructions, not through an operator: containers,
// unpacking, casts, type tests, messages. nullopt for all others.
std::optional<std::vector<c10::IValue>> BuildContainer(const torch::jit::Node* node,
                                                       const std::vector<c10::IValue>& inputs);

// Calls the operator. With `meta`, real tensors that meet meta tensors become meta; an operator
// without a meta kernel runs on zeros of the same shapes, unless its result depends on values.
std::vector<c10::IValue> CallOperator(const torch::jit::Node* node,
                                      const torch::jit::Operation& operation,
                                      const std::vector<c10::IValue>& inputs, bool meta);

// The value with all its tensors on the meta device, containers copied.
c10::IValue ToMeta(const c10::IValue& value);

// Makes results of which values decide the size along `axis` longer by `delta` there, or shorter:
// other results that the operator may have. Tensors without that axis stay.
void ResizeResults(const torch::jit::Node* node, int64_t axis, int64_t delta,
                   std::vector<c10::IValue>* results);

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_OPERATOR_CALL_H_
