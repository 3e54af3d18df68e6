// Small programs for the tests of passes.
#ifndef RULES_ONNX_EXPORTER_PASSES_PROGRAM_TEST_UTIL_H_
#define RULES_ONNX_EXPORTER_PASSES_PROGRAM_TEST_UTIL_H_

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// "float32[N, 3]", "int64[?]", "int", "float", "bool", "float32[...]", "list[float32[2]]".
ir::Type ParseType(absl::string_view text);

class Program {
 public:
  Program() = default;

  ir::Value* Input(absl::string_view name, absl::string_view type);
  ir::Value* Weight(absl::string_view name, absl::string_view type, bool is_parameter = false);

  // A node with one output; arguments by position, bound to the schema.
  ir::Value* Op(absl::string_view op, std::vector<ir::Arg> args, absl::string_view type,
                absl::string_view name = "");
  // A node with any outputs, arguments named or not.
  ir::Node* Add(absl::string_view op, std::vector<ir::NamedArg> args,
                std::vector<std::string> types);

  using Body = std::function<std::vector<ir::Arg>()>;
  std::vector<ir::Value*> If(ir::Arg condition, std::vector<std::string> types, Body then,
                             Body otherwise);
  // `body` gets the iteration and the carried values, and gives the condition and their next
  // values.
  using LoopBody = std::function<std::vector<ir::Arg>(std::vector<ir::Value*>)>;
  std::vector<ir::Value*> Loop(ir::Arg count, ir::Arg condition, std::vector<ir::Arg> carried,
                               std::vector<std::string> types, const LoopBody& body);
  // `body` gets the carried values and the slices, which have these types.
  std::vector<ir::Value*> Scan(std::vector<ir::Arg> init, std::vector<ir::Arg> xs,
                               std::vector<std::string> params, std::vector<std::string> types,
                               const LoopBody& body);

  void Output(ir::Arg value);

  Context* context() { return &context_; }
  ir::Graph* graph() { return &graph_; }
  const diagnostics::Diagnostics& diagnostics() const { return diagnostics_; }

  // The nodes and outputs, as PrintGraph has them, after an empty line, after checking that the graph verifies.
  std::string Print(bool functional = false) const;
  // "error ambiguous-alias aten::add_.Tensor" for each problem, a line each.
  std::string Problems() const;

 private:
  ir::Block* block_ = &graph_.main;
  ir::Graph graph_;
  ir::DebugInfo debug_;
  diagnostics::Diagnostics diagnostics_;
  Context context_{&graph_, &debug_, &diagnostics_};
};

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_PROGRAM_TEST_UTIL_H_
