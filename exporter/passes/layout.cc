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

std::optional<Strides> RowMajor(const ir::Shape& shape) {
  Strides strides(shape.size());
  ir::Dim stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (stride.is_unknown()) return std::nullopt;
    strides[i] = stride;
    stride = stride * shape[i];
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

// The dims at sizes of their symbols; nullopt where one cannot be said.
std::optional<std::vector<Strides>> DimsAt(const std::vector<const Strides*>& dims,
                                           const Sizes& sizes) {
  std::vector<Strides> numbers(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    for (const ir::Dim& dim : *dims[i]) {
      const auto number = dim.Evaluate(sizes);
      if (!number) return std::nullopt;
      numbers[i].push_back(*number);
    }
  }
  return numbers;
}

// Whether it holds at all sizes of the symbols in `dims`, the first of which is the shape of a
// tensor that has elements. `holds` gets numbers, and may have no answer, where these cannot be.
Answer AtSizes(const std::vector<const Strides*>& dims,
               const std::function<std::optional<bool>(const std::vector<Strides>&)>& holds) {
  bool ever = false, ever_not = false;
  std::optional<bool> answer;
  for (const Sizes& sizes : SizesThatMatter(dims)) {
    const auto numbers = DimsAt(dims, sizes);
    const ir::Dim elements = numbers ? ir::NumElements(numbers->front()) : ir::Dim::Unknown();
    if (elements.is_unknown()) return Answer::kUnknown;
    answer = elements.value() < 1 ? std::nullopt : holds(*numbers);
    if (answer) (*answer ? ever : ever_not) = true;
  }
  if (!answer) return Answer::kUnknown;
  if (*answer) return ever_not ? Answer::kUnknown : Answer::kYes;
  return ever ? Answer::kAtSizeOne : Answer::kNo;
}

bool IsRowMajor(const ir::Shape& shape, const Strides& strides) {
  const auto row_major = RowMajor(shape);
  if (!row_major) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!IsOne(shape[i]) && !strides[i].Equals((*row_major)[i])) return false;
  }
  return true;
}

std::optional<size_t> Axis(const ir::Node& node, absl::string_view name, size_t rank) {
  const ir::Arg* arg = node.Find(name);
  if (arg == nullptr || !arg->is_int()) return std::nullopt;
  const int64_t axis = arg->as_int() < 0 ? arg->as_int() + static_cast<int64_t>(rank)
                                         : arg->as_int();
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(axis);
}

// PyTorch's computeStride: runs of old axes that lie densely one in another can be cut anew.
std::optional<Strides> AfterShaping(const Strides& old_strides, const ir::Shape& old_shape,
                                    const ir::Shape& new_shape) {
  Strides strides(new_shape.size());
  size_t next = new_shape.size();  // axes from here on have their stride
  size_t axis = old_shape.size();
  while (axis > 0) {
    ir::Dim run = old_shape[axis - 1];
    const ir::Dim innermost = old_strides[axis - 1];
    ir::Dim outer = innermost * old_shape[axis - 1];
    --axis;
    while (axis > 0 && (IsOne(old_shape[axis - 1]) || old_strides[axis - 1].Equals(outer))) {
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
  if (type.shape) layout.strides_ = RowMajor(*type.shape);
  return layout;
}

Layout Layout::Strided(const std::vector<int64_t>& strides, const ir::Type& type) {
  Layout layout;
  layout.strides_ = Strides(strides.begin(), strides.end());
  layout.contiguous_ = layout.IsContiguous(type) == Answer::kYes;
  return layout;
}

Answer Layout::IsContiguous(const ir::Type& type) const {
  if (contiguous_) return Answer::kYes;
  if (!strides_ || !type.shape || strides_->size() != type.shape->size()) return Answer::kUnknown;
  return AtSizes({&*type.shape, &*strides_}, [](const std::vector<Strides>& at) {
    return std::optional(IsRowMajor(at[0], at[1]));
  });
}

Answer Layout::ReshapeIsView(const ir::Type& from, const ir::Type& to) const {
  if (IsContiguous(from) == Answer::kYes) return Answer::kYes;
  if (!strides_ || !from.shape || !to.shape) return Answer::kUnknown;
  const auto is_view = [](const std::vector<Strides>& at) -> std::optional<bool> {
    const Strides &shape = at[0], &strides = at[1], &new_shape = at[2];
    if (!ir::NumElements(shape).Equals(ir::NumElements(new_shape))) return std::nullopt;
    return AfterShaping(strides, shape, new_shape).has_value();
  };
  return AtSizes({&*from.shape, &*strides_, &*to.shape}, is_view);
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
    if (from.shape && to.shape) result.strides_ = AfterShaping(strides, *from.shape, *to.shape);
  }
  result.contiguous_ = result.IsContiguous(to) == Answer::kYes;
  return result;
}

}  // namespace rules_onnx::passes
