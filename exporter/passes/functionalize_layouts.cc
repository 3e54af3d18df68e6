// Where elements lie in their storage: which results are contiguous, and what as_strided counts in.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "exporter/passes/functionalizer.h"
#include "exporter/passes/views.h"

namespace rules_onnx::passes {
namespace {

using Names = absl::flat_hash_set<absl::string_view>;

// Results may not be contiguous even where the argument is.
bool Reorders(absl::string_view base) {
  static const auto* const kReordering =
      new Names{"aten::transpose",    "aten::permute",  "aten::t",        "aten::numpy_T",
                "aten::mT",           "aten::mH",       "aten::adjoint",  "aten::movedim",
                "aten::moveaxis",     "aten::swapaxes", "aten::swapdims", "aten::expand",
                "aten::expand_as",    "aten::unfold",   "aten::diagonal", "aten::as_strided",
                "aten::broadcast_to", "aten::einsum",   "aten::matrix_H", "aten::broadcast_tensors",
                "aten::meshgrid"};
  return kReordering->contains(base);
}

// Results are contiguous whatever the arguments are.
bool MakesContiguous(absl::string_view base) {
  static const auto* const kContiguous =
      new Names{"aten::mm",    "aten::bmm",  "aten::addmm", "aten::matmul", "aten::linear",
                "aten::zeros", "aten::ones", "aten::full",  "aten::arange", "aten::embedding"};
  return kContiguous->contains(base);
}

// Results lie as the first argument does, whatever the others are.
bool LiesAsFirst(absl::string_view base) {
  static const auto* const kFollowing = new Names{"aten::as_strided_scatter",
                                                  "aten::slice_scatter",
                                                  "aten::select_scatter",
                                                  "aten::diagonal_scatter",
                                                  "aten::index_put",
                                                  "aten::index_fill",
                                                  "aten::scatter",
                                                  "aten::scatter_add",
                                                  "aten::copy",
                                                  "aten::fill"};
  return kFollowing->contains(base);
}

// Results are items of a list or tuple, which may be views.
bool TakesApart(absl::string_view base) {
  return base == "prim::ListUnpack" || base == "prim::TupleUnpack" || base == "prim::TupleIndex" ||
         base == "prim::DictIndex" || base == "aten::__getitem__";
}

}  // namespace

bool Functionalizer::CountsStrides(absl::string_view base) {
  return base == "aten::as_strided" || base == "aten::as_strided_copy" ||
         base == "aten::as_strided_scatter";
}

bool Functionalizer::IsContiguousResult(const ir::Node& node, bool rough_inputs) {
  return MakesContiguous(node.base_op()) || !rough_inputs;
}

bool Functionalizer::IsRough(const ir::Node& node) const {
  if (Reorders(node.base_op()) || WantsChannelsLast(node)) return true;
  if (LiesAsFirst(node.base_op())) {
    return node.args[0].value.is_value() && rough_.contains(node.args[0].value.value());
  }
  bool rough = false;
  node.ForEachInput([&](ir::Value* value) { rough |= rough_.contains(value); });
  return rough;
}

void Functionalizer::BindWeight(size_t index) {
  const ir::Weight& weight = context_->graph->weights[index];
  const ir::Type& type = weight.value->type;
  const Layout layout = context_->weight_memory.empty()
                            ? Layout::Contiguous(type)
                            : Layout::Strided(context_->weight_memory[index].strides, type);
  if (layout.IsContiguous(type) != Answer::kYes) rough_.insert(weight.value);
  if (IsTracked(weight.value)) {
    BindNewRoot(weight.value, layout)->weight = &weight;
  } else {
    views_[weight.value] = {layout, weight.value};
  }
}

Layout Functionalizer::LayoutOf(const ir::Value* value) const {
  if (const Object* object = memory_.ObjectOf(value)) return object->place->layout;
  const auto view = views_.find(value);
  if (view != views_.end()) return view->second.layout;
  return rough_.contains(value) ? Layout() : Layout::Contiguous(value->type);
}

void Functionalizer::NoteView(const ir::Node& node) {
  if (TakesApart(node.base_op())) {
    for (ir::Value* item : node.outputs) views_[item] = {Layout(), item};
    return;
  }
  const ir::Schema* schema = context_->schemas.Find(node.op);
  if (schema == nullptr || !schema->is_view() || node.args.empty() || node.outputs.size() != 1 ||
      !node.args[0].value.is_value() || !node.output()->type.is_tensor()) {
    return;
  }
  ir::Value* viewed = node.args[0].value.value();
  const Layout layout = LayoutOf(viewed);
  const ViewKind kind = ClassifyView(node, layout);
  UntrackedView view{layout.AfterView(node, viewed->type, node.output()->type), node.output()};
  if (kind == ViewKind::kView || kind == ViewKind::kSame) {
    const auto outer = views_.find(viewed);
    view.root = outer == views_.end() ? viewed : outer->second.root;
  }
  if (kind == ViewKind::kSame) view.layout = layout;
  if (kind == ViewKind::kUnknown) view.layout = Layout();
  if (IsCopyForShape(node, kind)) view.layout = Layout::Contiguous(node.output()->type);
  views_[node.output()] = std::move(view);
}

// Lowering counts in the argument, and an offset that is given counts from the storage's start.
void Functionalizer::CountFromStorage(ir::Node* node) {
  if (!node->args[0].value.is_value()) return;
  const ir::Value* self = node->args[0].value.value();
  const auto view = views_.find(self);
  if (view != views_.end() && !node->Find("storage_offset")->is_none()) {
    self = view->second.root;
    node->args[0].value = view->second.root;
  }
  RequireContiguous(*node, LayoutOf(self), self->type);
}

void Functionalizer::WarnOfSizeOne(const ir::Node& node) {
  context_->Report(
      diagnostics::Severity::kWarning, "view-at-size-one", node,
      "gives a copy, but where a dynamic axis has size 1 PyTorch's result is a view: a "
      "write to one of both shows in the other one then, and not in the model",
      "clone() the result if the model is run at size 1");
}

void Functionalizer::RequireContiguous(const ir::Node& node, const Layout& layout,
                                       const ir::Type& type) {
  if (layout.IsContiguous(type) == Answer::kYes) return;
  context_->Report(diagnostics::Severity::kError, "unsupported-form", node,
                   absl::StrCat(node.op, " of a tensor that is not known to be contiguous"),
                   "call contiguous() before it");
}

}  // namespace rules_onnx::passes
