#include "exporter/weights/tensor_source.h"

#include <algorithm>
#include <utility>

namespace rules_onnx::weights {
namespace {

constexpr size_t kPiece = size_t{1} << 20;

class Memory : public TensorSource {
 public:
  Memory(ir::DType dtype, std::vector<int64_t> shape, absl::string_view bytes,
         std::shared_ptr<const void> owner)
      : TensorSource(dtype, std::move(shape)), bytes_(bytes), owner_(std::move(owner)) {}

  absl::Status Read(const Sink& sink) const override {
    for (size_t begin = 0; begin < bytes_.size(); begin += kPiece) {
      const absl::Status status = sink(bytes_.substr(begin, kPiece));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  absl::string_view bytes_;
  std::shared_ptr<const void> owner_;
};

}  // namespace

uint64_t TensorSource::bytes() const {
  uint64_t bytes = ir::ElementSize(dtype_);
  for (const int64_t size : shape_) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) return UINT64_MAX;
  }
  return bytes;
}

std::unique_ptr<TensorSource> MemorySource(ir::DType dtype, std::vector<int64_t> shape,
                                           absl::string_view bytes,
                                           std::shared_ptr<const void> owner) {
  return std::make_unique<Memory>(dtype, std::move(shape), bytes, std::move(owner));
}

absl::Status ReadAll(const TensorSource& source, std::string* bytes) {
  bytes->clear();
  bytes->reserve(std::min<uint64_t>(source.bytes(), kPiece));
  return source.Read([bytes](absl::string_view piece) {
    bytes->append(piece.data(), piece.size());
    return absl::OkStatus();
  });
}

}  // namespace rules_onnx::weights
