// The cache as export and capture use it: one entry for a capture, one for each model.
#ifndef RULES_ONNX_EXPORTER_CLI_EXPORT_CACHE_H_
#define RULES_ONNX_EXPORTER_CLI_EXPORT_CACHE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cache/cache.h"
#include "cache/local_store.h"
#include "cache/memo.h"
#include "exporter/cli/cache_keys.h"
#include "exporter/cli/export_files.h"
#include "exporter/cli/options.h"
#include "exporter/diagnostics/diagnostics.h"

namespace rules_onnx::cli {

// The folder that the option or the environment names; "" for no cache.
std::string CacheFolder(const Options& options);

// A cache that does not work costs time, never the export: each failure is one warning, and a miss.
class ExportCache {
 public:
  // An empty folder: no cache, every question is a miss. All must outlive this.
  ExportCache(const std::string& folder, const Options& options, const ExportFiles& files,
              diagnostics::Diagnostics* diagnostics);

  // Artifacts by name (graph, weights, debug, messages; model, data, data/<file>).
  using Artifacts = std::map<std::string, cache::Artifact>;

  std::optional<Artifacts> FindCapture();
  // `outputs`: artifact name → path. Gives what FindCapture then gives.
  std::optional<Artifacts> SaveCapture(const std::map<std::string, std::string>& outputs);
  std::optional<Artifacts> FindModel(const Artifacts& capture, int opset);
  void SaveModel(const Artifacts& capture, int opset,
                 const std::map<std::string, std::string>& outputs);

  // False: the content is lost.
  bool Fetch(const cache::Artifact& artifact, const std::string& path);

 private:
  std::optional<Artifacts> Find(const absl::StatusOr<cache::Key>& key);
  absl::StatusOr<cache::Key> ModelKey(const Artifacts& capture, int opset) const;
  void Warn(const absl::Status& status);

  bool enabled_;
  const Options& options_;
  const ExportFiles& files_;
  diagnostics::Diagnostics* diagnostics_;
  cache::LocalStore store_;
  cache::Memo memo_;
  cache::Cache cache_;
};

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_EXPORT_CACHE_H_
