#include "exporter/cli/search_plan.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exporter/builder/inner_graphs.h"
#include "exporter/diagnostics/json_text.h"

namespace rules_onnx::cli {
namespace {

using diagnostics::JsonText;

std::string JsonList(const std::vector<std::string>& items) {
  return absl::StrCat("[", absl::StrJoin(items, ", "), "]");
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

class Plan {
 public:
  Plan(const Captured& captured, const builder::Model& model,
       const lowering::LoweredValues& values)
      : captured_(captured), values_(values) {
    NoteGraph(model.graph);
    AddSteps(captured.graph.main, &blocks_[""]);
  }

  std::string Blocks() const {
    return absl::StrCat("{", absl::StrJoin(blocks_, ",\n", [](std::string* out, const auto& block) {
                          absl::StrAppend(out, JsonText(block.first), ": [",
                                          absl::StrJoin(block.second, ",\n"), "]");
                        }), "}");
  }

 private:
  // How steps name the values of the graph, and which nodes come from where.
  void NoteGraph(const builder::Graph& graph) {
    for (const auto& node : graph.nodes) {
      nodes_[node->source].push_back(JsonText(node->name));
      for (size_t i = 0; i < node->outputs.size(); ++i) {
        names_[node->outputs[i]] = absl::StrCat("[", JsonText(node->name), ", ", i, "]");
      }
      builder::ForEachInnerGraph(*node, [&](const builder::Graph* inner) {
        for (const builder::Value* input : inner->inputs) names_[input] = JsonText(input->name);
        NoteGraph(*inner);
      });
    }
  }

  void AddSteps(const ir::Block& block, std::vector<std::string>* steps) {
    for (const auto& node : block.nodes) {
      for (const ir::Value* output : node->outputs) AddStep(*node, *output, steps);
      if (!node->blocks.empty()) AddInnerBlocks(*node);
    }
  }

  void AddInnerBlocks(const ir::Node& node) {
    std::vector<std::string>& steps = blocks_[absl::StrCat(node.id)];
    for (const auto& block : node.blocks) {
      for (const ir::Value* param : block->params) AddStep(node, *param, &steps);
      AddSteps(*block, &steps);
    }
  }

  void AddStep(const ir::Node& node, const ir::Value& value, std::vector<std::string>* steps) {
    const auto lowered = values_.find(&value);
    if (lowered == values_.end() && node.blocks.empty()) return;
    std::vector<std::string> parts;
    bool is_list = false;
    if (lowered != values_.end()) {
      is_list = lowered->second.is_dynamic_list;
      for (const builder::Value* part : lowered->second.parts) {
        const auto name = names_.find(part);
        parts.push_back(name == names_.end() ? "null" : name->second);
      }
    }
    const auto nodes = nodes_.find(node.id);
    steps->push_back(absl::StrCat(
        "{\"node\": ", node.id, ", \"value\": ", value.id, ", \"op\": ", JsonText(node.op),
        ", \"scope\": ", JsonText(Scope(captured_, node)),
        ", \"location\": ", JsonText(Location(captured_, node)),
        ", \"nodes\": ", nodes == nodes_.end() ? "[]" : JsonList(nodes->second),
        ", \"parts\": ", JsonList(parts), ", \"is_list\": ", is_list ? "true" : "false", "}"));
  }

  const Captured& captured_;
  const lowering::LoweredValues& values_;
  std::map<const builder::Value*, std::string> names_;
  std::map<int32_t, std::vector<std::string>> nodes_;
  std::map<std::string, std::vector<std::string>> blocks_;
};

}  // namespace

std::string SearchPlan(const Captured& captured, const builder::Model& model,
                       const lowering::LoweredValues& values,
                       const std::vector<std::string>& command) {
  std::vector<std::string> words;
  for (const std::string& word : command) words.push_back(JsonText(word));
  return absl::StrCat("{\"command\": ", JsonList(words),
                      ",\n\"blocks\": ", Plan(captured, model, values).Blocks(), "}\n");
}

}  // namespace rules_onnx::cli
