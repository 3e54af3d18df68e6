// Serializes a model whose largest tensors are not in memory. Internal to exporter/onnx.
#ifndef RULES_ONNX_EXPORTER_ONNX_STREAM_H_
#define RULES_ONNX_EXPORTER_ONNX_STREAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "exporter/files/atomic_file.h"
#include "exporter/files/input_file.h"
#include "onnx/onnx_pb.h"

namespace rules_onnx::onnx_format {

// A tensor's data in the weights file; bytes 0: the data stands in its TensorProto.
struct StreamedTensor {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// The bytes that protobuf would write if each streamed tensor had its data as raw_data.
class ModelStream {
 public:
  // `streamed` is beside model.graph().initializer(). Both outlive the stream.
  ModelStream(const onnx::ModelProto& model, const std::vector<StreamedTensor>& streamed);

  uint64_t size() const { return size_; }
  // `weights` may be null where nothing is streamed.
  absl::Status Write(const files::InputFile* weights, files::AtomicFile* file) const;

 private:
  absl::Status WriteTensor(int index, const files::InputFile* weights,
                           files::AtomicFile* file) const;
  uint64_t TensorSize(int index) const;

  const onnx::ModelProto& model_;
  const std::vector<StreamedTensor>& streamed_;
  std::string head_, tail_;  // before and after the initializers
  uint64_t size_ = 0;
};

}  // namespace rules_onnx::onnx_format

#endif  // RULES_ONNX_EXPORTER_ONNX_STREAM_H_
