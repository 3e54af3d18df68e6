// Pooling to a given output size. Adaptive: window i of n over an axis of size s is
// [floor(i · s / n), ceil((i + 1) · s / n)): windows of unequal sizes that may overlap. Fractional:
// windows of one size whose places a random number decides, another for each plane.
#include "exporter/lowering/norm.h"
#include "exporter/lowering/pool.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

using Ints = std::vector<int64_t>;

struct Windows {
  Val starts, ends;  // [n]
};

Windows WindowsOf(Builder& b, Val size, Val count) {
  const Val i = b.Range(b.Int(0), count, b.Int(1));
  const Val rounding = b.Sub(count, b.Int(1));
  return {b.Div(b.Mul(i, size), count),
          b.Div(b.Add(b.Mul(b.Add(i, b.Int(1)), size), rounding), count)};
}

// The output sizes; a None keeps the input's.
Vals OutputSizes(Op& op, Val x, int spatial) {
  const Item sizes = op.Arg("output_size");
  Vals result;
  for (int i = 0; i < spatial; ++i) {
    const int axis = x.rank() - spatial + i;
    const bool keep = sizes.is_list() && i < static_cast<int>(sizes.items.size()) &&
                      sizes.items[i].is_none();
    if (keep) {
      result.push_back(op.b.Size(x, axis));
    } else if (sizes.is_list() && !sizes.items.empty()) {
      const Item& item = sizes.items[sizes.items.size() == 1 ? 0 : i];
      result.push_back(op.b.Cast(item.val, DType::kInt64));
    } else {
      result.push_back(op.IntVals("output_size")[i]);
    }
  }
  return result;
}

// Equal windows side by side: sizes known, and each a multiple of its output's.
std::optional<Ints> EvenKernel(Val x, const Vals& counts) {
  Ints kernel;
  for (size_t i = 0; i < counts.size(); ++i) {
    const Dim size = x.dim(x.rank() - static_cast<int>(counts.size() - i));
    const auto count = counts[i].int_value();
    if (!size.is_number() || !count || *count == 0 || size.value() == 0 ||
        size.value() % *count != 0) {
      return std::nullopt;
    }
    kernel.push_back(size.value() / *count);
  }
  return kernel;
}

// ---------------------------------------------------------------- windows of unequal sizes

// Axis `axis` of x as two, [n, longest]: the elements of each window.
struct Gathered {
  Val values;
  Val positions;  // [n, longest] along the axis; the last one repeated where a window is shorter
  Val lengths;    // [n]
};

Gathered GatherWindows(Builder& b, Val x, int axis, Val count) {
  const Windows windows = WindowsOf(b, b.Size(x, axis), count);
  const Val lengths = b.Sub(windows.ends, windows.starts);
  const Val longest = b.Reduce("ReduceMax", lengths, {}, /*keepdims=*/false);
  const Val last = b.Unsqueeze(b.Sub(windows.ends, b.Int(1)), {1});
  const Val positions = b.Min(b.Add(b.Unsqueeze(windows.starts, {1}), Iota(b, longest)), last);
  return {b.Gather(x, positions, axis), positions, lengths};
}

// ---------------------------------------------------------------- average

// The mean over each window of one axis.
Val AverageAlong(Builder& b, Val x, int axis, Val count) {
  const Gathered windows = GatherWindows(b, x, axis, count);
  if (!windows.values) return {};
  const int rank = x.rank() + 1;
  const auto along = [&](Val v) { return AlongAxis(b, v, axis, rank); };
  const Val lengths = along(windows.lengths);
  const Val inside = b.Less(IotaLike(b, windows.values, axis + 1), lengths);
  const Val counted = b.Where(inside, windows.values, b.Scalar(0, x.dtype()));
  const Val means = b.Div(b.Reduce("ReduceSum", counted, {axis + 1}, /*keepdims=*/true),
                          b.Cast(lengths, x.dtype()));
  return b.Squeeze(means, {axis + 1});
}

Val AveragePoolOf(Builder& b, Val x, const Vals& counts) {
  const int spatial = static_cast<int>(counts.size());
  const bool whole = std::all_of(counts.begin(), counts.end(),
                                 [](Val count) { return count.int_value() == 1; });
  if (whole) return b.Op("GlobalAveragePool", {x});
  if (const auto kernel = EvenKernel(x, counts)) {
    return b.Op("AveragePool", {x}, {{"kernel_shape", *kernel}, {"strides", *kernel}});
  }
  Val means = b.Cast(x, Wide(x.dtype()));
  for (int i = 0; i < spatial; ++i) {
    const int axis = x.rank() - spatial + i;
    const Dim size = x.dim(axis);
    if (size.is_number() && counts[i].int_value() == size.value()) continue;
    means = AverageAlong(b, means, axis, counts[i]);
  }
  return b.CastLike(means, x);
}

template <int kSpatial>
void AdaptiveAveragePool(Op& op) {
  const Val x = op.Tensor("self");
  if (!x) return;
  const Vals counts = OutputSizes(op, x, kSpatial);
  op.Return(Batched(op.b, x, kSpatial, [&](Val v) { return Vals{AveragePoolOf(op.b, v, counts)}; }));
}

// ---------------------------------------------------------------- max

