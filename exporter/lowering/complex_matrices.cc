// Products of complex elements one after the other, comparisons of complex tensors, and what linear
// algebra makes of complex matrices: of real ones with 2 · 2 real elements for a complex element.
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "exporter/lowering/call.h"
#include "exporter/lowering/complex.h"
#include "exporter/lowering/loop.h"
#include "exporter/lowering/lu.h"
#include "exporter/lowering/math.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// ---------------------------------------------------------------- products of elements

// Of all up to each element along an axis of a pair of rank ≥ 2.
Val ProductsAlong(Builder& b, Val pair, int axis) {
  return Accumulate(b, pair, axis, [&](Val so_far, Val next) {
    return Packed(Times(Unpacked(b, so_far), Unpacked(b, next)));
  });
}

void Cumprod(Op& op) {
  Builder& b = op.b;
  const Val x = Packed(Self(op));
  if (!x) return;
  if (x.rank() == 1) return op.Return(x);
  op.Return(ProductsAlong(b, x, static_cast<int>(b.NormalizeAxis(op.Int("dim"), x.rank() - 1))));
}

// The last of the products that start from 1.
void Prod(Op& op) {
  Builder& b = op.b;
  Complex x = Self(op);
  if (!x.re.val()) return;
  const bool has_axis = op.node.Find("dim") != nullptr;
  if (has_axis && x.re.val().rank() == 0) return ReturnComplex(op, x);
  if (!has_axis) x = {{b, b.Flatten1D(x.re.val())}, {b, b.Flatten1D(x.im.val())}};
  const int rank = x.re.val().rank();
  const int axis = has_axis ? static_cast<int>(b.NormalizeAxis(op.Int("dim"), rank)) : 0;
  if (op.failed()) return;
  Vals sizes = SizesOf(b, x.re.val());
  sizes[axis] = b.Int(1);
  const auto filled = [&](double value) {
    return b.ConstantOfShape(b.Vector(sizes), value, x.re.val().dtype());
  };
  const Val start = Packed({{b, filled(1)}, {b, filled(0)}});
  const Val products = ProductsAlong(b, b.Concat({start, Packed(x)}, axis), axis);
  const bool kept = has_axis && op.Bool("keepdim");
  op.Return(kept ? SelectKept(b, products, axis, b.Int(-1))
                 : Select(b, products, axis, b.Int(-1)));
}

// ---------------------------------------------------------------- comparisons

// |x − y| ≤ atol + rtol · |y|, or the same, or both NaN if that counts.
Val CloseTo(Op& op) {
  Builder& b = op.b;
  const DType part = DType::kFloat64;
  const Complex x = ReadComplex(op, "self", part), y = ReadComplex(op, "other", part);
  const Expr distance = Size({x.re - y.re, x.im - y.im});
  const Expr allowed = Abs(op.Float("rtol") * Size(y)) + op.Float("atol");
  const Val near = b.And(distance <= allowed, IsFiniteNumber(b, distance.val()));
  const Val close = b.Or(near, b.And(x.re == y.re, x.im == y.im));
  if (!op.Bool("equal_nan")) return close;
  const auto is_nan = [&](Complex z) {
    return b.Or(b.Unary("IsNaN", z.re.val()), b.Unary("IsNaN", z.im.val()));
  };
  return b.Or(close, b.And(is_nan(x), is_nan(y)));
}
void IsClose(Op& op) { op.Return(CloseTo(op)); }
void AllClose(Op& op) { op.Return(op.b.Not(Any(op.b, op.b.Not(CloseTo(op))))); }

// The norm of the differences' sizes: the distance of those from 0.
void Dist(Op& op) {
  const DType part = op.OutDType();
  const Complex x = ReadComplex(op, "self", part), y = ReadComplex(op, "other", part);
  const Val sizes = Size({x.re - y.re, x.im - y.im}).val();
  const auto replace = [&](const ir::NamedArg& arg) -> std::optional<Item> {
    if (arg.name == "self") return Item(sizes);
    if (arg.name == "other") return Item(op.b.Scalar(0, part));
    return std::nullopt;
  };
  op.Return(CallReplaced(op, FindRow(op.node.op)->function, replace, {op.OutType()})[0]);
}

// ---------------------------------------------------------------- matrices

// [..., 2 n, 2 m]: (re −im; im re) for each element.
Val AsReal(Builder& b, Complex x) {
  const auto row = [&](Expr left, Expr right) { return b.Unsqueeze(Packed({left, right}), {-3}); };
  const Val blocks = b.Concat({row(x.re, -x.im), row(x.im, x.re)}, -3);  // [..., n, 2, m, 2]
  Vals sizes = SizesOf(b, x.re.val());
  const size_t rank = sizes.size();
  for (size_t i = rank - 2; i < rank; ++i) sizes[i] = b.Mul(sizes[i], b.Int(2));
  return b.Reshape(blocks, sizes, std::nullopt);
}

// Back, as a pair: the first column of each block.
Val AsPair(Builder& b, Val x) {
  Vals sizes = SizesOf(b, x);
  const Val two = b.Int(2), rows = b.Div(sizes[x.rank() - 2], two),
            columns = b.Div(sizes[x.rank() - 1], two);
  sizes.resize(x.rank() - 2);
  sizes.insert(sizes.end(), {rows, two, columns, two});
  const Val blocks = b.Reshape(x, sizes, std::nullopt);
  const int rank = blocks.rank();
  return MoveAxis(b, Select(b, blocks, rank - 1, b.Int(0)), rank - 3, rank - 2);
}

