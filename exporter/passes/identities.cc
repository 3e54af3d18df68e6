#include "exporter/passes/identities.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "exporter/passes/rewrite.h"

namespace rules_onnx::passes {
namespace {

using Names = absl::flat_hash_set<absl::string_view>;

bool IsCheck(absl::string_view base) {
  static const auto* const kChecks = new Names{
      "aten::warn",        "prim::Print",
      "aten::_assert_async", "aten::_assert_scalar",
      "aten::_assert_tensor_metadata", "aten::sym_constrain_range",
      "aten::sym_constrain_range_for_size", "aten::_print"};
  return kChecks->contains(base);
}

// Whatever the arguments are.
bool IsCopy(absl::string_view base) {
  static const auto* const kCopies = new Names{
      "aten::alias",        "aten::alias_copy",   "aten::detach",      "aten::detach_copy",
      "aten::clone",        "aten::contiguous",   "aten::lift",        "aten::lift_fresh",
      "aten::lift_fresh_copy", "aten::positive",  "aten::resolve_conj", "aten::resolve_neg",
      "aten::cpu",          "aten::cuda",         "aten::requires_grad_", "prim::data",
      "aten::sym_fresh_size", "aten::_functional_sym_constrain_range_for_size",
      "prim::unchecked_cast", "prim::unchecked_unwrap_optional", "aten::pin_memory"};
  return kCopies->contains(base);
}

bool IsDropout(absl::string_view base) {
  static const auto* const kDropouts =
      new Names{"aten::dropout", "aten::feature_dropout", "aten::alpha_dropout",
                "aten::feature_alpha_dropout", "aten::dropout_", "aten::feature_dropout_",
                "aten::alpha_dropout_", "aten::feature_alpha_dropout_"};
  return kDropouts->contains(base);
}

bool SameShape(const ir::Type& a, const ir::Type& b) {
  if (!a.shape || !b.shape || a.shape->size() != b.shape->size()) return false;
  return std::equal(a.shape->begin(), a.shape->end(), b.shape->begin(),
                    [](const ir::Dim& x, const ir::Dim& y) {
                      return x.is_number() && y.is_number() && x.value() == y.value();
                    });
}

bool IsConversion(absl::string_view base) {
  return base == "aten::to" || base == "aten::_to_copy" || base == "aten::type_as" ||
         base == "prims::convert_element_type";
}

// The order of elements stays; only the shape may change.
bool IsShaping(absl::string_view base) {
  static const auto* const kShapings = new Names{
      "aten::view",    "aten::reshape",   "aten::_unsafe_view", "aten::view_copy",
      "aten::expand",  "aten::expand_as", "aten::expand_copy",  "aten::view_as",
      "aten::reshape_as", "aten::flatten", "aten::squeeze",     "aten::squeeze_copy",
      "aten::broadcast_to", "aten::unflatten", "aten::_reshape_alias",
      "aten::atleast_1d", "aten::atleast_2d", "aten::atleast_3d"};
  return kShapings->contains(base);
}

bool IsInt(const ir::Arg* arg, int64_t value) {
  return arg != nullptr && arg->is_int() && arg->as_int() == value;
}

// x[:] along an axis.
bool IsWholeSlice(const ir::Node& node) {
  if (node.op != "aten::slice.Tensor") return false;
  const ir::Arg* start = node.Find("start");
  const ir::Arg* end = node.Find("end");
  if (!IsInt(node.Find("step"), 1) || (!start->is_none() && !IsInt(start, 0))) return false;
  return end->is_none() || IsInt(end, std::numeric_limits<int64_t>::max());
}

bool IsUnchangedOrder(const ir::Node& node) {
  if (node.base_op() != "aten::permute" && node.base_op() != "aten::permute_copy") return false;
  const auto order = node.Find("dims")->ints();
  if (!order) return false;
  for (size_t i = 0; i < order->size(); ++i) {
    const int64_t axis = (*order)[i];
    const int64_t rank = static_cast<int64_t>(order->size());
    if ((axis < 0 ? axis + rank : axis) != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// Says more of a tensor than is known otherwise.
bool StatesRank(const ir::Node& node) {
  const ir::Arg& self = node.args[0].value;
  return self.is_value() && self.value()->type.is_tensor() && !self.value()->type.shape &&
         node.output()->type.shape;
}

bool GivesItsArgument(const ir::Node& node) {
  if (node.outputs.size() != 1 || node.args.empty()) return false;
  const absl::string_view base = node.base_op();
  const ir::Arg& self = node.args[0].value;
  if (base == "prim::unchecked_cast" && StatesRank(node)) return false;
  if (IsCopy(base)) return true;
  if (IsDropout(base)) {
    const ir::Arg* train = node.Find("train");
    return train != nullptr && train->is_bool() && !train->as_bool();
  }
  if (!self.is_value() || !self.value()->type.is_tensor()) return false;
  const ir::Type& from = self.value()->type;
  const ir::Type& to = node.output()->type;
  if (IsConversion(base)) return from.dtype != ir::DType::kUndefined && from.dtype == to.dtype;
  if (IsShaping(base)) return from.dtype == to.dtype && SameShape(from, to);
  return IsWholeSlice(node) || IsUnchangedOrder(node);
}

// view demands a layout that values no longer have once copies are gone; reshape does not.
bool UseReshape(ir::Node* node) {
  if (node->op == "aten::view" || node->op == "aten::_unsafe_view") {
    node->args = {{"self", node->args[0].value}, {"shape", node->args[1].value}};
    node->op = "aten::reshape";
  } else if (node->op == "aten::view_as") {
    node->op = "aten::reshape_as";
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool Identities(Context* context) {
  bool renamed = false;
  const bool rewritten = RewriteGraph(context, [&](ir::Node* node, Emitter*,
                                                   Replacements* replacements) {
    renamed |= UseReshape(node);
    if (IsCheck(node->base_op())) return Action::kDrop;
    if (!GivesItsArgument(*node)) return Action::kKeep;
    replacements->Set(node->output(), node->args[0].value);
    return Action::kDrop;
  });
  return rewritten || renamed;
}

}  // namespace rules_onnx::passes
