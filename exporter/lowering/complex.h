// Complex tensors: inside the program only, as real tensors with a last axis of size 2, the real
// and the imaginary part.
#ifndef RULES_ONNX_EXPORTER_LOWERING_COMPLEX_H_
#define RULES_ONNX_EXPORTER_LOWERING_COMPLEX_H_

#include "exporter/lowering/expr.h"

namespace rules_onnx::lowering {

// Each part without the pair's axis.
struct Complex {
  Expr re, im;
};

// The argument is a complex tensor.
bool IsComplexArgument(Op& op, absl::string_view name);
// The named argument, real or complex, its parts in the float dtype `part`.
Complex ReadComplex(Op& op, absl::string_view name, DType part);
// The pair as one value.
Val Packed(Complex x);
Complex Unpacked(Builder& b, Val pair);

// Whether the node has complex operands or results, which other families' rows do not know of.
bool HasComplex(const ir::Node& node);
// What lowers such a node; nullptr where a plain row does.
LoweringFunction FindComplexLowering(absl::string_view op);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_COMPLEX_H_
