#include "exporter/cli/capture_stage.h"

#include <unistd.h>

#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/cli/program_kind.h"
#include "exporter/cli/symbol_names.h"
#include "exporter/cli/torch_child.h"
#include "exporter/ir/print.h"
#include "exporter/pt2/exported_program.h"

namespace rules_onnx::cli {
namespace {

// Gives axes the names that the file itself has for them.
absl::Status NameByFile(const std::string& path, capture::Program* program,
                        diagnostics::Diagnostics* diagnostics) {
  if (program->axis_names.empty()) return absl::OkStatus();
  const absl::Status status = NameSymbols({}, program->axis_names, /*allow_frozen=*/true,
                                          &program->graph, diagnostics);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": extra/dynamic_axes.json: ", status.message()));
}

// The program as the file has it, its axes named. Complete only where `diagnostics` has no errors.
absl::StatusOr<capture::Program> ReadExportedProgram(const Options& options,
                                                     diagnostics::Diagnostics* diagnostics) {
  if (options.training == "train") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--training train: ", options.model,
        " is an ExportedProgram, which holds the mode that its module was exported in"));
  }
  absl::StatusOr<capture::Program> program =
      pt2::ReadExportedProgram(
          options.model, {.model = "", .state_outputs = options.state_outputs}, diagnostics);
  if (!program.ok() || diagnostics->has_errors()) return program;
  absl::Status status = NameByFile(options.model, &*program, diagnostics);
  if (!status.ok()) return status;
  status = NameSymbols(options.inputs.items, options.dynamic_axes, options.allow_frozen_shapes,
                       &program->graph, diagnostics);
  if (!status.ok()) return status;
  return program;
}

absl::Status CaptureExportedProgram(const Options& options, const capture::CapturePaths& paths,
                                    diagnostics::Diagnostics* diagnostics) {
  absl::StatusOr<capture::Program> program = ReadExportedProgram(options, diagnostics);
  if (!program.ok()) return program.status();
  if (diagnostics->has_errors()) return absl::OkStatus();
  capture::CaptureOptions capture_options;
  capture_options.training =
      options.training == "preserve" ? capture::Training::kPreserve : capture::Training::kEval;
  capture_options.do_constant_folding = options.do_constant_folding;
  capture_options.allow_frozen_shapes = options.allow_frozen_shapes;
  capture_options.state_outputs = options.state_outputs;
  capture_options.input_names = options.input_names;
  return capture::FinishCapture(*std::move(program), capture_options, paths, diagnostics);
}

}  // namespace

std::vector<std::string> TorchCaptureArguments(const Options& options,
                                               const capture::CapturePaths& paths) {
  std::vector<std::string> arguments = {"capture"};
  for (const OptionRow& row : OptionTable()) {
    const bool part =
        row.stage == Stage::kCaptureStage || row.name == "model" || row.name == "inputs";
    if (!part) continue;
    for (std::string& value : ChangedValues(row, options)) {
      arguments.push_back(FlagName(row.name));
      arguments.push_back(std::move(value));
    }
  }
  for (const auto& [flag, path] : {std::pair("--graph", &paths.graph),
                                   {"--weights", &paths.weights},
                                   {"--debug", &paths.debug}}) {
    arguments.push_back(flag);
    arguments.push_back(*path);
  }
  return arguments;
}

absl::Status CaptureProgram(const Options& options, const capture::CapturePaths& paths,
                            std::string* messages, diagnostics::Diagnostics* diagnostics) {
  const absl::StatusOr<ProgramKind> kind = DetectProgram(options.model);
  if (!kind.ok()) return kind.status();
  if (*kind == ProgramKind::kExportedProgram) {
    return CaptureExportedProgram(options, paths, diagnostics);
  }
  const absl::Status status =
      RunTorchCapture(options, TorchCaptureArguments(options, paths), messages);
  if (status.ok() && access(paths.graph.c_str(), F_OK) != 0) {
    return absl::InternalError(absl::StrCat("--torch-capture ", TorchCapturePath(options),
                                            " did not capture ", options.model,
                                            ": it left no graph"));
  }
  return status;
}

absl::StatusOr<Captured> CaptureAndRead(const Options& options, const capture::CapturePaths& paths,
                                        diagnostics::Diagnostics* diagnostics) {
  std::string messages;
  const absl::Status status = CaptureProgram(options, paths, &messages, diagnostics);
  std::cerr << messages;
  if (!status.ok()) return status;
  if (diagnostics->has_errors()) return absl::CancelledError("");
  return ReadCaptured(paths.graph, paths.debug);
}

absl::Status PrintProgram(const Options& options, diagnostics::Diagnostics* diagnostics) {
  const absl::StatusOr<ProgramKind> kind = DetectProgram(options.model);
  if (!kind.ok()) return kind.status();
  if (*kind == ProgramKind::kTorchScript) {
    std::vector<std::string> arguments = TorchCaptureArguments(options, {});
    arguments.insert(arguments.end(), {"--graph-stage", "raw"});
    std::string messages;
    const absl::Status status = RunTorchCapture(options, arguments, &messages);
    std::cerr << messages;
    return status;
  }
  const absl::StatusOr<capture::Program> program = ReadExportedProgram(options, diagnostics);
  if (!program.ok() || diagnostics->has_errors()) return program.status();
  std::cout << ir::PrintGraph(program->graph, {.debug = &program->debug});
  return absl::OkStatus();
}

}  // namespace rules_onnx::cli
