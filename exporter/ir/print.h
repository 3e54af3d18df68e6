// Text form of a graph, for people and for golden tests.
#ifndef RULES_ONNX_EXPORTER_IR_PRINT_H_
#define RULES_ONNX_EXPORTER_IR_PRINT_H_

#include <string>

#include "exporter/ir/graph.h"
#include "exporter/ir/serialize.h"

namespace rules_onnx::ir {

struct PrintOptions {
  bool scopes = true;
  const DebugInfo* debug = nullptr;  // source lines at the end of each node's line
};

// One line a node: `%3: float32[N, 64] = aten::relu(self=%2)  # scope  file:line`. Blocks are
// indented. Values print as `%name` where the name is unique and an identifier, else `%id`.
std::string PrintGraph(const Graph& graph, const PrintOptions& options = {});
std::string PrintNode(const Node& node);

}  // namespace rules_onnx::ir

#endif  // RULES_ONNX_EXPORTER_IR_PRINT_H_
