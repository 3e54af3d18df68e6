// Elementary functions that ONNX lacks, for other families to build on. Floats.
#ifndef RULES_ONNX_EXPORTER_LOWERING_MATH_H_
#define RULES_ONNX_EXPORTER_LOWERING_MATH_H_

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// log(1 + x) and exp(x) − 1, without losing small x.
Val Log1p(Builder& b, Val x);
Val Expm1(Builder& b, Val x);
// Rounds towards zero.
Val Truncated(Builder& b, Val x);
// Whether the sign is negative, that of −0 included; false for NaN.
Val IsNegative(Builder& b, Val x);
// ±∞.
Val IsInfinity(Builder& b, Val x);
// Neither infinite nor NaN.
Val IsFiniteNumber(Builder& b, Val x);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_MATH_H_
