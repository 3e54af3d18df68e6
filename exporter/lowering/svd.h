// Singular values and vectors and what they define, in float64. Matrices [..., m, n] of any size,
// dynamic ones too.
#ifndef RULES_ONNX_EXPORTER_LOWERING_SVD_H_
#define RULES_ONNX_EXPORTER_LOWERING_SVD_H_

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// A as a batch, or its transpose: its columns rotated by V until they are orthogonal to each other.
struct Singular {
  Val rotated;      // [B, p, q] = A · V, or Aᵀ · V
  Val v;            // [B, q, q]; null without vectors
  Val values;       // [B, q], not in order: the lengths of the columns, some of which are 0 if p < q
  bool transposed;  // of Aᵀ
};

// One-sided Jacobi rotations, of all pairs of a round at once. The columns are those of the side
// that is known to be the smaller one, of the known side if the other is dynamic, else those of A.
Singular SingularOf(Builder& b, Val a, bool vectors);
// The values alone, [..., smaller side], largest first.
Val SingularValues(Builder& b, Val a);
// [B, n, m], from the values above the tolerance [B, 1].
Val PseudoInverse(Builder& b, const Singular& singular, Val tolerance);
// The precision of a dtype that linear algebra runs in.
double Epsilon(DType dtype);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_SVD_H_
