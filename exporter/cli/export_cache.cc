#include "exporter/cli/export_cache.h"

#include <stdlib.h>

#include "absl/strings/str_cat.h"

namespace rules_onnx::cli {

std::string CacheFolder(const Options& options) {
  const char* variable = getenv("RULES_ONNX_CACHE_DIR");
  return !options.cache_dir.empty() || variable == nullptr ? options.cache_dir : variable;
}

ExportCache::ExportCache(const std::string& folder, const Options& options,
                         const ExportFiles& files, diagnostics::Diagnostics* diagnostics)
    : enabled_(!folder.empty()),
      options_(options),
      files_(files),
      diagnostics_(diagnostics),
      store_(folder),
      memo_(folder),
      cache_(&store_, &memo_) {}

void ExportCache::Warn(const absl::Status& status) {
  diagnostics_->Add({.severity = diagnostics::Severity::kWarning,
                     .id = "cache",
                     .message = absl::StrCat("the cache was of no use: ", status.message())});
}

std::optional<ExportCache::Artifacts> ExportCache::Find(const absl::StatusOr<cache::Key>& key) {
  // What is wrong with the program or its inputs is told when they are read.
  if (!key.ok()) return std::nullopt;
  const absl::StatusOr<std::optional<cache::Action>> action = cache_.Find(*key);
  if (!action.ok()) {
    Warn(action.status());
    return std::nullopt;
  }
  if (!action->has_value()) return std::nullopt;
  Artifacts artifacts;
  for (const cache::Artifact& artifact : (*action)->artifacts) artifacts[artifact.name] = artifact;
  return artifacts;
}

std::optional<ExportCache::Artifacts> ExportCache::FindCapture() {
  if (!enabled_) return std::nullopt;
  return Find(CaptureKey(options_, memo_));
}

std::optional<ExportCache::Artifacts> ExportCache::SaveCapture(
    const std::map<std::string, std::string>& outputs) {
  if (!enabled_) return std::nullopt;
  const absl::StatusOr<cache::Key> key = CaptureKey(options_, memo_);
  if (!key.ok()) return std::nullopt;
  if (const absl::Status status = cache_.Save(*key, outputs); !status.ok()) {
    Warn(status);
    return std::nullopt;
  }
  return Find(key);
}

absl::StatusOr<cache::Key> ExportCache::ModelKey(const Artifacts& capture, int opset) const {
  const CapturedDigests digests{capture.at("graph").content, capture.at("weights").content,
                                capture.at("debug").content};
  return LowerKey(options_, digests, opset, files_.Model(opset), files_.weights(), memo_);
}

std::optional<ExportCache::Artifacts> ExportCache::FindModel(const Artifacts& capture, int opset) {
  return Find(ModelKey(capture, opset));
}

void ExportCache::SaveModel(const Artifacts& capture, int opset,
                            const std::map<std::string, std::string>& outputs) {
  const absl::StatusOr<cache::Key> key = ModelKey(capture, opset);
  if (!key.ok()) return;
  if (const absl::Status status = cache_.Save(*key, outputs); !status.ok()) Warn(status);
}

bool ExportCache::Fetch(const cache::Artifact& artifact, const std::string& path) {
  const absl::StatusOr<bool> fetched = cache_.Fetch(artifact, path);
  if (!fetched.ok()) Warn(fetched.status());
  return fetched.ok() && *fetched;
}

}  // namespace rules_onnx::cli
