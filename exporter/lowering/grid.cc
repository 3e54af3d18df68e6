// Sampling at the points of a grid.
#include <limits>

#include "exporter/lowering/expr.h"
#include "exporter/lowering/linear.h"
#include "exporter/lowering/math.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

using Ints = std::vector<int64_t>;

enum class Interpolation { kLinear = 0, kNearest = 1, kCubic = 2 };
enum class Padding { kZeros = 0, kBorder = 1, kReflection = 2 };

struct Sampling {
  Interpolation interpolation;
  Padding padding;
  bool align_corners;
};

// ---------------------------------------------------------------- by GridSample

const char* ModeName(Interpolation interpolation, int opset) {
  const bool renamed = opset >= 20;
  switch (interpolation) {
    case Interpolation::kNearest: return "nearest";
    case Interpolation::kCubic: return renamed ? "cubic" : "bicubic";
    default: return renamed ? "linear" : "bilinear";
  }
}

Val Native(Builder& b, Val x, Val grid, const Sampling& sampling) {
  const char* paddings[] = {"zeros", "border", "reflection"};
  Shape shape = {x.dim(0), x.dim(1)};
  for (int i = 1; i + 1 < grid.rank(); ++i) shape.push_back(grid.dim(i));
  return b.Op("GridSample", {x, grid},
              {{"mode", ModeName(sampling.interpolation, b.opset())},
               {"padding_mode", paddings[static_cast<int>(sampling.padding)]},
               {"align_corners", sampling.align_corners}},
              {DType::kUndefined, shape});
}

// ---------------------------------------------------------------- composed

// From [−1, 1] to pixels: of the corner pixels' centres, or of their outer edges.
Expr Unnormalized(Expr x, Expr size, bool align_corners) {
  return align_corners ? (x + 1) / 2 * (size - 1) : ((x + 1) * size - 1) / 2;
}

// x reflected into [low, low + span].
Expr Reflected(Expr x, double low, Expr span) {
  const Expr safe = Select(span == 0, 1.0, span);
  const Expr distance = Abs(x - low);
  const Expr flips = Floor(distance / safe);
  const Expr rest = distance - flips * safe;
  const Val odd = x.b().Not(Floor(flips / 2) * 2 == flips);
  return Select(span == 0, 0.0, Select(odd, span - rest, rest) + low);
}

Expr Clamped(Expr x, Expr size) {
  Builder& b = x.b();
  const Expr below = Max(x, 0);
  return {b, b.Min(below.val(), (size - 1).val())};
}

Expr Placed(Expr x, Expr size, const Sampling& sampling) {
  if (sampling.padding == Padding::kZeros) return x;
  if (sampling.padding == Padding::kReflection) {
    x = sampling.align_corners ? Reflected(x, 0, size - 1) : Reflected(x, -0.5, size);
  }
  return Clamped(x, size);
}

// One corner of the cells around all points: positions [N, P] on each axis, and their weight.
struct Corner {
  std::vector<Expr> places;
  Expr weight;
};

std::vector<Corner> Corners(const std::vector<Expr>& points, Interpolation interpolation) {
  const Expr one = points[0].Number(1);
  std::vector<Corner> corners = {{{}, one}};
  for (const Expr& x : points) {
    std::vector<Corner> next;
    if (interpolation == Interpolation::kNearest) {
      const Expr nearest(x.b(), Rounded(x.b(), x.val()));
      for (Corner corner : corners) {
        corner.places.push_back(nearest);
        next.push_back(corner);
      }
    } else {
      const Expr low = Floor(x), high = low + 1;
      for (const Corner& corner : corners) {
        Corner first = corner, second = corner;
        first.places.push_back(low);
        first.weight = first.weight * (high - x);
        second.places.push_back(high);
        second.weight = second.weight * (x - low);
        next.push_back(first);
        next.push_back(second);
      }
    }
    corners = next;
  }
  return corners;
}

// x [N, C, plane…] at one corner: [N, C, P], 0 outside.
Val ValuesAt(Builder& b, Val flat, const std::vector<Expr>& places, const std::vector<Expr>& sizes) {
  Val position, inside;
  for (size_t i = 0; i < places.size(); ++i) {
    const Val within = b.And(places[i] >= 0, places[i] < sizes[i]);
    inside = inside ? b.And(inside, within) : within;
    const Val index = b.Cast(Clamped(places[i], sizes[i]).val(), DType::kInt64);
    const Val size = b.Cast(sizes[i].val(), DType::kInt64);
    position = position ? b.Add(b.Mul(position, size), index) : index;
  }
  const Val indices = b.Expand(b.Unsqueeze(position, {1}),
                               b.Vector({b.Int(1), b.Size(flat, 1), b.Int(1)}));
  const Val values = GatherAlong(b, flat, 2, indices);
  return b.Where(b.Unsqueeze(inside, {1}), values, b.Scalar(0, flat.dtype()));
}

