// The operators on lists and tuples that are no ATen operators (graph.h lists them).
#ifndef RULES_ONNX_EXPORTER_TORCH_REFERENCE_LIST_OPERATORS_H_
#define RULES_ONNX_EXPORTER_TORCH_REFERENCE_LIST_OPERATORS_H_

#include <ATen/core/ivalue.h>

#include <optional>
#include <string>
#include <vector>

namespace rules_onnx::reference {

// The results of `prim::ListAppend` and the like on inputs in the order of the node's
// arguments; nullopt for any other operator.
std::optional<std::vector<c10::IValue>> RunListOperator(const std::string& op,
                                                        const std::vector<c10::IValue>& inputs);

}  // namespace rules_onnx::reference

#endif  // RULES_ONNX_EXPORTER_TORCH_REFERENCE_LIST_OPERATORS_H_
