// Singular values and what they define: matrix norms, ranks, pseudo-inverses.
#include "exporter/lowering/svd.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/expr.h"
#include "exporter/lowering/linear.h"
#include "exporter/lowering/lu.h"
#include "exporter/lowering/reduce.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

using Ints = std::vector<int64_t>;

// [..., sizes…] of zeros, for matrices without elements.
Val ZerosLike(Builder& b, Val a, const Vals& sizes, DType dtype) {
  Vals all;
  for (int i = 0; i + 2 < a.rank(); ++i) all.push_back(b.Size(a, i));
  all.insert(all.end(), sizes.begin(), sizes.end());
  return b.ConstantOfShape(b.Vector(all), 0, dtype);
}

}  // namespace

Val SingularValues(Builder& b, Val a) {
  if (a && a.numel() == 0) {
    return ZerosLike(b, a, {b.Min(b.Size(a, -2), b.Size(a, -1))}, DType::kFloat64);
  }
  const Singular singular = SingularOf(b, a, /*vectors=*/false);
  if (!singular.values) return {};
  const Val count = b.Min(b.Size(a, -2), b.Size(a, -1));
  const Val sorted = b.TopK(singular.values, count, 1, true)[0];
  return b.Squeeze(FromBatch(b, b.Unsqueeze(sorted, {2}), a), {-1});
}

// V · diag(1 / s²) · (A·V)ᵀ over the singular values above the tolerance.
Val PseudoInverse(Builder& b, const Singular& singular, Val tolerance) {
  if (!singular.values || !tolerance || b.failed()) return {};
  const Expr values(b, singular.values);
  const Val kept = b.Greater(singular.values, tolerance);
  const Val divisor = b.Unsqueeze(Select(kept, values, 1.0).val(), {1});
  const Val weight = b.Unsqueeze(Select(kept, 1 / Select(kept, values, 1.0), 0.0).val(), {1});
  const Val product = MatMul(b, b.Mul(singular.v, weight),
                             Transposed(b, b.Div(singular.rotated, divisor)));
  return singular.transposed ? Transposed(b, product) : product;
}

double Epsilon(DType dtype) {
  return dtype == DType::kFloat64 ? std::numeric_limits<double>::epsilon()
                                  : std::numeric_limits<float>::epsilon();
}

namespace {

void Svdvals(Op& op) {
  op.Return(op.b.Cast(SingularValues(op.b, op.Tensor("A")), op.OutDType()));
}

// ---------------------------------------------------------------- tolerances

// The value below which singular values count as 0, [...] or [..., 1] float64:
// max(atol, rtol · largest).
Val Tolerance(Op& op, Val a, Val largest) {
  Builder& b = op.b;
  const auto given = [&](const char* name) { return op.node.Find(name) && op.Has(name); };
  for (const char* name : {"tol"}) {
    if (given(name)) return op.Tensor(name, DType::kFloat64);
  }
  Val atol = given("atol") ? op.Tensor("atol", DType::kFloat64) : b.Scalar(0, DType::kFloat64);
  Val rtol;
  if (given("rcond")) {
    rtol = op.Tensor("rcond", DType::kFloat64);
  } else if (given("rtol")) {
    rtol = op.Tensor("rtol", DType::kFloat64);
  } else {
    const Val side = b.Max(b.Size(a, -2), b.Size(a, -1));
    const Val standard = b.Mul(b.Cast(side, DType::kFloat64),
                               b.Scalar(Epsilon(a.dtype()), DType::kFloat64));
    rtol = given("atol") ? b.Where(b.Greater(atol, b.Scalar(0, DType::kFloat64)),
                                   b.Scalar(0, DType::kFloat64), standard)
                         : standard;
  }
  return b.Max(atol, b.Mul(rtol, largest));
}

// Of hermitian matrices only the lower triangle counts.
Val Matrix(Op& op) {
  Builder& b = op.b;
  const Val a = op.Tensor(op.node.Find("input") != nullptr ? "input" : "self");
  if (!a || op.node.Find("hermitian") == nullptr || !op.Bool("hermitian")) return a;
  return b.Add(LowerPart(b, a, 0), Transposed(b, LowerPart(b, a, -1)));
}

void MatrixRank(Op& op) {
  Builder& b = op.b;
  const Val a = Matrix(op);
  if (a.numel() == 0) return op.Return(ZerosLike(b, a, {}, DType::kInt64));
  const Val values = SingularValues(b, a);
  if (!values) return;
  const Val largest = b.Reduce("ReduceMax", values, {-1}, /*keepdims=*/false);
  const Val tolerance = b.Unsqueeze(Tolerance(op, a, largest), {-1});
  const Val counted = b.Cast(b.Greater(values, tolerance), DType::kInt64);
  op.Return(b.Reduce("ReduceSum", counted, {-1}, /*keepdims=*/false));
}

void Pinv(Op& op) {
  Builder& b = op.b;
  const Val a = Matrix(op);
  if (a.numel() == 0) {
    return op.Return(ZerosLike(b, a, {b.Size(a, -1), b.Size(a, -2)}, a.dtype()));
  }
  const Singular singular = SingularOf(b, a, /*vectors=*/true);
  if (!singular.values) return;
  const Val largest = b.Reduce("ReduceMax", singular.values, {1}, /*keepdims=*/true);  // [B, 1]
  Val tolerance = Tolerance(op, a, a.rank() == 2 ? b.Reshape(largest, Ints{})
                                                 : b.Squeeze(FromBatch(b, b.Unsqueeze(largest, {2}), a),
                                                             {-2, -1}));
  const Val result = PseudoInverse(b, singular, b.Reshape(tolerance, Ints{-1, 1}));
  op.Return(b.Cast(FromBatch(b, result, a), a.dtype()));
}

// ---------------------------------------------------------------- norms of matrices

// The matrix axes moved to the end.
Val AxesLast(Builder& b, Val x, int rows, int columns) {
  Ints order;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != rows && i != columns) order.push_back(i);
  }
  order.push_back(rows);
  order.push_back(columns);
  return b.Transpose(x, order);
}

