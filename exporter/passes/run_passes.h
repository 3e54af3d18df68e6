// The pipeline from a front end's graph to the graph that lowering reads.
#ifndef RULES_ONNX_EXPORTER_PASSES_RUN_PASSES_H_
#define RULES_ONNX_EXPORTER_PASSES_RUN_PASSES_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "exporter/diagnostics/diagnostics.h"
#include "exporter/ir/graph.h"
#include "exporter/ir/serialize.h"

namespace rules_onnx::passes {

// Called with "captured", then after each stage that changed the graph: "simplified",
// "functional", "final".
using StageObserver = std::function<void(absl::string_view stage, const ir::Graph& graph)>;

// Runs all passes. Afterwards no operator writes to an argument, and VerifyGraph holds with
// `functional`. What cannot be expressed is reported to `diagnostics` as errors, all of it; the
// graph is then not to be used. A status is a graph that does not verify. With `state_outputs` each
// buffer that the program changes gives an output as well (Context::state_outputs).
absl::Status RunPasses(ir::Graph* graph, ir::DebugInfo* debug,
                       diagnostics::Diagnostics* diagnostics,
                       const StageObserver& observer = nullptr, bool state_outputs = false);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_RUN_PASSES_H_
