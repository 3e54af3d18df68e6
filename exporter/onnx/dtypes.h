// Element types between the graph's form and ONNX's.
#ifndef RULES_ONNX_EXPORTER_ONNX_DTYPES_H_
#define RULES_ONNX_EXPORTER_ONNX_DTYPES_H_

#include <cstdint>

#include "exporter/ir/dtype.h"

namespace rules_onnx::onnx_format {

// TensorProto::DataType of a dtype; quantized types are their storage types. 0 (UNDEFINED) for
// kUndefined.
int32_t ToOnnxType(ir::DType dtype);
// kUndefined for element types that the graph does not have (the 4-bit ones, …).
ir::DType FromOnnxType(int32_t type);

}  // namespace rules_onnx::onnx_format

#endif  // RULES_ONNX_EXPORTER_ONNX_DTYPES_H_
