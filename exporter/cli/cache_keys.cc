#include "exporter/cli/cache_keys.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "exporter/cli/capture_stage.h"
#include "exporter/cli/loaded_libraries.h"
#include "exporter/cli/program_kind.h"
#include "exporter/cli/torch_child.h"

namespace rules_onnx::cli {
namespace {

namespace fs = std::filesystem;

absl::Status AddFile(absl::string_view name, const std::string& path, const cache::Memo& memo,
                     cache::Key* key) {
  const absl::StatusOr<cache::Digest> digest = memo.DigestOfFile(path);
  if (!digest.ok()) return digest.status();
  key->AddFile(name, *digest);
  return absl::OkStatus();
}

void AddOptions(const Options& options, Stage stage, cache::Key* key) {
  for (const OptionRow& row : OptionTable()) {
    if (row.stage != stage || row.name == "verbose") continue;
    for (const std::string& value : ChangedValues(row, options)) key->AddText(row.name, value);
  }
}

absl::Status AddFiles(absl::string_view name, const Repeated& files, const cache::Memo& memo,
                      cache::Key* key) {
  absl::Status status;
  for (size_t i = 0; i < files.items.size(); ++i) {
    status.Update(AddFile(absl::StrCat(name, " ", i), files.items[i], memo, key));
  }
  return status;
}

absl::Status AddInputs(const Options& options, const cache::Memo& memo, cache::Key* key) {
  for (size_t i = 0; i < options.inputs.items.size(); ++i) {
    const std::string& item = options.inputs.items[i];
    const std::string name = absl::StrCat("input ", i);
    std::error_code error;
    if (!fs::is_regular_file(item, error)) {  // a spec
      key->AddText(name, item);
      continue;
    }
    key->AddText(name, fs::path(item).extension().string());
    if (auto status = AddFile(name, item, memo, key); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// onnx-capture-torch, and LibTorch with it.
absl::Status AddTorchPrograms(const Options& options, const cache::Memo& memo, cache::Key* key) {
  const std::string program = TorchCapturePath(options);
  absl::Status status = AddFile("onnx-capture-torch", program, memo, key);
  for (const std::string& library : LoadedLibraries(program)) {
    status.Update(AddFile(fs::path(library).filename().string(), library, memo, key));
  }
  return status;
}

}  // namespace

absl::StatusOr<cache::Key> CaptureKey(const Options& options, const cache::Memo& memo) {
  const absl::StatusOr<ProgramKind> kind = DetectProgram(options.model);
  if (!kind.ok()) return kind.status();
  cache::Key key;
  key.AddText("command", "capture");
  absl::Status status = AddFile("onnx-export", "/proc/self/exe", memo, &key);
  status.Update(AddFile("model", options.model, memo, &key));
  status.Update(AddInputs(options, memo, &key));
  if (*kind == ProgramKind::kTorchScript) {
    status.Update(AddTorchPrograms(options, memo, &key));
    status.Update(AddFiles("torch_library", options.torch_libraries, memo, &key));
  }
  AddOptions(options, Stage::kCaptureStage, &key);
  if (!status.ok()) return status;
  return key;
}

absl::StatusOr<cache::Key> LowerKey(const Options& options, const CapturedDigests& captured,
                                    int opset, const std::string& output,
                                    const std::string& weights_name, const cache::Memo& memo) {
  cache::Key key;
  key.AddText("command", "lower");
  if (auto status = AddFile("onnx-export", "/proc/self/exe", memo, &key); !status.ok()) {
    return status;
  }
  absl::Status status = AddFiles("plugin", options.plugins, memo, &key);
  status.Update(AddFiles("op_mapping", options.op_mapping, memo, &key));
  if (!status.ok()) return status;
  key.AddFile("graph", captured.graph);
  key.AddText("opset", absl::StrCat(opset));
  key.AddText("external_data", options.external_data);
  if (options.external_data == "shared") {
    key.AddText("weights_name", weights_name);
  } else {
    key.AddFile("weights", captured.weights);
  }
  if (options.external_data == "single" || options.external_data == "per_tensor") {
    key.AddText("output", output);
  }
  if (!options.strip_doc_string) key.AddFile("debug", captured.debug);
  AddOptions(options, Stage::kLowerStage, &key);
  return key;
}

}  // namespace rules_onnx::cli
