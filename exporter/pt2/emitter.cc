#include "exporter/pt2/emitter.h"

#include "exporter/pt2/source.h"

namespace rules_onnx::pt2 {

void Emitter::SetSource(const NodeDef& node, const Source& caller) {
  source_ = {ParseModuleStack(node.module_stack), ParseStackTrace(node.stack_trace)};
  if (source_.scope.empty()) source_.scope = caller.scope;
  if (!source_.location) source_.location = caller.location;
}

ir::Node* Emitter::Append(std::unique_ptr<ir::Node> node) {
  node->scope = source_.scope;
  if (source_.location) (*debug_)[node->id] = *source_.location;
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
