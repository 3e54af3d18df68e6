// Inputs of the reference run of an ExportedProgram, whose dynamic axes stand in its graph.
#ifndef RULES_ONNX_EXPORTER_CLI_REFERENCE_INPUTS_H_
#define RULES_ONNX_EXPORTER_CLI_REFERENCE_INPUTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "exporter/ir/graph.h"

namespace rules_onnx::cli {

// The axes of the graph's inputs that are named by one symbol, as dynamic_axes in its list form:
// an entry for each tensor.
std::string AxesOfInputs(const ir::Graph& graph);

// "x:float32[10,3]" of "x:float32[N=10|7,3]": a spec without names and second sizes of its axes.
std::string WithoutAxisNames(absl::string_view spec);

// Writes the inputs that torch.export.save stored with the program to `path` (a torch.save'd
// (args, kwargs)). An error where the file holds none.
absl::Status ExtractSampleInputs(const std::string& model, const std::string& path);

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_REFERENCE_INPUTS_H_
