// Where elements lie in their storage: which results are contiguous, and what as_strided counts in.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "exporter/passes/functionalizer.h"
#include "exporter/passes/views.h"

namespace rules_onnx::passes {
namespace {

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

void Functionalizer::BindWeight(size_t index) {
  const ir::Weight& weight = context_->graph->weights[index];
  const ir::Type& type = weight.value->type;
  Layout layout = Layout::Contiguous(type);
  if (!context_->weight_memory.empty()) {
    const ir::WeightMemory& memory = context_->weight_memory[index];
    layout = Layout::Strided(memory.strides, type);
    if (memory.offset != 0) weight_offsets_[weight.value] = memory.offset;
  }
  if (IsTracked(weight.value)) {
    BindNewRoot(weight.value, layout)->weight = &weight;
  } else {
    views_[weight.value] = {layout, weight.value};
  }
}

Layout Functionalizer::LayoutWhenMade(const ir::Value& value) const {
  return rough_.contains(&value) ? Layout() : Layout::Contiguous(value.type);
}

Layout Functionalizer::LayoutOf(const ir::Value* value) const {
  if (const Object* object = memory_.ObjectOf(value)) return object->place->layout;
  const auto view = views_.find(value);
  if (view != views_.end()) return view->second.layout;
  return LayoutWhenMade(*value);
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
  CountFromWeight(node, self);
}

// A weight need not begin where its storage does.
void Functionalizer::CountFromWeight(ir::Node* node, const ir::Value* weight) {
  const auto begin = weight_offsets_.find(weight);
  ir::Arg* offset = node->Find("storage_offset");
  if (begin == weight_offsets_.end() || offset->is_none()) return;
  if (offset->is_int() && offset->as_int() >= begin->second) {
    *offset = offset->as_int() - begin->second;
    return;
  }
  context_->Report(diagnostics::Severity::kError, "unsupported-form", *node,
                   absl::StrCat(node->op, " of a weight that is a part of a larger tensor, from "
                                "where the weight does not reach, or may not"),
                   "clone() the weight before it is registered");
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
