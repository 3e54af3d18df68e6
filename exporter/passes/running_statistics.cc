#include "exporter/passes/running_statistics.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "exporter/passes/rewrite.h"

namespace rules_onnx::passes {
namespace {

using Uses = std::unordered_map<const ir::Value*, int>;

// The node moves statistics that something else may read too.
bool ChangesSharedState(const ir::Node& node, absl::string_view training, bool always,
                        const Uses& uses) {
  const ir::Arg* moves = node.Find(training);
  if (moves == nullptr || !moves->is_bool() || !moves->as_bool()) return false;
  const ir::Arg* mean = node.Find("running_mean");
  const ir::Arg* variance = node.Find("running_var");
  return mean->is_value() && variance->is_value() &&
         (always || uses.at(mean->value()) > 1 || uses.at(variance->value()) > 1);
}

}  // namespace

void StateRunningStatistics(Context* context) {
  const Uses uses = CountUses(*context->graph);
  RewriteGraph(context, [&](ir::Node* node, Emitter* emitter, Replacements* replacements) {
    if (node->base_op() == "aten::instance_norm" &&
        ChangesSharedState(*node, "use_input_stats", context->state_outputs, uses)) {
      context->Report(diagnostics::Severity::kError, "write-not-expressible", *node,
                      "its running statistics, which it changes, are asked for elsewhere");
    }
    if (node->base_op() != "aten::batch_norm" || !ChangesSharedState(*node, "training", context->state_outputs, uses)) {
      return Action::kKeep;
    }
    std::vector<ir::NamedArg> args;
    for (const char* name : {"input", "weight", "bias", "running_mean", "running_var", "training",
                             "momentum", "eps"}) {
      args.push_back({name, *node->Find(name)});
    }
    const ir::Type& type = node->Find("running_mean")->value()->type;
    const ir::Node* stated = emitter->EmitNode("aten::_native_batch_norm_legit", std::move(args),
                                               {node->output()->type, type, type});
    stated->output()->name = node->output()->name;
    replacements->Set(node->output(), stated->output());
    return Action::kDrop;
  });
}

}  // namespace rules_onnx::passes
