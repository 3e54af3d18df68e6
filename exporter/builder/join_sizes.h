// Reads sizes by fewer nodes.
#ifndef RULES_ONNX_EXPORTER_BUILDER_JOIN_SIZES_H_
#define RULES_ONNX_EXPORTER_BUILDER_JOIN_SIZES_H_

#include "exporter/builder/model.h"

namespace rules_onnx::builder {

// A size as a list, Unsqueeze(Gather(Shape(x), i)), becomes Shape(x, start=i, end=i+1), and sizes of
// neighbouring axes that a Concat puts together are read by one Shape. Does nothing below opset 15,
// whose Shape gives all sizes only. Nodes that nothing needs any more are left to RemoveUnused.
void JoinSizes(Model* model);

}  // namespace rules_onnx::builder

#endif  // RULES_ONNX_EXPORTER_BUILDER_JOIN_SIZES_H_
