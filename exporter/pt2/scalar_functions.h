// Python's arithmetic on sizes and other numbers (`_operator.mul`, `torch.sym_max`, …) as the
// operators on ints, floats and bools that TorchScript has (`aten::mul.int`, `prim::max.int`).
#ifndef RULES_ONNX_EXPORTER_PT2_SCALAR_FUNCTIONS_H_
#define RULES_ONNX_EXPORTER_PT2_SCALAR_FUNCTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "exporter/pt2/emitter.h"

namespace rules_onnx::pt2 {

bool IsScalarFunction(absl::string_view target);

// The result of calling `target`, whose type the program says to be `type`; its value is called
// `name`. Ints and bools given beside floats become floats (`aten::Float.int`). Fails where the
// function does not take the number or types of arguments.
absl::StatusOr<ir::Arg> EmitScalarFunction(absl::string_view target,
                                           const std::vector<ir::Arg>& args, const ir::Type& type,
                                           const std::string& name, Emitter* emitter);

}  // namespace rules_onnx::pt2

#endif  // RULES_ONNX_EXPORTER_PT2_SCALAR_FUNCTIONS_H_
