// capture: through the cache, as export does it.

#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <string>

#include "exporter/cli/capture_stage.h"
#include "exporter/cli/commands.h"
#include "exporter/cli/export_cache.h"
#include "exporter/cli/export_files.h"
#include "exporter/cli/lower_stage.h"
#include "exporter/cli/staging.h"
#include "exporter/files/atomic_file.h"
#include "exporter/files/input_file.h"

namespace rules_onnx::cli {
namespace {

using Outputs = std::map<std::string, std::string>;

bool Restore(ExportCache* cache, const Outputs& outputs) {
  const std::optional<ExportCache::Artifacts> found = cache->FindCapture();
  if (!found.has_value()) return false;
  for (const auto& [name, path] : outputs) {
    const auto artifact = found->find(name);
    if (artifact == found->end() || !cache->Fetch(artifact->second, path)) return false;
  }
  return true;
}

}  // namespace

absl::Status RunCapture(const Options& options, diagnostics::Diagnostics* diagnostics) {
  const absl::StatusOr<Staging> staging =
      Staging::Create(std::filesystem::path(options.graph).parent_path().string());
  if (!staging.ok()) return staging.status();
  const capture::CapturePaths paths{options.graph, options.weights, options.debug};
  const Outputs outputs = {{"graph", paths.graph},
                           {"weights", paths.weights},
                           {"debug", paths.debug},
                           {"messages", staging->File("messages")}};
  const ExportFiles files(options);
  ExportCache cache(CacheFolder(options), options, files, diagnostics);
  if (Restore(&cache, outputs)) {
    const absl::StatusOr<std::string> messages = files::ReadFile(outputs.at("messages"));
    if (messages.ok()) std::cerr << *messages;
    return messages.status();
  }

  std::string messages;
  diagnostics::Diagnostics found;
  absl::Status status = CaptureProgram(options, paths, &messages, &found);
  std::cerr << messages;
  if (status.ok() && !found.has_errors()) {
    const absl::StatusOr<Captured> captured = ReadCaptured(options.graph, "");
    if (captured.ok()) WarnDroppedOutputs(captured->graph, &found);
    status = captured.status();
  }
  for (const diagnostics::Diagnostic& diagnostic : found.all()) diagnostics->Add(diagnostic);
  if (!status.ok() || found.has_errors()) return status;
  messages += found.ToText(false);
  status = files::WriteFile(outputs.at("messages"), messages);
  if (status.ok()) cache.SaveCapture(outputs);
  return status;
}

}  // namespace rules_onnx::cli
