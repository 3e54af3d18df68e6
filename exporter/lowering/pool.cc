// Max and average pooling over sliding windows.
#include <algorithm>

#include "exporter/lowering/pool.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"
#include "exporter/lowering/windows.h"

namespace rules_onnx::lowering {
namespace {

using Ints = std::vector<int64_t>;

struct Window {
  Ints kernel, stride, padding, dilation;  // one an axis
  bool ceil = false;
  size_t rank() const { return kernel.size(); }
  int64_t extent(size_t i) const { return dilation[i] * (kernel[i] - 1) + 1; }
};

Window ReadWindow(Op& op, size_t rank) {
  Window window;
  const auto read = [&](absl::string_view name, int64_t if_absent) {
    Ints values = op.node.Find(name) == nullptr ? Ints{if_absent} : op.Ints(name);
    if (values.size() == 1) values.assign(rank, values.front());
    return values;
  };
  window.kernel = read("kernel_size", 1);
  window.stride = read("stride", 1);
  if (window.stride.empty()) window.stride = window.kernel;
  window.padding = read("padding", 0);
  window.dilation = read("dilation", 1);
  window.ceil = op.Bool("ceil_mode");
  return window;
}

// PyTorch's number of windows: in ceil mode a last one that starts behind the input and its left
// padding is dropped.
int64_t CountWindows(const Window& w, size_t i, int64_t size) {
  const int64_t room = size + 2 * w.padding[i] - w.extent(i);
  if (!w.ceil) return room / w.stride[i] + 1;
  const int64_t count = (room + w.stride[i] - 1) / w.stride[i] + 1;
  return (count - 1) * w.stride[i] >= size + w.padding[i] ? count - 1 : count;
}

Val CountWindows(Builder& b, const Window& w, size_t i, Val size) {
  const Val stride = b.Int(w.stride[i]);
  const Val room = b.Add(size, b.Int(2 * w.padding[i] - w.extent(i) + w.stride[i] - 1));
  const Val count = b.Add(b.Div(room, stride), b.Int(1));
  const Val starting_inside =
      b.Div(b.Add(size, b.Int(w.padding[i] + w.stride[i] - 1)), stride);
  return b.Min(count, starting_inside);
}

// What ceil mode reads behind the right padding: known numbers, or the computed count to cut to.
struct Ending {
  Ints pads;                  // of the end of each axis
  std::vector<Val> counts;    // per axis: cut the result to so many; null: nothing to cut
};

Ending EndingOf(Op& op, const Window& w, Val x) {
  Ending ending{w.padding, std::vector<Val>(w.rank())};
  if (!w.ceil) return ending;
  for (size_t i = 0; i < w.rank(); ++i) {
    const int axis = x.rank() - static_cast<int>(w.rank() - i);
    const Dim size = x.dim(axis);
    if (size.is_number()) {
      const int64_t used = (CountWindows(w, i, size.value()) - 1) * w.stride[i] + w.extent(i);
      ending.pads[i] = std::max(used - size.value() - w.padding[i], w.padding[i]);
      if (used < size.value() + 2 * w.padding[i]) ending.pads[i] = w.padding[i];
    } else {
      ending.pads[i] += w.stride[i] - 1;
      ending.counts[i] = CountWindows(op.b, w, i, op.b.Size(x, axis));
    }
  }
  return ending;
}

// Runtimes refuse pads as large as the kernel, which a computed ending may come to.
bool PadsExceedKernel(const Window& w, const Ending& ending) {
  for (size_t i = 0; i < w.rank(); ++i) {
    if (ending.counts[i] && ending.pads[i] >= w.kernel[i]) return true;
  }
  return false;
}

// Pads of the spatial axes behind `rank` minus those that are not.
Ints SpatialPads(const Ints& pads, int rank) {
  Ints all(rank - pads.size(), 0);
  all.insert(all.end(), pads.begin(), pads.end());
  return all;
}

Val CutTo(Builder& b, Val y, const Ending& ending) {
  const int first = y.rank() - static_cast<int>(ending.counts.size());
  for (size_t i = 0; i < ending.counts.size(); ++i) {
    if (ending.counts[i]) y = b.Slice(y, first + static_cast<int>(i), b.Int(0), ending.counts[i]);
  }
  return y;
}

Ints Joined(const Ints& begins, const Ints& ends) {
  Ints pads = begins;
  pads.insert(pads.end(), ends.begin(), ends.end());
  return pads;
}

// x with `fill` around it.
Val Padded(Builder& b, Val x, const Ints& begins, const Ints& ends, Val fill) {
  if (!x) return {};
  return b.Pad(x, SpatialPads(begins, x.rank()), SpatialPads(ends, x.rank()), "constant", fill);
}

Sliding SlidingOf(const Window& w) { return {w.kernel, w.stride, w.dilation}; }

// ---------------------------------------------------------------- max

// The index of each element of each window in a plane, [1, 1, n…, k]; −1 in the padding.
Val IndicesInPlane(Builder& b, Val x, const Window& w, const Ending& ending) {
  Vals plane = {b.Int(1), b.Int(1)};
  for (size_t i = 0; i < w.rank(); ++i) plane.push_back(b.Size(x, 2 + static_cast<int>(i)));
  const Val index = b.Reshape(Iota(b, Product(b, plane)), b.Vector(plane));
  return SlidingWindows(b, Padded(b, index, w.padding, ending.pads, b.Int(-1)), SlidingOf(w));
}

// By windows as an axis of their own: for int64, which ONNX does not pool, and what MaxPool does not
// give the indices of.
Vals MaxPoolOfWindows(Op& op, Val x, const Window& w, bool indices) {
  Builder& b = op.b;
  const Ending ending = EndingOf(op, w, x);
  const Val padded = Padded(b, x, w.padding, ending.pads, Lowest(b, x.dtype()));
  const Val values = SlidingWindows(b, padded, SlidingOf(w));
  const int axis = static_cast<int>(w.rank()) + 2;
  if (!indices) {
    return {CutTo(b, b.Reduce("ReduceMax", values, {axis}, /*keepdims=*/false), ending)};
  }
  const Val places = IndicesInPlane(b, x, w, ending);
  const Vals best = LargestOf(b, values, b.Expand(places, b.ShapeOf(values)));
  // Where all are as low as the padding, PyTorch takes the first in the plane.
  const Val in_plane = b.Where(b.Less(places, b.Int(0)), Highest(b, DType::kInt64), places);
  const Val first = b.Reduce("ReduceMin", in_plane, {axis}, /*keepdims=*/false);
  const Val index = b.Where(b.Less(best[1], b.Int(0)), first, best[1]);
  return {CutTo(b, best[0], ending), CutTo(b, index, ending)};
}

Vals MaxPoolOf(Op& op, Val x, const Window& w, bool indices) {
  Builder& b = op.b;
  if (x.dtype() == DType::kInt64) return MaxPoolOfWindows(op, x, w, indices);
  const Ending ending = EndingOf(op, w, x);
  Ints pads = Joined(w.padding, ending.pads);
  if (PadsExceedKernel(w, ending)) {
    if (indices) return MaxPoolOfWindows(op, x, w, indices);
    x = Padded(b, x, w.padding, ending.pads, Lowest(b, x.dtype()));
    std::fill(pads.begin(), pads.end(), 0);
  }
  Attrs attrs = {{"kernel_shape", w.kernel},
                 {"pads", pads},
                 {"strides", w.stride}};
  const auto dilated = [](int64_t step) { return step != 1; };
  if (std::any_of(w.dilation.begin(), w.dilation.end(), dilated)) {
    if (!op.Require(b.opset() >= 10, "max pooling with dilation needs opset 10")) return {};
    attrs.emplace_back("dilations", w.dilation);
  }
  if (!indices) return {CutTo(b, b.Op("MaxPool", {x}, std::move(attrs)), ending)};
  Vals results = b.OpN("MaxPool", {x}, std::move(attrs), 2,
                       {{}, {DType::kInt64, Shape(x.rank())}});
  // ONNX counts through the whole tensor, PyTorch through one plane.
  Val plane = b.Int(1);
  for (size_t i = 0; i < w.rank(); ++i) {
    plane = b.Mul(plane, b.Size(x, x.rank() - static_cast<int>(i) - 1));
  }
  const Val in_plane = b.Sub(results[1], b.Mul(b.Div(results[1], plane), plane));
  return {CutTo(b, results[0], ending), CutTo(b, in_plane, ending)};
}

constexpr char kMaxNote[] = "dilation: opset 10; int64 with padding: opset 11";

template <size_t kRank, bool kIndices>
void MaxPool(Op& op) {
  const Val x = op.Tensor("self");
  const Window window = ReadWindow(op, kRank);
  if (!x || op.failed()) return;
  op.Return(Batched(op.b, x, kRank, [&](Val v) { return MaxPoolOf(op, v, window, kIndices); }));
}

// ---------------------------------------------------------------- average

struct Average {
  Window window;
  bool count_include_pad = true;
  std::optional<int64_t> divisor;
};

Val PlainAveragePool(Builder& b, Val x, const Window& w, const Ints& pads, bool include) {
  return b.Op("AveragePool", {x},
              {{"count_include_pad", include},
               {"kernel_shape", w.kernel},
               {"pads", pads},
               {"strides", w.stride}});
}

int64_t KernelCount(const Window& w) {
  int64_t count = 1;
  for (const int64_t size : w.kernel) count *= size;
  return count;
}

// What each window's sum is divided by, where padding behind the padding, which ceil mode reads,
// does not count: ones where elements count, zeros around them.
Val Counted(Builder& b, Val x, const Average& average, const Ending& ending) {
  const Window& w = average.window;
  const Val zero = b.Scalar(0, x.dtype());
  const Val ones = b.ConstantOfShape(b.ShapeOf(x), 1, x.dtype());
  if (!average.count_include_pad) return Padded(b, ones, w.padding, ending.pads, zero);
  Ints beyond = ending.pads;
  for (size_t i = 0; i < w.rank(); ++i) beyond[i] -= w.padding[i];
  const Val counted = Padded(b, ones, w.padding, w.padding, b.Scalar(1, x.dtype()));
  return Padded(b, counted, Ints(w.rank(), 0), beyond, zero);
}

// By explicit padding: the mean over the whole kernel, undone by the share of it that counts.
Val AverageOfPadded(Op& op, Val x, const Average& average, const Ending& ending) {
  Builder& b = op.b;
  const Window& w = average.window;
  const Ints none(2 * w.rank(), 0);
  const Val padded = Padded(b, x, w.padding, ending.pads, b.Scalar(0, x.dtype()));
  const Val means = PlainAveragePool(b, padded, w, none, false);
  if (average.divisor) {
    const double share = static_cast<double>(KernelCount(w)) / *average.divisor;
    return b.Mul(means, b.Scalar(share, x.dtype()));
  }
  return b.Div(means, PlainAveragePool(b, Counted(b, x, average, ending), w, none, false));
}

// Integers: the exact sum, divided towards zero. Windows that no element lies in are cut off
// before they divide by their count.
Val AverageOfIntegers(Op& op, Val x, const Average& average, const Ending& ending) {
  Builder& b = op.b;
  const Window& w = average.window;
  const auto sums = [&](Val padded) {
    const Val sum = b.Reduce("ReduceSum", SlidingWindows(b, padded, SlidingOf(w)),
                             {static_cast<int64_t>(w.rank()) + 2}, /*keepdims=*/false);
    return CutTo(b, sum, ending);
  };
  const Val sum = sums(Padded(b, x, w.padding, ending.pads, b.ScalarInt(0, x.dtype())));
  if (average.divisor) return b.Div(sum, b.ScalarInt(*average.divisor, x.dtype()));
  return b.Div(sum, sums(Counted(b, x, average, ending)));
}

Val AveragePoolOf(Op& op, Val x, const Average& average) {
  Builder& b = op.b;
  const Window& w = average.window;
  Ending ending = EndingOf(op, w, x);
  if (!ir::IsFloat(x.dtype())) return AverageOfIntegers(op, x, average, ending);
  if (PadsExceedKernel(w, ending)) {
    return CutTo(b, AverageOfPadded(op, x, average, ending), ending);
  }
  const bool beyond = ending.pads != w.padding;
  Ints begins = w.padding;
  bool include = average.count_include_pad;
  if (average.divisor) {
    include = true;  // every window then is divided by the whole kernel, which is undone below
  } else if (include && beyond) {
    // Padding counts, what lies behind it does not: make the padding part of the input.
    const Ints padding = SpatialPads(w.padding, x.rank());
    x = b.Pad(x, padding, padding);
    for (size_t i = 0; i < w.rank(); ++i) ending.pads[i] -= w.padding[i];
    begins.assign(w.rank(), 0);
    include = false;
  }
  Val y = PlainAveragePool(b, x, w, Joined(begins, ending.pads), include);
  y = CutTo(b, y, ending);
  if (!average.divisor) return y;
  const double share = static_cast<double>(KernelCount(w)) / *average.divisor;
  return b.Mul(y, b.Scalar(share, x.dtype()));
}

template <size_t kRank>
void AveragePool(Op& op) {
  const Val x = op.Tensor("self");
  Average average;
  average.window = ReadWindow(op, kRank);
  average.count_include_pad = op.Bool("count_include_pad");
  if (op.Has("divisor_override")) average.divisor = op.Int("divisor_override");
  if (!x || op.failed()) return;
  op.Return(Batched(op.b, x, kRank, [&](Val v) { return Vals{AveragePoolOf(op, v, average)}; }));
}

}  // namespace

Vals LargestOf(Builder& b, Val windows, Val indices) {
  const int axis = windows.rank() - 1;
  Val best = b.ArgMax(windows, axis, /*keepdims=*/true);
  if (ir::IsFloat(windows.dtype())) {
    const Val is_nan = b.Unary("IsNaN", windows);
    const Val nan_places = b.Where(is_nan, IotaLike(b, windows, axis), b.Int(-1));
    const Val last_nan = b.Reduce("ReduceMax", nan_places, {axis}, /*keepdims=*/true);
    best = b.Where(b.Less(last_nan, b.Int(0)), best, last_nan);
  }
  const auto at_best = [&](Val x) { return b.Squeeze(GatherAlong(b, x, axis, best), {axis}); };
  return {at_best(windows), at_best(indices)};
}

extern const Family kPool;
const Family kPool = {"pool", {
    {"aten::max_pool1d", MaxPool<1, false>, 9, kMaxNote},
    {"aten::max_pool2d", MaxPool<2, false>, 9, kMaxNote},
    {"aten::max_pool3d", MaxPool<3, false>, 9, kMaxNote},
    {"aten::max_pool1d_with_indices", MaxPool<1, true>, 9, kMaxNote},
    {"aten::max_pool2d_with_indices", MaxPool<2, true>, 9, kMaxNote},
    {"aten::max_pool3d_with_indices", MaxPool<3, true>, 9, kMaxNote},
    {"aten::avg_pool1d", AveragePool<1>, 9, "int64 with padding: opset 11"},
    {"aten::avg_pool2d", AveragePool<2>, 9, "int64 with padding: opset 11"},
    {"aten::avg_pool3d", AveragePool<3>, 9, "int64 with padding: opset 11"},
}};

}  // namespace rules_onnx::lowering
