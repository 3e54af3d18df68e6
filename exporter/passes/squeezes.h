// Warns of axes that PyTorch would squeeze away at a size that the program was not seen at.
#ifndef RULES_ONNX_EXPORTER_PASSES_SQUEEZES_H_
#define RULES_ONNX_EXPORTER_PASSES_SQUEEZES_H_

#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// `squeeze` takes an axis away where its size is 1. No capture sees a dynamic axis at size 1, so the
// graph keeps it: a warning for each node that asks for an axis which may have that size.
void WarnOfSqueezes(Context* context);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_SQUEEZES_H_
