#include "examples/cpp/tensor_file.h"

#include <cstring>
#include <fstream>
#include <stdexcept>

#include "onnx/onnx_pb.h"

namespace rules_onnx::examples {

FloatTensor ReadFloatTensor(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  onnx::TensorProto proto;
  if (!file || !proto.ParseFromIstream(&file) ||
      proto.data_type() != onnx::TensorProto::FLOAT || !proto.has_raw_data()) {
    throw std::runtime_error(path + " is no float32 tensor");
  }
  FloatTensor tensor;
  tensor.shape.assign(proto.dims().begin(), proto.dims().end());
  tensor.values.resize(proto.raw_data().size() / sizeof(float));
  std::memcpy(tensor.values.data(), proto.raw_data().data(), tensor.values.size() * sizeof(float));
  return tensor;
}

}  // namespace rules_onnx::examples
