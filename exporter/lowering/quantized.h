// Quantized tensors: integers q that stand for scale · (q − zero_point).
//
// An Item of one carries scale and zero point beside the integers. ONNX has no such type, so they
// become QuantizeLinear and DequantizeLinear where values change from one form to the other, which
// is what runtimes look for. Per tensor: both are 0-d; per channel: 1-D along an axis.
#ifndef RULES_ONNX_EXPORTER_LOWERING_QUANTIZED_H_
#define RULES_ONNX_EXPORTER_LOWERING_QUANTIZED_H_

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// How floats become integers of `dtype`. Zero points have that dtype; with a range, integers are
// cut to it.
struct Quantization {
  Val scale, zero_point;
  DType dtype = DType::kUndefined;  // int8, uint8, int16, uint16, int32
  int axis = -1;                    // of per-channel quantization
  std::optional<int64_t> min, max;
};

// Per tensor, from constants.
Quantization PerTensor(Builder& b, double scale, int64_t zero_point, DType dtype);
// The integers' dtype of a quantized one: int8 of qint8; others stay.
DType StorageType(DType dtype);
// The range of an integer dtype of 8, 16 or 32 bits.
std::pair<int64_t, int64_t> RangeOf(DType dtype);

// The integers of float32 x, rounded half to even and cut to the range.
Val Quantize(Builder& b, Val x, const Quantization& q);
// Float32 of integers.
Val Dequantize(Builder& b, Val x, const Quantization& q);
// Dequantize(Quantize(x)).
Val FakeQuantize(Builder& b, Val x, const Quantization& q);

// A quantized item of float32 x, and back.
Item QuantizedItem(Builder& b, Val x, const Quantization& q);
Quantization QuantizationOf(const Item& item);
Val Dequantized(Op& op, const Item& item);  // fails where the item is not quantized

// Lowers a node with quantized operands the way that PyTorch's kernels treat them: operators that
// move elements work on the integers, others on floats that are quantized again. False where there
// are no quantized operands, or the operator deals with them itself.
bool LowerOnQuantized(Op& op, LoweringFunction function);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_QUANTIZED_H_
