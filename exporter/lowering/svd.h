// Singular values and what they define, in float64. Matrices [..., m, n] of known size.
#ifndef RULES_ONNX_EXPORTER_LOWERING_SVD_H_
#define RULES_ONNX_EXPORTER_LOWERING_SVD_H_

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// A as a batch, or its transpose where that has fewer columns: its columns rotated by V until they
// are orthogonal to each other.
struct Singular {
  Val rotated;      // [B, larger side, smaller side] = A · V
  Val v;            // [B, smaller side, smaller side]
  Val values;       // [B, smaller side], not in order
  bool transposed;  // of Aᵀ
};

Singular SingularOf(Builder& b, Val a);
// The values alone, [..., smaller side], largest first.
Val SingularValues(Builder& b, Val a);
// [B, n, m], from the values above the tolerance [B, 1].
Val PseudoInverse(Builder& b, const Singular& singular, Val tolerance);
// The precision of a dtype that linear algebra runs in.
double Epsilon(DType dtype);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_SVD_H_
