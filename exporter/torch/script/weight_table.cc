#include "exporter/torch/script/weight_table.h"

#include <ATen/ATen.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/torch/values/tensors.h"

namespace rules_onnx::script {
namespace {

// Bytes of a tensor that LibTorch holds; made contiguous only while they are read.
class TorchSource : public weights::TensorSource {
 public:
  TorchSource(at::Tensor tensor, ir::DType dtype)
      : TensorSource(dtype, tensor.sizes().vec()), tensor_(std::move(tensor)) {}

  absl::Status Read(const weights::Sink& sink) const override {
    const at::Tensor plain = torch_values::Plain(tensor_);
    return sink(absl::string_view(static_cast<const char*>(plain.const_data_ptr()),
                                  plain.nbytes()));
  }

 private:
  at::Tensor tensor_;
};

ir::DType StoredDType(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kQInt8:
      return ir::DType::kInt8;
    case at::kQUInt8:
      return ir::DType::kUInt8;
    case at::kQInt32:
      return ir::DType::kInt32;
    default:
      return torch_values::DTypeOf(tensor.scalar_type());
  }
}

}  // namespace

WeightTable::WeightTable(const torch::jit::Module& module) { AddModule(module, ""); }

WeightTable::Key WeightTable::KeyOf(const at::Tensor& tensor) {
  if (tensor.layout() != at::kStrided || !tensor.has_storage()) {
    return {tensor.unsafeGetTensorImpl(), 0, 0, {}, {}};
  }
  return {tensor.storage().unsafeGetStorageImpl(), tensor.storage_offset(),
          static_cast<int>(tensor.scalar_type()), tensor.sizes().vec(), tensor.strides().vec()};
}

ir::WeightMemory WeightTable::MemoryOf(const at::Tensor& tensor) {
  const void* const storage = std::get<0>(KeyOf(tensor));
  const int number =
      storages_.try_emplace(storage, static_cast<int>(storages_.size())).first->second;
  if (tensor.layout() == at::kStrided && tensor.has_storage()) {
    return {number, tensor.storage_offset(), tensor.strides().vec()};
  }
  return {number, 0, torch_values::Plain(tensor).strides().vec()};
}

void WeightTable::AddModule(const torch::jit::Module& module, const std::string& prefix) {
  const auto& type = module.type();
  for (size_t i = 0; i < type->numAttributes(); ++i) {
    const c10::IValue value = module._ivalue()->getSlot(i);
    const std::string path = absl::StrCat(prefix, type->getAttributeName(i));
    if (value.isTensor() && value.toTensor().defined()) {
      Add(value.toTensor(), path, type->is_parameter(i));
    }
  }
  for (size_t i = 0; i < type->numAttributes(); ++i) {
    const c10::IValue value = module._ivalue()->getSlot(i);
    if (value.isModule()) {
      AddModule(value.toModule(), absl::StrCat(prefix, type->getAttributeName(i), "."));
    }
  }
}

size_t WeightTable::Add(const at::Tensor& tensor, const std::string& name, bool is_parameter) {
  const auto [at, inserted] = index_.emplace(KeyOf(tensor), entries_.size());
  if (inserted) entries_.push_back({tensor, name, is_parameter});
  return at->second;
}

ir::Value* WeightTable::ValueOf(const at::Tensor& tensor, const std::string& name,
                                ir::Graph* graph) {
  const auto known = index_.find(KeyOf(tensor));
  const size_t index =
      known != index_.end()
          ? known->second
          : Add(tensor, name.empty() ? absl::StrCat("constants.", next_constant_++) : name, false);
  Entry& entry = entries_[index];
  if (entry.value == nullptr) {
    const auto sizes = tensor.sizes();
    entry.value = graph->NewValue(
        ir::Type::Tensor(StoredDType(tensor), ir::Shape(sizes.begin(), sizes.end())), entry.name);
  }
  return entry.value;
}

void WeightTable::Finish(capture::Program* program) {
  for (const Entry& entry : entries_) {
    if (entry.value == nullptr) continue;
    auto source = std::make_unique<TorchSource>(entry.tensor, entry.value->type.dtype);
    program->graph.weights.push_back(ir::Weight{.value = entry.value,
                                                .name = entry.name,
                                                .is_parameter = entry.is_parameter,
                                                .bytes = source->bytes()});
    program->sources.push_back(std::move(source));
    program->weight_memory.push_back(MemoryOf(entry.tensor));
  }
}

}  // namespace rules_onnx::script
