// export: capture, then lower for each opset, both through the cache.

#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exporter/cli/capture_stage.h"
#include "exporter/cli/commands.h"
#include "exporter/cli/export_cache.h"
#include "exporter/cli/export_files.h"
#include "exporter/cli/lower_stage.h"
#include "exporter/cli/output_axes.h"
#include "exporter/cli/progress.h"
#include "exporter/cli/staging.h"
#include "exporter/files/atomic_file.h"
#include "exporter/files/input_file.h"
#include "exporter/ir/print.h"

namespace rules_onnx::cli {
namespace {

namespace fs = std::filesystem;
using Artifacts = ExportCache::Artifacts;

class Exporter {
 public:
  Exporter(const Options& options, diagnostics::Diagnostics* diagnostics)
      : options_(options),
        files_(options),
        cache_(CacheFolder(options), options, files_, diagnostics),
        diagnostics_(diagnostics) {}

  absl::Status Run();

 private:
  // All outputs straight from the cache, where it has them.
  bool RestoreOutputs(const Staging& staging);
  bool RestoreModel(const Artifacts& model, int opset, const Staging& staging);
  absl::Status Capture(const Staging& staging);
  bool RestoreCapture(const Staging& staging);
  absl::Status ReadCapture(const Staging& staging);
  absl::Status Lower(int opset, const Staging& staging);
  std::vector<std::string> Outputs(const Staging& staging) const;
  // A text about staged files; those that are no outputs stand for the output that needs them.
  std::string Published(const Staging& staging, absl::string_view text) const;
  // Tells what capture had to say.
  void Relay(const std::string& path) const;

