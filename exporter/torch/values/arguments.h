// Example inputs as a program's arguments.
#ifndef RULES_ONNX_EXPORTER_TORCH_VALUES_ARGUMENTS_H_
#define RULES_ONNX_EXPORTER_TORCH_VALUES_ARGUMENTS_H_

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exporter/inputs/input.h"

namespace rules_onnx::torch_values {

// One parameter of the program and what it gets.
struct BoundArgument {
  std::string name;        // the input's own name, else the parameter's
  bool is_default = false;  // not given: `value` is None and the parameter's default holds
  inputs::Value value;
};

// The parameters of a module's method, without the module itself.
std::vector<c10::Argument> Parameters(const c10::FunctionSchema& schema);

// One entry for each of Parameters(schema), in order. Positional inputs come first,
// inputs by name after them; torch.onnx's rule for a last dict holds unless that dict's parameter
// is a dict. Errors: too many inputs, an unknown or doubled name, a parameter without value.
absl::StatusOr<std::vector<BoundArgument>> BindArguments(const c10::FunctionSchema& schema,
                                                         inputs::Inputs inputs);

// The values that the program is called with. On kMeta tensors have sizes alone: their bytes are not
// read, and none may be quantized. Errors name the input and the type it should have.
absl::StatusOr<std::vector<c10::IValue>> ToIValues(const c10::FunctionSchema& schema,
                                                   const std::vector<BoundArgument>& arguments,
                                                   c10::DeviceType device = c10::kCPU);

}  // namespace rules_onnx::torch_values

#endif  // RULES_ONNX_EXPORTER_TORCH_VALUES_ARGUMENTS_H_
