// verify: runs the program at several sizes, then the models on the same inputs.

#include <stdlib.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exporter/cli/capture_stage.h"
#include "exporter/cli/child.h"
#include "exporter/cli/commands.h"
#include "exporter/cli/lower_stage.h"
#include "exporter/cli/program_kind.h"
#include "exporter/cli/reference_inputs.h"
#include "exporter/cli/torch_child.h"
#include "exporter/verify/cases.h"
#include "exporter/verify/script.h"

namespace rules_onnx::cli {
namespace {

namespace fs = std::filesystem;

// A folder of its own under the system's one for temporary files.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    path_ = (fs::temp_directory_path(error) / "onnx-export-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~TemporaryFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return absl::StrCat(path_, "/", name); }

 private:
  std::string path_;
};

// Runs the program on its inputs and stores them with its outputs.
class Reference {
 public:
  // `arguments` name the program and its inputs.
  Reference(const Options& options, std::vector<std::string> arguments)
      : options_(options), arguments_(std::move(arguments)) {}

  // Tries the choices in order and gives the one that works; the error of the first one if all
  // fail.
  absl::StatusOr<verify::Sizes> Run(const verify::Case& one, const std::string& folder) const;

 private:
  absl::Status RunAt(const verify::Sizes& sizes, const std::string& folder,
                     std::string* messages) const;

  const Options& options_;
  std::vector<std::string> arguments_;
};

absl::StatusOr<verify::Sizes> Reference::Run(const verify::Case& one,
                                             const std::string& folder) const {
  absl::Status first;
  std::string first_messages;
  for (const verify::Sizes& sizes : one.choices) {
    std::string messages;
    const absl::Status status = RunAt(sizes, folder, &messages);
    if (status.ok()) return sizes;
    if (first.ok()) first_messages = std::move(messages);
    first.Update(status);
  }
  std::cerr << first_messages;
  return absl::Status(first.code(),
                      absl::StrCat("the program cannot be run at the sizes of case '", one.name,
                                   "'", first.message().empty() ? "" : ": ", first.message()));
}

absl::Status Reference::RunAt(const verify::Sizes& sizes, const std::string& folder,
                              std::string* messages) const {
  std::error_code error;
  fs::remove_all(folder, error);
  if (!fs::create_directory(folder, error)) {
    return absl::UnavailableError(absl::StrCat("cannot make the folder ", folder));
  }
  std::vector<std::string> arguments = {"run", "--output-dir", folder};
  arguments.insert(arguments.end(), arguments_.begin(), arguments_.end());
  for (const auto& [symbol, size] : sizes) {
    arguments.insert(arguments.end(), {"--sizes", absl::StrCat(symbol, "=", size)});
  }
  return RunTorchCapture(options_, arguments, messages);
}

std::vector<std::string> TorchScriptArguments(const Options& options) {
  std::vector<std::string> arguments = {"--model", options.model};
  for (const std::string& input : options.inputs.items) {
    arguments.insert(arguments.end(), {"--inputs", input});
  }
  if (!options.dynamic_axes.empty()) {
    arguments.insert(arguments.end(), {"--dynamic-axes", options.dynamic_axes});
  }
  return arguments;
}

// The captured graph, which knows its dynamic axes; on the file's own inputs if none are given.
absl::StatusOr<std::vector<std::string>> ExportedProgramArguments(
    const Options& options, const ir::Graph& graph, const capture::CapturePaths& paths,
    const std::string& samples) {
  std::vector<std::string> arguments = {"--graph", paths.graph, "--weights", paths.weights,
                                        "--dynamic-axes", AxesOfInputs(graph)};
  for (const std::string& input : options.inputs.items) {
    arguments.insert(arguments.end(), {"--inputs", WithoutAxisNames(input)});
  }
  if (!options.inputs.items.empty()) return arguments;
  if (auto status = ExtractSampleInputs(options.model, samples); !status.ok()) return status;
  arguments.insert(arguments.end(), {"--inputs", samples});
  return arguments;
}

// A case that was run: where its tensors are, and what to call it.
struct StoredCase {
  std::string folder, label;
};

absl::Status MakeCases(const Options& options, const TemporaryFolder& temporary,
                       const std::string& folder, std::vector<StoredCase>* stored,
                       diagnostics::Diagnostics* diagnostics) {
  const absl::StatusOr<ProgramKind> kind = DetectProgram(options.model);
  if (!kind.ok()) return kind.status();
  const capture::CapturePaths paths{temporary.File("graph"), temporary.File("weights"),
                                    temporary.File("debug")};
  std::string messages;
  const absl::Status status = CaptureProgram(options, paths, &messages, diagnostics);
  std::cerr << messages;
  if (!status.ok() || diagnostics->has_errors()) return status;
  const absl::StatusOr<Captured> captured = ReadCaptured(paths.graph, "");
  if (!captured.ok()) return captured.status();
  absl::StatusOr<std::vector<std::string>> arguments = TorchScriptArguments(options);
  if (*kind == ProgramKind::kExportedProgram) {
    arguments = ExportedProgramArguments(options, captured->graph, paths,
                                         temporary.File("samples.pt"));
  }
  if (!arguments.ok()) return arguments.status();
  const Reference reference(options, *std::move(arguments));
  for (const verify::Case& one : verify::ChooseCases(captured->graph.symbols)) {
    const std::string place = absl::StrCat(folder, "/test_data_set_", stored->size());
    const absl::StatusOr<verify::Sizes> sizes = reference.Run(one, place);
    if (!sizes.ok()) return sizes.status();
    stored->push_back({place, verify::Label(*sizes)});
  }
  return absl::OkStatus();
}

absl::Status RunModels(const Options& options, const std::vector<StoredCase>& cases) {
  std::vector<std::string> arguments = {"-c",     verify::RunOnnxScript(), "--rtol", options.rtol,
                                        "--atol", options.atol};
  if (options.json) arguments.push_back("--json");
  for (const std::string& model : options.onnx.items) {
    arguments.insert(arguments.end(), {"--model", model});
  }
  for (const StoredCase& one : cases) {
    arguments.insert(arguments.end(), {"--case", one.folder, "--label", one.label});
  }
  std::cout.flush();
  const absl::StatusOr<ChildResult> result = RunChild(options.python, arguments);
  if (!result.ok()) return result.status();
  std::cerr << result->errors;
  if (result->signal == 0 && result->exit_status == 0) return absl::OkStatus();
  if (result->signal == 0 && result->exit_status == 2) return absl::CancelledError("");
  if (result->signal == 0 && result->exit_status == 1) {
    return absl::FailedPreconditionError("a model does not give what the program gives");
  }
  return absl::InternalError(absl::StrCat(options.python, " failed to run the models"));
}

}  // namespace

absl::Status RunVerify(const Options& options, diagnostics::Diagnostics* diagnostics) {
  const TemporaryFolder temporary;
  if (temporary.path().empty()) {
    return absl::UnavailableError("cannot make a folder for temporary files");
  }
  std::string folder = temporary.path();
  if (!options.test_data_dir.empty()) {
    folder = options.test_data_dir;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return absl::UnavailableError(absl::StrCat("cannot make the folder ", folder));
  }
  std::vector<StoredCase> cases;
  const absl::Status status = MakeCases(options, temporary, folder, &cases, diagnostics);
  if (!status.ok() || diagnostics->has_errors()) return status;
  return RunModels(options, cases);
}

}  // namespace rules_onnx::cli
