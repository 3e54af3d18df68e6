#include "exporter/cli/first_difference.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/cli/search_plan.h"
#include "exporter/cli/torch_child.h"
#include "exporter/files/atomic_file.h"
#include "exporter/files/input_file.h"
#include "exporter/json/json.h"

namespace rules_onnx::cli {
namespace {

// Runs the captured graph on the inputs of a case.
std::vector<std::string> ReferenceCommand(const Options& options,
                                          const capture::CapturePaths& paths,
                                          const std::string& case_folder) {
  std::vector<std::string> arguments = {"run",       "--graph",    paths.graph,
                                        "--weights", paths.weights};
  for (int i = 0;; ++i) {
    const std::string input = absl::StrCat(case_folder, "/input_", i, ".pb");
    std::error_code error;
    if (!std::filesystem::exists(input, error)) break;
    arguments.insert(arguments.end(), {"--inputs", input});
  }
  return TorchCaptureCommand(options, std::move(arguments));
}

}  // namespace

absl::StatusOr<std::vector<Mismatch>> ReadMismatches(const std::string& path) {
  const absl::StatusOr<std::string> text = files::ReadFile(path);
  if (!text.ok()) return text.status();
  const absl::StatusOr<json::JsonDocument> document = json::JsonDocument::Parse(path, *text);
  if (!document.ok()) return document.status();
  std::vector<Mismatch> mismatches;
  const json::Json list = document->root().Field("mismatches");
  list.ForEachItem([&](const json::Json& item) {
    const json::Json result = item.Field("result"), opset = item.Field("opset"),
                    folder = item.Field("case");
    mismatches.push_back({static_cast<int>(result.Int()), static_cast<int>(opset.Int()),
                          folder.String()});
  });
  if (!document->status().ok()) return document->status();
  return mismatches;
}

absl::Status PrepareSearch(const Options& options, const Captured& captured,
                           const capture::CapturePaths& paths, const Mismatch& mismatch,
                           const std::string& folder) {
  diagnostics::Diagnostics diagnostics;
  lowering::LoweredValues values;
  const absl::StatusOr<builder::Model> model =
      LowerToModel(captured, options, mismatch.opset, &diagnostics, &values);
  if (!model.ok()) return model.status();
  const std::string plan =
      SearchPlan(captured, *model, values, ReferenceCommand(options, paths, mismatch.case_folder));
  return files::WriteFile(absl::StrCat(folder, "/plan.json"), plan);
}

}  // namespace rules_onnx::cli
