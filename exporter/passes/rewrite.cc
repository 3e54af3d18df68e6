#include "exporter/passes/rewrite.h"

#include <utility>

#include "exporter/ir/schema.h"

namespace rules_onnx::passes {
namespace {

void CountBlock(const ir::Block& block, std::unordered_map<const ir::Value*, int>* uses) {
  const auto count = [uses](ir::Value* value) { ++(*uses)[value]; };
  for (const auto& node : block.nodes) {
    node->ForEachInput(count);
    for (const auto& inner : node->blocks) CountBlock(*inner, uses);
  }
  for (const ir::Arg& result : block.results) result.ForEachValue(count);
}

class Sweep {
 public:
  Sweep(Context* context, const Visitor& visit) : context_(context), visit_(visit) {}

  void Run(ir::Block* block) {
    NodeList nodes = std::move(block->nodes);
    block->nodes.clear();
    block->nodes.reserve(nodes.size());
    for (auto& node : nodes) {
      replacements_.Apply(node.get());
      const size_t before = block->nodes.size();
      Emitter emitter(context_, *node, &block->nodes);
      const Action action = visit_(node.get(), &emitter, &replacements_);
      changed_ |= action == Action::kDrop || block->nodes.size() != before;
      if (action == Action::kDrop) continue;
      for (const auto& inner : node->blocks) Run(inner.get());
      block->nodes.push_back(std::move(node));
    }
    replacements_.ApplyToResults(block);
  }

  bool changed() const { return changed_ || !replacements_.empty(); }

 private:
  Context* context_;
  const Visitor& visit_;
  Replacements replacements_;
  bool changed_ = false;
};

}  // namespace

const ir::Arg* Replacements::Find(const ir::Value* value) const {
  const auto it = map_.find(value);
  return it == map_.end() ? nullptr : &it->second;
}

void Replacements::Apply(ir::Arg* arg) const {
  if (arg->is_value()) {
    if (const ir::Arg* to = Find(arg->value())) *arg = ir::Arg(*to);
  } else if (arg->is_list()) {
    for (ir::Arg& item : arg->list()) Apply(&item);
  }
}

void Replacements::Apply(ir::Node* node) const {
  if (map_.empty()) return;
  for (ir::NamedArg& arg : node->args) Apply(&arg.value);
}

void Replacements::ApplyToResults(ir::Block* block) const {
  if (map_.empty()) return;
  for (ir::Arg& result : block->results) Apply(&result);
}

void Replacements::ApplyToAll(ir::Block* block) const {
  if (map_.empty()) return;
  for (const auto& node : block->nodes) {
    Apply(node.get());
    for (const auto& inner : node->blocks) ApplyToAll(inner.get());
  }
  ApplyToResults(block);
}

ir::Value* Emitter::Emit(absl::string_view op, std::vector<ir::NamedArg> args, ir::Type type) {
  return EmitNode(op, std::move(args), {std::move(type)})->output();
}

ir::Node* Emitter::EmitNode(absl::string_view op, std::vector<ir::NamedArg> args,
                            std::vector<ir::Type> outputs) {
  auto node = context_->graph->NewNode(std::string(op), std::move(args));
  if (const ir::Schema* schema = context_->schemas.Find(op)) {
    // Passes emit what fits; VerifyGraph names the node if one does not.
    ir::BindToSchema(*schema, node.get()).IgnoreError();
  }
  context_->InheritPlace(*origin_, node.get());
  for (ir::Type& type : outputs) {
    node->outputs.push_back(context_->graph->NewValue(std::move(type)));
  }
  out_->push_back(std::move(node));
  return out_->back().get();
}

ir::Node* Emitter::EmitCopy(const ir::Node& node, Replacements* replacements) {
  ir::Graph* graph = context_->graph;
  auto copy = graph->NewNode(node.op, node.args);
  context_->InheritPlace(node, copy.get());
  replacements->Apply(copy.get());
  const auto renew = [&](const ir::Value* value) {
    ir::Value* fresh = graph->NewValue(value->type, value->name);
    replacements->Set(value, fresh);
    return fresh;
  };
  for (const auto& block : node.blocks) {
    auto inner = std::make_unique<ir::Block>();
    for (const ir::Value* param : block->params) inner->params.push_back(renew(param));
    CopyBlock(context_, *block, replacements, &inner->nodes);
    inner->results = block->results;
    replacements->ApplyToResults(inner.get());
    copy->blocks.push_back(std::move(inner));
  }
  for (const ir::Value* output : node.outputs) copy->outputs.push_back(renew(output));
  out_->push_back(std::move(copy));
  return out_->back().get();
}

void CopyBlock(Context* context, const ir::Block& block, Replacements* replacements,
               NodeList* out) {
  for (const auto& node : block.nodes) {
    Emitter(context, *node, out).EmitCopy(*node, replacements);
  }
}

bool RewriteGraph(Context* context, const Visitor& visit) {
  Sweep sweep(context, visit);
  sweep.Run(&context->graph->main);
  return sweep.changed();
}

std::unordered_map<const ir::Value*, int> CountUses(const ir::Graph& graph) {
  std::unordered_map<const ir::Value*, int> uses;
  CountBlock(graph.main, &uses);
  return uses;
}

}  // namespace rules_onnx::passes
