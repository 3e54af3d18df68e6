// The command line.
#ifndef RULES_ONNX_EXPORTER_CLI_PARSE_H_
#define RULES_ONNX_EXPORTER_CLI_PARSE_H_

#include <optional>
#include <string>
#include <vector>

#include "exporter/cli/options.h"

namespace rules_onnx::cli {

struct CommandLine {
  Command command = kExport;
  Options options;
};

struct ParseResult {
  // Set where a command is to run.
  std::optional<CommandLine> command_line;
  std::string text;                   // help, version or JSON for standard output
  std::vector<std::string> problems;  // of usage: all at once
};

// `arguments` without the program's name.
ParseResult ParseCommandLine(const std::vector<std::string>& arguments);

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_PARSE_H_
