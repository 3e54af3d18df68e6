#include "exporter/pt2/emitter.h"

#include "exporter/pt2/source.h"

namespace rules_onnx::pt2 {

void Emitter::SetSource(const NodeDef& node) {
  scope_ = ParseModuleStack(node.module_stack);
  location_ = ParseStackTrace(node.stack_trace);
}

ir::Node* Emitter::Append(std::unique_ptr<ir::Node> node) {
  node->scope = scope_;
  if (location_) (*debug_)[node->id] = *location_;
  block_->nodes.push_back(std::move(node));
  return block_->nodes.back().get();
}

ir::Node* Emitter::Append(std::string op, std::vector<ir::NamedArg> args) {
  return Append(graph_->NewNode(std::move(op), std::move(args)));
}

ir::Value* Emitter::Emit(std::string op, std::vector<ir::NamedArg> args, ir::Type type,
                         std::string name) {
  ir::Node* const node = Append(std::move(op), std::move(args));
  node->outputs = {graph_->NewValue(std::move(type), std::move(name))};
  return node->output();
}

ir::Type TypeOf(const ir::Arg& arg) {
  using Kind = ir::Type::Kind;
  if (arg.is_value()) return arg.value()->type;
  if (arg.is_bool()) return ir::Type::Scalar(Kind::kBool);
  if (arg.is_int()) return ir::Type::Scalar(Kind::kInt);
  if (arg.is_float()) return ir::Type::Scalar(Kind::kFloat);
  if (arg.is_string()) return ir::Type::Scalar(Kind::kString);
  if (arg.is_literal()) {
    const auto& shape = arg.literal().shape;
    return ir::Type::Tensor(arg.literal().dtype, ir::Shape(shape.begin(), shape.end()));
  }
  return ir::Type::Scalar(Kind::kNone);
}

}  // namespace rules_onnx::pt2
