// Text form of a graph, for people and for golden tests.
#ifndef RULES_ONNX_EXPORTER_IR_PRINT_H_
#define RULES_ONNX_EXPORTER_IR_PRINT_H_

#include <string>

#include "exporter/ir/graph.h"
#include "exporter/ir/serialize.h"

namespace rules_onnx::ir {

struct PrintOptions {
  bool scopes = true;
  const DebugInfo* debug = nullptr;  // source lines, and scopes with the names of classes
};

// One line a symbol, weight, input, node, output, dropped output and custom schema, in this order.
// A node's line: `%3: float32[N, 64] = aten::relu(self=%2)  # scope  file:line`. Blocks are
// indented. Values print as `%name` where the name is unique and an identifier (dots are part of
// one), else `%id`. Floats print with the digits that give the same bits back, literals as
// `float32[2]{1.0, 2.0}` with at most 16 elements.
std::string PrintGraph(const Graph& graph, const PrintOptions& options = {});
// The node's line without its blocks and comment; values print as `%name` where the name is an
// identifier.
std::string PrintNode(const Node& node);
// A literal as in PrintGraph.
std::string PrintLiteral(const TensorLiteral& literal);

}  // namespace rules_onnx::ir

#endif  // RULES_ONNX_EXPORTER_IR_PRINT_H_
