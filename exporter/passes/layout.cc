#include "exporter/passes/layout.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace rules_onnx::passes {
namespace {

using Strides = std::vector<ir::Dim>;

std::optional<Strides> RowMajor(const ir::Type& type) {
  if (!type.shape) return std::nullopt;
  Strides strides(type.shape->size());
  ir::Dim stride = 1;
  for (size_t i = type.shape->size(); i-- > 0;) {
    if (stride.is_unknown()) return std::nullopt;
    strides[i] = stride;
    stride = stride * (*type.shape)[i];
  }
  return strides;
}

bool IsOne(const ir::Dim& dim) { return dim.is_number() && dim.value() == 1; }

using Sizes = std::map<std::string, int64_t>;  // of symbols

// The smallest size of the symbol at which a dim is 1.
std::optional<int64_t> SizeForOne(const ir::Dim& dim, const std::string& symbol) {
  constexpr int64_t kLargestTried = 64;
  for (int64_t size = 1; size <= kLargestTried; ++size) {
    const auto value = dim.Evaluate({{symbol, size}});
    if (value == 1) return size;
    if (value > 1) break;
  }
  return std::nullopt;
}

// All combinations of the sizes that matter of the symbols: those at which an axis is 1, and one
// that stands for all others; the last has the latter of all. None where there are too many.
std::vector<Sizes> SizesThatMatter(const std::vector<const Strides*>& dims) {
  // No usual sizes, nor multiples of each other; all divisors up to 10 divide them.
  constexpr int64_t kGeneral[] = {2520 * 11, 2520 * 13, 2520 * 17, 2520 * 19, 2520 * 23};
  std::map<std::string, std::set<int64_t>> of_symbols;
  for (const Strides* each : dims) {
    for (const ir::Dim& dim : *each) {
      std::set<std::string> used;
      dim.CollectSymbols(&used);
      for (const std::string& symbol : used) of_symbols[symbol].insert(1);
      if (used.size() != 1) continue;
      if (const auto size = SizeForOne(dim, *used.begin())) of_symbols[*used.begin()].insert(*size);
    }
  }
  if (of_symbols.size() > std::size(kGeneral)) return {};
  std::vector<Sizes> all = {{}};
  size_t next = 0;
  for (auto& [symbol, sizes] : of_symbols) {
    sizes.insert(kGeneral[next++]);
    std::vector<Sizes> wider;
    for (const Sizes& before : all) {
      for (const int64_t size : sizes) {
        wider.push_back(before);
        wider.back()[symbol] = size;
      }
    }
    all = std::move(wider);
  }
  return all;
}

Strides DimsAt(const Strides& dims, const Sizes& sizes) {
  Strides numbers;
  for (const ir::Dim& dim : dims) {
    const auto number = dim.Evaluate(sizes);
    numbers.push_back(number ? ir::Dim(*number) : ir::Dim::Unknown());
  }
  return numbers;
}

ir::Type TypeAt(ir::Type type, const Sizes& sizes) {
  type.shape = DimsAt(*type.shape, sizes);
  return type;
}

// Whether it holds for tensors of the shape that have elements, at all sizes of the symbols in the
// shape and in `others`. `holds` may have no answer, where sizes cannot be.
Answer AtSizes(const ir::Shape& shape, const std::vector<const Strides*>& others,
               const std::function<std::optional<bool>(const Sizes&)>& holds) {
  std::vector<const Strides*> dims = others;
  dims.push_back(&shape);
  bool ever = false, ever_not = false;
  std::optional<bool> answer;
  for (const Sizes& sizes : SizesThatMatter(dims)) {
    for (const Strides* each : dims) {
      for (const ir::Dim& dim : DimsAt(*each, sizes)) {
        if (dim.is_unknown()) return Answer::kUnknown;
      }
    }
    const ir::Dim elements = ir::NumElements(DimsAt(shape, sizes));
    if (elements.is_unknown()) return Answer::kUnknown;
    answer = elements.value() < 1 ? std::nullopt : holds(sizes);
    if (answer) (*answer ? ever : ever_not) = true;
  }
  if (!answer) return Answer::kUnknown;
  if (*answer) return ever_not ? Answer::kUnknown : Answer::kYes;
  return ever ? Answer::kAtSizeOne : Answer::kNo;
}

std::optional<size_t> Axis(const ir::Node& node, absl::string_view name, size_t rank) {
  const ir::Arg* arg = node.Find(name);
  if (arg == nullptr || !arg->is_int()) return std::nullopt;
  const int64_t axis = arg->as_int() < 0 ? arg->as_int() + static_cast<int64_t>(rank)
                                         : arg->as_int();
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(axis);
}

std::optional<Strides> AfterTranspose(const ir::Node& node, Strides strides) {
  const absl::string_view base = node.base_op();
  const size_t rank = strides.size();
  if (base == "aten::t" || base == "aten::numpy_T" || base == "aten::mT" ||
      base == "aten::adjoint" || base == "aten::mH" || base == "aten::H") {
    if (rank < 2) return strides;
    if (base == "aten::numpy_T") {
      std::reverse(strides.begin(), strides.end());
    } else {
      std::swap(strides[rank - 1], strides[rank - 2]);
    }
    return strides;
  }
  if (node.args.size() != 3 && base != "aten::permute") return std::nullopt;
  if (base == "aten::permute") {
    const auto order = node.Find("dims")->ints();
    if (!order || order->size() != rank) return std::nullopt;
    Strides permuted;
    for (const int64_t axis : *order) {
      permuted.push_back(strides[axis < 0 ? axis + static_cast<int64_t>(rank) : axis]);
    }
    return permuted;
  }
  if (base != "aten::transpose" && base != "aten::swapaxes" && base != "aten::swapdims") {
    return std::nullopt;
  }
  const auto a = Axis(node, node.args[1].name, rank);
  const auto b = Axis(node, node.args[2].name, rank);
  if (!a || !b) return std::nullopt;
  std::swap(strides[*a], strides[*b]);
  return strides;
}

// Axes that are new, or that were 1 and are not now, have stride 0.
std::optional<Strides> AfterExpand(const Strides& strides, const ir::Type& from,
                                   const ir::Type& to) {
  if (!from.shape || !to.shape || to.shape->size() < strides.size()) return std::nullopt;
  const size_t added = to.shape->size() - strides.size();
  Strides expanded(added, ir::Dim(0));
  for (size_t i = 0; i < strides.size(); ++i) {
    const ir::Dim& before = (*from.shape)[i];
    const ir::Dim& after = (*to.shape)[added + i];
    if (before.is_unknown() || after.is_unknown()) return std::nullopt;
    expanded.push_back(before.Equals(after) ? strides[i] : ir::Dim(0));
  }
  return expanded;
}

std::optional<Strides> AfterUnfold(const ir::Node& node, Strides strides) {
  const auto axis = Axis(node, "dimension", strides.size());
  if (!axis || !node.Find("step")->is_int()) return std::nullopt;
  strides.push_back(strides[*axis]);
  strides[*axis] = strides[*axis] * ir::Dim(node.Find("step")->as_int());
  return strides;
}

std::optional<Strides> AfterDiagonal(const ir::Node& node, Strides strides) {
  const auto a = Axis(node, "dim1", strides.size());
  const auto b = Axis(node, "dim2", strides.size());
  if (!a || !b) return std::nullopt;
  const ir::Dim both = strides[*a] + strides[*b];
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(std::max(*a, *b)));
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(std::min(*a, *b)));
  strides.push_back(both);
  return strides;
}

}  // namespace

