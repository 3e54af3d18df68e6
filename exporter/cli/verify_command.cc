// verify: runs the program at several sizes, then the models on the same inputs; where a model gives
// other values, looks for the first one.

#include <algorithm>
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
#include "exporter/cli/first_difference.h"
#include "exporter/cli/given_inputs.h"
#include "exporter/cli/lower_stage.h"
#include "exporter/cli/program_kind.h"
#include "exporter/cli/reference_inputs.h"
#include "exporter/cli/temporary_folder.h"
#include "exporter/cli/torch_child.h"
#include "exporter/files/input_file.h"
#include "exporter/verify/cases.h"
#include "exporter/verify/script.h"

namespace rules_onnx::cli {
namespace {

namespace fs = std::filesystem;

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
  if (one.required) std::cerr << first_messages;
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
  std::vector<std::string> arguments = {"--model", options.model, "--training", options.training};
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
  for (const std::string& input : SpecsInOrder(options.inputs.items, graph)) {
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

class Verification {
 public:
  Verification(const Options& options, const TemporaryFolder& temporary)
      : options_(options),
        temporary_(temporary),
        paths_{temporary.File("graph"), temporary.File("weights"), temporary.File("debug")} {}

  // Captures the program.
  absl::Status Capture(diagnostics::Diagnostics* diagnostics);
  // Runs the program; inputs and outputs go into folders below `folder`.
  absl::Status MakeCases(const std::string& folder);
  // Runs the models on the cases, and prints the results.
  absl::Status RunModels() const;

 private:
  absl::StatusOr<std::vector<std::string>> ProgramArguments() const;
  // Runs run_onnx.py; whether all models agree with the program.
  absl::StatusOr<bool> RunScript(const std::vector<std::string>& arguments) const;
  // The arguments that give run_onnx.py what it needs to find the first differences.
  std::vector<std::string> SearchArguments(const std::string& deferred) const;

  const Options& options_;
  const TemporaryFolder& temporary_;
  const capture::CapturePaths paths_;
  Captured captured_;
  std::vector<StoredCase> cases_;
};

absl::Status Verification::Capture(diagnostics::Diagnostics* diagnostics) {
  absl::StatusOr<Captured> captured = CaptureAndRead(options_, paths_, diagnostics);
  if (!captured.ok()) return captured.status();
  captured_ = *std::move(captured);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> Verification::ProgramArguments() const {
  const absl::StatusOr<ProgramKind> kind = DetectProgram(options_.model);
  if (!kind.ok()) return kind.status();
  if (*kind == ProgramKind::kTorchScript) return TorchScriptArguments(options_);
  return ExportedProgramArguments(options_, captured_.graph, paths_, temporary_.File("samples.pt"));
}

absl::Status Verification::MakeCases(const std::string& folder) {
  absl::StatusOr<std::vector<std::string>> arguments = ProgramArguments();
  if (!arguments.ok()) return arguments.status();
  const Reference reference(options_, *std::move(arguments));
  std::vector<verify::Sizes> found;
  const auto run = [&](const std::vector<verify::Case>& cases) {
    for (const verify::Case& one : cases) {
      const std::string place = absl::StrCat(folder, "/test_data_set_", cases_.size());
      const absl::StatusOr<verify::Sizes> sizes = reference.Run(one, place);
      if (!sizes.ok() && one.required) return sizes.status();
      if (!sizes.ok() || std::find(found.begin(), found.end(), *sizes) != found.end()) {
        std::error_code error;
        fs::remove_all(place, error);
        continue;
      }
      cases_.push_back({place, verify::Label(*sizes)});
      found.push_back(*sizes);
    }
    return absl::OkStatus();
  };
  const auto& symbols = captured_.graph.symbols;
  if (auto status = run(verify::ChooseCases(symbols)); !status.ok()) return status;
  return run(verify::ChooseJointCases(symbols, found));
}

absl::StatusOr<bool> Verification::RunScript(const std::vector<std::string>& arguments) const {
  std::vector<std::string> all = {temporary_.File("run_onnx.py"), "--rtol", options_.rtol,
                                  "--atol", options_.atol};
  if (options_.json) all.push_back("--json");
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::cout.flush();
  const absl::StatusOr<ChildResult> result = RunChild(options_.python, all);
  if (!result.ok()) return result.status();
  std::cerr << result->errors;
  if (result->signal == 0 && result->exit_status == 0) return true;
  if (result->signal == 0 && result->exit_status == 2) return absl::CancelledError("");
  if (result->signal == 0 && result->exit_status == 1) return false;
  return absl::InternalError(absl::StrCat(options_.python, " failed to run the models"));
}

std::vector<std::string> Verification::SearchArguments(const std::string& deferred) const {
  std::vector<std::string> arguments = {"--resume", deferred};
  const absl::StatusOr<std::vector<Mismatch>> mismatches = ReadMismatches(deferred);
  absl::Status status = mismatches.status();
  for (size_t i = 0; status.ok() && i < mismatches->size(); ++i) {
    const std::string folder = temporary_.File(absl::StrCat("search_", i));
    std::error_code error;
    fs::create_directory(folder, error);
    status = PrepareSearch(options_, captured_, paths_, (*mismatches)[i], folder);
    if (!status.ok()) break;
    arguments.insert(arguments.end(),
                     {"--search", absl::StrCat((*mismatches)[i].result, "=", folder)});
  }
  if (!status.ok()) {
    std::cerr << "warning: the first difference cannot be found: " << status.message() << "\n";
  }
  return arguments;
}

absl::Status Verification::RunModels() const {
  if (auto status = verify::WriteScripts(temporary_.path()); !status.ok()) return status;
  const std::string deferred = temporary_.File("results.json");
  std::vector<std::string> arguments = {"--defer", deferred};
  for (const std::string& model : options_.onnx.items) {
    arguments.insert(arguments.end(), {"--model", model});
  }
  for (const StoredCase& one : cases_) {
    arguments.insert(arguments.end(), {"--case", one.folder, "--label", one.label});
  }
  const absl::StatusOr<bool> equal = RunScript(arguments);
  if (!equal.ok()) return equal.status();
  std::error_code error;
  if (!fs::exists(deferred, error)) {
    return absl::InternalError(absl::StrCat("--python ", options_.python,
                                            " did not run the models: it left no results"));
  }
  if (*equal) return absl::OkStatus();
  if (auto told = RunScript(SearchArguments(deferred)); !told.ok()) return told.status();
  return absl::FailedPreconditionError("a model does not give what the program gives");
}

}  // namespace

absl::Status RunVerify(const Options& options, diagnostics::Diagnostics* diagnostics) {
  for (const std::string& model : options.onnx.items) {
    if (auto file = files::InputFile::Open(model); !file.ok()) return file.status();
  }
  const TemporaryFolder temporary;
  if (!temporary.status().ok()) return temporary.status();
  std::string folder = temporary.path();
  if (!options.test_data_dir.empty()) {
    folder = options.test_data_dir;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return absl::UnavailableError(absl::StrCat("cannot make the folder ", folder));
  }
  Verification verification(options, temporary);
  absl::Status status = verification.Capture(diagnostics);
  if (!status.ok()) return status;
  if (status = verification.MakeCases(folder); !status.ok()) return status;
  return verification.RunModels();
}

}  // namespace rules_onnx::cli
