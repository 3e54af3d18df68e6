// Normalizations, for other families to build on.
#ifndef RULES_ONNX_EXPORTER_LOWERING_NORM_H_
#define RULES_ONNX_EXPORTER_LOWERING_NORM_H_

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// A tensor argument, or null where it is None.
Val Optional(Op& op, absl::string_view name);

// The dtype that PyTorch accumulates values of `dtype` in: float32 for half types.
DType Wide(DType dtype);

// The mean over the given axes; NaN over no elements, as in PyTorch. ONNX leaves ReduceMean of an
// empty set open, so that it is used where the axes are known not to be empty.
Val MeanOf(Builder& b, Val x, const std::vector<int64_t>& axes, bool keepdims);

struct Moments {
  Val mean, variance;  // variance divided by (count − correction)
};
// Over the given axes, kept as size 1.
Moments MomentsOf(Builder& b, Val x, const std::vector<int64_t>& axes, Val correction);

// Over the last `axes` axes; weight and bias may be null.
Val LayerNormalize(Builder& b, Val x, int axes, Val weight, Val bias, double eps);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_NORM_H_
