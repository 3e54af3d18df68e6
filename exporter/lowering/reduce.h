// Reductions with PyTorch's meaning, for other families to build on.
#ifndef RULES_ONNX_EXPORTER_LOWERING_REDUCE_H_
#define RULES_ONNX_EXPORTER_LOWERING_REDUCE_H_

#include <vector>

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// (Σ |x|^p)^(1/p) over the axes, with its limits at 0 (count of non-zeros) and ±∞.
Val VectorNorm(Builder& b, Val x, double p, const std::vector<int64_t>& axes, bool keepdims);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_REDUCE_H_
