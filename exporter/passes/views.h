// What is known of PyTorch's view operators: which argument they view, and how a write to the
// view changes what it views.
#ifndef RULES_ONNX_EXPORTER_PASSES_VIEWS_H_
#define RULES_ONNX_EXPORTER_PASSES_VIEWS_H_

#include <memory>
#include <optional>

#include "exporter/ir/graph.h"
#include "exporter/passes/layout.h"
#include "exporter/passes/rewrite.h"

namespace rules_onnx::passes {

enum class ViewKind {
  kNone,           // the output is a value of its own
  kSame,           // the output is the argument: all its elements, in the same geometry
  kView,           // the output is a part or another geometry of the argument
  kUnknown,        // a view or a copy: the types and layout do not say
  kViewAtSizeOne,  // a copy, but where a dynamic axis has size 1
};

// How the first output of `node` relates to its first argument, a tensor of layout `layout`.
ViewKind ClassifyView(const ir::Node& node, const Layout& layout);

// Gives a view of its argument or a copy, as sizes and strides say.
bool MayCopy(const ir::Node& node);

// A reshape or its like that copies: the result is contiguous. `kind` is ClassifyView's.
bool IsCopyForShape(const ir::Node& node, ViewKind kind);

// An operator on a list of tensors whose output may be, or show, the only one of the list.
bool MayGiveItsTensor(const ir::Node& node);

// An operator whose list output holds views of its first argument: split, chunk, unbind, ….
bool GivesListOfViews(const ir::Node& node);

// Item `index`, counted from the start, of such a list as a view of its own, `aten::slice.Tensor` or
// `aten::select.int`, whose first argument is that of `list`; nullptr where it cannot be said. Sizes
// that have to be computed are emitted.
std::unique_ptr<ir::Node> ItemOfListOfViews(const ir::Node& list, const ir::Arg& index,
                                            Emitter* emitter);

// The number of each element of `like`, row by row, in its shape.
ir::Value* ElementNumbers(ir::Value* like, Emitter* emitter);

// The view's elements are elements of what it views, and each is shown once where PyTorch lets programs write to it.
bool MovesElements(const ir::Node& view);

// The viewed tensor after its view got the content `written`. `view` is the view operator with
// its output (for the type), `viewed` the tensor before. nullptr where that cannot be expressed.
ir::Value* WriteThroughView(const ir::Node& view, ir::Value* viewed, const ir::Arg& written,
                            Emitter* emitter);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_VIEWS_H_