// Of the last two axes, which go away.
Val MatrixNorm(Op& op, Val x, const std::string& name, double order) {
  Builder& b = op.b;
  if (name == "fro") return VectorNorm(b, x, 2, {x.rank() - 2, x.rank() - 1}, false);
  if (name == "nuc" || std::abs(order) == 2) {
    const Val values = SingularValues(b, x);
    const char* reduction = name == "nuc" ? "ReduceSum" : order > 0 ? "ReduceMax" : "ReduceMin";
    return b.Cast(b.Reduce(reduction, values, {-1}, /*keepdims=*/false), x.dtype());
  }
  const bool columns = std::abs(order) == 1;
  if (!op.Require(columns || std::isinf(order), absl::StrCat("matrix norm ", order))) return {};
  const Val sums = b.Reduce("ReduceSum", b.Unary("Abs", x), {columns ? -2 : -1}, false);
  return b.Reduce(order > 0 ? "ReduceMax" : "ReduceMin", sums, {-1}, /*keepdims=*/false);
}

struct Order {
  std::string name;  // "fro", "nuc", or empty
  double number = 2;
};

Order ReadOrder(Op& op) {
  const Item item = op.Arg("ord");
  if (item.kind == Item::Kind::kConstant && item.constant.is_string()) return {op.String("ord"), 0};
  return {"", op.Float("ord")};
}

void ReturnMatrixNorm(Op& op, Val x, Ints axes, const Order& order) {
  Builder& b = op.b;
  for (int64_t& axis : axes) axis = b.NormalizeAxis(axis, x.rank());
  if (op.failed()) return;
  Val norm = MatrixNorm(op, AxesLast(b, x, axes[0], axes[1]), order.name, order.number);
  if (op.node.Find("keepdim") != nullptr && op.Bool("keepdim")) {
    norm = b.Unsqueeze(norm, {std::min(axes[0], axes[1]), std::max(axes[0], axes[1])});
  }
  op.Return(norm);
}

void MatrixNormOp(Op& op) {
  ReturnMatrixNorm(op, op.Tensor("self", op.OutDType()), op.Ints("dim"), ReadOrder(op));
}

void NuclearNorm(Op& op) {
  const Val x = op.Tensor("self");
  ReturnMatrixNorm(op, x, op.node.Find("dim") ? op.Ints("dim") : Ints{-2, -1}, {"nuc", 0});
}

// A vector norm where one axis is given, or none and the tensor is not a matrix; without an order,
// the 2-norm of all elements.
void LinalgNorm(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self", op.OutDType());
  if (!x) return;
  const bool keepdims = op.Bool("keepdim");
  const Ints axes = op.Has("dim") ? op.Axes("dim", x) : Ints{};
  if (!op.Has("ord")) {
    const Ints all = axes.empty() ? op.Axes("dim", x) : axes;
    return op.Return(VectorNorm(b, x, 2, all, keepdims));
  }
  const Order order = ReadOrder(op);
  if (axes.size() == 1 || (axes.empty() && x.rank() == 1)) {
    return op.Return(VectorNorm(b, x, order.number, axes.empty() ? Ints{0} : axes, keepdims));
  }
  ReturnMatrixNorm(op, x, op.Has("dim") ? op.Ints("dim") : Ints{0, 1}, order);
}

// |A| · |A⁻¹|; by the singular values for the 2-norm.
void Cond(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  if (!x) return;
  const Item item = op.Arg("p");
  const bool named = item.kind == Item::Kind::kConstant && item.constant.is_string();
  const double order = op.Has("p") && !named ? op.Float("p") : 2;
  if (!named && std::abs(order) == 2) {
    const Val values = SingularValues(b, x);
    const Val largest = b.Reduce("ReduceMax", values, {-1}, false);
    const Val smallest = b.Reduce("ReduceMin", values, {-1}, false);
    const Val ratio = order > 0 ? b.Div(largest, smallest) : b.Div(smallest, largest);
    return op.Return(b.Cast(ratio, x.dtype()));
  }
  const std::string name = named ? op.String("p") : "";
  op.Return(b.Mul(MatrixNorm(op, x, name, order), MatrixNorm(op, InverseOf(b, x), name, order)));
}

}  // namespace

extern const Family kSvd;
const Family kSvd = {"svd", {
    {"aten::linalg_svdvals", Svdvals, 10},
    {"aten::linalg_matrix_rank", MatrixRank, 10},
    {"aten::linalg_pinv", Pinv, 10},
    {"aten::pinverse", Pinv, 10},
    {"aten::linalg_matrix_norm", MatrixNormOp, 9, "orders 2, -2 and nuc from opset 10 on"},
    {"aten::linalg_norm", LinalgNorm, 9, "orders 2, -2 and nuc of matrices from opset 10 on"},
    {"aten::nuclear_norm", NuclearNorm, 10},
    {"aten::linalg_cond", Cond, 11},
}};

}  // namespace rules_onnx::lowering
