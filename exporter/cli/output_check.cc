#include "exporter/cli/output_check.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exporter/cli/export_files.h"
#include "exporter/files/atomic_file.h"
#include "exporter/inputs/read_inputs.h"

namespace rules_onnx::cli {
namespace {

namespace fs = std::filesystem;

// A path as it was given, by which option, and the one spelling of where that is.
struct Place {
  std::string flag, path, where;
  bool is_folder = false;
};

// Where a file of this path appears: links in the folder's path are followed, not the file itself.
std::string EntryOf(const fs::path& path) {
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const fs::path real = fs::weakly_canonical(fs::absolute(folder, error), error);
  return (real / path.filename()).string();
}

class OutputCheck {
 public:
  OutputCheck(Command command, const Options& options) : options_(options) {
    if (command == kExport) AddExport();
    if (command == kCapture) AddCapture();
    if (command == kLower) AddLower();
    if (command == kVerify) AddVerify();
  }

  absl::Status Run() const;

 private:
  void AddExport();
  void AddCapture();
  void AddLower();
  void AddVerify();
  // What all commands read but print and ops, which write nothing.
  void AddProgram();
  void AddPlugins();
  void Read(const std::string& flag, const std::string& path);
  void Write(const std::string& flag, const std::string& path, bool is_folder = false);
  void WriteData(const std::string& path);

  const Options& options_;
  std::vector<Place> inputs_, outputs_;
};

void OutputCheck::Read(const std::string& flag, const std::string& path) {
  if (path.empty()) return;
  inputs_.push_back({flag, path, EntryOf(path)});
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  if (!error) inputs_.push_back({flag, path, target.string()});
}

void OutputCheck::Write(const std::string& flag, const std::string& path, bool is_folder) {
  if (!path.empty()) outputs_.push_back({flag, path, EntryOf(path), is_folder});
}

// The data beside a model; a folder of an earlier run may stand in the place of the file.
void OutputCheck::WriteData(const std::string& path) {
  if (options_.external_data == "single" || options_.external_data == "per_tensor") {
    Write("--output", path + ".data", /*is_folder=*/true);
  }
}

void OutputCheck::AddProgram() {
  Read("--model", options_.model);
  for (const std::string& item : options_.inputs.items) {
    if (inputs::NamesFile(item)) Read("--inputs", item);
  }
  for (const std::string& path : options_.torch_libraries.items) Read("--torch-library", path);
  Read("--torch-capture", options_.torch_capture);
}

void OutputCheck::AddPlugins() {
  for (const std::string& path : options_.plugins.items) Read("--plugin", path);
  for (const std::string& path : options_.op_mapping.items) Read("--op-mapping", path);
}

void OutputCheck::AddExport() {
  AddProgram();
  AddPlugins();
  const ExportFiles files(options_);
  const fs::path folder = files.folder();
  if (files.shares_weights()) Write("--weights-name", (folder / files.weights()).string());
  for (const int opset : options_.opsets) {
    const std::string model = (folder / files.Model(opset)).string();
    Write("--output", model);
    WriteData(model);
  }
}

void OutputCheck::AddCapture() {
  AddProgram();
  Write("--graph", options_.graph);
  Write("--weights", options_.weights);
  Write("--debug", options_.debug);
}

void OutputCheck::AddLower() {
  AddPlugins();
  Read("--graph", options_.graph);
  Read("--weights", options_.weights);
  Read("--debug", options_.debug);
  if (options_.external_data == "shared") {
    const fs::path folder = fs::path(options_.output).parent_path();
    Read("--weights-name", (folder / options_.weights_name).string());
  }
  Write("--output", options_.output);
  WriteData(options_.output);
  Write("--unused-inputs", options_.unused_inputs);
}

void OutputCheck::AddVerify() {
  AddProgram();
  AddPlugins();
  for (const std::string& path : options_.onnx.items) Read("--onnx", path);
  if (options_.test_data_dir.empty()) return;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(options_.test_data_dir, error)) {
    if (absl::StartsWith(entry.path().filename().string(), "test_data_set_")) {
      Write("--test-data-dir", entry.path().string(), /*is_folder=*/true);
    }
  }
}

absl::Status OutputCheck::Run() const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Place& output = outputs_[i];
    for (size_t j = 0; j < i; ++j) {
      if (outputs_[j].where != output.where) continue;
      return absl::InvalidArgumentError(absl::StrCat(outputs_[j].flag, " and ", output.flag,
                                                     " name the same file, ", output.path));
    }
    for (const Place& input : inputs_) {
      const bool inside = absl::StartsWith(input.where, output.where + "/");
      if (input.where != output.where && !inside) continue;
      return absl::InvalidArgumentError(absl::StrCat(output.flag, " ", output.path,
                                                     " would replace what ", input.flag, " reads, ",
                                                     input.path));
    }
    const absl::Status status = files::CheckReplaceable(output.path, output.is_folder);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOutputs(Command command, const Options& options) {
  return OutputCheck(command, options).Run();
}

}  // namespace rules_onnx::cli
