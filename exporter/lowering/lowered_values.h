// What the values of a captured graph have become in the ONNX model.
#ifndef RULES_ONNX_EXPORTER_LOWERING_LOWERED_VALUES_H_
#define RULES_ONNX_EXPORTER_LOWERING_LOWERED_VALUES_H_

#include <vector>

#include "exporter/builder/model.h"
#include "exporter/ir/graph.h"

namespace rules_onnx::lowering {

// One result of a node of the main block.
struct LoweredValue {
  const ir::Node* node = nullptr;
  const ir::Value* value = nullptr;
  // The model's values, owned by it: one for a tensor or number, one for each tensor of a list of
  // known length (complex tensors as pairs of reals). The model may use none of them.
  std::vector<const builder::Value*> parts;
};

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_LOWERED_VALUES_H_
