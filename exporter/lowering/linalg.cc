// Determinants, inverses, linear systems; LU and Cholesky factors.
#include <algorithm>
#include <limits>

#include "exporter/lowering/linear.h"
#include "exporter/lowering/loop.h"
#include "exporter/lowering/lu.h"
#include "exporter/lowering/math.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

using Ints = std::vector<int64_t>;

// The first argument of one of these names: the operators differ in what they call their matrix.
Val Matrix(Op& op) {
  return op.Tensor(op.node.Find("A") != nullptr ? "A" : "self");
}

// ---------------------------------------------------------------- determinants

void Det(Op& op) {
  const Val a = Matrix(op);
  if (a.rank() == 2 && a.numel() == 0) return op.Return(op.b.Scalar(1, a.dtype()));
  Shape shape;
  for (int i = 0; i + 2 < a.rank(); ++i) shape.push_back(a.dim(i));
  op.Return(op.b.Op("Det", {a}, {}, {DType::kUndefined, shape}));
}

struct SignAndLog {
  Val sign, log;
};

SignAndLog SignAndLogOf(Builder& b, const LuResult& lu) {
  if (!lu.lu) return {};
  const Val diagonal = Diagonal(b, lu.lu);
  const Val signs = b.Reduce("ReduceProd", SignOf(b, diagonal), {-1}, false);
  const Val logs = b.Unary("Log", b.Unary("Abs", diagonal));
  return {b.Mul(signs, PivotSign(b, lu.pivots, diagonal.dtype())),
          b.Reduce("ReduceSum", logs, {-1}, /*keepdims=*/false)};
}

void DetWithFactors(Op& op) {
  Builder& b = op.b;
  const LuResult lu = LuOf(b, Matrix(op));
  if (!lu.lu) return;
  const Val product = b.Reduce("ReduceProd", Diagonal(b, lu.lu), {-1}, false);
  op.Return(Vals{b.Mul(product, PivotSign(b, lu.pivots, product.dtype())), lu.lu, lu.pivots});
}

void Slogdet(Op& op) {
  const LuResult lu = LuOf(op.b, Matrix(op));
  const SignAndLog result = SignAndLogOf(op.b, lu);
  if (op.num_outputs() == 2) return op.Return(Vals{result.sign, result.log});
  op.Return(Vals{result.sign, result.log, lu.lu, lu.pivots});
}

void Logdet(Op& op) {
  Builder& b = op.b;
  const SignAndLog result = SignAndLogOf(b, LuOf(b, Matrix(op)));
  if (!result.sign) return;
  const DType dtype = result.sign.dtype();
  const Val nan = b.Scalar(std::numeric_limits<double>::quiet_NaN(), dtype);
  op.Return(b.Where(b.Less(result.sign, b.Scalar(0, dtype)), nan, result.log));
}

// ---------------------------------------------------------------- systems

void Inverse(Op& op) { op.Return(InverseOf(op.b, Matrix(op))); }

void InverseEx(Op& op) {
  Builder& b = op.b;
  const Val a = Matrix(op);
  const LuResult lu = LuOf(b, a);
  if (!a) return;
  op.Return(Vals{SolveLu(b, lu.lu, lu.permutation, Identity(b, b.Size(a, -1), a.dtype())),
                 lu.info});
}

struct Solution {
  Val x;
  LuResult lu;
};

// A·X = B, or X·A = B.
Solution SolveSystem(Op& op) {
  Builder& b = op.b;
  Val a = op.Tensor("A"), rhs = op.Tensor("B");
  if (!a || !rhs) return {};
  const bool vector = IsVector(a, rhs);
  if (vector) rhs = b.Unsqueeze(rhs, {-1});
  const bool left = op.Bool("left");
  if (!left) {
    a = Transposed(b, a);
    if (!vector) rhs = Transposed(b, rhs);
  }
  Solution solution;
  solution.lu = LuOf(b, a);
  solution.x = SolveLu(b, solution.lu.lu, solution.lu.permutation, rhs);
  if (vector) {
    solution.x = b.Squeeze(solution.x, {-1});
  } else if (!left) {
    solution.x = Transposed(b, solution.x);
  }
  return solution;
}

