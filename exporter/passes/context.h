// What every pass works on.
#ifndef RULES_ONNX_EXPORTER_PASSES_CONTEXT_H_
#define RULES_ONNX_EXPORTER_PASSES_CONTEXT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "exporter/diagnostics/diagnostics.h"
#include "exporter/ir/graph.h"
#include "exporter/ir/serialize.h"
#include "exporter/ir/weight_memory.h"
#include "exporter/passes/schemas.h"

namespace rules_onnx::passes {

struct Context {
  // All pointers outlive the context; none is null.
  Context(ir::Graph* graph, ir::DebugInfo* debug, diagnostics::Diagnostics* diagnostics)
      : graph(graph), debug(debug), diagnostics(diagnostics), schemas(*graph) {}

  ir::Graph* graph;
  ir::DebugInfo* debug;
  diagnostics::Diagnostics* diagnostics;
  Schemas schemas;
  // Buffers that the program changes are outputs as well: "final_state." and their names.
  bool state_outputs = false;
  // Beside graph->weights, index for index; or empty: each has memory of its own, and is contiguous.
  std::vector<ir::WeightMemory> weight_memory;

  // Adds a problem with the node's operator, scope and place.
  void Report(diagnostics::Severity severity, absl::string_view id, const ir::Node& node,
              std::string message, std::string hint = "");
  // `copy` stands for `origin`: it gets its scope and its place.
  void InheritPlace(const ir::Node& origin, ir::Node* copy);
};

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_CONTEXT_H_
