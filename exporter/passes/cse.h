// Computes what is computed twice once.
#ifndef RULES_ONNX_EXPORTER_PASSES_CSE_H_
#define RULES_ONNX_EXPORTER_PASSES_CSE_H_

#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// Of nodes with the same operator and the same arguments, in one block or in blocks inside it,
// the first stays. Not operators with blocks, random ones, or ones that write or raise. On a
// functional graph. True if something went.
bool Cse(Context* context);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_CSE_H_
