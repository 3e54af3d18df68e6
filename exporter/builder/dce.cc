#include "exporter/builder/dce.h"

#include <algorithm>
#include <unordered_set>

#include "exporter/builder/inner_graphs.h"

namespace rules_onnx::builder {
namespace {

using Used = std::unordered_set<const Value*>;

bool AnyUsed(const Node& node, const Used& used) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](const Value* output) { return used.count(output) > 0; });
}

// One sweep from the last node to the first: a node's users have all been seen.
void Sweep(Graph* graph, Used* used) {
  used->insert(graph->outputs.begin(), graph->outputs.end());
  for (auto it = graph->nodes.rbegin(); it != graph->nodes.rend(); ++it) {
    if (!AnyUsed(**it, *used)) {
      it->reset();
      continue;
    }
    used->insert((*it)->inputs.begin(), (*it)->inputs.end());
    ForEachInnerGraph(**it, [&](Graph* inner) { Sweep(inner, used); });
  }
  std::erase(graph->nodes, nullptr);
}

}  // namespace

void RemoveUnused(Model* model) {
  Used used;
  Sweep(&model->graph, &used);
  std::erase_if(model->initializers,
                [&](const Value* value) { return used.count(value) == 0; });
}

}  // namespace rules_onnx::builder
