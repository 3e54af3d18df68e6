// Constant folding of numbers and of facts that types state.
#ifndef RULES_ONNX_EXPORTER_PASSES_FOLD_H_
#define RULES_ONNX_EXPORTER_PASSES_FOLD_H_

#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// Replaces outputs by constants where they are known: arithmetic on constant numbers
// (scalar_ops.h), sizes where the type's dim is a number, rank, dtype and its properties,
// comparisons with None. Tensors are not computed. True if something was replaced.
bool Fold(Context* context);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_FOLD_H_
