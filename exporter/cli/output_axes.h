// Entries of dynamic_axes that are about outputs.
#ifndef RULES_ONNX_EXPORTER_CLI_OUTPUT_AXES_H_
#define RULES_ONNX_EXPORTER_CLI_OUTPUT_AXES_H_

#include <string>
#include <vector>

namespace rules_onnx::cli {

// The JSON without the entries for these outputs, as torch.onnx takes them: sizes of outputs follow
// from the program, so that a capture neither needs them nor depends on them. JSON of another form
// stays as it is.
std::string WithoutOutputAxes(const std::string& json, const std::vector<std::string>& outputs);

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_OUTPUT_AXES_H_
