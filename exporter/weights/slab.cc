#include "exporter/weights/slab.h"

#include <algorithm>
#include <cstring>

namespace rules_onnx::weights {
namespace {

constexpr uint64_t kSmallSpan = 64 << 10;
// A span is read at once if at least one element in so many is wanted.
constexpr uint64_t kLeastDensity = 4;

template <size_t kSize>
void CopyStrided(const char* from, const SlabAxis& axis, char* out) {
  for (int64_t i = 0; i < axis.size; ++i) {
    std::memcpy(out + i * axis.to * kSize, from + i * axis.from * kSize, kSize);
  }
}

void CopyStrided(const char* from, const SlabAxis& axis, size_t element_size, char* out) {
  switch (element_size) {
    case 1:
      return CopyStrided<1>(from, axis, out);
    case 2:
      return CopyStrided<2>(from, axis, out);
    case 4:
      return CopyStrided<4>(from, axis, out);
    case 8:
      return CopyStrided<8>(from, axis, out);
    default:
      return CopyStrided<16>(from, axis, out);
  }
}

// Along an axis of stride 0 all entries equal the first.
void Repeat(const std::vector<int64_t>& sizes, size_t axis, size_t element_size, char* out) {
  uint64_t outer = 1, inner = element_size;
  for (size_t i = 0; i < axis; ++i) outer *= sizes[i];
  for (size_t i = axis + 1; i < sizes.size(); ++i) inner *= sizes[i];
  for (uint64_t block = 0; block < outer; ++block, out += inner * sizes[axis]) {
    for (int64_t i = 1; i < sizes[axis]; ++i) std::memcpy(out + i * inner, out, inner);
  }
}

}  // namespace

absl::Status SlabReader::Read(uint64_t offset, const std::vector<int64_t>& sizes,
                              const std::vector<int64_t>& strides, char* out) {
  std::vector<SlabAxis> axes;
  int64_t to = 1;
  for (size_t i = sizes.size(); i-- > 0; to *= sizes[i]) {
    if (sizes[i] > 1 && strides[i] != 0) axes.push_back({sizes[i], strides[i], to});
  }
  std::sort(axes.begin(), axes.end(), [](const SlabAxis& a, const SlabAxis& b) {
    return a.from != b.from ? a.from > b.from : a.to > b.to;
  });
  const absl::Status status = Gather(offset, axes.data(), axes.size(), out);
  if (!status.ok()) return status;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (strides[i] == 0) Repeat(sizes, i, element_size_, out);
  }
  return absl::OkStatus();
}

absl::Status SlabReader::Gather(uint64_t offset, const SlabAxis* axes, size_t rank, char* out) {
  uint64_t span = 1, elements = 1;
  for (size_t i = 0; i < rank; ++i) {
    span += (axes[i].size - 1) * axes[i].from;
    elements *= axes[i].size;
  }
  if (span * element_size_ <= kSmallSpan || span <= kLeastDensity * elements) {
    span_.resize(std::max(span_.size(), span * element_size_));
    const absl::Status status = file_.Read(offset, span * element_size_, span_.data());
    if (status.ok()) Scatter(span_.data(), axes, rank, out);
    return status;
  }
  for (int64_t i = 0; i < axes[0].size; ++i) {
    const absl::Status status = Gather(offset + i * axes[0].from * element_size_, axes + 1,
                                       rank - 1, out + i * axes[0].to * element_size_);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void SlabReader::Scatter(const char* span, const SlabAxis* axes, size_t rank, char* out) const {
  if (rank == 0) {
    std::memcpy(out, span, element_size_);
  } else if (rank == 1) {
    CopyStrided(span, axes[0], element_size_, out);
  } else {
    for (int64_t i = 0; i < axes[0].size; ++i) {
      Scatter(span + i * axes[0].from * element_size_, axes + 1, rank - 1,
              out + i * axes[0].to * element_size_);
    }
  }
}

}  // namespace rules_onnx::weights
