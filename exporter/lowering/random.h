// Random numbers, for other families to build on.
#ifndef RULES_ONNX_EXPORTER_LOWERING_RANDOM_H_
#define RULES_ONNX_EXPORTER_LOWERING_RANDOM_H_

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// The note of operators that draw only where a model is trained.
inline constexpr char kRandomInTraining[] =
    "in training mode: random; verify compares type and shape";

// The note of operators that draw.
inline constexpr char kRandomNote[] =
    "random: other numbers than PyTorch's, unseeded; verify compares type and shape";

// Drawn evenly from [low, high), of that shape (1-D int64) and float dtype.
Val Uniform(Builder& b, Val shape, DType dtype, double low = 0, double high = 1);
// Mean 0, deviation 1.
Val Normal(Builder& b, Val shape, DType dtype);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_RANDOM_H_
