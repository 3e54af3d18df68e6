// Differences of neighbours, integrals and gradients along an axis.
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

struct Neighbours {
  Val left, right;
};

Neighbours NeighboursOf(Builder& b, Val x, int axis) {
  return {b.Slice(x, axis, 0, -1), b.Slice(x, axis, 1, kEnd)};
}

Val Difference(Builder& b, Val x, int axis) {
  const Neighbours n = NeighboursOf(b, x, axis);
  return x.dtype() == DType::kBool ? b.Xor(n.right, n.left) : b.Sub(n.right, n.left);
}

void Diff(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  Val x = op.Tensor("self", dtype);
  const int axis = op.Axis("dim", x);
  Vals parts;
  if (op.Has("prepend")) parts.push_back(op.Tensor("prepend", dtype));
  parts.push_back(x);
  if (op.Has("append")) parts.push_back(op.Tensor("append", dtype));
  x = b.Concat(parts, axis);
  for (int64_t n = op.Int("n"); n > 0; --n) x = Difference(b, x, axis);
  op.Return(x);
}

// ---------------------------------------------------------------- trapezoids

// PyTorch takes sums and distances of integers in their own type, and adds them up in int64.
Val ToBeAddedUp(Builder& b, Val x) {
  return ir::IsFloat(x.dtype()) ? x : b.Cast(x, DType::kInt64);
}

// left + right, times the distance of neighbours in x where it is given.
Val TwiceAreas(Op& op, Val y, int axis) {
  Builder& b = op.b;
  const Neighbours n = NeighboursOf(b, y, axis);
  const Val sums = b.Add(n.left, n.right);
  if (op.node.Find("x") == nullptr) return ToBeAddedUp(b, sums);
  Val x = op.Tensor("x");
  if (x.rank() == 1) x = AlongAxis(b, x, axis, y.rank());
  std::vector<int64_t> lead;
  for (int i = x.rank(); i < y.rank(); ++i) lead.push_back(i - x.rank());
  const DType own = op.ResultType({"y", "x"});
  const Val distance = Difference(b, b.Unsqueeze(x, lead), axis);
  return ToBeAddedUp(b, b.Mul(b.Cast(distance, own), b.Cast(sums, own)));
}

Val Scaled(Op& op, Val area, double factor) {
  const DType dtype = op.OutDType();
  area = op.b.Mul(op.b.Cast(area, dtype), op.b.Scalar(factor, dtype));
  return op.node.Find("x") == nullptr ? op.b.Mul(area, op.Scalar("dx", dtype)) : area;
}

// With equal distances: the sum of all, less half of the sum of the first and the last.
void Trapezoid(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Val y = op.Tensor("y");
  const int axis = op.Axis("dim", y);
  const auto sum = [&](Val v) { return b.Reduce("ReduceSum", v, {axis}, /*keepdims=*/false); };
  if (op.node.Find("x") != nullptr) {
    return op.Return(Scaled(op, sum(TwiceAreas(op, y, axis)), 0.5));
  }
  const Val ends = b.Cast(b.Add(b.Slice(y, axis, 0, 1), b.Slice(y, axis, -1, kEnd)), dtype);
  const Val all = b.Cast(sum(ToBeAddedUp(b, y)), dtype);
  op.Return(Scaled(op, b.Sub(all, b.Mul(sum(ends), b.Scalar(0.5, dtype))), 1));
}

void CumulativeTrapezoid(Op& op) {
  const Val y = op.Tensor("y");
  const int axis = op.Axis("dim", y);
  op.Return(Scaled(op, op.b.CumSum(TwiceAreas(op, y, axis), axis), 0.5));
}

// ---------------------------------------------------------------- gradient

Val At(Builder& b, Val x, int axis, int64_t index) { return SelectKept(b, x, axis, b.Int(index)); }

Val Weighted(Builder& b, const Vals& values, const std::vector<double>& weights) {
  Val sum;
  for (size_t i = 0; i < values.size(); ++i) {
    const Val term = b.Mul(values[i], b.Scalar(weights[i], values[i].dtype()));
    sum = sum ? b.Add(sum, term) : term;
  }
  return sum;
}

