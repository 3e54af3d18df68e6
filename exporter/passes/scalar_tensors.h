// Numbers that a trace keeps as 0-d tensors become numbers again.
#ifndef RULES_ONNX_EXPORTER_PASSES_SCALAR_TENSORS_H_
#define RULES_ONNX_EXPORTER_PASSES_SCALAR_TENSORS_H_

#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// `torch.jit.trace` records size arithmetic as tensors: aten::size.int, prim::NumToTensor,
// aten::mul.Tensor, …, aten::Int.Tensor. Where a number is read of such a tensor, it is computed
// with TorchScript's operators on numbers instead (aten::mul.int), which fold and lower to less.
// Only 0-d int64 tensors made of numbers and constants by + − × floor-division, remainder,
// minimum, maximum and negation; and any number that is made a tensor and read right back. On a
// functional graph. True if something changed.
bool ScalarTensors(Context* context);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_SCALAR_TENSORS_H_
