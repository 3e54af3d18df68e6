// The option inputs for ExportedProgram files. What the inputs are stands in the file, so export
// reads no values: specs give axes their names and sizes, and are checked against the file.
#ifndef RULES_ONNX_EXPORTER_CLI_GIVEN_INPUTS_H_
#define RULES_ONNX_EXPORTER_CLI_GIVEN_INPUTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exporter/diagnostics/diagnostics.h"
#include "exporter/inputs/input.h"
#include "exporter/ir/graph.h"

namespace rules_onnx::cli {

// The graph's tensor inputs at their example sizes, without values; axes that a spec among `items`
// names have that name. Sizes of specs become the example sizes of the graph's symbols.
//
// A spec with a name is for the input of that name, one without for the next tensor. Errors: a file
// that does not exist; a spec that no input has the name or place of, of another dtype or rank, or
// of sizes that the program does not take. A number or None that the export fixed is a warning in
// `diagnostics`: giving it changes nothing.
absl::StatusOr<inputs::Inputs> GivenInputs(const std::vector<std::string>& items, ir::Graph* graph,
                                           diagnostics::Diagnostics* diagnostics);

// Specs that all name their inputs, as GivenInputs takes them, in the graph's order, for what takes
// them by their places. Other items as they are.
std::vector<std::string> SpecsInOrder(const std::vector<std::string>& items,
                                      const ir::Graph& graph);

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_GIVEN_INPUTS_H_
