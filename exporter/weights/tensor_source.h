// Where a weight's bytes come from, before they stand in the weights file.
#ifndef RULES_ONNX_EXPORTER_WEIGHTS_TENSOR_SOURCE_H_
#define RULES_ONNX_EXPORTER_WEIGHTS_TENSOR_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "exporter/ir/dtype.h"

namespace rules_onnx::weights {

// Receives a tensor's bytes in pieces, in order.
using Sink = std::function<absl::Status(absl::string_view piece)>;

// A tensor that can be read, any number of times: contiguous, row-major, little endian. Reading
// streams: no implementation holds a whole large tensor that is not in memory already.
class TensorSource {
 public:
  TensorSource(ir::DType dtype, std::vector<int64_t> shape)
      : dtype_(dtype), shape_(std::move(shape)) {}
  virtual ~TensorSource() = default;

  ir::DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  // UINT64_MAX for a shape that no memory holds.
  uint64_t bytes() const;
  virtual absl::Status Read(const Sink& sink) const = 0;

 private:
  ir::DType dtype_;
  std::vector<int64_t> shape_;
};

// Bytes in memory; `owner` keeps them alive.
std::unique_ptr<TensorSource> MemorySource(ir::DType dtype, std::vector<int64_t> shape,
                                           absl::string_view bytes,
                                           std::shared_ptr<const void> owner);

// A strided view into a range of a file: element strides and offset as PyTorch has them
// (in elements, relative to `file_offset`). Strides may be 0 (expanded) or permuted.
struct FileView {
  std::string path;
  uint64_t file_offset = 0;
  uint64_t file_bytes = 0;  // length of the range; a view that leaves it is an error when read
  int64_t storage_offset = 0;
  std::vector<int64_t> strides;
};
std::unique_ptr<TensorSource> FileSource(ir::DType dtype, std::vector<int64_t> shape,
                                         FileView view);

// Whole content; for small tensors.
absl::Status ReadAll(const TensorSource& source, std::string* bytes);

}  // namespace rules_onnx::weights

#endif  // RULES_ONNX_EXPORTER_WEIGHTS_TENSOR_SOURCE_H_
