// Drops what no output needs.
#ifndef RULES_ONNX_EXPORTER_BUILDER_DCE_H_
#define RULES_ONNX_EXPORTER_BUILDER_DCE_H_

#include "exporter/builder/model.h"

namespace rules_onnx::builder {

// Removes nodes none of whose outputs are used, inner graphs included, and initializers that no
// node uses. Graph inputs stay.
void RemoveUnused(Model* model);

}  // namespace rules_onnx::builder

#endif  // RULES_ONNX_EXPORTER_BUILDER_DCE_H_
