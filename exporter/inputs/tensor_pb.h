// ONNX's TensorProto files: the input_0.pb, input_1.pb, … of a test_data_set.
#ifndef RULES_ONNX_EXPORTER_INPUTS_TENSOR_PB_H_
#define RULES_ONNX_EXPORTER_INPUTS_TENSOR_PB_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporter/inputs/input.h"

namespace rules_onnx::inputs {

// One positional argument, named as the tensor is.
absl::StatusOr<Inputs> ReadTensorPb(const std::string& path);

// Writes one tensor under a name; quantized ones as their integers. An error for types that a
// TensorProto of these files cannot hold.
absl::Status WriteTensorPb(const std::string& path, const std::string& name, const Tensor& tensor);

}  // namespace rules_onnx::inputs

#endif  // RULES_ONNX_EXPORTER_INPUTS_TENSOR_PB_H_
