// What pooling operators share.
#ifndef RULES_ONNX_EXPORTER_LOWERING_POOL_H_
#define RULES_ONNX_EXPORTER_LOWERING_POOL_H_

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// Runs `pool`, Val → Vals, on a tensor with a batch axis, which one of `spatial` + 1 axes lacks.
template <typename Pool>
Vals Batched(Builder& b, Val x, int spatial, Pool pool) {
  if (x.rank() != spatial + 1) return pool(x);
  Vals results = pool(b.Unsqueeze(x, {0}));
  for (Val& result : results) result = b.Squeeze(result, {0});
  return results;
}

// Along the last axis: the value that PyTorch's max pooling takes, which is the last NaN, or else the
// first of the largest, and its index among `indices` of the same shape.
Vals LargestOf(Builder& b, Val windows, Val indices);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_POOL_H_
