// Element types of tensors, with PyTorch's promotion rules.
#ifndef RULES_ONNX_EXPORTER_IR_DTYPE_H_
#define RULES_ONNX_EXPORTER_IR_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace rules_onnx::ir {

enum class DType : uint8_t {
  kUndefined = 0,
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kUInt8,
  kInt8,
  kUInt16,
  kInt16,
  kUInt32,
  kInt32,
  kUInt64,
  kInt64,
  kBool,
  kComplex64,
  kComplex128,
  kFloat8E4M3FN,
  kFloat8E4M3FNUZ,
  kFloat8E5M2,
  kFloat8E5M2FNUZ,
  kString,
  kQInt8,   // PyTorch's quantized types: int8/uint8/int32 storage plus scale and
  kQUInt8,  // zero point, which lowering carries beside the value.
  kQInt32,
};
inline constexpr int kNumDTypes = 24;

// "float32", "bfloat16", "float8_e4m3fn", "bool", …: numpy's and torch's spelling.
absl::string_view DTypeName(DType dtype);
std::optional<DType> ParseDType(absl::string_view name);

// Bytes of one element; 0 for kUndefined and kString.
size_t ElementSize(DType dtype);

bool IsFloat(DType dtype);     // float16 … float64, bfloat16, float8
bool IsComplex(DType dtype);
bool IsInteger(DType dtype);   // without bool
bool IsUnsigned(DType dtype);
bool IsQuantized(DType dtype);

// The dtype of one complex dtype's real part, and back.
DType RealOf(DType complex);
DType ComplexOf(DType real);

// The code that PyTorch's ScalarType has for the dtype (torch/headeronly/core/ScalarType.h), as
// TorchScript writes dtypes, and back; nullopt where the other side has no such type.
std::optional<int> ScalarTypeCode(DType dtype);
std::optional<DType> DTypeOfScalarType(int64_t code);

// torch.promote_types: the smallest type that both convert to. kUndefined is neutral.
DType PromoteTypes(DType a, DType b);

}  // namespace rules_onnx::ir

#endif  // RULES_ONNX_EXPORTER_IR_DTYPE_H_
