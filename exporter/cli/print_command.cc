// print: the graph at a station of its way, as text.

#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/builder/print.h"
#include "exporter/cli/capture_stage.h"
#include "exporter/cli/commands.h"
#include "exporter/cli/lower_stage.h"
#include "exporter/cli/temporary_folder.h"
#include "exporter/ir/print.h"

namespace rules_onnx::cli {
namespace {

absl::StatusOr<Captured> Capture(const Options& options, diagnostics::Diagnostics* diagnostics) {
  const TemporaryFolder temporary;
  if (!temporary.status().ok()) return temporary.status();
  const capture::CapturePaths paths{temporary.File("graph"), temporary.File("weights"),
                                    temporary.File("debug")};
  return CaptureAndRead(options, paths, diagnostics);
}

// Node of the captured graph → "Net/Linear[fc]  net.py:12".
std::map<int32_t, std::string> Places(const ir::DebugInfo& debug) {
  std::map<int32_t, std::string> places;
  for (const auto& [node, location] : debug) {
    const std::string line = ir::LocationText(location);
    const char* separator = line.empty() || location.scope.empty() ? "" : "  ";
    const std::string place = absl::StrCat(location.scope, separator, line);
    if (!place.empty()) places[node] = place;
  }
  return places;
}

absl::Status PrintOnnx(const Captured& captured, const Options& options,
                       diagnostics::Diagnostics* diagnostics) {
  const std::map<int32_t, std::string> places = Places(captured.debug);
  for (const int opset : options.opsets) {
    const absl::StatusOr<builder::Model> model =
        LowerToModel(captured, options, opset, diagnostics);
    if (!model.ok()) return model.status();
    std::cout << builder::PrintModel(*model, places);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunPrint(const Options& options, diagnostics::Diagnostics* diagnostics) {
  if (options.model.empty() == options.graph.empty()) {
    return absl::InvalidArgumentError("print takes either a --model or a --graph");
  }
  if (options.stage == "captured") {
    if (options.model.empty()) {
      return absl::InvalidArgumentError("--stage captured: a --graph has gone through the passes "
                                        "already; give the --model");
    }
    return PrintProgram(options, diagnostics);
  }
  const absl::StatusOr<Captured> captured = options.graph.empty()
                                                ? Capture(options, diagnostics)
                                                : ReadCaptured(options.graph, options.debug);
  if (!captured.ok()) return captured.status();
  if (options.stage == "onnx") return PrintOnnx(*captured, options, diagnostics);
  std::cout << ir::PrintGraph(captured->graph, {.debug = &captured->debug});
  return absl::OkStatus();
}

}  // namespace rules_onnx::cli
