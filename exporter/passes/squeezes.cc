#include "exporter/passes/squeezes.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace rules_onnx::passes {
namespace {

// Axes that the node takes away where they have size 1.
std::vector<int64_t> SqueezedAxes(const ir::Node& node, int64_t rank) {
  const ir::Arg* dim = node.Find("dim");
  if (dim != nullptr && dim->is_int()) return {dim->as_int()};
  if (dim != nullptr) return dim->ints().value_or(std::vector<int64_t>());
  std::vector<int64_t> all;
  for (int64_t axis = 0; axis < rank; ++axis) all.push_back(axis);
  return all;
}

// False for a number, and for a symbol that is known to be 2 or larger; nothing is known of a size
// that is computed from symbols.
bool MayBeOne(const ir::Graph& graph, const ir::Dim& dim) {
  if (dim.is_number()) return false;
  std::set<std::string> symbols;
  dim.CollectSymbols(&symbols);
  if (symbols.size() != 1 || !dim.Equals(ir::Dim::Symbol(*symbols.begin()))) return true;
  const auto info = graph.symbols.find(*symbols.begin());
  return info == graph.symbols.end() || info->second.min < 2;
}

}  // namespace

void WarnOfSqueezes(Context* context) {
  const ir::Graph& graph = *context->graph;
  ir::ForEachNode(graph.main, [&](const ir::Node& node) {
    if (node.base_op() != "aten::squeeze" || !node.args[0].value.is_value()) return;
    const ir::Type& type = node.args[0].value.value()->type;
    if (!type.shape) return;
    const auto rank = static_cast<int64_t>(type.shape->size());
    for (const int64_t given : SqueezedAxes(node, rank)) {
      const int64_t axis = given < 0 ? given + rank : given;
      if (axis < 0 || axis >= rank || !MayBeOne(graph, (*type.shape)[axis])) continue;
      context->Report(diagnostics::Severity::kWarning, "squeezed-axis", node,
                      absl::StrCat("where axis ", axis, " (", (*type.shape)[axis].ToString(),
                                   ") has size 1, PyTorch's result has a rank less: the model is "
                                   "made for larger sizes"));
      return;
    }
  });
}

}  // namespace rules_onnx::passes
