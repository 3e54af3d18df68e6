// The overloads of an operator.
#ifndef RULES_ONNX_EXPORTER_IR_OVERLOADS_H_
#define RULES_ONNX_EXPORTER_IR_OVERLOADS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace rules_onnx::ir {

// Names of the built-in overloads of "aten::add" that write to no argument, sorted; "" is the one
// without a name. Empty for an operator without a built-in schema.
std::vector<std::string> OverloadsOf(absl::string_view base_op);

}  // namespace rules_onnx::ir

#endif  // RULES_ONNX_EXPORTER_IR_OVERLOADS_H_
