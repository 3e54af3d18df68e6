// TorchScript's arithmetic on Python numbers, bools and strings, evaluated on constants.
#ifndef RULES_ONNX_EXPORTER_PASSES_SCALAR_OPS_H_
#define RULES_ONNX_EXPORTER_PASSES_SCALAR_OPS_H_

#include <optional>

#include "exporter/ir/graph.h"

namespace rules_onnx::passes {

// The output of a node such as `aten::add.int`, `aten::floordiv.int`, `aten::eq.int`,
// `aten::__not__`, `aten::Int.float`, all of whose arguments are constants; nullopt where the
// operator is no such one, an argument is no constant, or the result is undefined (division by
// zero, overflow) or would need a function whose last bit depends on the machine (pow of floats,
// exp, …).
std::optional<ir::Arg> EvaluateScalarOp(const ir::Node& node);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_SCALAR_OPS_H_
