// From a saved program to x.graph, x.weights and x.debug, whichever front end it needs.
#ifndef RULES_ONNX_EXPORTER_CLI_CAPTURE_STAGE_H_
#define RULES_ONNX_EXPORTER_CLI_CAPTURE_STAGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporter/capture/capture.h"
#include "exporter/cli/lower_stage.h"
#include "exporter/cli/options.h"
#include "exporter/diagnostics/diagnostics.h"

namespace rules_onnx::cli {

// Files appear whole or not at all. TorchScript is read by onnx-capture-torch in a process of its
// own: `messages` gets what it has to say, see torch_child.h. Problems of operators go to
// `diagnostics`.
absl::Status CaptureProgram(const Options& options, const capture::CapturePaths& paths,
                            std::string* messages, diagnostics::Diagnostics* diagnostics);

// The same, and the graph that was captured. Problems of operators are an error without a message;
// what onnx-capture-torch has to say goes to standard error.
absl::StatusOr<Captured> CaptureAndRead(const Options& options, const capture::CapturePaths& paths,
                                        diagnostics::Diagnostics* diagnostics);

// Prints the program's graph as its file has it, before any pass.
absl::Status PrintProgram(const Options& options, diagnostics::Diagnostics* diagnostics);

// The arguments of onnx-capture-torch for the options that differ from their defaults, without
// --torch-libraries, which RunTorchCapture adds.
std::vector<std::string> TorchCaptureArguments(const Options& options,
                                               const capture::CapturePaths& paths);

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_CAPTURE_STAGE_H_
