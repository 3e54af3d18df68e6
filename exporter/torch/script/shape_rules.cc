#include "exporter/torch/script/shape_rules.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"

namespace rules_onnx::script {
namespace {

using ir::Dim;

// Larger sets of candidates cost more than they explain.
constexpr size_t kMaxCandidates = 64;

const ir::Shape* ShapeOf(const ir::Node& node, absl::string_view name) {
  const ir::Arg* arg = node.Find(name);
  if (arg == nullptr || !arg->is_value() || !arg->value()->type.is_tensor()) return nullptr;
  const auto& shape = arg->value()->type.shape;
  return shape ? &*shape : nullptr;
}

// Item `index` of an int list argument; one int, or a list of one, stands for all.
std::optional<int64_t> IntAt(const ir::Node& node, absl::string_view name, size_t index) {
  const ir::Arg* arg = node.Find(name);
  if (arg == nullptr) return std::nullopt;
  if (arg->is_int()) return arg->as_int();
  const auto ints = arg->ints();
  if (!ints || ints->empty()) return std::nullopt;
  return ints->size() == 1 ? ints->front()
                           : (index < ints->size() ? std::optional((*ints)[index]) : std::nullopt);
}

struct Window {
  int64_t kernel, stride, padding, dilation;
};

Dim Windows(const Dim& size, const Window& w, bool ceil) {
  const Dim span = size + Dim(2 * w.padding - w.dilation * (w.kernel - 1) - 1);
  return Dim::FloorDiv(span + Dim(ceil ? w.stride - 1 : 0), Dim(w.stride)) + Dim(1);
}

bool IsConvolution(absl::string_view op) {
  static const std::set<std::string> kOps = {"aten::conv1d", "aten::conv2d", "aten::conv3d",
                                             "aten::convolution", "aten::_convolution"};
  return kOps.count(std::string(op)) > 0;
}

bool IsPooling(absl::string_view op) {
  return (absl::StartsWith(op, "aten::max_pool") || absl::StartsWith(op, "aten::avg_pool"));
}

void AddWindows(const ir::Node& node, std::vector<DimHints>* hints) {
  const bool convolution = IsConvolution(node.base_op());
  const ir::Shape* input = ShapeOf(node, convolution ? "input" : "self");
  if (input == nullptr || input->size() != hints->size()) return;
  size_t spatial = hints->size() >= 2 ? hints->size() - 2 : 0;
  if (!convolution) spatial = static_cast<size_t>(node.base_op()[14] - '0');
  if (spatial == 0 || spatial > hints->size()) return;
  const ir::Shape* weight = convolution ? ShapeOf(node, "weight") : nullptr;
  for (size_t i = 0; i < spatial; ++i) {
    const size_t axis = hints->size() - spatial + i;
    std::optional<int64_t> kernel = IntAt(node, "kernel_size", i);
    if (convolution) {
      if (weight == nullptr || !(*weight)[i + 2].is_number()) return;
      kernel = (*weight)[i + 2].value();
    }
    const auto stride = IntAt(node, "stride", i);
    const auto padding = IntAt(node, "padding", i);
    if (!kernel || !padding) continue;
    const Window window{*kernel, stride.value_or(*kernel), *padding,
                        IntAt(node, "dilation", i).value_or(1)};
    if (window.stride <= 0) continue;
    const ir::Arg* ceil = node.Find("ceil_mode");
    const bool ceiled = ceil != nullptr && ceil->is_bool() && ceil->as_bool();
    (*hints)[axis].derived.push_back(Windows((*input)[axis], window, ceiled));
  }
}

// The constant, `otherwise` where the argument is None; nullopt where it is computed.
std::optional<int64_t> IntOr(const ir::Arg* arg, int64_t otherwise) {
  if (arg == nullptr || arg->is_none()) return otherwise;
  return arg->is_int() ? std::optional(arg->as_int()) : std::nullopt;
}

void AddSlice(const ir::Node& node, std::vector<DimHints>* hints) {
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  const ir::Shape* input = ShapeOf(node, "self");
  const auto dim = IntAt(node, "dim", 0), step = IntAt(node, "step", 0);
  const auto start = IntOr(node.Find("start"), 0), end = IntOr(node.Find("end"), kEnd);
  if (input == nullptr || !dim || !step || *step <= 0 || input->size() != hints->size()) return;
  if (!start || !end) return;
  const auto axis = static_cast<size_t>(*dim < 0 ? *dim + static_cast<int64_t>(input->size()) : *dim);
  if (axis >= input->size()) return;
  const Dim& size = (*input)[axis];
  const auto add = [&](const Dim& span) {
    (*hints)[axis].derived.push_back(Dim::FloorDiv(span + Dim(*step - 1), Dim(*step)));
  };
  // A bound as Python clamps it into [0, size].
  const auto clamp = [&](int64_t bound) {
    if (bound == 0) return Dim(0);
    if (bound == kEnd) return size;
    return bound > 0 ? Dim::Min(size, Dim(bound)) : Dim::Max(size + Dim(bound), Dim(0));
  };
  // The plain form where all runs agree with it: x[1:] has size N - 1.
  if (*start >= 0 && *end == kEnd) add(size - Dim(*start));
  // One element: a number, or the program fails.
  if ((*start < *end && *end - 1 == *start) || (*start == -1 && *end == kEnd)) return;
  if (*start == 0) return add(clamp(*end));
  if (*start < 0 && *end == kEnd) return add(Dim::Min(size, Dim(-*start)));
  add(Dim::Max(clamp(*end) - clamp(*start), Dim(0)));
}

// Sizes that arise by dividing one axis by a number in the arguments.
void AddQuotients(const ir::Node& node, const ir::Shape& sizes, std::vector<DimHints>* hints) {
  std::set<int64_t> divisors;
  const std::function<void(const ir::Arg&)> collect = [&](const ir::Arg& arg) {
    if (arg.is_int() && arg.as_int() > 1 && arg.as_int() < 1024) divisors.insert(arg.as_int());
    if (arg.is_list()) std::for_each(arg.list().begin(), arg.list().end(), collect);
  };
  for (const ir::NamedArg& arg : node.args) collect(arg.value);
  for (const Dim& size : sizes) {
    for (const int64_t divisor : divisors) {
      for (DimHints& axis : *hints) {
        if (axis.possible.size() >= kMaxCandidates) return;
        axis.possible.push_back(Dim::FloorDiv(size, Dim(divisor)));
        axis.possible.push_back(Dim::FloorDiv(size + Dim(divisor - 1), Dim(divisor)));
      }
    }
  }
}

bool IsSymbolic(const Dim& dim) { return !dim.is_number() && !dim.is_unknown(); }

// Symbolic sizes of the inputs, their products over neighbouring axes, and sums of two.
void AddCombinations(const ir::Node& node, std::vector<DimHints>* hints) {
  ir::Shape sizes, combinations;
  node.ForEachInput([&](ir::Value* value) {
    if (!value->type.is_tensor() || !value->type.shape) return;
    const ir::Shape& shape = *value->type.shape;
    for (size_t from = 0; from < shape.size(); ++from) {
      Dim product = shape[from];
      if (IsSymbolic(product)) sizes.push_back(product);
      for (size_t to = from + 1; to < shape.size() && !shape[to].is_unknown(); ++to) {
        product = product * shape[to];
        if (IsSymbolic(product) && combinations.size() < kMaxCandidates) {
          combinations.push_back(product);
        }
      }
    }
  });
  if (sizes.size() > 8) sizes.resize(8);
  for (size_t i = 0; i < sizes.size(); ++i) {
    for (size_t j = i; j < sizes.size(); ++j) combinations.push_back(sizes[i] + sizes[j]);
  }
  for (DimHints& axis : *hints) {
    axis.possible.insert(axis.possible.end(), sizes.begin(), sizes.end());
    axis.possible.insert(axis.possible.end(), combinations.begin(), combinations.end());
  }
  AddQuotients(node, sizes, hints);
}

}  // namespace

std::vector<DimHints> HintsFor(const ir::Node& node, size_t rank) {
  std::vector<DimHints> hints(rank);
  AddCombinations(node, &hints);
  if (IsConvolution(node.base_op()) || IsPooling(node.base_op())) AddWindows(node, &hints);
  if (node.op == "aten::slice.Tensor") AddSlice(node, &hints);
  return hints;
}

}  // namespace rules_onnx::script
