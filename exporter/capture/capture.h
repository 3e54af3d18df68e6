// From a front end's Program to x.graph, x.weights and x.debug.
#ifndef RULES_ONNX_EXPORTER_CAPTURE_CAPTURE_H_
#define RULES_ONNX_EXPORTER_CAPTURE_CAPTURE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "exporter/capture/program.h"
#include "exporter/diagnostics/diagnostics.h"

namespace rules_onnx::capture {

enum class Training { kEval, kPreserve, kTrain };

struct CaptureOptions {
  Training training = Training::kEval;
  bool do_constant_folding = true;   // false: no conv+bn folding, no folding of weights
  bool allow_frozen_shapes = false;
  bool state_outputs = false;  // the final state of changed buffers is an output
  std::vector<std::string> input_names;   // renames the first inputs, then weights, in order
};

struct CapturePaths {
  std::string graph, weights, debug;
};

// Runs the passes (functionalize, unroll, fold, cse, dce, weight folding), writes the weights,
// then graph and debug; files appear whole or not at all. Problems of operators go to
// `diagnostics`; a status is what stops the run.
absl::Status FinishCapture(Program program, const CaptureOptions& options,
                           const CapturePaths& paths, diagnostics::Diagnostics* diagnostics);

}  // namespace rules_onnx::capture

#endif  // RULES_ONNX_EXPORTER_CAPTURE_CAPTURE_H_
