// A program's values as a flat list of tensors.
#ifndef RULES_ONNX_EXPORTER_TORCH_VALUES_FLATTEN_H_
#define RULES_ONNX_EXPORTER_TORCH_VALUES_FLATTEN_H_

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "exporter/inputs/input.h"

namespace rules_onnx::torch_values {

struct NamedTensor {
  std::string name;  // the path: "out.boxes", "state.0"
  at::Tensor tensor;
};

// Appends the tensors of `value` in order, numbers as 0-d tensors (int64, float64, bool). None,
// strings and objects give nothing.
void Flatten(const c10::IValue& value, const std::string& path, std::vector<NamedTensor>* tensors);

// How a model takes and gives tensors that are quantized per tensor: as integers, scale and zero
// point, which are float64 and int64 as inputs, float32 and of the integers' type as outputs.
enum class Direction { kInput, kOutput };
std::vector<NamedTensor> SplitQuantized(std::vector<NamedTensor> tensors, Direction direction);

// A copy as the inputs library holds tensors.
inputs::Tensor ToInput(const at::Tensor& tensor);
// And back.
at::Tensor ToTorch(const inputs::Tensor& tensor);

}  // namespace rules_onnx::torch_values

#endif  // RULES_ONNX_EXPORTER_TORCH_VALUES_FLATTEN_H_
