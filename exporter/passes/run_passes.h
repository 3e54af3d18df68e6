// The pipeline from a front end's graph to the graph that lowering reads.
#ifndef RULES_ONNX_EXPORTER_PASSES_RUN_PASSES_H_
#define RULES_ONNX_EXPORTER_PASSES_RUN_PASSES_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "exporter/diagnostics/diagnostics.h"
#include "exporter/ir/graph.h"
#include "exporter/ir/serialize.h"
#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// Called with "captured", then after each stage that changed the graph: "simplified",
// "functional", "final".
using StageObserver = std::function<void(absl::string_view stage, const ir::Graph& graph)>;

struct PassOptions {
  StageObserver observer;
  bool state_outputs = false;               // Context::state_outputs
  std::vector<ir::WeightMemory> weight_memory;  // Context::weight_memory
};

// Runs all passes. Afterwards no operator writes to an argument, and VerifyGraph holds with
// `functional`. What cannot be expressed is reported to `diagnostics` as errors, all of it; the
// graph is then not to be used. A status is a graph that does not verify.
absl::Status RunPasses(ir::Graph* graph, ir::DebugInfo* debug,
                       diagnostics::Diagnostics* diagnostics, PassOptions options = {});

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_RUN_PASSES_H_
