#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "exporter/capture/derived_source.h"
#include "exporter/capture/weight_folding.h"
#include "exporter/capture/weight_table.h"
#include "exporter/passes/rewrite.h"

namespace rules_onnx::capture {
namespace {

// A larger tensor than this would have to be held in memory; its operator stays in the graph.
constexpr uint64_t kMaxBytes = uint64_t{16} << 20;

struct View {
  std::vector<int64_t> shape, strides;
  int64_t offset = 0;
};

std::vector<int64_t> RowMajor(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i]) strides[i] = stride;
  return strides;
}

std::optional<size_t> Axis(const ir::Arg* arg, size_t rank) {
  if (arg == nullptr || !arg->is_int()) return std::nullopt;
  const int64_t axis =
      arg->as_int() < 0 ? arg->as_int() + static_cast<int64_t>(rank) : arg->as_int();
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(axis);
}

bool KeepsOrder(absl::string_view base) {
  return base == "aten::view" || base == "aten::reshape" || base == "aten::unsqueeze" ||
         base == "aten::squeeze" || base == "aten::flatten" || base == "aten::unflatten" ||
         base == "aten::_unsafe_view" || base == "aten::view_copy";
}

std::optional<View> Permuted(const ir::Node& node, View view) {
  const absl::string_view base = node.base_op();
  const size_t rank = view.shape.size();
  if (base == "aten::permute") {
    const auto order = node.Find("dims")->ints();
    if (!order || order->size() != rank) return std::nullopt;
    View permuted;
    for (const int64_t entry : *order) {
      const size_t axis = static_cast<size_t>(entry < 0 ? entry + static_cast<int64_t>(rank)
                                                        : entry);
      permuted.shape.push_back(view.shape[axis]);
      permuted.strides.push_back(view.strides[axis]);
    }
    return permuted;
  }
  std::optional<size_t> a, b;
  if (base == "aten::t" || base == "aten::mT" || base == "aten::numpy_T") {
    if (rank != 2) return std::nullopt;
    a = 0;
    b = 1;
  } else if (node.op == "aten::transpose.int") {
    a = Axis(node.Find("dim0"), rank);
    b = Axis(node.Find("dim1"), rank);
  }
  if (!a || !b) return std::nullopt;
  std::swap(view.shape[*a], view.shape[*b]);
  std::swap(view.strides[*a], view.strides[*b]);
  return view;
}

std::optional<View> Cut(const ir::Node& node, View view) {
  const auto axis = Axis(node.Find("dim"), view.shape.size());
  if (!axis) return std::nullopt;
  const int64_t size = view.shape[*axis];
  const auto ptr = static_cast<std::ptrdiff_t>(*axis);
  const auto index = [&](const ir::Arg* arg, int64_t otherwise) -> std::optional<int64_t> {
    if (arg->is_none()) return otherwise;
    if (!arg->is_int()) return std::nullopt;
    return arg->as_int() < 0 ? arg->as_int() + size : arg->as_int();
  };
  if (node.op == "aten::select.int") {
    const auto at = index(node.Find("index"), 0);
    if (!at || *at < 0 || *at >= size) return std::nullopt;
    view.offset += *at * view.strides[*axis];
    view.shape.erase(view.shape.begin() + ptr);
    view.strides.erase(view.strides.begin() + ptr);
    return view;
  }
  if (node.op != "aten::slice.Tensor" || !node.Find("step")->is_int()) return std::nullopt;
  const int64_t step = node.Find("step")->as_int();
  auto start = index(node.Find("start"), 0);
  auto end = index(node.Find("end"), size);
  if (!start || !end || step < 1) return std::nullopt;
  start = std::clamp<int64_t>(*start, 0, size);
  end = std::clamp<int64_t>(*end, *start, size);
  view.offset += *start * view.strides[*axis];
  view.shape[*axis] = (*end - *start + step - 1) / step;
  view.strides[*axis] *= step;
  return view;
}

// What the node shows of its first argument, a contiguous tensor of the given shape.
std::optional<View> Moved(const ir::Node& node, const std::vector<int64_t>& shape) {
  const View whole{shape, RowMajor(shape), 0};
  if (auto permuted = Permuted(node, whole)) return permuted;
  if (auto cut = Cut(node, whole)) return cut;
  if (!KeepsOrder(node.base_op()) || node.op == "aten::view.dtype") return std::nullopt;
  View view;
  if (!node.output()->type.shape) return std::nullopt;
  for (const ir::Dim& dim : *node.output()->type.shape) {
    if (!dim.is_number()) return std::nullopt;
    view.shape.push_back(dim.value());
  }
  view.strides = RowMajor(view.shape);
  return view;
}

}  // namespace

void FoldMovedWeights(Program* program) {
  WeightTable table(program);
  ir::DebugInfo debug;
  diagnostics::Diagnostics diagnostics;
  passes::Context context(&program->graph, &debug, &diagnostics);
  passes::RewriteGraph(&context, [&](ir::Node* node, passes::Emitter*,
                                     passes::Replacements* replacements) {
    if (node->args.empty() || node->outputs.size() != 1) return passes::Action::kKeep;
    const ir::Arg& self = node->args[0].value;
    if (!table.IsWeight(self) || table.Uses(self.value()) != 1) return passes::Action::kKeep;
    const auto source = table.Source(self.value());
    if (source->bytes() > kMaxBytes) return passes::Action::kKeep;
    const auto view = Moved(*node, source->shape());
    if (!view) return passes::Action::kKeep;
    std::string name = table.Name(self.value());
    if (!absl::EndsWith(name, ".folded")) name += ".folded";
    ir::Value* moved = table.AddDerived(
        self.value(), std::move(name),
        StridedSource(source, view->shape, view->strides, view->offset));
    table.CopyUses(node->output(), moved);
    replacements->Set(node->output(), moved);
    return passes::Action::kDrop;
  });
}

}  // namespace rules_onnx::capture
