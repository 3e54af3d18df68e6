#include "exporter/cli/export_files.h"

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace rules_onnx::cli {
namespace {

// "net.weights" for "net.onnx", "net.opset{opset}.onnx" and "net-{opset}.onnx".
std::string DefaultWeightsName(const std::string& output) {
  absl::string_view stem = absl::StripSuffix(output, ".onnx");
  const size_t field = stem.find("{opset}");
  if (field != absl::string_view::npos) {
    stem = absl::StripSuffix(stem.substr(0, field), "opset");
    while (!stem.empty() && absl::StrContains("._-", stem.substr(stem.size() - 1))) {
      stem.remove_suffix(1);
    }
  }
  return absl::StrCat(stem.empty() ? "model" : stem, ".weights");
}

std::string WeightsName(const Options& options, const std::string& output) {
  if (options.external_data != "shared") return ".weights";
  return options.weights_name.empty() ? DefaultWeightsName(output) : options.weights_name;
}

}  // namespace

ExportFiles::ExportFiles(const Options& options)
    : folder_(std::filesystem::path(options.output).parent_path().string()),
      name_(std::filesystem::path(options.output).filename().string()),
      weights_(WeightsName(options, name_)),
      shares_weights_(options.external_data == "shared" && options.export_params) {}

std::string ExportFiles::Model(int opset) const {
  return absl::StrReplaceAll(name_, {{"{opset}", absl::StrCat(opset)}});
}

}  // namespace rules_onnx::cli