bool WantsChannelsLast(const ir::Node& node) {
  const ir::Arg* format = node.Find("memory_format");
  return format != nullptr && !format->is_none();
}

Layout Layout::Contiguous(const ir::Type& type) {
  Layout layout;
  layout.contiguous_ = true;
  layout.strides_ = RowMajor(type);
  return layout;
}

Layout Layout::Strided(const std::vector<int64_t>& strides, const ir::Type& type) {
  Layout layout;
  layout.strides_ = Strides(strides.begin(), strides.end());
  layout.contiguous_ = layout.IsContiguous(type) == Answer::kYes;
  return layout;
}

bool Layout::IsRowMajor(const ir::Type& type) const {
  const auto row_major = RowMajor(type);
  if (!row_major) return false;
  for (size_t i = 0; i < row_major->size(); ++i) {
    if (!IsOne((*type.shape)[i]) && !(*strides_)[i].Equals((*row_major)[i])) return false;
  }
  return true;
}

Answer Layout::IsContiguous(const ir::Type& type) const {
  if (contiguous_) return Answer::kYes;
  if (!strides_ || !type.shape || strides_->size() != type.shape->size()) return Answer::kUnknown;
  return AtSizes(*type.shape, {&*strides_}, [&](const Sizes& sizes) -> std::optional<bool> {
    return At(sizes).IsRowMajor(TypeAt(type, sizes));
  });
}

