// Gathering of a strided block of a file with bounded memory.
#ifndef RULES_ONNX_EXPORTER_WEIGHTS_SLAB_H_
#define RULES_ONNX_EXPORTER_WEIGHTS_SLAB_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "exporter/files/input_file.h"

namespace rules_onnx::weights {

// One axis of a block: its length, and its strides in the file and in the result, in elements.
struct SlabAxis {
  int64_t size = 0;
  int64_t from = 0;
  int64_t to = 0;
};

// Reads blocks of elements of one size out of a file. Where a block's elements lie close together
// its whole span is read at once and sorted in memory; else the block is split along its longest
// stride. The scratch memory stays below four times the largest block (and 64 KiB).
class SlabReader {
 public:
  SlabReader(const files::InputFile& file, size_t element_size)
      : file_(file), element_size_(element_size) {}

  // Fills `out`, which is contiguous and row-major, with the block of the given sizes whose
  // strides in the file are `strides` (≥ 0) and whose first element starts at byte `offset`.
  absl::Status Read(uint64_t offset, const std::vector<int64_t>& sizes,
                    const std::vector<int64_t>& strides, char* out);

 private:
  // `axes` by falling stride in the file, none of stride 0.
  absl::Status Gather(uint64_t offset, const SlabAxis* axes, size_t rank, char* out);
  void Scatter(const char* span, const SlabAxis* axes, size_t rank, char* out) const;

  const files::InputFile& file_;
  size_t element_size_;
  std::string span_;
};

}  // namespace rules_onnx::weights

#endif  // RULES_ONNX_EXPORTER_WEIGHTS_SLAB_H_
