// onnx-capture-torch, the part of the exporter that needs LibTorch, as a process of its own.
#ifndef RULES_ONNX_EXPORTER_CLI_TORCH_CHILD_H_
#define RULES_ONNX_EXPORTER_CLI_TORCH_CHILD_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "exporter/cli/options.h"

namespace rules_onnx::cli {

// --torch-capture, or the program beside this one.
std::string TorchCapturePath(const Options& options);

// The program and its arguments, those that --torch-libraries needs among them.
std::vector<std::string> TorchCaptureCommand(const Options& options,
                                             std::vector<std::string> arguments);

// Runs it, with --torch-libraries; `messages` gets what it wrote to standard error. An error without
// a message: it failed, and `messages` say why. Other errors: it cannot be started, or a signal
// ended it.
absl::Status RunTorchCapture(const Options& options, std::vector<std::string> arguments,
                             std::string* messages);

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_TORCH_CHILD_H_
