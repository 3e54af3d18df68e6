// Element types and small tensors between LibTorch and the captured graph.
#ifndef RULES_ONNX_EXPORTER_TORCH_VALUES_TENSORS_H_
#define RULES_ONNX_EXPORTER_TORCH_VALUES_TENSORS_H_

#include <ATen/core/Tensor.h>

#include <exception>
#include <optional>
#include <string>

#include "exporter/ir/graph.h"

namespace rules_onnx::torch_values {

// kUndefined for types that the graph does not know (complex32, bits).
ir::DType DTypeOf(at::ScalarType type);
std::optional<at::ScalarType> ScalarTypeOf(ir::DType dtype);

// The contents of a CPU tensor, which is copied.
ir::Arg::Literal LiteralOf(const at::Tensor& tensor);
at::Tensor TensorOf(const ir::TensorLiteral& literal);

// A dense contiguous CPU tensor with the same elements: conjugation, negation bits and strides
// resolved, quantized tensors as their integers.
at::Tensor Plain(const at::Tensor& tensor);

// The telling line of what LibTorch threw: no C++ stack, and the last line of an interpreter's
// traceback.
std::string ExceptionText(const std::exception& exception);

}  // namespace rules_onnx::torch_values

#endif  // RULES_ONNX_EXPORTER_TORCH_VALUES_TENSORS_H_
