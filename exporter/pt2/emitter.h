// Puts nodes into a graph, with the place in the program that they come from.
#ifndef RULES_ONNX_EXPORTER_PT2_EMITTER_H_
#define RULES_ONNX_EXPORTER_PT2_EMITTER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exporter/ir/graph.h"
#include "exporter/ir/serialize.h"
#include "exporter/pt2/format.h"

namespace rules_onnx::pt2 {

class Emitter {
 public:
  // Neither is owned. Nodes go to the graph's main block at first.
  Emitter(ir::Graph* graph, ir::DebugInfo* debug)
      : graph_(graph), debug_(debug), block_(&graph->main) {}

  ir::Graph& graph() { return *graph_; }

  // Where nodes come from.
  struct Source {
    std::string scope;
    std::optional<ir::SourceLocation> location;
  };
  // That of the nodes to come. Nodes of a graph that another node calls need not say theirs: they
  // have the caller's.
  void SetSource(const NodeDef& node, const Source& caller);
  void SetSource(Source source) { source_ = std::move(source); }
  const Source& source() const { return source_; }

  // Appends a node and gives it the current scope and source line.
  ir::Node* Append(std::unique_ptr<ir::Node> node);
  ir::Node* Append(std::string op, std::vector<ir::NamedArg> args);
  // Appends a node of one output.
  ir::Value* Emit(std::string op, std::vector<ir::NamedArg> args, ir::Type type,
                  std::string name = "");

  // Sends the nodes that `fill` appends to `block`.
  template <typename Fill>
  auto InBlock(ir::Block* block, Fill fill) {
    ir::Block* const outer = std::exchange(block_, block);
    auto result = fill();
    block_ = outer;
    return result;
  }

 private:
  ir::Graph* graph_;
  ir::DebugInfo* debug_;
  ir::Block* block_;
  Source source_;
};

// The type of an argument: a value's own, or that of a constant number.
ir::Type TypeOf(const ir::Arg& arg);

}  // namespace rules_onnx::pt2

#endif  // RULES_ONNX_EXPORTER_PT2_EMITTER_H_