Val Composed(Op& op, Val x, Val grid, const Sampling& sampling) {
  Builder& b = op.b;
  if (!op.Require(sampling.interpolation != Interpolation::kCubic,
                  "grid_sampler with bicubic interpolation needs opset 16")) {
    return {};
  }
  const int spatial = x.rank() - 2;
  const auto plane = [&](Val v, int first) {
    const Vals all = SizesOf(b, v);
    return Product(b, Vals(all.begin() + first, all.begin() + first + spatial));
  };
  const Val count = plane(grid, 1);
  std::vector<Expr> points, sizes;
  for (int i = 0; i < spatial; ++i) {
    const Expr size(b, b.Cast(b.Size(x, 2 + i), x.dtype()));
    // The grid's last axis counts from the innermost axis on.
    const Val coordinate = Select(b, grid, grid.rank() - 1, b.Int(spatial - 1 - i));
    const Expr point(b, b.Reshape(coordinate, b.Vector({b.Size(grid, 0), count})));
    points.push_back(Placed(Unnormalized(point, size, sampling.align_corners), size, sampling));
    sizes.push_back(size);
  }
  const Val flat = b.Reshape(x, b.Vector({b.Size(x, 0), b.Size(x, 1), plane(x, 2)}));
  Val sum;
  for (const Corner& corner : Corners(points, sampling.interpolation)) {
    const Val values = ValuesAt(b, flat, corner.places, sizes);
    const bool weighted = sampling.interpolation == Interpolation::kLinear;
    const Val term = weighted ? b.Mul(values, b.Unsqueeze(corner.weight.val(), {1})) : values;
    sum = sum ? b.Add(sum, term) : term;
  }
  Vals target = {b.Size(x, 0), b.Size(x, 1)};
  for (int i = 1; i + 1 < grid.rank(); ++i) target.push_back(b.Size(grid, i));
  return b.Reshape(sum, target, op.OutShape());
}

void GridSampler(Op& op) {
  const Val x = op.Tensor("input"), grid = op.Tensor("grid");
  if (!x || !grid) return;
  const Sampling sampling{static_cast<Interpolation>(op.Int("interpolation_mode")),
                          static_cast<Padding>(op.Int("padding_mode")),
                          op.Bool("align_corners")};
  const bool native = op.b.opset() >= (x.rank() == 4 ? 16 : 20);
  op.Return(native ? Native(op.b, x, grid, sampling) : Composed(op, x, grid, sampling));
}

// ---------------------------------------------------------------- affine grids

// The centres of n pixels in [−1, 1], or n points from −1 to 1.
Val BasePoints(Builder& b, Val n, DType dtype, bool align_corners) {
  const Expr index(b, b.Cast(Iota(b, n), dtype)), count(b, b.Cast(n, dtype));
  if (!align_corners) return ((2 * index + 1) / count - 1).val();
  const Expr last = count - 1;
  return Select(last <= 0, 0.0, 2 * index / Max(last, 1) - 1).val();
}

// Base points with a 1 appended, [..., spatial + 1], times thetaᵀ.
void AffineGrid(Op& op) {
  Builder& b = op.b;
  const Val theta = op.Tensor("theta");
  const Vals size = op.IntVals("size");
  if (!theta || op.failed()) return;
  const bool align_corners = op.Bool("align_corners");
  const int spatial = static_cast<int>(size.size()) - 2;
  Vals sizes(size.begin() + 2, size.end());
  Vals columns;
  for (int i = spatial; i > 0; --i) {  // innermost first
    const Val points = BasePoints(b, size[1 + i], theta.dtype(), align_corners);
    columns.push_back(b.Unsqueeze(ExpandTo(b, AlongAxis(b, points, i - 1, spatial), sizes), {-1}));
  }
  Vals ones = sizes;
  ones.push_back(b.Int(1));
  columns.push_back(b.ConstantOfShape(b.Vector(ones), 1, theta.dtype()));
  const Val base = b.Reshape(b.Concat(columns, -1),
                             b.Vector({b.Int(-1), b.Int(spatial + 1)}));
  const Val grid = MatMul(b, base, b.Transpose(theta, {0, 2, 1}));
  Vals target = {size[0]};
  target.insert(target.end(), sizes.begin(), sizes.end());
  target.push_back(b.Int(spatial));
  op.Return(b.Reshape(grid, target, op.OutShape()));
}

}  // namespace

extern const Family kGrid;
const Family kGrid = {"grid", {
    {"aten::grid_sampler", GridSampler, 9, "bicubic: opset 16"},
    {"aten::grid_sampler_2d", GridSampler, 9, "bicubic: opset 16"},
    {"aten::grid_sampler_3d", GridSampler},
    {"aten::affine_grid_generator", AffineGrid},
}};

}  // namespace rules_onnx::lowering
