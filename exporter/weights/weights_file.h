// The weights file: every tensor once, in a fixed order, aligned.
//
//   file   = { padding tensor }
//   tensor = contiguous row-major little-endian elements, at an offset that is a multiple of 4096
//            if it has at least 64 KiB, of 64 otherwise; padding is zeros
//
// There is no header: the places stand in x.graph (ir::Weight).
#ifndef RULES_ONNX_EXPORTER_WEIGHTS_WEIGHTS_FILE_H_
#define RULES_ONNX_EXPORTER_WEIGHTS_WEIGHTS_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exporter/weights/tensor_source.h"

namespace rules_onnx::weights {

struct Place {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Writes all sources, in order, to `path` (whole or not at all: temporary file and rename). A
// tensor whose bytes equal an earlier one's is not written again and gets its place. Empty
// tensors take no space. Errors name the path.
absl::StatusOr<std::vector<Place>> WriteWeights(
    const std::vector<const TensorSource*>& sources, const std::string& path);

}  // namespace rules_onnx::weights

#endif  // RULES_ONNX_EXPORTER_WEIGHTS_WEIGHTS_FILE_H_
