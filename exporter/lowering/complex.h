// Complex tensors: inside the program only, as real tensors with a last axis of size 2, the real
// and the imaginary part.
#ifndef RULES_ONNX_EXPORTER_LOWERING_COMPLEX_H_
#define RULES_ONNX_EXPORTER_LOWERING_COMPLEX_H_

#include <vector>

#include "exporter/lowering/expr.h"
#include "exporter/lowering/registry.h"

namespace rules_onnx::lowering {

// Each part without the pair's axis.
struct Complex {
  Expr re, im;
};

// The argument is a complex tensor or number.
bool IsComplexArgument(const ir::Arg& arg);
bool IsComplexArgument(Op& op, absl::string_view name);
// The named argument, real or complex, its parts in the float dtype `part`.
Complex ReadComplex(Op& op, absl::string_view name, DType part);
// The pair as one value.
Val Packed(Complex x);
Complex Unpacked(Builder& b, Val pair);

// The dtype of the parts of the result.
DType PartType(Op& op);
// The type of a part of a complex value; other types as they are.
ir::Type PartOf(const ir::Type& type);
bool IsComplexType(const ir::Type& type);  // of a tensor, a number, or a list of these
Complex Self(Op& op);
void ReturnComplex(Op& op, Complex x);

Complex Times(Complex x, Complex y);
Complex Inverse(Complex x);
Expr Size(Complex x);              // |x|, without overflow of the squares
Expr Angle(Op& op, Complex x);     // in (−π, π]

// The node's operator on which elements are not 0, in place of the elements.
void OnNonZero(Op& op);

// Roots, logarithms, trigonometry, powers (complex_math.cc); sums of products and what else works
// on whole tensors (complex_tensors.cc); what is done to each part alone (complex_parts.cc); products
// one after the other, and matrices (complex_matrices.cc).
const std::vector<Row>& ComplexFunctions();
const std::vector<Row>& ComplexTensorForms();
const std::vector<Row>& ComplexPartForms();
const std::vector<Row>& ComplexMatrixForms();

// Whether the node has complex operands or results, which other families' rows do not know of.
bool HasComplex(const ir::Node& node);
// What lowers such a node; nullptr where a plain row does.
LoweringFunction FindComplexLowering(absl::string_view op);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_COMPLEX_H_
