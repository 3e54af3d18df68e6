// What losses share.
#ifndef RULES_ONNX_EXPORTER_LOWERING_LOSS_H_
#define RULES_ONNX_EXPORTER_LOWERING_LOSS_H_

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// PyTorch's `reduction` argument: at::Reduction.
enum class Reduction { kNone = 0, kMean = 1, kSum = 2 };
Reduction ReductionOf(Op& op);

// The loss of each element, reduced as the argument `reduction` says.
Val Reduced(Op& op, Val losses);

// max(x, 0)
Val Positive(Builder& b, Val x);

// (Σ |x|^p)^(1/p) along the last axis, p = ∞ included.
Val LastAxisNorm(Builder& b, Val x, double p, bool keepdims);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_LOSS_H_
