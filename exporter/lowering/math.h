// Elementary functions that ONNX lacks, for other families to build on. Floats.
#ifndef RULES_ONNX_EXPORTER_LOWERING_MATH_H_
#define RULES_ONNX_EXPORTER_LOWERING_MATH_H_

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// log(1 + x) and exp(x) − 1, without losing small x.
Val Log1p(Builder& b, Val x);
Val Expm1(Builder& b, Val x);
// start + weight · (end − start), from the nearer end, as torch.lerp computes it.
Val Lerp(Builder& b, Val start, Val end, Val weight);
// −1, 0 or 1 in x's dtype; 0 for NaN, as torch.sign.
Val SignOf(Builder& b, Val x);
// Rounds to the nearest whole number, halves to the even one.
Val Rounded(Builder& b, Val x);
// Rounds towards zero.
Val Truncated(Builder& b, Val x);
// Whether the sign is negative, that of −0 included; false for NaN.
Val IsNegative(Builder& b, Val x);
// ±∞.
Val IsInfinity(Builder& b, Val x);
// Neither infinite nor NaN: less itself it is 0.
Val IsFiniteNumber(Builder& b, Val x);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_MATH_H_
