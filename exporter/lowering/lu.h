// Matrix factorizations and what is solved by them, on batches of matrices [..., n, m]; sizes may
// be dynamic. Loops of elimination steps, one ONNX Loop each.
#ifndef RULES_ONNX_EXPORTER_LOWERING_LU_H_
#define RULES_ONNX_EXPORTER_LOWERING_LU_H_

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// ---- batches
// [..., n, m] as [B, n, m], and back with the leading sizes of `like`.
Val AsBatch(Builder& b, Val x);
Val FromBatch(Builder& b, Val batch, Val like);
// Both with the batch axes of each, broadcast.
struct MatrixPair {
  Val x, y;
};
MatrixPair BroadcastBatches(Builder& b, Val x, Val y);
Val Transposed(Builder& b, Val x);              // the last two axes swapped
Val Identity(Builder& b, Val n, DType dtype);   // [n, n]
// 1 where the column index minus the row index is ≥ `offset`, else 0 (upper); lower: ≤.
Val UpperPart(Builder& b, Val x, int64_t offset);
Val LowerPart(Builder& b, Val x, int64_t offset);
Val Diagonal(Builder& b, Val x);                // [..., min(n, m)]; n = m or unknown: the smaller

// x[B, n, …] with the rows `first` and `second`, [B, 1] each, in each other's place.
Val WithRowsSwapped(Builder& b, Val x, Val first, Val second);
// x[B, n, …] with its rows in the order of index [B, n].
Val Reordered(Builder& b, Val x, Val index);
// Whether B is a batch of vectors: it lacks A's last axis.
bool IsVector(Val a, Val rhs);

// ---- LU with partial pivoting, as LAPACK's getrf: the first of the largest pivots
struct LuResult {
  Val lu;            // [..., n, m]: L below the diagonal (its ones left out), U on and above it
  Val pivots;        // [..., k] int32, from 1: the row that row i was swapped with
  Val permutation;   // [..., n] int64: the row of A that stands at row i of L·U
  Val info;          // [...] int32: the first zero on U's diagonal, from 1; 0 if there is none
};
LuResult LuOf(Builder& b, Val a, bool pivot = true);
// ±1: the sign of the permutation that the pivots make.
Val PivotSign(Builder& b, Val pivots, DType dtype);
// The row order that pivots make, for matrices of n rows: [..., n] int64.
Val PermutationOf(Builder& b, Val pivots, Val n);

// ---- solving
// X of A·X = B with triangular A [..., n, n], B [..., n, r]; the other triangle is not read.
Val SolveTriangular(Builder& b, Val a, Val rhs, bool upper, bool unit);
// X of A·X = B from the factors of A.
Val SolveLu(Builder& b, Val lu, Val permutation, Val rhs);
Val Solve(Builder& b, Val a, Val rhs);
Val InverseOf(Builder& b, Val a);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_LU_H_
