// Orthonormal columns by Householder reflections.
#ifndef RULES_ONNX_EXPORTER_LOWERING_QR_H_
#define RULES_ONNX_EXPORTER_LOWERING_QR_H_

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// [B, m, count] with orthonormal columns, count ≤ m (0-d): first those of x[B, m, k], which are
// orthonormal too or, from some column on, 0; then such that go with them.
Val OrthonormalColumns(Builder& b, Val x, Val count);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_QR_H_
