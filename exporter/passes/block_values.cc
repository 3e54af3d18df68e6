#include "exporter/passes/block_values.h"

#include <utility>

#include "exporter/passes/rewrite.h"

namespace rules_onnx::passes {
namespace {

// A dropped slot must not be found again: its result becomes its initial value, too.
bool SimplifyLoop(ir::Node* node, Replacements* replacements) {
  ir::Block* body = node->blocks[0].get();
  const ir::Arg::List& carried = node->Find("carried")->list();
  bool changed = false;
  for (size_t k = 0; k < carried.size(); ++k) {
    ir::Arg& result = body->results[k + 1];
    const ir::Value* param = body->params[k + 1];
    if (!result.is_value() || result.value() != param) continue;
    replacements->Set(param, carried[k]);
    replacements->Set(node->outputs[k], carried[k]);
    result = carried[k];
    changed = true;
  }
  return changed;
}

bool SimplifyIf(const ir::Node& node, const std::unordered_map<const ir::Value*, int>& uses,
                Replacements* replacements) {
  bool changed = false;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const ir::Arg& first = node.blocks[0]->results[k];
    // Equal values of both blocks were defined outside them.
    if (!(first == node.blocks[1]->results[k]) || !uses.contains(node.outputs[k])) continue;
    replacements->Set(node.outputs[k], first);
    changed = true;
  }
  return changed;
}

}  // namespace

bool SimplifyBlockValues(Context* context) {
  bool changed = false;
  const auto uses = CountUses(*context->graph);
  RewriteGraph(context, [&](ir::Node* node, Emitter*, Replacements* replacements) {
    if (node->op == "prim::Loop") changed |= SimplifyLoop(node, replacements);
    if (node->op == "prim::If") changed |= SimplifyIf(*node, uses, replacements);
    return Action::kKeep;
  });
  return changed;
}

}  // namespace rules_onnx::passes
