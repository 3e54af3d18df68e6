// From a decoded `.pt2` graph to nodes.
//
// Operators get their schema names and bound arguments; functions on numbers become scalar
// operators (scalar_functions.h); higher-order operators become blocks (higher_order.h) or
// are inlined. Checks of values and constraints (`_assert_scalar`, `sym_constrain_range`, …) are
// left out: what they state is in the symbols' bounds.
#ifndef RULES_ONNX_EXPORTER_PT2_IMPORTER_H_
#define RULES_ONNX_EXPORTER_PT2_IMPORTER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exporter/ir/graph.h"
#include "exporter/pt2/emitter.h"
#include "exporter/pt2/format.h"

namespace rules_onnx::pt2 {

class Importer {
 public:
  // `file` is the name that errors begin with.
  Importer(std::string file, Emitter* emitter) : file_(std::move(file)), emitter_(emitter) {}

  // Appends the nodes of `graph`, whose inputs are `inputs`, and returns what its outputs are.
  // An output that is no value (None, a token) is None.
  absl::StatusOr<std::vector<ir::Arg>> ImportGraph(const GraphDef& graph,
                                                   std::vector<ir::Arg> inputs);

  Emitter& emitter() { return *emitter_; }

  // While set, operators see their floating-point arguments as torch.autocast gave them.
  std::optional<ir::DType> autocast;

 private:
  // Names of one graph; nested graphs see only their inputs.
  struct Scope {
    const GraphDef* graph;
    absl::flat_hash_map<std::string, ir::Arg> args;
  };

  absl::Status ImportNodes(absl::Span<const NodeDef> nodes, Scope* scope);
  absl::Status ImportNode(const NodeDef& node, Scope* scope);
  // `region` begins and ends a vmap (vmap.h).
  absl::Status ImportVmap(absl::Span<const NodeDef> region, Scope* scope);
  absl::Status PassOn(const NodeDef& node, Scope* scope) const;
  bool DefineKnown(const NodeDef& node, Scope* scope) const;
  absl::Status ImportScalarFunction(const NodeDef& node, Scope* scope);
  absl::Status ImportHigherOrder(const NodeDef& node, Scope* scope);
  absl::Status ImportOperator(const NodeDef& node, std::string op, Scope* scope);
  absl::StatusOr<ir::Arg> Resolve(const Argument& argument, const Scope& scope) const;
  absl::StatusOr<std::vector<ir::Arg>> ResolveAll(const std::vector<Argument>& arguments,
                                                  const Scope& scope) const;
  absl::Status DefineOutputs(const NodeDef& def, ir::Node* node, Scope* scope);
  absl::StatusOr<ir::Value*> NewOutput(const std::string& name, Scope* scope);
  absl::Status Error(const NodeDef& node, const absl::Status& status) const;

  std::string file_;
  Emitter* emitter_;
};

}  // namespace rules_onnx::pt2

#endif  // RULES_ONNX_EXPORTER_PT2_IMPORTER_H_
