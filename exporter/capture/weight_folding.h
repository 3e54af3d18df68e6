// Weights that are changed once, at the end of capture.
#ifndef RULES_ONNX_EXPORTER_CAPTURE_WEIGHT_FOLDING_H_
#define RULES_ONNX_EXPORTER_CAPTURE_WEIGHT_FOLDING_H_

#include "absl/status/status.h"
#include "exporter/capture/program.h"

namespace rules_onnx::capture {

// A BatchNorm in eval form that alone reads a convolution's (or transposed convolution's) result
// goes into the convolution's weight and bias: per output channel, with scale = weight /
// sqrt(running_var + eps) in float64,
//   weight' = weight * scale        bias' = (bias - running_mean) * scale + bn.bias
// rounded once to the weight's dtype. Only exact IEEE operations in a fixed order, so the bytes
// are the same on every machine. Float32 and float64; weights that anything else reads stay
// untouched, and so does their BatchNorm, so that the file never grows. The new weights have the
// old ones' names with ".folded" and stand in their place; the old ones are left without use.
// On a functional graph without dead nodes.
absl::Status FoldBatchNorm(Program* program);

// Operators that only move a weight's elements (t, transpose, permute, reshape, view, unsqueeze,
// squeeze, slice, select, narrow, flatten, with constant arguments) and that alone read the
// weight become a weight of their own, named as the old one with ".folded". On a functional
// graph without dead nodes.
void FoldMovedWeights(Program* program);

}  // namespace rules_onnx::capture

#endif  // RULES_ONNX_EXPORTER_CAPTURE_WEIGHT_FOLDING_H_
