#include "exporter/passes/rough_values.h"

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "exporter/passes/layout.h"

namespace rules_onnx::passes {
namespace {

using Names = absl::flat_hash_set<absl::string_view>;

// Results may not be contiguous even where the arguments are.
bool Reorders(absl::string_view base) {
  static const auto* const kReordering =
      new Names{"aten::transpose",         "aten::permute",
                "aten::t",                 "aten::numpy_T",
                "aten::mT",                "aten::mH",
                "aten::H",                 "aten::adjoint",
                "aten::movedim",           "aten::moveaxis",
                "aten::swapaxes",          "aten::swapdims",
                "aten::expand",            "aten::expand_as",
                "aten::unfold",            "aten::diagonal",
                "aten::as_strided",        "aten::broadcast_to",
                "aten::einsum",            "aten::matrix_H",
                "aten::broadcast_tensors", "aten::meshgrid",
                "aten::nonzero",           "aten::argwhere",
                "aten::nonzero_numpy",     "aten::unique_dim",
                "aten::unique_consecutive", "aten::unique_dim_consecutive",
                "aten::rot90",             "aten::quantile",
                "aten::nanquantile",       "aten::inverse",
                "aten::cholesky",          "aten::cholesky_inverse",
                "aten::cholesky_solve",    "aten::triangular_solve",
                "aten::geqrf",             "aten::qr",
                "aten::svd",               "aten::lu_solve",
                "aten::pinverse",          "aten::matrix_power",
                "aten::stft",              "aten::istft",
                "aten::lstm",              "aten::gru",
                "aten::rnn_tanh",          "aten::rnn_relu",
                "aten::empty_strided",     "aten::new_empty_strided",
                "aten::empty_permuted",    "aten::unravel_index",
                "aten::scaled_dot_product_attention",
                "aten::_native_multi_head_attention"};
  return kReordering->contains(base) || absl::StartsWith(base, "aten::linalg_") ||
         absl::StartsWith(base, "aten::_linalg_") || absl::StartsWith(base, "aten::fft_") ||
         absl::StartsWith(base, "aten::_fft_") ||
         absl::StartsWith(base, "aten::_scaled_dot_product_");
}

// Results are contiguous whatever the arguments are.
bool MakesContiguous(absl::string_view base) {
  static const auto* const kContiguous =
      new Names{"aten::mm",    "aten::bmm",       "aten::matmul", "aten::linear", "aten::zeros",
                "aten::ones",  "aten::full",      "aten::arange", "aten::ravel",  "aten::embedding",
                "aten::contiguous"};
  return kContiguous->contains(base);
}

// Results lie as the first argument does, whatever the others are.
bool LiesAsFirst(absl::string_view base) {
  static const auto* const kFollowing =
      new Names{"aten::as_strided_scatter", "aten::slice_scatter", "aten::select_scatter",
                "aten::diagonal_scatter",   "aten::index_put",     "aten::index_fill",
                "aten::scatter",            "aten::scatter_add",   "aten::copy",
                "aten::fill"};
  return kFollowing->contains(base);
}

// `t_`, `transpose_`: the tensor itself lies in another order from then on.
bool ReordersItsTensor(absl::string_view base) {
  return absl::EndsWith(base, "_") && Reorders(base.substr(0, base.size() - 1));
}

bool IsContainer(const ir::Type& type) { return !type.is_tensor() && IsMutable(type); }

}  // namespace

RoughValues::RoughValues(const Context& context, const AliasClasses& classes) : classes_(classes) {
  for (size_t i = 0; i < context.weight_memory.size(); ++i) {
    const ir::Value* value = context.graph->weights[i].value;
    const Layout layout = Layout::Strided(context.weight_memory[i].strides, value->type);
    InsertIf(layout.IsContiguous(value->type) != Answer::kYes, value);
  }
  do {
    changed_ = false;
    VisitBlock(context.graph->main);
  } while (changed_);
}

void RoughValues::Insert(const ir::Value* value) {
  changed_ |= rough_.insert(value).second;
  if (IsContainer(value->type)) {
    changed_ |= containers_.insert(classes_.ClassOf(value)).second;
  }
}

void RoughValues::InsertIf(bool rough, const ir::Value* value) {
  if (rough) Insert(value);
}

bool RoughValues::IsRough(const ir::Arg& arg) const {
  bool rough = false;
  arg.ForEachValue([&](ir::Value* value) {
    rough |= rough_.contains(value) ||
             (IsContainer(value->type) && containers_.contains(classes_.ClassOf(value)));
  });
  return rough;
}

bool RoughValues::IsRough(const ir::Node& node) const {
  const absl::string_view base = node.base_op();
  if (Reorders(base) || ReordersItsTensor(base) || WantsChannelsLast(node)) return true;
  if (MakesContiguous(base)) return false;
  if (LiesAsFirst(base)) return IsRough(node.args[0].value);
  bool rough = false;
  for (const ir::NamedArg& arg : node.args) rough |= IsRough(arg.value);
  return rough;
}

void RoughValues::VisitBlock(const ir::Block& block) {
  for (const auto& node : block.nodes) VisitNode(*node);
}

void RoughValues::VisitNode(const ir::Node& node) {
  if (node.op == "prim::If") return VisitIf(node);
  if (node.op == "prim::Loop") return VisitLoop(node);
  if (!node.blocks.empty()) return VisitScan(node);
  if (!IsRough(node)) return;
  for (const ir::Value* output : node.outputs) Insert(output);
  if (!ReordersItsTensor(node.base_op()) && !ChangesContainer(node)) return;
  if (node.args[0].value.is_value()) Insert(node.args[0].value.value());
}

void RoughValues::VisitIf(const ir::Node& node) {
  for (const auto& block : node.blocks) {
    VisitBlock(*block);
    for (size_t i = 0; i < node.outputs.size() && i < block->results.size(); ++i) {
      InsertIf(IsRough(block->results[i]), node.outputs[i]);
    }
  }
}

void RoughValues::VisitLoop(const ir::Node& node) {
  const ir::Block& body = *node.blocks[0];
  const ir::Arg::List& carried = node.Find("carried")->list();
  VisitBlock(body);
  for (size_t i = 0; i < carried.size(); ++i) {
    const bool rough = IsRough(carried[i]) || IsRough(body.results[i + 1]);
    InsertIf(rough, body.params[i + 1]);
    InsertIf(rough, node.outputs[i]);
  }
}

void RoughValues::VisitScan(const ir::Node& node) {
  ir::Arg::List given = node.Find("init")->list();
  for (const ir::Arg& x : node.Find("xs")->list()) given.push_back(x);
  for (const auto& block : node.blocks) {
    for (size_t i = 0; i < block->params.size() && i < given.size(); ++i) {
      InsertIf(IsRough(given[i]), block->params[i]);
    }
    VisitBlock(*block);
    for (size_t i = 0; i < block->results.size() && i < node.outputs.size(); ++i) {
      InsertIf(IsRough(block->results[i]), node.outputs[i]);
      if (i < block->params.size()) InsertIf(IsRough(block->results[i]), block->params[i]);
    }
  }
}

}  // namespace rules_onnx::passes
