#include "exporter/passes/running_statistics.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "exporter/passes/rewrite.h"

namespace rules_onnx::passes {
namespace {

// Weights that a node may change unseen: nothing else reads them, nor shows their memory.
class OwnWeights {
 public:
  explicit OwnWeights(const Context& context) : uses_(CountUses(*context.graph)) {
    std::unordered_map<int, int> storages;
    for (const ir::WeightMemory& memory : context.weight_memory) ++storages[memory.storage];
    for (size_t i = 0; i < context.graph->weights.size(); ++i) {
      const bool shared = i < context.weight_memory.size() &&
                          storages.at(context.weight_memory[i].storage) > 1;
      if (!shared) weights_.insert(context.graph->weights[i].value);
    }
  }

  bool Holds(const ir::Arg& arg) const {
    return weights_.contains(arg.value()) && uses_.at(arg.value()) == 1;
  }

 private:
  std::unordered_map<const ir::Value*, int> uses_;
  std::unordered_set<const ir::Value*> weights_;
};

// The node moves statistics that something else may read too.
bool ChangesSharedState(const ir::Node& node, absl::string_view training, bool always,
                        const OwnWeights& own) {
  const ir::Arg* moves = node.Find(training);
  if (moves == nullptr || !moves->is_bool() || !moves->as_bool()) return false;
  const ir::Arg* mean = node.Find("running_mean");
  const ir::Arg* variance = node.Find("running_var");
  return mean->is_value() && variance->is_value() &&
         (always || !own.Holds(*mean) || !own.Holds(*variance));
}

void StateBatchNorm(ir::Node* node, Emitter* emitter, Replacements* replacements) {
  std::vector<ir::NamedArg> args;
  for (const char* name : {"input", "weight", "bias", "running_mean", "running_var", "training",
                           "momentum", "eps"}) {
    args.push_back({name, *node->Find(name)});
  }
  // aten::native_batch_norm gives the batch's statistics as well.
  const ir::Type& type = node->Find("running_mean")->value()->type;
  std::vector<ir::Type> types(3, type);
  for (size_t i = 0; i < node->outputs.size(); ++i) types[i] = node->outputs[i]->type;
  const ir::Node* stated =
      emitter->EmitNode("aten::_native_batch_norm_legit", std::move(args), std::move(types));
  for (size_t i = 0; i < node->outputs.size(); ++i) {
    stated->outputs[i]->name = node->outputs[i]->name;
    replacements->Set(node->outputs[i], stated->outputs[i]);
  }
}

// `running` moves to the mean over the batch of what each instance has, a part of the way.
void Move(const ir::Arg& running, ir::Value* of_instances, double momentum, Emitter* emitter) {
  const ir::Type& type = running.value()->type;
  ir::Type seen = type;
  seen.dtype = of_instances->type.dtype;
  ir::Value* mean = emitter->Emit("aten::mean.dim",
                                  {{"self", of_instances}, {"dim", ir::Arg::Ints({0})}}, seen);
  ir::Value* part = emitter->Emit("aten::mul.Scalar", {{"self", mean}, {"other", momentum}}, seen);
  ir::Value* rest = emitter->Emit("aten::mul.Scalar",
                                  {{"self", running}, {"other", 1 - momentum}}, type);
  ir::Value* moved = emitter->Emit("aten::add.Tensor", {{"self", rest}, {"other", part}}, type);
  emitter->Emit("aten::copy_", {{"self", running}, {"src", moved}}, type);
}

// PyTorch normalizes each channel of each instance, and takes the mean of their statistics over the batch. In training
// the result does not depend on the running ones.
bool StateInstanceNorm(ir::Node* node, Emitter* emitter) {
  const ir::Arg& input = *node->Find("input");
  const ir::Arg& momentum = *node->Find("momentum");
  if (!input.is_value() || !input.value()->type.shape || !momentum.is_float()) return false;
  const ir::Shape& shape = *input.value()->type.shape;
  if (shape.size() < 3) return false;
  std::vector<int64_t> axes;
  for (size_t axis = 2; axis < shape.size(); ++axis) axes.push_back(static_cast<int64_t>(axis));
  const ir::Type type =
      ir::Type::Tensor(input.value()->type.dtype, ir::Shape{shape[0], shape[1]});
  ir::Value* mean = emitter->Emit("aten::mean.dim",
                                  {{"self", input}, {"dim", ir::Arg::Ints(axes)}}, type);
  ir::Value* variance = emitter->Emit(
      "aten::var.correction",
      {{"self", input}, {"dim", ir::Arg::Ints(axes)}, {"correction", 1}}, type);
  Move(*node->Find("running_mean"), mean, momentum.as_float(), emitter);
  Move(*node->Find("running_var"), variance, momentum.as_float(), emitter);
  return true;
}

}  // namespace

void StateRunningStatistics(Context* context) {
  const OwnWeights own(*context);
  const bool always = context->state_outputs;
  RewriteGraph(context, [&](ir::Node* node, Emitter* emitter, Replacements* replacements) {
    const bool is_batch_norm =
        node->base_op() == "aten::batch_norm" || node->base_op() == "aten::native_batch_norm";
    if (is_batch_norm && ChangesSharedState(*node, "training", always, own)) {
      StateBatchNorm(node, emitter, replacements);
      return Action::kDrop;
    }
    if (node->base_op() == "aten::instance_norm" &&
        ChangesSharedState(*node, "use_input_stats", always, own)) {
      if (!StateInstanceNorm(node, emitter)) {
        context->Report(diagnostics::Severity::kError, "write-not-expressible", *node,
                        "its running statistics, which it changes, are asked for elsewhere, and the "
                        "number of its axes or the momentum is not known");
      }
      *node->Find("running_mean") = *node->Find("running_var") = ir::Arg();
    }
    return Action::kKeep;
  });
}

}  // namespace rules_onnx::passes
