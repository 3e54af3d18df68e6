// TorchScript to a captured program, all of the way.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_CAPTURE_SCRIPT_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_CAPTURE_SCRIPT_H_

#include "absl/status/statusor.h"
#include "exporter/capture/capture.h"
#include "exporter/capture/program.h"
#include "exporter/diagnostics/diagnostics.h"
#include "exporter/inputs/input.h"
#include "exporter/torch/script/program.h"

namespace rules_onnx::script {

// Runs the program on `inputs` at all the sizes that their dynamic axes ask for, and converts it.
// Warnings (dropped outputs, frozen sizes that are allowed) go to `diagnostics`. Errors name the
// input, or the operator and its source line.
absl::StatusOr<capture::Program> CaptureScript(const ScriptProgram& program,
                                               inputs::Inputs inputs,
                                               const capture::CaptureOptions& options,
                                               diagnostics::Diagnostics* diagnostics);

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_CAPTURE_SCRIPT_H_
