#include "exporter/onnx/dtypes.h"

#include "onnx/onnx_pb.h"

namespace rules_onnx::onnx_format {

using ir::DType;
using onnx::TensorProto;

int32_t ToOnnxType(DType dtype) {
  switch (dtype) {
    case DType::kUndefined: return TensorProto::UNDEFINED;
    case DType::kFloat32: return TensorProto::FLOAT;
    case DType::kFloat64: return TensorProto::DOUBLE;
    case DType::kFloat16: return TensorProto::FLOAT16;
    case DType::kBFloat16: return TensorProto::BFLOAT16;
    case DType::kUInt8: return TensorProto::UINT8;
    case DType::kInt8: return TensorProto::INT8;
    case DType::kUInt16: return TensorProto::UINT16;
    case DType::kInt16: return TensorProto::INT16;
    case DType::kUInt32: return TensorProto::UINT32;
    case DType::kInt32: return TensorProto::INT32;
    case DType::kUInt64: return TensorProto::UINT64;
    case DType::kInt64: return TensorProto::INT64;
    case DType::kBool: return TensorProto::BOOL;
    case DType::kComplex64: return TensorProto::COMPLEX64;
    case DType::kComplex128: return TensorProto::COMPLEX128;
    case DType::kFloat8E4M3FN: return TensorProto::FLOAT8E4M3FN;
    case DType::kFloat8E4M3FNUZ: return TensorProto::FLOAT8E4M3FNUZ;
    case DType::kFloat8E5M2: return TensorProto::FLOAT8E5M2;
    case DType::kFloat8E5M2FNUZ: return TensorProto::FLOAT8E5M2FNUZ;
    case DType::kString: return TensorProto::STRING;
    case DType::kQInt8: return TensorProto::INT8;
    case DType::kQUInt8: return TensorProto::UINT8;
    case DType::kQInt32: return TensorProto::INT32;
  }
  return TensorProto::UNDEFINED;
}

DType FromOnnxType(int32_t type) {
  switch (type) {
    case TensorProto::FLOAT: return DType::kFloat32;
    case TensorProto::DOUBLE: return DType::kFloat64;
    case TensorProto::FLOAT16: return DType::kFloat16;
    case TensorProto::BFLOAT16: return DType::kBFloat16;
    case TensorProto::UINT8: return DType::kUInt8;
    case TensorProto::INT8: return DType::kInt8;
    case TensorProto::UINT16: return DType::kUInt16;
    case TensorProto::INT16: return DType::kInt16;
    case TensorProto::UINT32: return DType::kUInt32;
    case TensorProto::INT32: return DType::kInt32;
    case TensorProto::UINT64: return DType::kUInt64;
    case TensorProto::INT64: return DType::kInt64;
    case TensorProto::BOOL: return DType::kBool;
    case TensorProto::COMPLEX64: return DType::kComplex64;
    case TensorProto::COMPLEX128: return DType::kComplex128;
    case TensorProto::FLOAT8E4M3FN: return DType::kFloat8E4M3FN;
    case TensorProto::FLOAT8E4M3FNUZ: return DType::kFloat8E4M3FNUZ;
    case TensorProto::FLOAT8E5M2: return DType::kFloat8E5M2;
    case TensorProto::FLOAT8E5M2FNUZ: return DType::kFloat8E5M2FNUZ;
    case TensorProto::STRING: return DType::kString;
    default: return DType::kUndefined;
  }
}

}  // namespace rules_onnx::onnx_format