void SolveOp(Op& op) { op.Return(SolveSystem(op).x); }
void SolveEx(Op& op) {
  const Solution solution = SolveSystem(op);
  op.Return(Vals{solution.x, solution.lu.info});
}
void SolveWithFactors(Op& op) {
  const Solution solution = SolveSystem(op);
  op.Return(Vals{solution.x, solution.lu.lu, solution.lu.pivots, solution.lu.info});
}

void SolveTriangularOp(Op& op) {
  Builder& b = op.b;
  const Val a = op.Tensor("self"), rhs = op.Tensor("B");
  const bool upper = op.Bool("upper"), unit = op.Bool("unitriangular");
  if (op.Bool("left")) return op.Return(SolveTriangular(b, a, rhs, upper, unit));
  op.Return(Transposed(b, SolveTriangular(b, Transposed(b, a), Transposed(b, rhs), !upper, unit)));
}

void TriangularSolve(Op& op) {
  Builder& b = op.b;
  const Val rhs = op.Tensor("self"), a = op.Tensor("A");
  const bool upper = op.Bool("upper"), unit = op.Bool("unitriangular");
  const bool transpose = op.Bool("transpose");
  const MatrixPair pair = BroadcastBatches(b, a, rhs);
  const Val x = transpose ? SolveTriangular(b, Transposed(b, pair.x), pair.y, !upper, unit)
                          : SolveTriangular(b, pair.x, pair.y, upper, unit);
  op.Return(Vals{x, pair.x});
}

// ---------------------------------------------------------------- LU as results

// P with P · L · U = A: a one in column i at the row that stands there.
Val PermutationMatrix(Builder& b, Val permutation, DType dtype) {
  const Val rows = b.Unsqueeze(Iota(b, b.Size(permutation, -1)), {1});
  return b.Cast(b.Equal(rows, b.Unsqueeze(permutation, {-2})), dtype);
}

// L [..., n, k] with its ones, U [..., k, m].
Vals Unpacked(Builder& b, Val lu) {
  const Val rows = b.Size(lu, -2), columns = b.Size(lu, -1);
  const Val count = b.Min(rows, columns);
  Val lower = LowerPart(b, lu, -1), upper = UpperPart(b, lu, 0);
  if (count != columns) lower = b.Slice(lower, -1, b.Int(0), count);
  if (count != rows) upper = b.Slice(upper, -2, b.Int(0), count);
  const Val places = b.Unsqueeze(Iota(b, rows), {1});
  const Val diagonal = b.Equal(places, b.Unsqueeze(Iota(b, count), {0}));
  return {b.Where(diagonal, b.Scalar(1, lu.dtype()), lower), upper};
}

bool Pivots(Op& op) { return op.node.Find("pivot") == nullptr || op.Bool("pivot"); }

void LuFactor(Op& op) {
  const LuResult lu = LuOf(op.b, Matrix(op), Pivots(op));
  if (op.num_outputs() == 2) return op.Return(Vals{lu.lu, lu.pivots});
  op.Return(Vals{lu.lu, lu.pivots, lu.info});
}

// Without pivoting P is empty.
void Lu(Op& op) {
  Builder& b = op.b;
  const Val a = Matrix(op);
  const bool pivot = Pivots(op);
  const LuResult lu = LuOf(b, a, pivot);
  if (!lu.lu) return;
  const Vals parts = Unpacked(b, lu.lu);
  const Val p = pivot ? PermutationMatrix(b, lu.permutation, a.dtype())
                      : b.Full(0, a.dtype(), {0});
  op.Return(Vals{p, parts[0], parts[1]});
}

void LuUnpack(Op& op) {
  Builder& b = op.b;
  const Val lu = op.Tensor("LU_data");
  if (!lu) return;
  const Val empty = b.Full(0, lu.dtype(), {0});
  Val p = empty;
  if (op.Bool("unpack_pivots")) {
    const Val order = PermutationOf(b, op.Tensor("LU_pivots"), b.Size(lu, -2));
    p = PermutationMatrix(b, order, lu.dtype());
  }
  const Vals parts = op.Bool("unpack_data") ? Unpacked(b, lu) : Vals{empty, empty};
  op.Return(Vals{p, parts[0], parts[1]});
}

void LuSolve(Op& op) {
  Builder& b = op.b;
  const Val rhs = op.Tensor("self"), lu = op.Tensor("LU_data");
  if (!lu) return;
  const Val order = PermutationOf(b, op.Tensor("LU_pivots"), b.Size(lu, -1));
  op.Return(SolveLu(b, lu, order, rhs));
}

