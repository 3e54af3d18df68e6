#include "exporter/torch/values/flatten.h"

#include <ATen/ATen.h>
#include <ATen/core/function_schema.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "exporter/torch/values/tensors.h"

namespace rules_onnx::torch_values {

void Flatten(const c10::IValue& value, const std::string& path,
             std::vector<NamedTensor>* tensors) {
  if (value.isTensor()) {
    // A copy: later writes to the program's tensor must not show.
    if (value.toTensor().defined()) tensors->push_back({path, value.toTensor().clone()});
  } else if (value.isBool()) {
    tensors->push_back({path, at::scalar_tensor(value.toBool(), at::kBool)});
  } else if (value.isInt()) {
    tensors->push_back({path, at::scalar_tensor(value.toInt(), at::kLong)});
  } else if (value.isDouble()) {
    tensors->push_back({path, at::scalar_tensor(value.toDouble(), at::kDouble)});
  } else if (value.isTuple() || value.isList()) {
    const auto items =
        value.isTuple() ? value.toTupleRef().elements().vec() : value.toListRef().vec();
    const auto type = value.isTuple() ? value.toTupleRef().type()->cast<c10::TupleType>() : nullptr;
    for (size_t i = 0; i < items.size(); ++i) {
      const std::string field =
          type && type->schema() ? type->schema()->arguments()[i].name() : absl::StrCat(i);
      Flatten(items[i], absl::StrCat(path, ".", field), tensors);
    }
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      const std::string key = entry.key().isString() ? entry.key().toStringRef()
                                                     : absl::StrCat(entry.key().toInt());
      Flatten(entry.value(), absl::StrCat(path, ".", key), tensors);
    }
  }
}

std::vector<NamedTensor> SplitQuantized(std::vector<NamedTensor> tensors, Direction direction) {
  std::vector<NamedTensor> parts;
  for (NamedTensor& named : tensors) {
    const at::Tensor tensor = named.tensor;
    if (!tensor.is_quantized() || tensor.qscheme() != c10::kPerTensorAffine) {
      parts.push_back(std::move(named));
      continue;
    }
    const bool is_input = direction == Direction::kInput;
    const at::Tensor integers = tensor.int_repr();
    parts.push_back({named.name, integers});
    parts.push_back({named.name + ".scale",
                     at::scalar_tensor(tensor.q_scale(), is_input ? at::kDouble : at::kFloat)});
    parts.push_back({named.name + ".zero_point",
                     at::scalar_tensor(tensor.q_zero_point(),
                                       is_input ? at::kLong : integers.scalar_type())});
  }
  return parts;
}

inputs::Tensor ToInput(const at::Tensor& tensor) {
  inputs::Tensor result;
  if (tensor.is_quantized() && tensor.qscheme() == c10::kPerTensorAffine) {
    result.quantization = inputs::Quantization{tensor.q_scale(), tensor.q_zero_point()};
  }
  result.dtype = DTypeOf(tensor.scalar_type());
  for (const int64_t size : tensor.sizes()) result.axes.push_back(inputs::Axis{.size = size});
  const at::Tensor plain = Plain(tensor);
  result.bytes.assign(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
  return result;
}

at::Tensor ToTorch(const inputs::Tensor& tensor) {
  ir::DType storage = tensor.dtype;
  if (tensor.dtype == ir::DType::kQInt8) storage = ir::DType::kInt8;
  if (tensor.dtype == ir::DType::kQUInt8) storage = ir::DType::kUInt8;
  if (tensor.dtype == ir::DType::kQInt32) storage = ir::DType::kInt32;
  at::Tensor result = at::empty(tensor.shape(), at::dtype(*ScalarTypeOf(storage)));
  std::memcpy(result.mutable_data_ptr(), tensor.bytes.data(),
              std::min(tensor.bytes.size(), result.nbytes()));
  if (!tensor.quantization) return result;
  return at::_make_per_tensor_quantized_tensor(result, tensor.quantization->scale,
                                               tensor.quantization->zero_point);
}

}  // namespace rules_onnx::torch_values
