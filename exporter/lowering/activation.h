// Activation functions, for other families to build on.
#ifndef RULES_ONNX_EXPORTER_LOWERING_ACTIVATION_H_
#define RULES_ONNX_EXPORTER_LOWERING_ACTIVATION_H_

#include <string>

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// `approximate`: "none" or "tanh", as torch.nn.functional.gelu.
Val Gelu(Builder& b, Val x, const std::string& approximate);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_ACTIVATION_H_
