// From a captured graph to an ONNX model at one opset.
#ifndef RULES_ONNX_EXPORTER_CLI_LOWER_STAGE_H_
#define RULES_ONNX_EXPORTER_CLI_LOWER_STAGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporter/cli/options.h"
#include "exporter/diagnostics/diagnostics.h"
#include "exporter/ir/graph.h"
#include "exporter/ir/serialize.h"
#include "exporter/lowering/lowered_values.h"

namespace rules_onnx::cli {

struct Captured {
  ir::Graph graph;
  ir::DebugInfo debug;
};

// Reads x.graph and, if the path is not empty, x.debug.
absl::StatusOr<Captured> ReadCaptured(const std::string& graph, const std::string& debug);

struct LowerJob {
  int opset = 0;
  std::string weights;  // x.weights; may be empty with external data shared
  std::string weights_name;
  std::string output;
};

// Lowers and writes; files appear whole or not at all. Problems of operators go to `diagnostics`.
absl::Status LowerCaptured(const Captured& captured, const Options& options, const LowerJob& job,
                           diagnostics::Diagnostics* diagnostics);

// Lowers only; `values`, if given, gets what each value of the captured graph has become.
absl::StatusOr<builder::Model> LowerToModel(const Captured& captured, const Options& options,
                                            int opset, diagnostics::Diagnostics* diagnostics,
                                            lowering::LoweredValues* values = nullptr);

// A warning for each output of the program that no tensor carries.
void WarnDroppedOutputs(const ir::Graph& graph, diagnostics::Diagnostics* diagnostics);

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_LOWER_STAGE_H_
