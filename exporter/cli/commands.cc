#include "exporter/cli/commands.h"

#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "exporter/cli/lower_stage.h"
#include "exporter/cli/ops_table.h"
#include "exporter/files/atomic_file.h"
#include "exporter/ir/print.h"

namespace rules_onnx::cli {

absl::Status RunLower(const Options& options, diagnostics::Diagnostics* diagnostics) {
  const absl::StatusOr<Captured> captured = ReadCaptured(options.graph, options.debug);
  if (!captured.ok()) return captured.status();
  if (options.verbose) std::cout << ir::PrintGraph(captured->graph, {.debug = &captured->debug});
  const LowerJob job{options.opsets.front(), options.weights, options.weights_name, options.output};
  if (options.unused_inputs.empty()) return LowerCaptured(*captured, options, job, diagnostics);
  // Written before the model, so that a model that is there has it.
  absl::StatusOr<files::AtomicFile> unused = files::AtomicFile::Create(options.unused_inputs);
  if (!unused.ok()) return unused.status();
  // Locations that stand neither in the model nor in the output.
  const bool debug_unused = options.strip_doc_string && !options.verbose && !options.debug.empty();
  absl::Status status = unused->Write(debug_unused ? absl::StrCat(options.debug, "\n") : "");
  if (status.ok()) status = LowerCaptured(*captured, options, job, diagnostics);
  return status.ok() ? unused->Commit() : status;
}

absl::Status RunOps(const Options& options, diagnostics::Diagnostics*) {
  std::cout << (options.json ? OpsJson() : OpsText());
  return absl::OkStatus();
}

}  // namespace rules_onnx::cli
