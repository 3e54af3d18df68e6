// Whether the outputs of a command may be written where it is told to.
#ifndef RULES_ONNX_EXPORTER_CLI_OUTPUT_CHECK_H_
#define RULES_ONNX_EXPORTER_CLI_OUTPUT_CHECK_H_

#include "absl/status/status.h"
#include "exporter/cli/options.h"

namespace rules_onnx::cli {

// Errors: two outputs of the command have one path; an output would take the place of a file that
// the command reads, or of the folder that the file lies in; something stands there that is no
// regular file (files::CheckReplaceable). Paths are compared by what they name, links followed.
absl::Status CheckOutputs(Command command, const Options& options);

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_OUTPUT_CHECK_H_
