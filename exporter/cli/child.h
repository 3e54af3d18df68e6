// Runs another program and waits for it.
#ifndef RULES_ONNX_EXPORTER_CLI_CHILD_H_
#define RULES_ONNX_EXPORTER_CLI_CHILD_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace rules_onnx::cli {

struct ChildResult {
  int exit_status = 0;  // meaningful where signal is 0
  int signal = 0;       // that ended it
  std::string errors;   // what it wrote to standard error
};

// Standard output is the caller's; standard input is empty. `program` is a path, or a name to be
// looked for in PATH. It is killed when this program ends before. An error: it cannot be started.
absl::StatusOr<ChildResult> RunChild(const std::string& program,
                                     const std::vector<std::string>& arguments);

// `name` in the folder of the running program.
std::string BesideThisProgram(const std::string& name);

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_CHILD_H_
