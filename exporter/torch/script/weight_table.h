// The tensors of a module under their state-dict names, each once.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_WEIGHT_TABLE_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_WEIGHT_TABLE_H_

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "exporter/capture/program.h"

namespace rules_onnx::script {

class WeightTable {
 public:
  // Lists the module's parameters, buffers and tensor attributes in state-dict order. A tensor
  // that several names share goes by the first.
  explicit WeightTable(const torch::jit::Module& module);

  // The value that stands for `tensor` in `graph`. One that is no tensor of the module gets the
  // name `name`, or `constants.N` if that is empty.
  ir::Value* ValueOf(const at::Tensor& tensor, const std::string& name, ir::Graph* graph);

  // Adds the tensors that were asked for to the program: the module's in state-dict order, then
  // others in the order they were met.
  void Finish(capture::Program* program);

 private:
  // Storage, offset, dtype, sizes, strides: what makes two tensors one.
  using Key = std::tuple<const void*, int64_t, int, std::vector<int64_t>, std::vector<int64_t>>;
  struct Entry {
    at::Tensor tensor;
    std::string name;
    bool is_parameter = false;
    ir::Value* value = nullptr;
  };

  // Numbers storages in the order of asking.
  ir::WeightMemory MemoryOf(const at::Tensor& tensor);
  static Key KeyOf(const at::Tensor& tensor);
  void AddModule(const torch::jit::Module& module, const std::string& prefix);
  size_t Add(const at::Tensor& tensor, const std::string& name, bool is_parameter);

  std::map<Key, size_t> index_;
  std::vector<Entry> entries_;
  std::map<const void*, int> storages_;
  int next_constant_ = 0;
};

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_WEIGHT_TABLE_H_
