#include "exporter/passes/hoist_constants.h"

#include <iterator>
#include <unordered_map>
#include <utility>

#include "exporter/passes/rewrite.h"

namespace rules_onnx::passes {
namespace {

class ConstantHoister {
 public:
  explicit ConstantHoister(Context* context) : context_(context) {}

  void Run() {
    ir::Block* main = &context_->graph->main;
    FindAliased(*main);
    Rewrite(main);
    main->nodes.insert(main->nodes.begin(), std::make_move_iterator(hoisted_.begin()),
                       std::make_move_iterator(hoisted_.end()));
  }

 private:
  void FindAliased(const ir::Block& block) {
    ir::ForEachNode(block, [&](const ir::Node& node) {
      const ir::Schema* schema = context_->schemas.Find(node.op);
      if (schema == nullptr) return;
      for (size_t i = 0; i < schema->args.size() && i < node.args.size(); ++i) {
        const ir::Arg& arg = node.args[i].value;
        if (schema->args[i].alias.empty() || !arg.is_literal()) continue;
        ir::Value*& value = values_[&arg.literal()];
        if (value != nullptr) continue;
        ir::Shape shape(arg.literal().shape.begin(), arg.literal().shape.end());
        value = Emitter(context_, node, &hoisted_)
                    .Emit("prim::Constant", {{"value", arg}},
                          ir::Type::Tensor(arg.literal().dtype, std::move(shape)));
      }
    });
  }

  void Rewrite(ir::Block* block) {
    NodeList nodes = std::move(block->nodes);
    block->nodes.clear();
    for (auto& node : nodes) {
      if (node->op == "prim::Constant") {
        hoisted_.push_back(std::move(node));
        continue;
      }
      for (ir::NamedArg& arg : node->args) Replace(&arg.value);
      for (const auto& inner : node->blocks) Rewrite(inner.get());
      block->nodes.push_back(std::move(node));
    }
    for (ir::Arg& result : block->results) Replace(&result);
  }

  void Replace(ir::Arg* arg) const {
    if (arg->is_literal()) {
      const auto it = values_.find(&arg->literal());
      if (it != values_.end()) *arg = it->second;
    } else if (arg->is_list()) {
      for (ir::Arg& item : arg->list()) Replace(&item);
    }
  }

  Context* context_;
  std::unordered_map<const ir::TensorLiteral*, ir::Value*> values_;
  NodeList hoisted_;
};

}  // namespace

void HoistConstants(Context* context) { ConstantHoister(context).Run(); }

}  // namespace rules_onnx::passes