// x [N, C, s…] → values and indices into a plane, [N, C, n…]. The windows' axes are gathered side
// by side at the end and reduced as one.
Vals MaxPoolOf(Builder& b, Val x, const Vals& counts) {
  const int spatial = static_cast<int>(counts.size());
  Val windows = x, plane_index = b.Int(0), window_size = b.Int(1);
  for (int i = 0; i < spatial; ++i) {
    const Gathered gathered = GatherWindows(b, windows, 2 + 2 * i, counts[i]);
    windows = gathered.values;
    if (!windows) return Vals(2);
    // [.., n_i, l_i, ..] at this axis' place among all n and l
    Ints others;
    for (int j = 0; j < 2 * spatial; ++j) {
      if (j / 2 != i) others.push_back(j);
    }
    const Val along = b.Unsqueeze(gathered.positions, others);
    plane_index = b.Add(b.Mul(plane_index, b.Size(x, 2 + i)), along);
    window_size = b.Mul(window_size, b.Size(gathered.positions, 1));
  }
  Vals sizes = {b.Size(x, 0), b.Size(x, 1)};
  sizes.insert(sizes.end(), counts.begin(), counts.end());
  sizes.push_back(window_size);
  const Vals index_sizes(sizes.begin() + 2, sizes.end());
  windows = b.Reshape(b.Transpose(windows, PairsApart(2, spatial)), b.Vector(sizes));
  plane_index = b.Reshape(b.Transpose(plane_index, PairsApart(0, spatial)), b.Vector(index_sizes));
  return LargestOf(b, windows, b.Expand(plane_index, b.ShapeOf(windows)));
}

template <int kSpatial>
void AdaptiveMaxPool(Op& op) {
  const Val x = op.Tensor("self");
  if (!x) return;
  const Vals counts = OutputSizes(op, x, kSpatial);
  op.Return(Batched(op.b, x, kSpatial, [&](Val v) { return MaxPoolOf(op.b, v, counts); }));
}

// ---------------------------------------------------------------- fractional max

// Where the windows of one axis start, [N, C, n]: (i + sample) · α less sample · α, each cut off,
// with α = (size − kernel) / (n − 1); the last window ends with the axis. sample: [N, C, 1].
Val FractionalStarts(Builder& b, Val sample, Val size, Val count, int64_t kernel) {
  const DType dtype = sample.dtype();
  const Val room = b.Sub(size, b.Int(kernel)), last = b.Sub(count, b.Int(1));
  const Val alpha = b.Div(b.Cast(room, dtype), b.Cast(b.Max(last, b.Int(1)), dtype));
  const Val i = b.Range(b.Int(0), count, b.Int(1));
  const auto scaled = [&](Val x) { return b.Cast(b.Mul(x, alpha), DType::kInt64); };
  const Val start = b.Sub(scaled(b.Add(b.Cast(i, dtype), sample)), scaled(sample));
  return b.Where(b.Equal(i, last), room, start);
}

// The indices into a plane of the elements of all windows, [N, C, n…, k…]. samples: [N, C, s].
Val FractionalIndices(Builder& b, Val x, Val samples, const Vals& counts, const Ints& kernel) {
  const int spatial = static_cast<int>(counts.size());
  Val index = b.Int(0);
  for (int i = 0; i < spatial; ++i) {
    const int sample = spatial == 2 ? 1 - i : i;  // in 2-D the width's comes first
    const Val size = b.Size(x, 2 + i);
    const Val starts = FractionalStarts(b, b.Slice(samples, 2, sample, sample + 1), size, counts[i],
                                        kernel[i]);
    Ints other, behind;  // the axes besides N, C, n_i, and those behind k_i
    for (int j = 0; j < 2 * spatial; ++j) {
      if (j != i) other.push_back(2 + j);
      if (j > spatial + i) behind.push_back(j - spatial - i);
    }
    const Val offsets = b.Range(b.Int(0), b.Int(kernel[i]), b.Int(1));
    const Val positions = b.Add(b.Unsqueeze(starts, other), b.Unsqueeze(offsets, behind));
    index = b.Add(b.Mul(index, size), positions);
  }
  return index;
}

template <int kSpatial>
void FractionalMaxPool(Op& op) {
  Builder& b = op.b;
  const Val self = op.Tensor("self"), samples = op.Tensor("random_samples");
  Ints kernel = op.Ints("kernel_size");
  if (!self || !samples) return;
  kernel.resize(kSpatial, kernel.empty() ? 1 : kernel[0]);
  const Vals counts = OutputSizes(op, self, kSpatial);
  op.Return(Batched(b, self, kSpatial, [&](Val x) {
    const Val index = FractionalIndices(b, x, samples, counts, kernel);
    Vals plane = {b.Size(x, 0), b.Size(x, 1), b.Int(-1)};
    Vals sizes = {b.Size(x, 0), b.Size(x, 1)};
    sizes.insert(sizes.end(), counts.begin(), counts.end());
    sizes.push_back(b.Int(-1));
    const Val windows = GatherAlong(b, b.Reshape(x, b.Vector(plane)), 2,
                                    b.Reshape(index, b.Vector(plane)));
    const Val shape = b.Vector(sizes);
    return LargestOf(b, b.Reshape(windows, shape), b.Reshape(index, shape));
  }));
}

}  // namespace

extern const Family kAdaptivePool;
const Family kAdaptivePool = {"adaptive_pool", {
    {"aten::adaptive_avg_pool1d", AdaptiveAveragePool<1>},
    {"aten::adaptive_avg_pool2d", AdaptiveAveragePool<2>},
    {"aten::_adaptive_avg_pool2d", AdaptiveAveragePool<2>},
    {"aten::adaptive_avg_pool3d", AdaptiveAveragePool<3>},
    {"aten::_adaptive_avg_pool3d", AdaptiveAveragePool<3>},
    {"aten::adaptive_max_pool1d", AdaptiveMaxPool<1>},
    {"aten::adaptive_max_pool2d", AdaptiveMaxPool<2>},
    {"aten::adaptive_max_pool3d", AdaptiveMaxPool<3>},
    {"aten::fractional_max_pool2d", FractionalMaxPool<2>},
    {"aten::fractional_max_pool3d", FractionalMaxPool<3>},
}};

}  // namespace rules_onnx::lowering
