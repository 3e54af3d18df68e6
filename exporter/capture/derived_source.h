// Tensors computed from weights while they are read.
#ifndef RULES_ONNX_EXPORTER_CAPTURE_DERIVED_SOURCE_H_
#define RULES_ONNX_EXPORTER_CAPTURE_DERIVED_SOURCE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "exporter/weights/tensor_source.h"

namespace rules_onnx::capture {

// Which output channel an element of a convolution's weight belongs to.
struct ChannelMap {
  int64_t inner = 1;           // elements of axes 2 and up
  bool transposed = false;     // axis 0 is the input channel, axis 1 the output channel of a group
  int64_t columns = 1;         // transposed: length of axis 1
  int64_t rows_of_group = 1;   // transposed: length of axis 0 / groups

  int64_t ChannelOf(int64_t element) const;
  // Elements in a row that belong to one channel: a run begins at each multiple of it.
  int64_t Run() const { return transposed ? inner : inner * columns; }
};

// Element i of `base` times scale[channel of i], computed in float64 and rounded to the base's
// dtype, float32 or float64. Streams.
std::unique_ptr<weights::TensorSource> ScaledSource(
    std::shared_ptr<const weights::TensorSource> base, ChannelMap channels,
    std::vector<double> scale);

// The elements of `base` at offset + Σ index[axis] · strides[axis], in elements of the base, which
// is contiguous. Streams where the base can; else it is held in memory while it is read.
std::unique_ptr<weights::TensorSource> StridedSource(
    std::shared_ptr<const weights::TensorSource> base, std::vector<int64_t> shape,
    std::vector<int64_t> strides, int64_t offset);

// All elements of a float32 or float64 tensor.
absl::Status ReadFloats(const weights::TensorSource& source, std::vector<double>* values);

// `values` rounded to `dtype`, float32 or float64, as a tensor of rank 1.
std::unique_ptr<weights::TensorSource> FloatsSource(ir::DType dtype,
                                                    const std::vector<double>& values);

}  // namespace rules_onnx::capture

#endif  // RULES_ONNX_EXPORTER_CAPTURE_DERIVED_SOURCE_H_
