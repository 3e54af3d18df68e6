// Lists and dicts that several names stand for.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_SHARED_CONTAINERS_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_SHARED_CONTAINERS_H_

#include <torch/csrc/jit/ir/alias_analysis.h>

namespace rules_onnx::script {

// Whether a container that `names` stand for from `chosen` on (results of that node, or what its body
// carries) is written to later and read under another name as well: then no copy can stand for it.
bool IsSharedLater(const torch::jit::AliasDb& aliases, const torch::jit::Node* chosen,
                   const torch::jit::ValueSet& names);

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_SHARED_CONTAINERS_H_
