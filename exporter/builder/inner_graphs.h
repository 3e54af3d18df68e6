// The graphs inside a node: branches of If, bodies of Loop and Scan.
#ifndef RULES_ONNX_EXPORTER_BUILDER_INNER_GRAPHS_H_
#define RULES_ONNX_EXPORTER_BUILDER_INNER_GRAPHS_H_

#include <memory>
#include <variant>

#include "exporter/builder/model.h"

namespace rules_onnx::builder {

// Calls `visit` with a Graph* for each, in the order of the attributes.
template <typename Visitor>
void ForEachInnerGraph(const Node& node, const Visitor& visit) {
  for (const Attr& attr : node.attrs) {
    if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&attr.data)) visit(inner->get());
  }
}

}  // namespace rules_onnx::builder

#endif  // RULES_ONNX_EXPORTER_BUILDER_INNER_GRAPHS_H_
