// Which sizes of an operator's results follow from which of its arguments.
//
// No torch header here: the operator is named, and its schema is looked up in ir/schema.h.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_SIZE_ARGUMENTS_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_SIZE_ARGUMENTS_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "exporter/ir/graph.h"

namespace rules_onnx::script {

// An int, float, bool or complex number.
bool IsNumber(const ir::Type& type);
// Whether it holds for any of the values in the argument.
bool AnyValue(const ir::Arg& arg, const std::function<bool(const ir::Value&)>& asked);

struct DecidedSizes {
  std::vector<bool> axes;  // of each tensor that the operator gives
  bool length = false;     // of a list that it gives
  bool vague = false;      // nothing is known of what a number decides: not all that is said need be

  bool any() const;
};

// What may follow from the values among the arguments for which `asked` holds: a size of a result of
// rank `rank`, the length of a list. A tensor or list decides all; a number what the operator's
// definition lets it: `end` of a slice one axis, a factor nothing. All where nothing is known.
DecidedSizes SizesDecidedBy(const ir::Node& node, size_t rank,
                            const std::function<bool(const ir::Value&)>& asked);

// Whether the number of tensors in the list that the operator gives follows from a size that is no
// number (`split` into parts of one size).
bool LengthFollowsSize(const ir::Node& node);

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_SIZE_ARGUMENTS_H_
