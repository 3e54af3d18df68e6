#include <ATen/Parallel.h>

#include <iostream>

#include "absl/strings/str_cat.h"
#include "exporter/diagnostics/diagnostics.h"
#include "exporter/ir/print.h"
#include "exporter/torch/command.h"
#include "exporter/torch/script/capture_script.h"
#include "exporter/torch/script/loader.h"

namespace rules_onnx::torch_command {
namespace {

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

absl::Status Capture(const CaptureFlags& flags, diagnostics::Diagnostics* diagnostics) {
  if (absl::Status status = LoadLibraries(flags.torch_libraries); !status.ok()) return status;
  auto module = script::LoadProgram(flags.model);
  if (!module.ok()) return module.status();
  const auto program = script::PrepareProgram(*std::move(module), flags.options.training);
  if (!program.ok()) return InFile(flags.model, program.status());
  if (program->left_training) {
    diagnostics->Add({.severity = diagnostics::Severity::kWarning,
                      .id = "training-mode",
                      .message = absl::StrCat(flags.model, " was saved in training mode and is "
                                              "exported in evaluation mode"),
                      .hint = "--training preserve keeps the mode that it was saved in"});
  }
  auto inputs = ReadProgramInputs(flags.inputs, flags.dynamic_axes, flags.options.input_names,
                                  program->parameter_names());
  if (!inputs.ok()) return inputs.status();
  auto captured =
      script::CaptureScript(*program, *std::move(inputs), flags.options, diagnostics);
  if (!captured.ok()) return InFile(flags.model, captured.status());
  if (flags.print_raw) {
    std::cout << ir::PrintGraph(captured->graph, {.debug = &captured->debug});
    return absl::OkStatus();
  }
  return capture::FinishCapture(*std::move(captured), flags.options, flags.paths, diagnostics);
}

}  // namespace

absl::Status RunCapture(const CaptureFlags& flags) {
  // Runs compute on small or meta tensors: a build's other actions need the other cores more, and
  // OpenMP's threads spin where they have to wait for one.
  at::set_num_threads(1);
  diagnostics::Diagnostics diagnostics;
  const absl::Status status = Capture(flags, &diagnostics);
  std::cerr << diagnostics.ToText(false);
  if (status.ok() && diagnostics.has_errors()) return absl::CancelledError("");
  return status;
}

}  // namespace rules_onnx::torch_command
