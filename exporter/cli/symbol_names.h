// The options inputs and dynamic_axes for ExportedProgram files, whose dynamic axes the file fixes:
// the options give them names, and are checked against the file.
#ifndef RULES_ONNX_EXPORTER_CLI_SYMBOL_NAMES_H_
#define RULES_ONNX_EXPORTER_CLI_SYMBOL_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "exporter/diagnostics/diagnostics.h"
#include "exporter/ir/graph.h"

namespace rules_onnx::cli {

// Renames the symbols of the inputs' axes, and all dims of the graph with them. An axis that the
// file fixed to a number is an error in `diagnostics`, with `allow_frozen` a warning; of two
// names for one symbol the first is taken, with a warning. Two symbols of one name are one from
// then on. A status: the inputs are wrong (given_inputs.h) or the JSON is (inputs/dynamic_axes.h),
// sizes with one name differ in the example or have no bounds in common, or the program uses the
// name. `json` may be empty.
absl::Status NameSymbols(const std::vector<std::string>& given, const std::string& json,
                         bool allow_frozen, ir::Graph* graph,
                         diagnostics::Diagnostics* diagnostics);

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_SYMBOL_NAMES_H_
