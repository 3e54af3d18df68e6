// Arguments that an operator needs to be known while the graph is converted - which axis, whether at
// all, None or not - and that the run decides. What is None or not has both forms in the branches of an
// If. Of the others the sizes and the rank of the results follow, and so the runs must see them: there
// the program is given another form (restructure.h).
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "exporter/torch/script/converter.h"

namespace rules_onnx::script {
namespace {

using torch::jit::Node;

bool IsTensor(const c10::TypePtr& type) {
  if (const auto list = type->cast<c10::ListType>()) return IsTensor(list->getElementType());
  return type->kind() == c10::TypeKind::TensorType;
}

bool AnyTensor(at::ArrayRef<const torch::jit::Value*> values) {
  return std::any_of(values.begin(), values.end(),
                     [](const torch::jit::Value* value) { return IsTensor(value->type()); });
}

// Whether the argument names axes of the largest of the tensors.
bool IsAxis(const Node* node, const c10::Argument& argument) {
  static const std::set<std::string> kNames = {
      "dim",  "dims",      "dim0",      "dim1",    "axis",   "axis0",      "axis1",
      "axes", "dimension", "start_dim", "end_dim", "source", "destination"};
  // Where they mean repetitions, or -1 all axes, or may not be that of another argument.
  static const std::set<std::string> kOthers = {
      "aten::tile",       "aten::_weight_norm",    "aten::norm_except_dim",
      "aten::diagonal",   "aten::diagonal_copy",   "aten::diagonal_scatter",
      "aten::diag_embed", "aten::linalg_diagonal", "aten::diagonal_backward"};
  const std::string op = node->kind().toQualString();
  return kNames.count(argument.name()) > 0 && absl::StartsWith(op, "aten::") && !kOthers.count(op);
}

// The operator puts an axis before one of those that the tensor has, or behind them.
bool AddsAxis(const Node* node) {
  return absl::StartsWith(node->kind().toQualString(), "aten::unsqueeze") ||
         node->kind() == c10::aten::stack;
}

bool IsOf(ir::Type::Kind kind, const Item& item) {
  return item.is_value() && item.value()->type.kind == kind;
}

}  // namespace

// How many axes there are to choose from; nullopt where a tensor's rank is not known.
std::optional<size_t> Converter::AxesFor(const JitNode* node) {
  size_t axes = 0;
  for (const JitValue* input : node->inputs()) {
    if (!IsTensor(input->type())) continue;
    ir::Type type = TypeOfItem(*At(input));
    if (type.is_list()) type = ir::Type(type.elements[0]);
    if (!type.shape) return std::nullopt;
    axes = std::max(axes, type.shape->size());
  }
  return std::max<size_t>(axes + (AddsAxis(node) ? 1 : 0), 1);
}

// No operator but roll takes an axis twice.
std::optional<UndecidedArgument> Converter::UndecidedAxis(const JitNode* node, size_t input) {
  const ItemRef& item = At(node->input(input));
  const auto& parts = item->is_list() ? item->content.items : std::vector<ItemRef>{item};
  const auto at = std::find_if(parts.begin(), parts.end(), [](const ItemRef& part) {
    return IsOf(ir::Type::Kind::kInt, *part);
  });
  const auto axes = at == parts.end() ? std::nullopt : AxesFor(node);
  if (!axes) return std::nullopt;
  UndecidedArgument argument = {.input = input, .axes = static_cast<int64_t>(*axes)};
  if (item->is_list()) {
    argument.item = static_cast<size_t>(at - parts.begin());
    argument.length = parts.size();
  }
  for (size_t axis = 0; axis < *axes; ++axis) {
    const auto is_axis = [&](const ItemRef& part) {
      const auto known = IntOf(part);
      return known && Position(*known, *axes) == axis;
    };
    const bool taken = node->kind() != c10::aten::roll &&
                       std::any_of(parts.begin(), parts.end(), is_axis);
    if (!taken) argument.possible.push_back(static_cast<int64_t>(axis));
  }
  if (argument.possible.empty()) return std::nullopt;
  return argument;
}

// The first argument that has to be known and is not.
std::optional<UndecidedArgument> Converter::FindUndecided(const JitNode* node) {
  const auto* schema = node->maybeSchema();
  const bool gives = AnyTensor(node->outputs()) || node->kind() == c10::aten::size;
  if (schema == nullptr || !gives || !AnyTensor(node->inputs())) return std::nullopt;
  if (input_.as_it_is.count(node)) return std::nullopt;
  const size_t count = std::min(node->inputs().size(), schema->arguments().size());
  for (size_t i = 0; i < count; ++i) {
    if (node->input(i) == maybe_none_) continue;  // that of one form would stand for both
    const c10::Argument& argument = schema->arguments()[i];
    if (argument.real_type()->kind() == c10::TypeKind::BoolType &&
        IsOf(ir::Type::Kind::kBool, *At(node->input(i)))) {
      return UndecidedArgument{.input = i, .possible = {1, 0}};
    }
    auto axis = IsAxis(node, argument) ? UndecidedAxis(node, i) : std::nullopt;
    if (axis) return axis;
  }
  return std::nullopt;
}

void Converter::NoteUndecided(const JitNode* node) {
  const bool known = std::any_of(result_.changes.begin(), result_.changes.end(),
                                 [&](const FormChange& change) { return change.node == node; });
  if (known) return;
  if (auto argument = FindUndecided(node)) result_.changes.push_back({node, std::move(argument)});
}

bool Converter::ConvertMaybeNone(const JitNode* node, bool* raises) {
  const auto* schema = node->maybeSchema();
  const size_t known = schema == nullptr ? 0 : schema->arguments().size();
  for (size_t i = 0; i < std::min(node->inputs().size(), known); ++i) {
    const ItemRef item = At(node->input(i));
    const bool takes_none =
        schema->arguments()[i].real_type()->kind() == c10::TypeKind::OptionalType;
    if (!item->is_optional() || !takes_none) continue;
    const ItemRef& there = item->content.items[0];
    const bool outer = std::exchange(unseen_form_, unseen_form_ || AnyUntrusted(there));
    const JitValue* const outer_argument = std::exchange(maybe_none_, node->input(i));
    const auto leave = [&] {
      unseen_form_ = outer;
      maybe_none_ = outer_argument;
    };
    try {
      *raises = ConvertBranches(node, node, there,
                                WithInput(node, node->input(i), item->content.items[1]),
                                WithInput(node, node->input(i), Leaf(ir::Arg())));
    } catch (...) {
      leave();
      throw;
    }
    leave();
    return true;
  }
  return false;
}

}  // namespace rules_onnx::script