// Aᵀ·X = B from the factors of A: Uᵀ, Lᵀ, then the rows back to their places.
Val SolveTransposedLu(Builder& b, Val lu, Val order, Val rhs) {
  const Val flipped = Transposed(b, lu);
  const Val half = SolveTriangular(b, flipped, rhs, /*upper=*/false, /*unit=*/false);
  const Val x = SolveTriangular(b, flipped, half, /*upper=*/true, /*unit=*/true);
  return MatMul(b, PermutationMatrix(b, order, lu.dtype()), x);
}

void LinalgLuSolve(Op& op) {
  Builder& b = op.b;
  const Val lu = op.Tensor("LU"), rhs = op.Tensor("B");
  if (!lu || !rhs) return;
  const bool left = op.Bool("left"), adjoint = op.Bool("adjoint");
  const Val order = PermutationOf(b, op.Tensor("pivots"), b.Size(lu, -1));
  const Val target = left ? rhs : Transposed(b, rhs);
  const Val x = left == adjoint ? SolveTransposedLu(b, lu, order, target)
                                : SolveLu(b, lu, order, target);
  op.Return(left ? x : Transposed(b, x));
}

// ---------------------------------------------------------------- Cholesky

struct Cholesky {
  Val lower;  // [..., n, n]
  Val info;   // [...] int32: the first minor that is not positive, from 1; 0 if all are
};

Cholesky CholeskyOf(Builder& b, Val a) {
  if (!a || b.failed()) return {};
  const Val x = AsBatch(b, a);
  const DType dtype = x.dtype();
  const Val n = b.Size(x, 1);
  const Val rows = b.Unsqueeze(Iota(b, n), {0});
  const Val zero = b.Scalar(0, dtype);
  const Val bad = b.Expand(b.Mul(rows, b.Int(0)), b.Vector({b.Size(x, 0), b.Int(1)}));
  const Vals result = Repeat(b, n, {}, {x, b.Mul(x, zero), bad}, [&](Val k, const Vals& carried) {
    const Val rest = carried[0];
    const Val column = b.Gather(rest, k, 2);                    // [B, n]
    const Val pivot = b.Unsqueeze(b.Gather(column, k, 1), {1});  // [B, 1]
    const Val open = b.GreaterOrEqual(rows, k);
    const Val factor = b.Where(open, b.Div(column, b.Unary("Sqrt", pivot)), zero);
    const Val next = b.Sub(rest, b.Mul(b.Unsqueeze(factor, {2}), b.Unsqueeze(factor, {1})));
    const Val own = b.Unsqueeze(b.Equal(rows, k), {1});
    const Val lower = b.Where(own, b.Unsqueeze(factor, {2}), carried[1]);
    const Val fails = b.Cast(b.Not(b.Greater(pivot, zero)), DType::kInt64);
    return LoopStep{{next, lower, b.Where(b.Equal(rows, k), fails, carried[2])}, {}};
  });
  const Val later = b.Sub(n, rows);
  const Val first = b.Reduce("ReduceMax", b.Mul(result[2], later), {1}, /*keepdims=*/true);
  const Val info = b.Where(b.Greater(first, b.Int(0)), b.Sub(b.Add(n, b.Int(1)), first), b.Int(0));
  return {FromBatch(b, result[1], a),
          b.Squeeze(b.Cast(FromBatch(b, info, a), DType::kInt32), {-1})};
}

// upper: from the upper triangle, Uᵀ·U.
Cholesky CholeskyArgument(Op& op) {
  Builder& b = op.b;
  const Val a = op.Tensor("self");
  if (!op.Bool("upper")) return CholeskyOf(b, a);
  Cholesky result = CholeskyOf(b, Transposed(b, a));
  result.lower = Transposed(b, result.lower);
  return result;
}

void CholeskyOp(Op& op) { op.Return(CholeskyArgument(op).lower); }
void CholeskyEx(Op& op) {
  const Cholesky result = CholeskyArgument(op);
  op.Return(Vals{result.lower, result.info});
}

