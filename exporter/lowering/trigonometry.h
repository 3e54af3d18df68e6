// Inverse trigonometric functions, for other families to build on.
#ifndef RULES_ONNX_EXPORTER_LOWERING_TRIGONOMETRY_H_
#define RULES_ONNX_EXPORTER_LOWERING_TRIGONOMETRY_H_

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// The angle in [−π/2, π/2], of floats.
Val Atan(Builder& b, Val x);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_TRIGONOMETRY_H_
