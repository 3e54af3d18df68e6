// Which front end a program is for, told from its content.
#ifndef RULES_ONNX_EXPORTER_CLI_PROGRAM_KIND_H_
#define RULES_ONNX_EXPORTER_CLI_PROGRAM_KIND_H_

#include <string>

#include "absl/status/statusor.h"

namespace rules_onnx::cli {

enum class ProgramKind { kTorchScript, kExportedProgram };

// Errors say what the file is instead, and what to save.
absl::StatusOr<ProgramKind> DetectProgram(const std::string& path);

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_PROGRAM_KIND_H_