// PyTorch's computeStride: runs of old axes that lie densely one in another can be cut anew.
std::optional<Strides> Layout::AfterShaping(const ir::Type& from, const ir::Type& to) const {
  if (!strides_ || !from.shape || !to.shape) return std::nullopt;
  const ir::Shape& old_shape = *from.shape;
  const ir::Shape& new_shape = *to.shape;
  Strides strides(new_shape.size());
  size_t next = new_shape.size();  // axes from here on have their stride
  size_t axis = old_shape.size();
  while (axis > 0) {
    ir::Dim run = old_shape[axis - 1];
    const ir::Dim innermost = (*strides_)[axis - 1];
    ir::Dim outer = innermost * old_shape[axis - 1];
    --axis;
    while (axis > 0 &&
           (IsOne(old_shape[axis - 1]) || (*strides_)[axis - 1].Equals(outer))) {
      run = run * old_shape[axis - 1];
      if (!IsOne(old_shape[axis - 1])) outer = outer * old_shape[axis - 1];
      --axis;
    }
    ir::Dim filled = 1;
    while (next > 0 && (!filled.Equals(run) || IsOne(new_shape[next - 1]))) {
      strides[next - 1] = innermost * filled;
      filled = filled * new_shape[next - 1];
      --next;
      if (filled.is_unknown()) return std::nullopt;
    }
    if (!filled.Equals(run)) return std::nullopt;
  }
  for (; next > 0; --next) strides[next - 1] = 1;
  return strides;
}

Answer Layout::ReshapeIsView(const ir::Type& from, const ir::Type& to) const {
  const Answer contiguous = IsContiguous(from);
  if (contiguous == Answer::kYes) return Answer::kYes;
  if (!strides_ || !from.shape || !to.shape) return Answer::kUnknown;
  const auto is_view = [&](const Sizes& sizes) -> std::optional<bool> {
    const ir::Type old_type = TypeAt(from, sizes), new_type = TypeAt(to, sizes);
    const bool fits = ir::NumElements(*old_type.shape).Equals(ir::NumElements(*new_type.shape));
    return fits ? std::optional(At(sizes).AfterShaping(old_type, new_type).has_value())
                : std::nullopt;
  };
  return AtSizes(*from.shape, {&*to.shape, &*strides_}, is_view);
}

Layout Layout::At(const Sizes& sizes) const {
  Layout layout;
  layout.strides_ = DimsAt(*strides_, sizes);
  return layout;
}

Layout Layout::AfterView(const ir::Node& node, const ir::Type& from, const ir::Type& to) const {
  const absl::string_view base = node.base_op();
  Layout result;
  if (WantsChannelsLast(node)) return result;
  if (base == "aten::contiguous") return Contiguous(to);
  if (contiguous_ &&
      (base == "aten::view" || base == "aten::reshape" || base == "aten::flatten" ||
       base == "aten::unflatten" || base == "aten::unsqueeze" || base == "aten::squeeze" ||
       base == "aten::view_as" || base == "aten::reshape_as" || base == "aten::ravel" ||
       base == "aten::_unsafe_view" || base == "aten::_reshape_alias" ||
       base == "aten::atleast_1d" || base == "aten::atleast_2d" || base == "aten::atleast_3d" ||
       base == "aten::view_as_real" || base == "aten::view_as_complex")) {
    return Contiguous(to);
  }
  if (!strides_) return result;
  Strides strides = *strides_;
  if (base == "aten::select" || base == "aten::slice" || base == "aten::narrow") {
    const auto axis = Axis(node, "dim", strides.size());
    if (!axis) return result;
    if (base == "aten::select") {
      strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(*axis));
    } else if (base == "aten::slice") {
      const ir::Arg* step = node.Find("step");
      if (!step->is_int()) return result;
      strides[*axis] = strides[*axis] * ir::Dim(step->as_int());
    }
    result.strides_ = std::move(strides);
  } else if (base == "aten::expand" || base == "aten::expand_as" ||
             base == "aten::broadcast_to") {
    result.strides_ = AfterExpand(strides, from, to);
  } else if (base == "aten::unfold") {
    result.strides_ = AfterUnfold(node, strides);
  } else if (base == "aten::diagonal") {
    result.strides_ = AfterDiagonal(node, strides);
  } else if (const auto transposed = AfterTranspose(node, strides)) {
    result.strides_ = *transposed;
  } else if (base == "aten::view" || base == "aten::reshape" || base == "aten::flatten" ||
             base == "aten::unflatten" || base == "aten::unsqueeze" ||
             base == "aten::squeeze" || base == "aten::view_as" || base == "aten::reshape_as") {
    result.strides_ = AfterShaping(from, to);
  }
  result.contiguous_ = result.IsContiguous(to) == Answer::kYes;
  return result;
}

}  // namespace rules_onnx::passes
