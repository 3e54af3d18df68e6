// Singular vectors and eigenvectors of symmetric matrices. They are unique up to their signs (and
// to rotations of those of equal values) only: PyTorch's may have the other sign.
#include "exporter/lowering/expr.h"
#include "exporter/lowering/lowering.h"
#include "exporter/lowering/lu.h"
#include "exporter/lowering/qr.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/svd.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

constexpr char kNote[] = "vectors up to their signs";

bool UsesOutput(Op& op, size_t output) {
  return op.lowering.IsUsed(op.node.outputs[output]);
}

// Stands for vectors that the program does not use.
Val Unused(Op& op, size_t output) {
  const int rank = op.OutShape(output) ? static_cast<int>(op.OutShape(output)->size()) : 1;
  return op.b.Full(0, op.OutDType(output), std::vector<int64_t>(rank, 0));
}

void WarnOfSigns(Op& op) {
  op.lowering.Warn(op.node, "vector-signs",
                   "vectors are unique up to their signs only, which may differ from PyTorch's");
}

// The columns of x[B, p, q] in the order of index [B, k].
Val ColumnsAt(Builder& b, Val x, Val index) {
  return Transposed(b, Reordered(b, Transposed(b, x), index));
}

// ---------------------------------------------------------------- singular vectors

struct Decomposition {
  Val u, values, v;  // [..., m, k or m], [..., k], [..., n, k or n], k = min(m, n)
};

// Columns divided by their lengths; 0 for those that are nothing but rounding.
Val Directions(Builder& b, Val columns, Val lengths) {
  const Val side = b.Cast(b.Max(b.Size(columns, 1), b.Size(columns, 2)), columns.dtype());
  const Expr length(b, b.Unsqueeze(lengths, {1}));
  const Expr largest(b, b.Slice(length.val(), 2, 0, 1));
  const Val kept = length > largest * Expr(b, side) * Epsilon(DType::kFloat64);
  return Select(kept, Expr(b, columns) / Select(kept, length, 1.0), 0.0).val();
}

Decomposition DecompositionOf(Builder& b, Val a, bool full) {
  const Singular singular = SingularOf(b, a, /*vectors=*/true);
  if (!singular.values) return {};
  const Val rows = b.Size(singular.rotated, 1), columns = b.Size(singular.v, 2);
  const Val count = b.Min(rows, columns);
  const Vals sorted = b.TopK(singular.values, columns, 1, /*largest=*/true);
  const auto first = [&](Val x, int axis) { return b.Slice(x, axis, b.Int(0), count); };
  const Val values = first(sorted[0], 1);
  const Val turned = first(ColumnsAt(b, singular.rotated, sorted[1]), 2);
  const Val v = ColumnsAt(b, singular.v, sorted[1]);
  const Val left = OrthonormalColumns(b, Directions(b, turned, values), full ? rows : count);
  const Val right = full ? v : first(v, 2);
  return {FromBatch(b, singular.transposed ? right : left, a),
          b.Squeeze(FromBatch(b, b.Unsqueeze(values, {2}), a), {-1}),
          FromBatch(b, singular.transposed ? left : right, a)};
}

// [..., n, n], or [..., n, k] where the factors are not full.
Val EmptyFactor(Builder& b, Val a, int axis, bool full) {
  const Val n = b.Size(a, axis), count = full ? n : b.Min(b.Size(a, -2), b.Size(a, -1));
  const Val unit = b.Slice(Identity(b, n, DType::kFloat64), 1, b.Int(0), count);
  Vals sizes;
  for (int i = 0; i + 2 < a.rank(); ++i) sizes.push_back(b.Size(a, i));
  sizes.insert(sizes.end(), {n, count});
  return ExpandTo(b, unit, sizes);
}

Decomposition Decompose(Op& op, Val a, bool full) {
  Builder& b = op.b;
  if (!a) return {};
  if (!UsesOutput(op, 0) && !UsesOutput(op, 2)) return {{}, SingularValues(b, a), {}};
  WarnOfSigns(op);
  if (a.numel() != 0) return DecompositionOf(b, a, full);
  return {EmptyFactor(b, a, -2, full), SingularValues(b, a), EmptyFactor(b, a, -1, full)};
}

void ReturnDecomposition(Op& op, const Decomposition& parts, bool transposed) {
  Builder& b = op.b;
  if (op.failed()) return;
  const auto vectors = [&](Val x, size_t output) {
    return x ? b.Cast(x, op.OutDType(output)) : Unused(op, output);
  };
  const Val v = parts.v && transposed ? Transposed(b, parts.v) : parts.v;
  op.Return(Vals{vectors(parts.u, 0), b.Cast(parts.values, op.OutDType(1)), vectors(v, 2)});
}

