// Sizes that a tracer may have frozen without a trace: numbers that equal an axis' example size.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_FROZEN_SIZES_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_FROZEN_SIZES_H_

#include <vector>

#include "exporter/capture/program.h"
#include "exporter/diagnostics/diagnostics.h"

namespace rules_onnx::script {

// A warning for each operator that takes a tensor with a dynamic axis and a number in a shape
// position (size, end, length) that equals the axis' example size, and whose result has lost the
// axis: `x[:10]` at N = 10 is meant so, or was `x[:n]`. The program computes the same either way.
std::vector<diagnostics::Diagnostic> FindFrozenSizes(const capture::Program& program);

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_FROZEN_SIZES_H_
