// Simplifies what branches and loops hand on.
#ifndef RULES_ONNX_EXPORTER_PASSES_BLOCK_VALUES_H_
#define RULES_ONNX_EXPORTER_PASSES_BLOCK_VALUES_H_

#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// A carried value that every iteration hands on unchanged is its initial value, inside the loop
// and after it. An output of prim::If that both branches give alike, from outside or as the same
// constant, is that. Dce then drops the carried value and the output. True if something was
// replaced.
bool SimplifyBlockValues(Context* context);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_BLOCK_VALUES_H_
