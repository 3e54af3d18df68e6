#include "exporter/cli/lower_stage.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "exporter/cli/axis_bounds.h"
#include "exporter/files/input_file.h"
#include "exporter/lowering/lower.h"
#include "exporter/onnx/op_schemas.h"
#include "exporter/onnx/writer.h"
#include "exporter/plugin/host/load.h"
#include "exporter/plugin/host/mapping.h"

namespace rules_onnx::cli {
namespace {

absl::Status InFile(const absl::Status& status, const std::string& path) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

struct Places {
  std::map<int32_t, std::string> sources;      // "net.py:12, in Net/Linear[fc]"
  std::map<int32_t, std::string> doc_strings;  // "net.py:12: x = self.fc(x)"
};

Places FindPlaces(const Captured& captured) {
  Places places;
  ir::ForEachNode(captured.graph.main, [&](const ir::Node& node) {
    const auto location = captured.debug.find(node.id);
    std::string line;
    if (location != captured.debug.end()) {
      line = absl::StrCat(location->second.file, ":", location->second.line);
      const std::string& text = location->second.text;
      places.doc_strings[node.id] = text.empty() ? line : absl::StrCat(line, ": ", text);
    }
    const char* separator = line.empty() || node.scope.empty() ? "" : ", ";
    const std::string scope = node.scope.empty() ? "" : absl::StrCat("in ", node.scope);
    places.sources[node.id] = absl::StrCat(node.op, " (", line, separator, scope, ")");
  });
  return places;
}

// What plugins and mapping files add; a later file comes before an earlier one.
absl::StatusOr<std::vector<lowering::UserLowering>> UserLowerings(const Options& options) {
  std::vector<lowering::UserLowering> all;
  const auto add = [&](absl::StatusOr<std::vector<lowering::UserLowering>> some) {
    if (!some.ok()) return some.status();
    all.insert(all.end(), some->begin(), some->end());
    return absl::OkStatus();
  };
  for (const std::string& path : options.plugins.items) {
    if (auto status = add(plugin::LoadPlugin(path)); !status.ok()) return status;
  }
  for (const std::string& path : options.op_mapping.items) {
    if (auto status = add(plugin::ReadMapping(path)); !status.ok()) return status;
  }
  return all;
}

absl::Status CheckOutputNames(const Texts& names, const ir::Graph& graph) {
  if (names.size() > graph.output_names.size()) {
    return absl::InvalidArgumentError(absl::StrCat("--output-names gives ", names.size(),
                                                   " names, but the program has ",
                                                   graph.output_names.size(), " outputs"));
  }
  for (const ir::Value* param : graph.main.params) {
    if (std::find(names.begin(), names.end(), param->name) == names.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--output-names: ", param->name, " is the name of an input"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Captured> ReadCaptured(const std::string& graph, const std::string& debug) {
  const absl::StatusOr<std::string> graph_bytes = files::ReadFile(graph);
  if (!graph_bytes.ok()) return graph_bytes.status();
  absl::StatusOr<ir::Graph> parsed = ir::ParseGraph(*graph_bytes);
  if (!parsed.ok()) return InFile(parsed.status(), graph);
  Captured captured{*std::move(parsed), {}};
  if (debug.empty()) return captured;
  const absl::StatusOr<std::string> debug_bytes = files::ReadFile(debug);
  if (!debug_bytes.ok()) return debug_bytes.status();
  absl::StatusOr<ir::DebugInfo> info = ir::ParseDebug(*debug_bytes);
  if (!info.ok()) return InFile(info.status(), debug);
  captured.debug = *std::move(info);
  return captured;
}

absl::StatusOr<builder::Model> LowerToModel(const Captured& captured, const Options& options,
                                            int opset, diagnostics::Diagnostics* diagnostics,
                                            lowering::LoweredValues* values) {
  if (auto status = CheckOutputNames(options.output_names, captured.graph); !status.ok()) {
    return status;
  }
  lowering::LowerOptions lower_options;
  lower_options.opset = opset;
  lower_options.output_names = options.output_names;
  lower_options.export_params = options.export_params;
  lower_options.keep_initializers_as_inputs = options.keep_initializers_as_inputs;
  lower_options.debug = &captured.debug;
  lower_options.export_type = *lowering::ParseExportType(options.operator_export_type);
  for (const auto& [domain, version] : options.custom_opsets) {
    if (!absl::SimpleAtoi(version, &lower_options.custom_opsets[domain])) {
      return absl::InvalidArgumentError(absl::StrCat("--custom-opsets ", domain, "=", version));
    }
  }
  absl::StatusOr<std::vector<lowering::UserLowering>> user = UserLowerings(options);
  if (!user.ok()) return user.status();
  lower_options.user_lowerings = *std::move(user);
  const onnx_format::OnnxOpSchemas schemas;
  return lowering::LowerGraph(captured.graph, lower_options, schemas, diagnostics, values);
}

absl::Status LowerCaptured(const Captured& captured, const Options& options, const LowerJob& job,
                           diagnostics::Diagnostics* diagnostics) {
  const absl::StatusOr<builder::Model> model =
      LowerToModel(captured, options, job.opset, diagnostics);
  if (!model.ok()) return model.status();

  Places places = FindPlaces(captured);
  onnx_format::WriteOptions write;
  write.external_data = *onnx_format::ParseExternalData(options.external_data);
  write.weights_path = job.weights;
  write.weights_name = job.weights_name;
  write.check = options.check;
  write.metadata = options.metadata;
  for (auto& [key, bounds] : AxisBounds(captured.graph)) write.metadata.emplace(key, bounds);
  write.sources = std::move(places.sources);
  if (!options.strip_doc_string) write.doc_strings = std::move(places.doc_strings);
  return onnx_format::WriteModel(*model, captured.graph.weights, write, job.output);
}

void WarnDroppedOutputs(const ir::Graph& graph, diagnostics::Diagnostics* diagnostics) {
  for (const ir::DroppedOutput& output : graph.dropped_outputs) {
    diagnostics->Add({.severity = diagnostics::Severity::kWarning,
                      .id = "dropped-output",
                      .message = absl::StrCat("output ", output.path, " is dropped, as no tensor "
                                              "carries it: ", output.reason)});
  }
}

}  // namespace rules_onnx::cli
