// Scans whose body does the same to each slice as an operator does to the whole tensors.
#ifndef RULES_ONNX_EXPORTER_PASSES_DISSOLVE_SCANS_H_
#define RULES_ONNX_EXPORTER_PASSES_DISSOLVE_SCANS_H_

#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// A prim::Scan that carries nothing, as torch.vmap and map are, becomes its body's operators on the
// tensors that it takes apart, where each operator there has a form with one more axis in front:
// operators on elements, reductions and moves of axes that name their axes, creation, reading by
// index tensors. The graph must be functional.
bool DissolveScans(Context* context);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_DISSOLVE_SCANS_H_
