#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exporter/capture/derived_source.h"
#include "exporter/capture/weight_folding.h"
#include "exporter/capture/weight_table.h"
#include "exporter/passes/rewrite.h"

namespace rules_onnx::capture {
namespace {

bool IsConvolution(const ir::Node& node) {
  static const auto* const kConvolutions = new absl::flat_hash_set<absl::string_view>{
      "aten::conv1d",      "aten::conv2d",           "aten::conv3d",
      "aten::convolution", "aten::_convolution",     "aten::conv_transpose1d",
      "aten::conv_transpose2d", "aten::conv_transpose3d"};
  return kConvolutions->contains(node.base_op());
}

// nullopt: the node does not say.
std::optional<bool> IsTransposed(const ir::Node& node) {
  const ir::Arg* transposed = node.Find("transposed");
  if (transposed == nullptr) return absl::StrContains(node.op, "conv_transpose");
  return transposed->is_bool() ? std::optional<bool>(transposed->as_bool()) : std::nullopt;
}

bool IsEvalBatchNorm(const ir::Node& node) {
  const absl::string_view base = node.base_op();
  if (base == "aten::_native_batch_norm_legit_no_training") return true;
  if (base != "aten::batch_norm" && base != "aten::native_batch_norm") return false;
  const ir::Arg* training = node.Find("training");
  return training != nullptr && training->is_bool() && !training->as_bool();
}

class BatchNormFolder {
 public:
  explicit BatchNormFolder(Program* program) : program_(program), table_(program) {}

  absl::Status Run() { return RunBlock(&program_->graph.main); }

 private:
  absl::Status RunBlock(ir::Block* block) {
    passes::NodeList nodes = std::move(block->nodes);
    block->nodes.clear();
    for (auto& node : nodes) {
      replacements_.Apply(node.get());
      if (IsConvolution(*node)) convolutions_[node->output()] = node.get();
      bool folded = false;
      if (ir::Node* convolution = Foldable(*node)) {
        if (absl::Status status = Fold(*node, convolution, &folded); !status.ok()) return status;
      }
      if (folded) continue;
      for (const auto& inner : node->blocks) {
        if (absl::Status status = RunBlock(inner.get()); !status.ok()) return status;
      }
      block->nodes.push_back(std::move(node));
    }
    replacements_.ApplyToResults(block);
    return absl::OkStatus();
  }

  // The convolution that the BatchNorm alone reads; nullptr if there is none.
  ir::Node* Foldable(const ir::Node& node) const {
    if (!IsEvalBatchNorm(node)) return nullptr;
    for (size_t i = 1; i < node.outputs.size(); ++i) {
      if (table_.Uses(node.outputs[i]) > 0) return nullptr;
    }
    const ir::Arg& input = *node.Find("input");
    if (!input.is_value() || table_.Uses(input.value()) != 1) return nullptr;
    const auto it = convolutions_.find(input.value());
    if (it == convolutions_.end() || !node.Find("eps")->is_float()) return nullptr;
    return Fits(*it->second, node) ? it->second : nullptr;
  }

  bool Fits(const ir::Node& convolution, const ir::Node& norm) const {
    const ir::Arg& weight = *convolution.Find("weight");
    if (!table_.IsWeight(weight) || table_.Uses(weight.value()) != 1) return false;
    const ir::DType dtype = weight.value()->type.dtype;
    if (dtype != ir::DType::kFloat32 && dtype != ir::DType::kFloat64) return false;
    // Without a batch axis, BatchNorm would take another axis for the channel.
    const ir::Type& result = convolution.output()->type;
    const size_t rank = weight.value()->type.shape->size();
    if (rank < 3 || !result.shape || result.shape->size() != rank) return false;
    const ir::Arg* groups = convolution.Find("groups");
    if (!groups->is_int() || groups->as_int() < 1 || !IsTransposed(convolution)) return false;
    const auto fits = [&](const ir::Arg* arg, bool optional) {
      if (arg->is_none()) return optional;
      return table_.IsWeight(*arg) && arg->value()->type.dtype == dtype &&
             arg->value()->type.shape->size() == 1 &&
             (*arg->value()->type.shape)[0].value() == Channels(convolution);
    };
    return fits(convolution.Find("bias"), true) && fits(norm.Find("weight"), true) &&
           fits(norm.Find("bias"), true) && fits(norm.Find("running_mean"), false) &&
           fits(norm.Find("running_var"), false);
  }

