// The casts that torch.autocast makes, which `.pt2` files do not write down.
#ifndef RULES_ONNX_EXPORTER_PT2_AUTOCAST_H_
#define RULES_ONNX_EXPORTER_PT2_AUTOCAST_H_

#include "exporter/ir/schema.h"
#include "exporter/pt2/emitter.h"
#include "exporter/pt2/format.h"

namespace rules_onnx::pt2 {

// The dtype that the program says the node's first tensor result to have; kUndefined if none.
ir::DType ResultDType(const NodeDef& node, const GraphDef& graph);

// Where `result` is a floating-point dtype that the operator's tensors do not promote to, autocast
// has cast them: casts them to it (`aten::to.dtype`). Left alone are operators that write or make
// views, that are told a dtype, and normalizations, whose tensors may differ in dtype.
void ApplyAutocast(const ir::Schema& schema, ir::DType result, ir::Node* node, Emitter* emitter);

}  // namespace rules_onnx::pt2

#endif  // RULES_ONNX_EXPORTER_PT2_AUTOCAST_H_
