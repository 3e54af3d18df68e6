// Operators that work element by element.
#ifndef RULES_ONNX_EXPORTER_IR_ELEMENTWISE_H_
#define RULES_ONNX_EXPORTER_IR_ELEMENTWISE_H_

#include "absl/strings/string_view.h"

namespace rules_onnx::ir {

// Whether every element of the result of `base_op`, as "aten::add", is computed from the elements
// at its place of the tensors among the arguments, which are broadcast against each other. So the
// result is as large as they are, and an axis more in each of them is one more in the result. True
// of the names of operators that write to no argument.
bool IsElementwise(absl::string_view base_op);

}  // namespace rules_onnx::ir

#endif  // RULES_ONNX_EXPORTER_IR_ELEMENTWISE_H_
