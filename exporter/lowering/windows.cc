#include "exporter/lowering/windows.h"

#include "exporter/lowering/linear.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// [n, kernel]: where each element of each window lies on an axis of that size.
Val Places(Builder& b, const Sliding& sliding, size_t i, Val size) {
  const int64_t extent = sliding.dilation[i] * (sliding.kernel[i] - 1) + 1;
  const Val room = b.Sub(size, b.Int(extent));
  const Val count = b.Add(b.Div(room, b.Int(sliding.stride[i])), b.Int(1));
  const Val starts = b.Mul(Iota(b, count), b.Int(sliding.stride[i]));
  const Val offsets = b.Mul(Iota(b, b.Int(sliding.kernel[i])), b.Int(sliding.dilation[i]));
  return b.Add(b.Unsqueeze(starts, {1}), b.Unsqueeze(offsets, {0}));
}

// The kernel's axes, those behind the first 2 + n, as one.
Val Together(Builder& b, Val windows, const Sliding& sliding) {
  const int spatial = static_cast<int>(sliding.kernel.size());
  Vals sizes;
  for (int i = 0; i < 2 + spatial; ++i) sizes.push_back(b.Size(windows, i));
  int64_t elements = 1;
  for (const int64_t size : sliding.kernel) elements *= size;
  sizes.push_back(b.Int(elements));
  return b.Reshape(windows, b.Vector(sizes));
}

// [N, C, n, k, n, k, …]
Val ByAxis(Builder& b, Val x, const Sliding& sliding) {
  for (size_t i = 0; i < sliding.kernel.size(); ++i) {
    const int axis = 2 + 2 * static_cast<int>(i);
    x = b.Gather(x, Places(b, sliding, i, b.Size(x, axis)), axis);
  }
  return x;
}

}  // namespace

Val SlidingWindows(Builder& b, Val x, const Sliding& sliding) {
  if (!x || b.failed()) return {};
  const int spatial = static_cast<int>(sliding.kernel.size());
  const Val windows = ByAxis(b, x, sliding);
  return Together(b, b.Transpose(windows, PairsApart(2, spatial)), sliding);
}

Val WindowColumns(Builder& b, Val x, const Sliding& sliding) {
  if (!x || b.failed()) return {};
  const int spatial = static_cast<int>(sliding.kernel.size());
  const Val windows = ByAxis(b, x, sliding);
  Vals counts;
  int64_t elements = 1;
  for (int i = 0; i < spatial; ++i) {
    counts.push_back(b.Size(windows, 2 + 2 * i));
    elements *= sliding.kernel[i];
  }
  const Vals sizes = {b.Size(x, 0), b.Mul(b.Size(x, 1), b.Int(elements)), Product(b, counts)};
  return b.Reshape(b.Transpose(windows, PairsApart(2, spatial, /*first=*/1)), b.Vector(sizes));
}

Val ConvolveWindows(Builder& b, Val x, Val weight, int64_t groups, const Sliding& sliding) {
  const Val windows = SlidingWindows(b, x, sliding);
  if (!windows || !weight || b.failed()) return {};
  const int spatial = static_cast<int>(sliding.kernel.size());
  Vals counts;
  std::vector<int64_t> order = {0, 1, 2 + spatial};
  for (int i = 0; i < spatial; ++i) {
    counts.push_back(b.Size(windows, 2 + i));
    order.push_back(2 + i);
  }
  // [N, G, C / G · k, n]: a matrix for each group.
  const Val batch = b.Size(x, 0), channels = b.Size(weight, 0);
  const Val inputs = b.Mul(b.Size(weight, 1), b.Size(windows, 2 + spatial));
  const Val columns = b.Reshape(b.Transpose(windows, order),
                                b.Vector({batch, b.Int(groups), inputs, Product(b, counts)}));
  const Val outputs = b.Div(channels, b.Int(groups));
  const Val rows = b.Reshape(weight, b.Vector({b.Int(groups), outputs, inputs}));
  Vals sizes = {batch, channels};
  sizes.insert(sizes.end(), counts.begin(), counts.end());
  return b.Reshape(MatMul(b, rows, columns), b.Vector(sizes));
}

Val SpreadOut(Builder& b, Val x, const std::vector<int64_t>& steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const int axis = 2 + static_cast<int>(i);
    if (steps[i] == 1 || !x) continue;
    Vals sizes = SizesOf(b, x);
    const Val spread = b.Mul(sizes[axis], b.Int(steps[i]));
    std::vector<int64_t> none(x.rank() + 1, 0), zeros = none;
    zeros[axis + 1] = steps[i] - 1;
    const Val padded = b.Pad(b.Unsqueeze(x, {axis + 1}), none, zeros);
    sizes[axis] = spread;
    x = b.Slice(b.Reshape(padded, b.Vector(sizes)), axis, b.Int(0),
                b.Sub(spread, b.Int(steps[i] - 1)));
  }
  return x;
}

}  // namespace rules_onnx::lowering
