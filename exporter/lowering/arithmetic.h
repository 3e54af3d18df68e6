// Arithmetic with PyTorch's meaning, for other families to build on. Operands of one dtype.
#ifndef RULES_ONNX_EXPORTER_LOWERING_ARITHMETIC_H_
#define RULES_ONNX_EXPORTER_LOWERING_ARITHMETIC_H_

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// a / b rounded towards minus infinity. Integers: exact. Floats: as torch.floor_divide, from the
// remainder, so that a quotient that rounds up to a whole number is not taken for it.
Val FloorDivide(Builder& b, Val x, Val y);
// x - y * floor(x / y): the sign of y, as torch.remainder.
Val Remainder(Builder& b, Val x, Val y);
// Shifts of integers. Amounts that are negative or as large as the width leave no bits: 0, or the
// sign of x to the right.
Val ShiftLeft(Builder& b, Val x, Val amount);
Val ShiftRight(Builder& b, Val x, Val amount);

// ONNX's BitwiseAnd, BitwiseOr, BitwiseXor of integers, taken apart into bits before opset 18; And,
// Or, Xor of booleans.
Val Bitwise(Builder& b, absl::string_view onnx_op, Val x, Val y);

// Whether a float attribute of an ONNX operator, which is float32, holds the number as exactly as
// an operator on that dtype wants it.
bool HoldsExactly(DType dtype, double number);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_ARITHMETIC_H_
