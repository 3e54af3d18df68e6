// What the values of a captured graph have become in the ONNX model.
#ifndef RULES_ONNX_EXPORTER_LOWERING_LOWERED_VALUES_H_
#define RULES_ONNX_EXPORTER_LOWERING_LOWERED_VALUES_H_

#include <unordered_map>
#include <vector>

#include "exporter/builder/model.h"
#include "exporter/ir/graph.h"

namespace rules_onnx::lowering {

struct LoweredValue {
  // The model's values, owned by it: one for a tensor or number, one for each tensor of a list of
  // known length (complex tensors as pairs of reals). The model may use none of them.
  std::vector<const builder::Value*> parts;
  // The one part is a list of unknown length: a sequence, or a tensor with an item a row.
  bool is_dynamic_list = false;
};

// Of values in inner blocks too; those that no plain tensors carry (None, strings, quantized
// tensors) are left out.
using LoweredValues = std::unordered_map<const ir::Value*, LoweredValue>;

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_LOWERED_VALUES_H_
