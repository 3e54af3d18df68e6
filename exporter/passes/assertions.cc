#include "exporter/passes/assertions.h"

#include <algorithm>

#include "exporter/passes/rewrite.h"

namespace rules_onnx::passes {
namespace {

bool IsRaise(const ir::Node& node) { return node.base_op() == "prim::RaiseException"; }

// An exception on every way through the block.
const ir::Node* AlwaysRaises(const ir::Block& block) {
  for (const auto& node : block.nodes) {
    if (IsRaise(*node)) return node.get();
    if (node->op != "prim::If") continue;
    const ir::Node* first = AlwaysRaises(*node->blocks[0]);
    if (first != nullptr && AlwaysRaises(*node->blocks[1]) != nullptr) return first;
  }
  return nullptr;
}

}  // namespace

bool DropAssertions(Context* context) {
  if (const ir::Node* raise = AlwaysRaises(context->graph->main)) {
    context->Report(diagnostics::Severity::kError, "always-raises", *raise,
                    "the program raises an exception whatever its inputs are");
    return false;
  }
  bool changed = false;
  RewriteGraph(context, [&](ir::Node* node, Emitter*, Replacements*) {
    if (node->op != "prim::If" || node->Find("cond")->is_bool()) return Action::kKeep;
    const ir::Node* then = AlwaysRaises(*node->blocks[0]);
    const ir::Node* otherwise = AlwaysRaises(*node->blocks[1]);
    if ((then == nullptr) == (otherwise == nullptr)) return Action::kKeep;
    context->Report(diagnostics::Severity::kWarning, "assertion-dropped",
                    then != nullptr ? *then : *otherwise,
                    "ONNX cannot raise an exception: the model goes on as if the assertion held");
    node->Set("cond", then == nullptr);
    changed = true;
    return Action::kKeep;
  });
  return changed;
}

}  // namespace rules_onnx::passes
