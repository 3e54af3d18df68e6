// The option dynamic_axes.
//
//   axes    = object | list                    JSON
//   object  = { input : entry, … }             its path (Leaf), or a position among the tensors
//   list    = [ entry, … ]                     one for each tensor of the flattened inputs, in order
//   entry   = null | { axis : symbol, … } | [ "axis:symbol", … ]
//   axis    = a number, negative from the end; symbol as in spec.h
//
//   {"x": {"0": "N", "-1": "W"}}     {"0": ["0:N"]}     [{"0": "N"}, null]
#ifndef RULES_ONNX_EXPORTER_INPUTS_DYNAMIC_AXES_H_
#define RULES_ONNX_EXPORTER_INPUTS_DYNAMIC_AXES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "exporter/inputs/input.h"

namespace rules_onnx::inputs {

// Names the axes of `inputs`. Entries for `outputs` are accepted and mean nothing, as sizes of
// outputs follow from the program. Errors: JSON of another form, an unknown input, an axis that
// the input does not have, an axis with two names, one name for two sizes.
absl::Status ApplyDynamicAxes(absl::string_view json, const std::vector<std::string>& outputs,
                              Inputs* inputs);

}  // namespace rules_onnx::inputs

#endif  // RULES_ONNX_EXPORTER_INPUTS_DYNAMIC_AXES_H_
