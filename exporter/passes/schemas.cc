#include "exporter/passes/schemas.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"

namespace rules_onnx::passes {

Schemas::Schemas(const ir::Graph& graph) {
  for (const auto& [op, text] : graph.custom_schemas) {
    auto schema = ir::ParseSchema(text);
    if (schema.ok()) custom_.emplace(op, *std::move(schema));
  }
}

const ir::Schema* Schemas::Find(absl::string_view op) const {
  const auto it = custom_.find(std::string(op));
  return it != custom_.end() ? &it->second : ir::FindSchema(op);
}

bool Schemas::Writes(const ir::Node& node) const {
  const ir::Schema* schema = Find(node.op);
  return schema != nullptr && schema->writes();
}

bool Schemas::HasEffects(const ir::Node& node) const {
  return Writes(node) || node.base_op() == "prim::RaiseException";
}

bool Schemas::IsRandom(const ir::Node& node) {
  static const auto* const kRandom = new absl::flat_hash_set<absl::string_view>{
      "aten::rand",          "aten::randn",           "aten::randint",
      "aten::rand_like",     "aten::randn_like",      "aten::randint_like",
      "aten::randperm",      "aten::normal",          "aten::bernoulli",
      "aten::multinomial",   "aten::poisson",         "aten::binomial",
      "aten::uniform",       "aten::exponential",     "aten::geometric",
      "aten::cauchy",        "aten::log_normal",      "aten::random",
      "aten::dropout",       "aten::native_dropout",  "aten::feature_dropout",
      "aten::alpha_dropout", "aten::feature_alpha_dropout",
      "aten::rrelu",         "aten::rrelu_with_noise", "aten::normal_functional",
      "aten::empty",         "aten::empty_like",      "aten::new_empty",
      "aten::gumbel_softmax", "aten::scaled_dot_product_attention",
      "aten::lstm",          "aten::gru",             "aten::rnn_tanh",
      "aten::rnn_relu",      "aten::rrelu_with_noise_functional"};
  const std::string base(node.base_op());
  return kRandom->contains(base) ||
         (!base.empty() && base.back() == '_' &&
          kRandom->contains(absl::string_view(base).substr(0, base.size() - 1)));
}

bool AnyNode(const ir::Node& node, const std::function<bool(const ir::Node&)>& holds) {
  if (holds(node)) return true;
  return std::any_of(node.blocks.begin(), node.blocks.end(), [&](const auto& block) {
    return std::any_of(block->nodes.begin(), block->nodes.end(),
                       [&](const auto& inner) { return AnyNode(*inner, holds); });
  });
}

}  // namespace rules_onnx::passes
