#include "exporter/cli/axis_bounds.h"

#include <set>

#include "absl/strings/str_cat.h"

namespace rules_onnx::cli {

std::map<std::string, std::string> AxisBounds(const ir::Graph& graph) {
  std::set<std::string> symbols;
  for (const ir::Value* input : graph.main.params) {
    if (!input->type.shape) continue;
    for (const ir::Dim& dim : *input->type.shape) dim.CollectSymbols(&symbols);
  }
  std::map<std::string, std::string> bounds;
  for (const std::string& symbol : symbols) {
    const auto info = graph.symbols.find(symbol);
    if (info == graph.symbols.end() || (info->second.min < 2 && !info->second.max)) continue;
    std::string& text = bounds[absl::StrCat("axis.", symbol)];
    text = absl::StrCat(info->second.min, "..");
    if (info->second.max) absl::StrAppend(&text, *info->second.max);
  }
  return bounds;
}

}  // namespace rules_onnx::cli
