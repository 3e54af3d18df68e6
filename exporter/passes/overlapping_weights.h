// Weights that share memory: one is a part of another, or its transpose.
#ifndef RULES_ONNX_EXPORTER_PASSES_OVERLAPPING_WEIGHTS_H_
#define RULES_ONNX_EXPORTER_PASSES_OVERLAPPING_WEIGHTS_H_

#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// Where the program writes to one of several weights that have elements in common
// (Context::weight_memory), all become views of the one that holds all of them, so that each read
// sees each write. Comes before everything that asks what may share memory.
//
// Reported as error "ambiguous-alias": no contiguous weight of that dtype holds the others, or one
// was expanded and shows an element several times.
void ViewOverlappingWeights(Context* context);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_OVERLAPPING_WEIGHTS_H_