// (L·Lᵀ)⁻¹ · B
Val CholeskySolution(Op& op, Val factor, Val rhs) {
  Builder& b = op.b;
  const Val lower = op.Bool("upper") ? Transposed(b, factor) : factor;
  const Val half = SolveTriangular(b, lower, rhs, /*upper=*/false, /*unit=*/false);
  return SolveTriangular(b, Transposed(b, lower), half, /*upper=*/true, /*unit=*/false);
}

void CholeskySolve(Op& op) {
  op.Return(CholeskySolution(op, op.Tensor("input2"), op.Tensor("self")));
}

void CholeskyInverse(Op& op) {
  const Val factor = op.Tensor("self");
  if (!factor) return;
  const Val unit = Identity(op.b, op.b.Size(factor, -1), factor.dtype());
  op.Return(CholeskySolution(op, factor, unit));
}

// ---------------------------------------------------------------- tensors as matrices

// The first `ind` axes against the others.
void Tensorinv(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const int ind = static_cast<int>(op.Int("ind"));
  if (!x) return;
  Vals rows, columns;
  for (int i = 0; i < x.rank(); ++i) (i < ind ? rows : columns).push_back(b.Size(x, i));
  const Val side = Product(b, rows);
  Vals sizes = columns;
  sizes.insert(sizes.end(), rows.begin(), rows.end());
  op.Return(b.Reshape(InverseOf(b, b.Reshape(x, b.Vector({side, side}))), sizes, op.OutShape()));
}

void Tensorsolve(Op& op) {
  Builder& b = op.b;
  Val a = op.Tensor("self");
  const Val rhs = op.Tensor("other");
  if (!a || !rhs) return;
  if (op.Has("dims")) {
    Ints dims = op.Ints("dims");
    for (int64_t& dim : dims) dim = b.NormalizeAxis(dim, a.rank());
    Ints order;
    for (int64_t i = 0; i < a.rank(); ++i) {
      if (std::count(dims.begin(), dims.end(), i) == 0) order.push_back(i);
    }
    order.insert(order.end(), dims.begin(), dims.end());
    a = b.Transpose(a, order);
  }
  Vals sizes;
  for (int i = rhs.rank(); i < a.rank(); ++i) sizes.push_back(b.Size(a, i));
  const Val side = Product(b, sizes);
  const Val x = Solve(b, b.Reshape(a, b.Vector({side, side})),
                      b.Reshape(rhs, b.Vector({side, b.Int(1)})));
  op.Return(b.Reshape(x, sizes, op.OutShape()));
}

}  // namespace

extern const Family kLinalg;
const Family kLinalg = {"linalg", {
    {"aten::det", Det, 11},
    {"aten::linalg_det", Det, 11},
    {"aten::_linalg_det", DetWithFactors, 11},
    {"aten::slogdet", Slogdet, 11},
    {"aten::linalg_slogdet", Slogdet, 11},
    {"aten::_linalg_slogdet", Slogdet, 11},
    {"aten::logdet", Logdet, 11},
    {"aten::inverse", Inverse, 11},
    {"aten::linalg_inv", Inverse, 11},
    {"aten::linalg_inv_ex", InverseEx, 11},
    {"aten::linalg_solve", SolveOp, 11},
    {"aten::linalg_solve_ex", SolveEx, 11},
    {"aten::_linalg_solve_ex", SolveWithFactors, 11},
    {"aten::linalg_solve_triangular", SolveTriangularOp},
    {"aten::triangular_solve", TriangularSolve},
    {"aten::linalg_lu", Lu, 11},
    {"aten::linalg_lu_factor", LuFactor, 11},
    {"aten::linalg_lu_factor_ex", LuFactor, 11},
    {"aten::_lu_with_info", LuFactor, 11},
    {"aten::lu_unpack", LuUnpack, 11},
    {"aten::lu_solve", LuSolve, 11},
    {"aten::linalg_lu_solve", LinalgLuSolve, 11},
    {"aten::cholesky", CholeskyOp},
    {"aten::linalg_cholesky", CholeskyOp},
    {"aten::linalg_cholesky_ex", CholeskyEx},
    {"aten::cholesky_solve", CholeskySolve},
    {"aten::cholesky_inverse", CholeskyInverse},
    {"aten::linalg_tensorinv", Tensorinv, 11},
    {"aten::linalg_tensorsolve", Tensorsolve, 11},
}};

}  // namespace rules_onnx::lowering
