// export: capture, then lower for each opset.

#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "exporter/cli/capture_stage.h"
#include "exporter/cli/commands.h"
#include "exporter/cli/lower_stage.h"
#include "exporter/cli/staging.h"
#include "exporter/ir/print.h"

namespace rules_onnx::cli {
namespace {

namespace fs = std::filesystem;

// "net.weights" for "net.onnx", "net.opset{opset}.onnx" and "net-{opset}.onnx".
std::string DefaultWeightsName(const std::string& output) {
  std::string name = fs::path(output).filename().string();
  absl::string_view stem = absl::StripSuffix(name, ".onnx");
  const size_t field = stem.find("{opset}");
  if (field != absl::string_view::npos) {
    stem = absl::StripSuffix(stem.substr(0, field), "opset");
    while (!stem.empty() && absl::StrContains("._-", stem.substr(stem.size() - 1))) {
      stem.remove_suffix(1);
    }
  }
  return absl::StrCat(stem.empty() ? "model" : stem, ".weights");
}

std::string OutputName(const Options& options, int opset) {
  return absl::StrReplaceAll(fs::path(options.output).filename().string(),
                             {{"{opset}", absl::StrCat(opset)}});
}

bool SharesWeights(const Options& options) {
  return options.external_data == "shared" && options.export_params;
}

// Names in the order in which they are published: data before the models that point at it.
std::vector<std::string> Outputs(const Options& options, const Staging& staging,
                                 const std::string& weights_name) {
  std::vector<std::string> names;
  if (SharesWeights(options)) names.push_back(weights_name);
  for (const int opset : options.opsets) {
    const std::string data = OutputName(options, opset) + ".data";
    if (staging.Has(data)) names.push_back(data);
  }
  for (const int opset : options.opsets) names.push_back(OutputName(options, opset));
  return names;
}

absl::Status Export(const Options& options, Staging* staging,
                    diagnostics::Diagnostics* diagnostics) {
  const std::string weights_name =
      options.weights_name.empty() ? DefaultWeightsName(options.output) : options.weights_name;
  const capture::CapturePaths paths{staging->File(".graph"), staging->File(weights_name),
                                    staging->File(".debug")};
  std::string messages;
  absl::Status status = CaptureProgram(options, paths, &messages, diagnostics);
  std::cerr << staging->Published(messages);
  if (!status.ok() || diagnostics->has_errors()) return status;

  const absl::StatusOr<Captured> captured = ReadCaptured(paths.graph, paths.debug);
  if (!captured.ok()) return captured.status();
  WarnDroppedOutputs(captured->graph, diagnostics);
  if (options.verbose) std::cout << ir::PrintGraph(captured->graph, {.debug = &captured->debug});
  for (const int opset : options.opsets) {
    const LowerJob job{opset, paths.weights,
                       options.external_data == "shared" ? weights_name : "",
                       staging->File(OutputName(options, opset))};
    status.Update(LowerCaptured(*captured, options, job, diagnostics));
  }
  if (!status.ok() || diagnostics->has_errors()) return status;
  return staging->Publish(Outputs(options, *staging, weights_name));
}

}  // namespace

absl::Status RunExport(const Options& options, diagnostics::Diagnostics* diagnostics) {
  absl::StatusOr<Staging> staging =
      Staging::Create(fs::path(options.output).parent_path().string());
  if (!staging.ok()) return staging.status();
  const absl::Status status = Export(options, &*staging, diagnostics);
  return absl::Status(status.code(), staging->Published(status.message()));
}

}  // namespace rules_onnx::cli
