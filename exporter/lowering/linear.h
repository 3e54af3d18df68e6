// Matrix products with PyTorch's meaning, for other families to build on.
#ifndef RULES_ONNX_EXPORTER_LOWERING_LINEAR_H_
#define RULES_ONNX_EXPORTER_LOWERING_LINEAR_H_

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// Product of tensors of rank ≥ 1 as torch.matmul; integers and bools in a type that ONNX multiplies.
Val MatMul(Builder& b, Val x, Val y);
// x · weightᵀ + bias over the last axis; weight [out, in] or [in]; bias may be null.
Val Linear(Builder& b, Val x, Val weight, Val bias);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_LINEAR_H_
