// Constant tensors as nodes that stand before everything else.
#ifndef RULES_ONNX_EXPORTER_PASSES_HOIST_CONSTANTS_H_
#define RULES_ONNX_EXPORTER_PASSES_HOIST_CONSTANTS_H_

#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// A constant tensor is one tensor wherever it is used, in every iteration: literals that an
// operator writes to or views become prim::Constant nodes (a literal is the same tensor where it
// is the same object), and all of these stand before everything else.
void HoistConstants(Context* context);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_HOIST_CONSTANTS_H_
