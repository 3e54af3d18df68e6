// Which operators' sizes and numbers come from values.
#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "exporter/torch/script/interpreter.h"

namespace rules_onnx::script {
namespace {

using torch::jit::Node;

std::optional<size_t> ArgumentIndex(const Node* node, const std::string& name) {
  const auto index = node->schema().argumentIndexWithName(name);
  return index ? std::optional<size_t>(static_cast<size_t>(*index)) : std::nullopt;
}

bool IsMask(const c10::IValue& index) {
  return index.isTensor() && index.toTensor().defined() &&
         (index.toTensor().scalar_type() == at::kBool ||
          index.toTensor().scalar_type() == at::kByte);
}

// Index tensors in one run put their result in their place, others in front.
std::optional<int64_t> MaskedIndexAxis(const c10::IValue& indices) {
  std::optional<int64_t> first, last;
  bool masked = false, gap = false;
  int64_t axis = 0, result_axis = 0;
  for (const c10::IValue& index : indices.toListRef()) {
    const bool present = index.isTensor() && index.toTensor().defined();
    if (present) {
      gap = gap || (last && *last != axis - 1);
      if (!first) {
        first = axis;
        result_axis = axis;
      }
      last = axis;
      masked = masked || IsMask(index);
    }
    ++axis;
  }
  if (!masked) return std::nullopt;
  return gap ? 0 : result_axis;
}

// An int argument `name`, or `otherwise` where it is None.
int64_t IntArgument(const Node* node, const std::vector<c10::IValue>& inputs,
                    const std::string& name, int64_t otherwise) {
  const auto index = ArgumentIndex(node, name);
  if (!index || !inputs[*index].isInt()) return otherwise;
  return inputs[*index].toInt();
}

}  // namespace

std::optional<int64_t> DataDependentAxis(const Node* node,
                                         const std::vector<c10::IValue>& inputs) {
  static const std::set<std::string> kAxis0 = {
      "aten::nonzero",       "aten::nonzero_numpy",     "aten::argwhere",
      "aten::masked_select", "aten::_unique",           "aten::_unique2",
      "aten::bincount",      "torchvision::nms",        "aten::_pack_padded_sequence"};
  static const std::set<std::string> kAxisOfDim = {
      "aten::unique_consecutive", "aten::unique_dim", "aten::unique_dim_consecutive"};
  const std::string op = node->kind().toQualString();
  if (kAxis0.count(op)) return 0;
  if (kAxisOfDim.count(op)) return IntArgument(node, inputs, "dim", 0);
  if (op == "aten::where" && inputs.size() == 1) return 0;
  if (op == "aten::index" && inputs[0].isTensor()) return MaskedIndexAxis(inputs[1]);
  if (op == "aten::one_hot" && inputs[1].isInt() && inputs[1].toInt() < 0) return -1;
  if (op == "aten::repeat_interleave") {
    const auto repeats = ArgumentIndex(node, "repeats");
    const auto size = ArgumentIndex(node, "output_size");
    if (!repeats || !inputs[*repeats].isTensor()) return std::nullopt;
    if (size && !inputs[*size].isNone()) return std::nullopt;
    // A number that tracing made a tensor.
    if (node->input(*repeats)->node()->kind() == torch::jit::prim::NumToTensor) return std::nullopt;
    return IntArgument(node, inputs, "dim", 0);
  }
  return std::nullopt;
}

bool ReadsNumber(const Node* node) {
  static const std::set<std::string> kOps = {
      "aten::item", "aten::Int", "aten::IntImplicit", "aten::ScalarImplicit",
      "aten::_local_scalar_dense", "aten::Float", "aten::FloatImplicit", "aten::Bool",
      "aten::is_nonzero", "aten::equal", "aten::allclose", "aten::ComplexImplicit", "prim::tolist"};
  return kOps.count(node->kind().toQualString()) > 0 && !node->inputs().empty() &&
         node->input(0)->type()->isSubtypeOf(*c10::TensorType::get());
}

bool WritesAnything(const torch::jit::Block* block) {
  for (const Node* node : block->nodes()) {
    if (node->kind() == c10::prim::SetAttr) return true;
    const auto* schema = node->maybeSchema();
    if (schema != nullptr && schema->is_mutable()) return true;
    for (const torch::jit::Block* inner : node->blocks()) {
      if (WritesAnything(inner)) return true;
    }
  }
  return false;
}

}  // namespace rules_onnx::script