ir::Type WithoutSizes(const ir::Type& type) {
  ir::Type result = PartOf(type);
  if (result.shape) result.shape = Shape(result.shape->size(), Dim::Unknown());
  return result;
}

// The node's operator on real matrices in place of complex ones.
std::vector<Item> OnReal(Op& op, const std::function<Complex(Complex)>& prepare = {}) {
  Builder& b = op.b;
  std::vector<ir::Type> types;
  for (size_t i = 0; i < op.num_outputs(); ++i) types.push_back(WithoutSizes(op.OutType(i)));
  const auto replace = [&](const ir::NamedArg& arg) -> std::optional<Item> {
    if (!IsComplexArgument(arg.value)) return std::nullopt;
    const Complex x = Unpacked(b, op.Arg(arg.name).val);
    return Item(AsReal(b, prepare ? prepare(x) : x));
  };
  return CallReplaced(op, FindRow(op.node.op)->function, replace, types);
}

// Results that are matrices as pairs; a place in the matrix is that of its block.
void ReturnMatrices(Op& op, std::vector<Item> results) {
  Builder& b = op.b;
  if (op.failed()) return;
  for (size_t i = 0; i < results.size(); ++i) {
    const bool matrix = IsComplexType(op.OutType(i));
    const Val x = results[i].val;
    if (matrix) {
      results[i] = AsPair(b, x);
    } else {
      const Val one = b.ScalarInt(1, x.dtype()), two = b.ScalarInt(2, x.dtype());
      results[i] = b.Div(b.Add(x, one), two);
    }
  }
  op.Return(std::move(results));
}

void Matrices(Op& op) { ReturnMatrices(op, OnReal(op)); }

// Of the diagonal of a Hermitian matrix only the real parts count.
Complex WithRealDiagonal(Complex x) {
  Builder& b = x.re.b();
  const Val im = x.im.val();
  const Val diagonal = b.Cast(Identity(b, b.Size(im, -1), im.dtype()), DType::kBool);
  return {x.re, {b, b.Where(diagonal, b.Scalar(0, im.dtype()), im)}};
}

void Cholesky(Op& op) { ReturnMatrices(op, OnReal(op, WithRealDiagonal)); }

// Each value stands there twice.
void ReturnEveryOther(Op& op, const std::vector<Item>& results) {
  if (op.failed()) return;
  const Val x = results[0].val;
  op.Return(op.b.Slice(x, x.rank() - 1, 0, kEnd, 2));
}
void Svdvals(Op& op) { ReturnEveryOther(op, OnReal(op)); }
void Eigvalsh(Op& op) { ReturnEveryOther(op, OnReal(op, WithRealDiagonal)); }

// A vector as (re, im, re, im, …), which is what its pairs are.
void Solve(Op& op) {
  Builder& b = op.b;
  const DType part = PartType(op);
  const Complex a = ReadComplex(op, "A", part), rhs = ReadComplex(op, "B", part);
  if (!a.re.val() || !rhs.re.val()) return;
  const bool vector = IsVector(a.re.val(), rhs.re.val());
  const auto flat = [&](Complex x) {
    Vals sizes = SizesOf(b, x.re.val());
    sizes.back() = b.Mul(sizes.back(), b.Int(2));
    return b.Reshape(Packed(x), sizes, std::nullopt);
  };
  // Of A's rank, so that it is no batch of vectors with the doubled sizes.
  std::vector<int64_t> missing(std::max(a.re.val().rank() - rhs.re.val().rank(), 0));
  std::iota(missing.begin(), missing.end(), 0);
  const auto matrices = [&](Complex x) {
    return AsReal(b, {{b, b.Unsqueeze(x.re.val(), missing)}, {b, b.Unsqueeze(x.im.val(), missing)}});
  };
  const auto replace = [&](const ir::NamedArg& arg) -> std::optional<Item> {
    if (arg.name == "A") return Item(AsReal(b, a));
    if (arg.name == "B") return Item(vector ? flat(rhs) : matrices(rhs));
    return std::nullopt;
  };
  const std::vector<ir::Type> types = {WithoutSizes(op.OutType())};
  const Val x = CallReplaced(op, FindRow(op.node.op)->function, replace, types)[0].val;
  if (!x) return;
  if (!vector) return op.Return(AsPair(b, x));
  Vals sizes = SizesOf(b, x);
  sizes.back() = b.Div(sizes.back(), b.Int(2));
  sizes.push_back(b.Int(2));
  op.Return(b.Reshape(x, sizes, std::nullopt));
}

}  // namespace

const std::vector<Row>& ComplexMatrixForms() {
  static const auto* const kRows = new std::vector<Row>{
      {"aten::prod", Prod},
      {"aten::cumprod", Cumprod},
      {"aten::isclose", IsClose},
      {"aten::allclose", AllClose},
      {"aten::dist", Dist},
      {"aten::inverse", Matrices},
      {"aten::linalg_inv", Matrices},
      {"aten::linalg_inv_ex", Matrices},
      {"aten::linalg_matrix_exp", Matrices},
      {"aten::matrix_exp", Matrices},
      {"aten::linalg_matrix_power", Matrices},
      {"aten::matrix_power", Matrices},
      {"aten::cholesky", Cholesky},
      {"aten::linalg_cholesky", Cholesky},
      {"aten::linalg_cholesky_ex", Cholesky},
      {"aten::linalg_svdvals", Svdvals},
      {"aten::linalg_eigvalsh", Eigvalsh},
      {"aten::linalg_solve", Solve},
  };
  return *kRows;
}

}  // namespace rules_onnx::lowering
