// The subcommands.
#ifndef RULES_ONNX_EXPORTER_CLI_COMMANDS_H_
#define RULES_ONNX_EXPORTER_CLI_COMMANDS_H_

#include "absl/status/status.h"
#include "exporter/cli/options.h"
#include "exporter/diagnostics/diagnostics.h"

namespace rules_onnx::cli {

// Each does what its name says. It has failed if it gives an error or `diagnostics` has errors;
// an error without a message has been told already. Results for a person go to standard output.
absl::Status RunExport(const Options& options, diagnostics::Diagnostics* diagnostics);
absl::Status RunCapture(const Options& options, diagnostics::Diagnostics* diagnostics);
absl::Status RunLower(const Options& options, diagnostics::Diagnostics* diagnostics);
absl::Status RunVerify(const Options& options, diagnostics::Diagnostics* diagnostics);
absl::Status RunPrint(const Options& options, diagnostics::Diagnostics* diagnostics);
absl::Status RunOps(const Options& options, diagnostics::Diagnostics* diagnostics);

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_COMMANDS_H_