  static int64_t Channels(const ir::Node& convolution) {
    const ir::Shape& shape = *convolution.Find("weight")->value()->type.shape;
    if (!*IsTransposed(convolution)) return shape[0].value();
    return shape[1].value() * convolution.Find("groups")->as_int();
  }

  static ChannelMap MapOf(const ir::Node& convolution) {
    const ir::Shape& shape = *convolution.Find("weight")->value()->type.shape;
    ChannelMap map;
    for (size_t i = 2; i < shape.size(); ++i) map.inner *= shape[i].value();
    map.columns = shape[1].value();
    map.transposed = *IsTransposed(convolution);
    map.rows_of_group = shape[0].value() / convolution.Find("groups")->as_int();
    return map;
  }

  absl::Status Values(const ir::Arg& arg, double otherwise, int64_t count,
                      std::vector<double>* values) const {
    values->assign(static_cast<size_t>(count), otherwise);
    return arg.is_none() ? absl::OkStatus() : ReadFloats(*table_.Source(arg.value()), values);
  }

  absl::Status Fold(const ir::Node& norm, ir::Node* convolution, bool* folded) {
    const int64_t channels = Channels(*convolution);
    std::vector<double> gamma, beta, mean, variance, bias;
    for (const auto& [arg, otherwise, values] :
         {std::tuple{norm.Find("weight"), 1.0, &gamma}, std::tuple{norm.Find("bias"), 0.0, &beta},
          std::tuple{norm.Find("running_mean"), 0.0, &mean},
          std::tuple{norm.Find("running_var"), 0.0, &variance},
          std::tuple{static_cast<const ir::Node*>(convolution)->Find("bias"), 0.0, &bias}}) {
      if (absl::Status status = Values(*arg, otherwise, channels, values); !status.ok()) {
        return status;
      }
    }
    const double eps = norm.Find("eps")->as_float();
    std::vector<double> scale(static_cast<size_t>(channels)), shift(scale.size());
    for (size_t c = 0; c < scale.size(); ++c) {
      scale[c] = gamma[c] / std::sqrt(variance[c] + eps);
      shift[c] = (bias[c] - mean[c]) * scale[c] + beta[c];
      // A folded infinity or nan is not what the two operators give.
      if (!std::isfinite(scale[c]) || !std::isfinite(shift[c])) return absl::OkStatus();
    }
    ir::Value* weight = convolution->Find("weight")->value();
    const ir::Arg old_bias = *convolution->Find("bias");
    const std::string weight_name = table_.Name(weight);
    const std::string bias_name =
        old_bias.is_value() ? table_.Name(old_bias.value()) : BiasName(weight_name);
    convolution->Set("weight", table_.AddDerived(weight, weight_name + ".folded",
                                                 ScaledSource(table_.Source(weight),
                                                              MapOf(*convolution),
                                                              std::move(scale))));
    convolution->Set("bias", table_.AddDerived(old_bias.is_value() ? old_bias.value() : weight,
                                               bias_name + ".folded",
                                               FloatsSource(weight->type.dtype, shift)));
    replacements_.Set(norm.outputs[0], convolution->output());
    // What read the BatchNorm reads the convolution now.
    table_.CopyUses(norm.outputs[0], convolution->output());
    *folded = true;
    return absl::OkStatus();
  }

  // "features.0.weight" → "features.0.bias".
  static std::string BiasName(const std::string& weight_name) {
    if (!absl::EndsWith(weight_name, "weight")) return weight_name + ".bias";
    return weight_name.substr(0, weight_name.size() - 6) + "bias";
  }

  Program* program_;
  WeightTable table_;
  std::unordered_map<const ir::Value*, ir::Node*> convolutions_;
  passes::Replacements replacements_;
};

}  // namespace

absl::Status FoldBatchNorm(Program* program) { return BatchNormFolder(program).Run(); }

}  // namespace rules_onnx::capture