// Central differences with an equal distance h, one-sided at both ends.
Val EvenGradient(Builder& b, Val f, int axis, Val h, int64_t edge_order) {
  const Val middle = b.Div(b.Sub(b.Slice(f, axis, 2, kEnd), b.Slice(f, axis, 0, -2)),
                           b.Mul(h, b.Scalar(2, f.dtype())));
  const auto at = [&](int64_t index) { return At(b, f, axis, index); };
  if (edge_order == 1) {
    return b.Concat({b.Div(b.Sub(at(1), at(0)), h), middle, b.Div(b.Sub(at(-1), at(-2)), h)},
                    axis);
  }
  const Val first = Weighted(b, {at(0), at(1), at(2)}, {-1.5, 2, -0.5});
  const Val last = Weighted(b, {at(-1), at(-2), at(-3)}, {1.5, -2, 0.5});
  return b.Concat({b.Div(first, h), middle, b.Div(last, h)}, axis);
}

// The derivative at the middle one of three points, `near` and `far` apart, or at their start:
// second-order formulas for uneven distances.
Val UnevenEdge(Builder& b, Val f0, Val f1, Val f2, Val near, Val far) {
  const Val both = b.Add(near, far);
  const Val two = b.Scalar(2, f0.dtype());
  const Val w0 = b.Unary("Neg", b.Div(b.Add(b.Mul(two, near), far), b.Mul(near, both)));
  const Val w1 = b.Div(both, b.Mul(near, far));
  const Val w2 = b.Unary("Neg", b.Div(near, b.Mul(far, both)));
  return b.Add(b.Add(b.Mul(w0, f0), b.Mul(w1, f1)), b.Mul(w2, f2));
}

Val UnevenGradient(Builder& b, Val f, int axis, Val coordinates, int64_t edge_order) {
  const Val distance = AlongAxis(b, Difference(b, coordinates, 0), axis, f.rank());
  const Val near = b.Slice(distance, axis, 0, -1), far = b.Slice(distance, axis, 1, kEnd);
  const Val both = b.Add(near, far);
  const Val w0 = b.Unary("Neg", b.Div(far, b.Mul(near, both)));
  const Val w1 = b.Div(b.Sub(far, near), b.Mul(near, far));
  const Val w2 = b.Div(near, b.Mul(far, both));
  const Val middle = b.Add(b.Add(b.Mul(w0, b.Slice(f, axis, 0, -2)),
                                 b.Mul(w1, b.Slice(f, axis, 1, -1))),
                           b.Mul(w2, b.Slice(f, axis, 2, kEnd)));
  const auto at = [&](int64_t index) { return At(b, f, axis, index); };
  const auto step = [&](int64_t index) { return At(b, distance, axis, index); };
  if (edge_order == 1) {
    return b.Concat({b.Div(b.Sub(at(1), at(0)), step(0)), middle,
                     b.Div(b.Sub(at(-1), at(-2)), step(-1))}, axis);
  }
  const Val first = UnevenEdge(b, at(0), at(1), at(2), step(0), step(1));
  const Val last = b.Unary("Neg", UnevenEdge(b, at(-1), at(-2), at(-3), step(-1), step(-2)));
  return b.Concat({first, middle, last}, axis);
}

// In the order given; all of them without `dim`.
std::vector<int64_t> GradientAxes(Op& op, Val x) {
  if (!op.Has("dim")) return op.Axes("dim", x);
  const Item dims = op.Arg("dim");
  std::vector<int64_t> axes = dims.is_list() ? op.Ints("dim") : std::vector{op.Int("dim")};
  for (int64_t& axis : axes) axis = op.b.NormalizeAxis(axis, x.rank());
  return axes;
}

void Gradient(Op& op) {
  Builder& b = op.b;
  Val x = op.Tensor("self");
  if (!x) return;
  if (!ir::IsFloat(x.dtype())) x = b.Cast(x, DType::kFloat32);
  const std::vector<int64_t> axes = GradientAxes(op, x);
  const int64_t edge_order = op.Int("edge_order");
  const Item spacing = op.Arg("spacing");
  Vals results;
  for (size_t i = 0; i < axes.size(); ++i) {
    Val step = spacing.is_list() ? spacing.items[spacing.items.size() == 1 ? 0 : i].val
                                 : spacing.val;
    if (!step) step = b.Scalar(1, x.dtype());
    step = b.Cast(step, x.dtype());
    const int axis = static_cast<int>(axes[i]);
    results.push_back(step.rank() == 1 ? UnevenGradient(b, x, axis, step, edge_order)
                                       : EvenGradient(b, x, axis, step, edge_order));
  }
  op.Return(Item::List(results));
}

}  // namespace

extern const Family kDifferences;
const Family kDifferences = {"differences", {
    {"aten::diff", Diff},
    {"aten::trapezoid", Trapezoid},
    {"aten::trapz", Trapezoid},
    {"aten::cumulative_trapezoid", CumulativeTrapezoid, 11},
    {"aten::gradient", Gradient},
}};

}  // namespace rules_onnx::lowering
