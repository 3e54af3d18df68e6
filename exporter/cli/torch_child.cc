#include "exporter/cli/torch_child.h"

#include <string.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "exporter/cli/child.h"

namespace rules_onnx::cli {
namespace {

std::string LastLine(const std::string& text) {
  const std::vector<std::string> lines = absl::StrSplit(absl::StripAsciiWhitespace(text), '\n');
  return lines.back();
}

}  // namespace

std::string TorchCapturePath(const Options& options) {
  return options.torch_capture.empty() ? BesideThisProgram("onnx-capture-torch")
                                       : options.torch_capture;
}

std::vector<std::string> TorchCaptureCommand(const Options& options,
                                             std::vector<std::string> arguments) {
  for (const std::string& library : options.torch_libraries.items) {
    arguments.insert(arguments.end(), {"--torch-library", library});
  }
  arguments.insert(arguments.begin(), TorchCapturePath(options));
  return arguments;
}

absl::Status RunTorchCapture(const Options& options, std::vector<std::string> arguments,
                             std::string* messages) {
  const std::vector<std::string> command = TorchCaptureCommand(options, std::move(arguments));
  const std::string& program = command.front();
  absl::StatusOr<ChildResult> result = RunChild(program, {command.begin() + 1, command.end()});
  if (!result.ok()) {
    return absl::Status(result.status().code(),
                        absl::StrCat(options.model, " needs LibTorch to be read: ",
                                     result.status().message(),
                                     "; --torch-capture names the program that does"));
  }
  if (result->signal != 0) {
    return absl::InternalError(absl::StrCat(
        program, " crashed on ", options.model, ": ", strsignal(result->signal),
        result->errors.empty() ? "" : absl::StrCat("; its last words: ", LastLine(result->errors))));
  }
  *messages = std::move(result->errors);
  if (result->exit_status == 0) return absl::OkStatus();
  if (messages->empty()) {
    return absl::InternalError(absl::StrCat(program, " failed on ", options.model,
                                            " with exit status ", result->exit_status,
                                            " and no message"));
  }
  return absl::CancelledError("");
}

}  // namespace rules_onnx::cli
