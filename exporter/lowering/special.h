// Special functions in float64, for other families to build on. Their results are good to some
// units in float64's 15th digit unless said otherwise; callers round them to the dtype at hand.
#ifndef RULES_ONNX_EXPORTER_LOWERING_SPECIAL_H_
#define RULES_ONNX_EXPORTER_LOWERING_SPECIAL_H_

#include "exporter/lowering/expr.h"

namespace rules_onnx::lowering {

// The named argument in float64.
Expr Double(Op& op, absl::string_view name);
// Returns a float64 result in the dtype that PyTorch gives.
void ReturnRounded(Op& op, Expr result);

// log |Γ(x)|
Expr LogGamma(Expr x);
// exp(x²) · erfc(x) for x ≥ 0
Expr ScaledErfc(Expr x);
Expr Erfc(Expr x);
// sin(πx), exactly 0 for whole x
Expr SinPi(Expr x);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_SPECIAL_H_