  const Options& options_;
  const ExportFiles files_;
  ExportCache cache_;
  diagnostics::Diagnostics* diagnostics_;
  std::optional<Artifacts> capture_;  // the cache's entry of the capture
  Captured captured_;
};

capture::CapturePaths StagedPaths(const Staging& staging, const ExportFiles& files) {
  return {staging.File(".graph"), staging.File(files.weights()), staging.File(".debug")};
}

std::map<std::string, std::string> CaptureOutputs(const Staging& staging,
                                                  const ExportFiles& files) {
  const capture::CapturePaths paths = StagedPaths(staging, files);
  return {{"graph", paths.graph},
          {"weights", paths.weights},
          {"debug", paths.debug},
          {"messages", staging.File(".messages")}};
}

std::string Exporter::Published(const Staging& staging, absl::string_view text) const {
  std::string told(text);
  for (const char* name : {".graph", ".weights", ".debug", ".messages"}) {
    told = absl::StrReplaceAll(told, {{staging.File(name), options_.output}});
  }
  return staging.Published(told);
}

void Exporter::Relay(const std::string& path) const {
  const absl::StatusOr<std::string> messages = files::ReadFile(path);
  if (messages.ok()) std::cerr << *messages;
}

bool Exporter::RestoreModel(const Artifacts& model, int opset, const Staging& staging) {
  for (const auto& [name, artifact] : model) {
    const std::string path = staging.File(
        name == "model" ? files_.Model(opset)
                        : absl::StrCat(files_.Data(opset), name.substr(std::string("data").size())));
    std::error_code error;
    fs::create_directories(fs::path(path).parent_path(), error);
    if (!cache_.Fetch(artifact, path)) return false;
  }
  return true;
}

bool Exporter::RestoreOutputs(const Staging& staging) {
  if (!capture_.has_value() || options_.verbose || options_.external_data == "per_tensor") {
    return false;
  }
  std::vector<std::pair<const cache::Artifact, std::string>> outputs;
  if (files_.shares_weights()) outputs.emplace_back(capture_->at("weights"), files_.weights());
  for (const int opset : options_.opsets) {
    const std::optional<Artifacts> model = cache_.FindModel(*capture_, opset);
    if (!model.has_value()) return false;
    for (const auto& [name, artifact] : *model) {
      outputs.emplace_back(artifact, name == "model" ? files_.Model(opset) : files_.Data(opset));
    }
  }
  const std::string messages = staging.File(".messages");
  if (!cache_.Fetch(capture_->at("messages"), messages)) return false;
  for (const auto& [artifact, name] : outputs) {
    if (!cache_.Fetch(artifact, (fs::path(files_.folder()) / name).string())) return false;
  }
  Relay(messages);
  return true;
}

bool Exporter::RestoreCapture(const Staging& staging) {
  if (!capture_.has_value()) return false;
  for (const auto& [name, path] : CaptureOutputs(staging, files_)) {
    if (!cache_.Fetch(capture_->at(name), path)) return false;
  }
  return true;
}

absl::Status Exporter::ReadCapture(const Staging& staging) {
  const capture::CapturePaths paths = StagedPaths(staging, files_);
  absl::StatusOr<Captured> captured = ReadCaptured(paths.graph, paths.debug);
  if (!captured.ok()) return captured.status();
  captured_ = *std::move(captured);
  return absl::OkStatus();
}

absl::Status Exporter::Capture(const Staging& staging) {
  if (RestoreCapture(staging)) return ReadCapture(staging);
  const Progress progress(absl::StrCat("reading ", options_.model));
  diagnostics::Diagnostics found;
  std::string messages;
  absl::Status status =
      CaptureProgram(options_, StagedPaths(staging, files_), &messages, &found);
  messages = Published(staging, messages);
  if (!status.ok() || found.has_errors()) {
    std::cerr << messages;
    for (const diagnostics::Diagnostic& diagnostic : found.all()) diagnostics_->Add(diagnostic);
    return status.ok() ? absl::CancelledError("") : status;
  }
  if (status = ReadCapture(staging); !status.ok()) return status;
  WarnDroppedOutputs(captured_.graph, &found);
  absl::StrAppend(&messages, found.ToText(false));
  if (status = files::WriteFile(staging.File(".messages"), messages); !status.ok()) return status;
  capture_ = cache_.SaveCapture(CaptureOutputs(staging, files_));
  return absl::OkStatus();
}

// Artifact names and paths of a staged model.
std::map<std::string, std::string> ModelOutputs(const Staging& staging, const std::string& model,
                                                const std::string& data) {
  std::map<std::string, std::string> outputs = {{"model", staging.File(model)}};
  if (!staging.Has(data)) return outputs;
  std::error_code error;
  if (!fs::is_directory(staging.File(data), error)) outputs["data"] = staging.File(data);
  for (const auto& entry : fs::directory_iterator(staging.File(data), error)) {
    outputs[absl::StrCat("data/", entry.path().filename().string())] = entry.path().string();
  }
  return outputs;
}

absl::Status Exporter::Lower(int opset, const Staging& staging) {
  if (capture_.has_value()) {
    const std::optional<Artifacts> model = cache_.FindModel(*capture_, opset);
    if (model.has_value() && RestoreModel(*model, opset, staging)) return absl::OkStatus();
  }
  const Progress progress(absl::StrCat("writing ", files_.Model(opset)));
  const LowerJob job{opset, staging.File(files_.weights()),
                     options_.external_data == "shared" ? files_.weights() : "",
                     staging.File(files_.Model(opset))};
  const absl::Status status = LowerCaptured(captured_, options_, job, diagnostics_);
  if (status.ok() && capture_.has_value() && diagnostics_->all().empty()) {
    cache_.SaveModel(*capture_, opset,
                     ModelOutputs(staging, files_.Model(opset), files_.Data(opset)));
  }
  return status;
}

// Names in the order in which they are published: data before the models that point at it.
std::vector<std::string> Exporter::Outputs(const Staging& staging) const {
  std::vector<std::string> names;
  if (files_.shares_weights()) names.push_back(files_.weights());
  for (const int opset : options_.opsets) {
    if (staging.Has(files_.Data(opset))) names.push_back(files_.Data(opset));
  }
  for (const int opset : options_.opsets) names.push_back(files_.Model(opset));
  return names;
}

absl::Status Exporter::Run() {
  absl::StatusOr<Staging> staging = Staging::Create(files_.folder());
  if (!staging.ok()) return staging.status();
  capture_ = cache_.FindCapture();
  if (RestoreOutputs(*staging)) return absl::OkStatus();

  absl::Status status = Capture(*staging);
  if (status.ok()) {
    Relay(staging->File(".messages"));
    if (options_.verbose) {
      std::cout << ir::PrintGraph(captured_.graph, {.debug = &captured_.debug});
    }
    for (const int opset : options_.opsets) status.Update(Lower(opset, *staging));
  }
  if (status.ok() && !diagnostics_->has_errors()) status = staging->Publish(Outputs(*staging));
  return absl::Status(status.code(), Published(*staging, status.message()));
}

}  // namespace

absl::Status RunExport(const Options& options, diagnostics::Diagnostics* diagnostics) {
  Options own = options;
  own.dynamic_axes = WithoutOutputAxes(options.dynamic_axes, options.output_names);
  return Exporter(own, diagnostics).Run();
}

}  // namespace rules_onnx::cli
