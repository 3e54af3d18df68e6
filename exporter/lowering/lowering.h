// The state of lowering one graph: what its values have become, and its inner blocks.
#ifndef RULES_ONNX_EXPORTER_LOWERING_LOWERING_H_
#define RULES_ONNX_EXPORTER_LOWERING_LOWERING_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "exporter/builder/builder.h"
#include "exporter/diagnostics/diagnostics.h"
#include "exporter/ir/graph.h"
#include "exporter/lowering/item.h"
#include "exporter/lowering/lower.h"

namespace rules_onnx::lowering {

class Op;

class Lowering {
 public:
  Lowering(const ir::Graph& graph, const LowerOptions& options,
           const builder::OpSchemas& schemas, builder::Model* model,
           diagnostics::Diagnostics* diagnostics);

  builder::Builder& b() { return builder_; }
  const LowerOptions& options() const { return options_; }
  const ir::Graph& graph() const { return graph_; }

  // Inputs, weights, all nodes, outputs.
  void Run();

  // Nodes of a block, in order; its params must be set before.
  void LowerNodes(const ir::Block& block);
  // The results of a block whose nodes are lowered.
  std::vector<Item> Results(const ir::Block& block);

  Item Get(const ir::Value* value) const;
  void Set(const ir::Value* value, Item item);
  // A constant argument becomes a Val where a tensor can carry it.
  Item Lower(const ir::Arg& arg);

  // Whether anything in the captured graph takes the value.
  bool IsUsed(const ir::Value* value);

  // Tells the user about a node that is lowered.
  void Warn(const ir::Node& node, std::string id, std::string message);

  // The ONNX type of a tensor, number or list as captured.
  static builder::ValueType TypeOf(const ir::Type& type);
  // Fills in what the captured type knows of the value's sizes.
  static void Refine(Val val, const ir::Type& type);

 private:
  void LowerNode(const ir::Node& node);
  bool DependsOnFailure(const ir::Node& node) const;
  // Gives a failed node's tensors values of their types.
  void StandIn(const ir::Node& node);
  // The lowering that is in charge of the node; nullptr where there is none.
  std::function<void(Op&)> FindLowering(const ir::Node& node) const;
  // Runs it; the failure, if there was one.
  absl::Status Try(const ir::Node& node, const std::function<void(Op&)>& lowering);
  void Report(const ir::Node& node, std::string id, std::string message, std::string hint,
              diagnostics::Severity severity = diagnostics::Severity::kError);
  void AddInputs();
  void AddWeights();
  void AddOutputs();
  void AddOutput(std::string name, const Item& item);

  const ir::Graph& graph_;
  const LowerOptions& options_;
  builder::Builder builder_;
  diagnostics::Diagnostics* diagnostics_;
  std::map<const ir::Value*, Item> items_;
  std::optional<std::unordered_set<const ir::Value*>> used_;  // found when first asked for
  const ir::Node* current_ = nullptr;                         // that new nodes belong to
};

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_LOWERING_H_
