// Where a node of a TorchScript graph comes from: module scope and source line.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_SOURCE_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_SOURCE_H_

#include <torch/csrc/jit/ir/ir.h>

#include <string>

#include "exporter/ir/serialize.h"

namespace rules_onnx::script {

// "AlexNet" of `__torch__.nets.___torch_mangle_3.AlexNet`.
std::string ClassName(const std::string& qualified_name);

// "AlexNet/Sequential[features]/Conv2d[0]", from the call stack that inlining left on the node.
std::string ScopeOf(const torch::jit::Node* node, const std::string& root_class);

// The innermost line of the author's own code; a line of PyTorch's library where there is no
// other; an empty file where the program holds no location.
ir::SourceLocation LocationOf(const torch::jit::Node* node);

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_SOURCE_H_
