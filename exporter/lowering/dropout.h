// Dropout in training, for other families to build on.
#ifndef RULES_ONNX_EXPORTER_LOWERING_DROPOUT_H_
#define RULES_ONNX_EXPORTER_LOWERING_DROPOUT_H_

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// x with elements dropped with probability p in [0, 1] and the rest scaled.
Val Dropped(Builder& b, Val x, double p);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_DROPOUT_H_
