// Reads tensors of ONNX's test data (input_0.pb, output_0.pb).
#ifndef RULES_ONNX_EXAMPLES_CPP_TENSOR_FILE_H_
#define RULES_ONNX_EXAMPLES_CPP_TENSOR_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace rules_onnx::examples {

struct FloatTensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

// Throws std::runtime_error if the file is no float32 TensorProto with raw data.
FloatTensor ReadFloatTensor(const std::string& path);

}  // namespace rules_onnx::examples

#endif  // RULES_ONNX_EXAMPLES_CPP_TENSOR_FILE_H_
