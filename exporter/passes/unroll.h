// Takes control flow away where it is decided at build time.
#ifndef RULES_ONNX_EXPORTER_PASSES_UNROLL_H_
#define RULES_ONNX_EXPORTER_PASSES_UNROLL_H_

#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// prim::If with a constant condition becomes the branch taken. prim::Loop that never runs becomes
// its initial values. prim::Loop with a constant trip count and no other condition is unrolled if
// it has at most 64 iterations and makes at most 2048 nodes, or, where it carries a list, tuple or
// dict, which ONNX handles badly, at most 1024 iterations and 16384 nodes. Inner loops of an
// unrolled one are left for the next run. True if something changed.
bool Unroll(Context* context);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_UNROLL_H_