void LinalgSvd(Op& op) {
  const bool only_values = op.node.Find("compute_uv") != nullptr && !op.Bool("compute_uv");
  const Val a = op.Tensor("A");
  if (only_values) {
    const Val none = op.b.Full(0, op.OutDType(), {0});
    return op.Return(Vals{none, op.b.Cast(SingularValues(op.b, a), op.OutDType(1)), none});
  }
  ReturnDecomposition(op, Decompose(op, a, op.Bool("full_matrices")), /*transposed=*/true);
}

// Without vectors, they are zeros.
void Svd(Op& op) {
  Builder& b = op.b;
  const Val a = op.Tensor("self");
  if (op.Bool("compute_uv")) {
    return ReturnDecomposition(op, Decompose(op, a, !op.Bool("some")), /*transposed=*/false);
  }
  if (!a) return;
  const auto zeros = [&](int axis) {
    return b.Mul(EmptyFactor(b, a, axis, /*full=*/true), b.Scalar(0, DType::kFloat64));
  };
  ReturnDecomposition(op, {zeros(-2), SingularValues(b, a), zeros(-1)}, /*transposed=*/false);
}

// ---------------------------------------------------------------- symmetric matrices

struct Eigen {
  Val values, vectors;  // [..., n], smallest first; [..., n, n] or null
};

// Of the matrix whose lower or upper triangle is given. With a multiple of the identity added that
// makes none negative, the eigenvalues are its singular values, and V has the eigenvectors.
Eigen EigenOf(Op& op, Val matrix, bool vectors) {
  Builder& b = op.b;
  const Val a = b.Cast(matrix, DType::kFloat64);
  if (!a) return {};
  if (a.numel() == 0) {
    return {SingularValues(b, a), vectors ? EmptyFactor(b, a, -1, /*full=*/true) : Val()};
  }
  const bool lower = op.String("UPLO") == "L";
  const Val half = lower ? LowerPart(b, a, 0) : UpperPart(b, a, 0);
  const Val rest = lower ? LowerPart(b, a, -1) : UpperPart(b, a, 1);
  const Val symmetric = AsBatch(b, b.Add(half, Transposed(b, rest)));
  // No eigenvalue is larger than the largest sum of a row's elements.
  const Val sums = b.Reduce("ReduceSum", b.Unary("Abs", symmetric), {2}, /*keepdims=*/true);
  const Val shift = b.Reduce("ReduceMax", sums, {1}, /*keepdims=*/true);
  const Val n = b.Size(a, -1);
  const Val shifted = b.Add(symmetric, b.Mul(shift, Identity(b, n, DType::kFloat64)));
  const Singular singular = SingularOf(b, shifted, vectors);
  if (!singular.values) return {};
  const Vals sorted = b.TopK(singular.values, n, 1, /*largest=*/false);
  const Val values = b.Sub(sorted[0], b.Squeeze(shift, {2}));
  return {b.Squeeze(FromBatch(b, b.Unsqueeze(values, {2}), a), {-1}),
          vectors ? FromBatch(b, ColumnsAt(b, singular.v, sorted[1]), a) : Val()};
}

void Eigvalsh(Op& op) {
  op.Return(op.b.Cast(EigenOf(op, op.Tensor("self"), false).values, op.OutDType()));
}

void Eigh(Op& op) {
  Builder& b = op.b;
  const Val a = op.Tensor(op.node.Find("A") != nullptr ? "A" : "self");
  const bool wanted = op.node.Find("compute_v") == nullptr || op.Bool("compute_v");
  const Eigen eigen = EigenOf(op, a, wanted && UsesOutput(op, 1));
  if (op.failed()) return;
  if (eigen.vectors) WarnOfSigns(op);
  const Val none = wanted ? Unused(op, 1) : b.Full(0, op.OutDType(1), {0});
  op.Return(Vals{b.Cast(eigen.values, op.OutDType(0)),
                 eigen.vectors ? b.Cast(eigen.vectors, op.OutDType(1)) : none});
}

}  // namespace

extern const Family kSingularVectors;
const Family kSingularVectors = {"singular_vectors", {
    {"aten::svd", Svd, 10, kNote},
    {"aten::linalg_svd", LinalgSvd, 10, kNote},
    {"aten::_linalg_svd", LinalgSvd, 10, kNote},
    {"prims::svd", LinalgSvd, 10, kNote},
    {"aten::linalg_eigh", Eigh, 10, kNote},
    {"aten::_linalg_eigh", Eigh, 10, kNote},
    {"aten::linalg_eigvalsh", Eigvalsh, 10},
}};

}  // namespace rules_onnx::lowering
