#include "exporter/cli/first_difference.h"

#include <filesystem>
#include <iostream>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exporter/cli/torch_child.h"
#include "exporter/diagnostics/json_text.h"
#include "exporter/files/atomic_file.h"
#include "exporter/files/input_file.h"
#include "exporter/json/json.h"

namespace rules_onnx::cli {
namespace {

using diagnostics::JsonText;

// Where the main graph makes a value: "[node name, output number]" in JSON.
using Producers = std::map<const builder::Value*, std::string>;

Producers FindProducers(const builder::Model& model) {
  Producers producers;
  for (const auto& node : model.graph.nodes) {
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      producers[node->outputs[i]] = absl::StrCat("[", JsonText(node->name), ", ", i, "]");
    }
  }
  return producers;
}

// Names of the main graph's nodes, by the captured node that they come from.
std::map<int32_t, std::vector<std::string>> NodesBySource(const builder::Model& model) {
  std::map<int32_t, std::vector<std::string>> nodes;
  for (const auto& node : model.graph.nodes) nodes[node->source].push_back(JsonText(node->name));
  return nodes;
}

std::string Location(const Captured& captured, const ir::Node& node) {
  const auto it = captured.debug.find(node.id);
  if (it == captured.debug.end() || it->second.file.empty()) return "";
  const std::string line = ir::LocationText(it->second);
  return it->second.text.empty() ? line : absl::StrCat(line, ": ", it->second.text);
}

std::string Scope(const Captured& captured, const ir::Node& node) {
  const auto it = captured.debug.find(node.id);
  return it == captured.debug.end() || it->second.scope.empty() ? node.scope : it->second.scope;
}

std::string PlanJson(const Captured& captured, const builder::Model& model,
                     const std::vector<lowering::LoweredValue>& values) {
  const Producers producers = FindProducers(model);
  const auto nodes = NodesBySource(model);
  std::vector<std::string> entries;
  for (const lowering::LoweredValue& value : values) {
    std::vector<std::string> parts;
    for (const builder::Value* part : value.parts) {
      const auto it = producers.find(part);
      parts.push_back(it == producers.end() ? "null" : it->second);
    }
    const auto made = nodes.find(value.node->id);
    entries.push_back(absl::StrCat(
        "{\"op\": ", JsonText(value.node->op),
        ", \"scope\": ", JsonText(Scope(captured, *value.node)),
        ", \"location\": ", JsonText(Location(captured, *value.node)), ", \"nodes\": [",
        made == nodes.end() ? "" : absl::StrJoin(made->second, ", "),
        "], \"value\": ", value.value->id, ", \"parts\": [", absl::StrJoin(parts, ", "), "]}"));
  }
  return absl::StrCat("[", absl::StrJoin(entries, ",\n"), "]\n");
}

// Values of a run that fails on the way are there up to the node that fails.
absl::Status ComputeValues(const Options& options, const capture::CapturePaths& paths,
                           const std::string& case_folder, const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> arguments = {"run",          "--graph",  paths.graph,
                                        "--weights",    paths.weights,
                                        "--values-dir", folder,     "--output-dir", folder};
  for (int i = 0;; ++i) {
    const std::string input = absl::StrCat(case_folder, "/input_", i, ".pb");
    std::error_code error;
    if (!fs::exists(input, error)) break;
    arguments.insert(arguments.end(), {"--inputs", input});
  }
  std::string messages;
  const absl::Status status = RunTorchCapture(options, arguments, &messages);
  if (status.ok() || !status.message().empty()) return status;
  std::cerr << "warning: the search for the first difference ends where LibTorch fails: "
            << messages;
  return absl::OkStatus();
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
  std::vector<lowering::LoweredValue> values;
  const absl::StatusOr<builder::Model> model =
      LowerToModel(captured, options, mismatch.opset, &diagnostics, &values);
  if (!model.ok()) return model.status();
  absl::Status status =
      files::WriteFile(absl::StrCat(folder, "/plan.json"), PlanJson(captured, *model, values));
  if (!status.ok()) return status;
  return ComputeValues(options, paths, mismatch.case_folder, folder);
}

}  // namespace rules_onnx::cli
