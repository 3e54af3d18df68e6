// Schema lookup over the built-in table and the graph's custom operators, and what passes ask.
#ifndef RULES_ONNX_EXPORTER_PASSES_SCHEMAS_H_
#define RULES_ONNX_EXPORTER_PASSES_SCHEMAS_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "exporter/ir/graph.h"
#include "exporter/ir/schema.h"

namespace rules_onnx::passes {

class Schemas {
 public:
  explicit Schemas(const ir::Graph& graph);

  // nullptr where the operator has no schema (the graph's own `prim::` operators).
  const ir::Schema* Find(absl::string_view op) const;

  // Some argument is written to.
  bool Writes(const ir::Node& node) const;
  // Must stay although nothing reads its outputs: a write, or an exception.
  bool HasEffects(const ir::Node& node) const;
  // Two runs may give different values.
  static bool IsRandom(const ir::Node& node);

 private:
  std::map<std::string, ir::Schema> custom_;
};

// The node or a node in its blocks.
bool AnyNode(const ir::Node& node, const std::function<bool(const ir::Node&)>& holds);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_SCHEMAS_H_
