#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exporter/files/input_file.h"
#include "exporter/weights/slab.h"
#include "exporter/weights/tensor_source.h"

namespace rules_onnx::weights {
namespace {

constexpr uint64_t kPiece = uint64_t{1} << 20;
// Blocks of a strided view: larger ones read a transposed matrix with fewer system calls.
constexpr uint64_t kSlab = uint64_t{4} << 20;

using Wide = __int128;  // no overflow from numbers that a damaged file may hold

bool IsContiguous(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0; expected *= shape[i]) {
    if (shape[i] != 1 && strides[i] != expected) return false;
  }
  return true;
}

class File : public TensorSource {
 public:
  File(ir::DType dtype, std::vector<int64_t> shape, FileView view)
      : TensorSource(dtype, std::move(shape)), view_(std::move(view)) {}

  absl::Status Read(const Sink& sink) const override {
    const absl::Status status = Check();
    if (!status.ok()) return status;
    if (bytes() == 0) return absl::OkStatus();
    const absl::StatusOr<files::InputFile> file = files::InputFile::Open(view_.path);
    if (!file.ok()) return file.status();
    const uint64_t begin = view_.file_offset + view_.storage_offset * ir::ElementSize(dtype());
    if (IsContiguous(shape(), view_.strides)) return ReadContiguous(*file, begin, sink);
    return ReadStrided(*file, begin, sink);
  }

 private:
  // Every element lies in the range, and its offset in the file fits a uint64_t.
  absl::Status Check() const {
    const size_t element_size = ir::ElementSize(dtype());
    bool sane =
        element_size > 0 && shape().size() == view_.strides.size() && view_.storage_offset >= 0;
    bool empty = false;
    Wide last = view_.storage_offset, elements = 1;
    for (size_t i = 0; sane && i < shape().size(); ++i) {
      const int64_t size = shape()[i], stride = view_.strides[i];
      sane = size >= 0 && stride >= 0 && last >= 0 && elements >= 0;
      empty |= size == 0;
      last += Wide{size - 1} * stride;
      elements *= std::max<int64_t>(size, 1);
      sane &= elements <= INT64_MAX / 16 && last <= INT64_MAX / 16;
    }
    sane &= empty || (last + 1) * element_size <= view_.file_bytes;
    if (sane) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(
        "cannot read ", view_.path, ": a tensor of shape [", absl::StrJoin(shape(), ", "),
        "] with strides [", absl::StrJoin(view_.strides, ", "), "] from element ",
        view_.storage_offset, " on does not fit in its ", view_.file_bytes, " bytes"));
  }

  absl::Status ReadContiguous(const files::InputFile& file, uint64_t begin,
                              const Sink& sink) const {
    std::string piece(std::min(bytes(), kPiece), '\0');
    for (uint64_t done = 0; done < bytes(); done += piece.size()) {
      piece.resize(std::min(kPiece, bytes() - done));
      absl::Status status = file.Read(begin + done, piece.size(), piece.data());
      if (status.ok()) status = sink(piece);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // The result in blocks of at most kSlab bytes: part of one axis, and all axes after it.
  absl::Status ReadStrided(const files::InputFile& file, uint64_t begin, const Sink& sink) const {
    const size_t element_size = ir::ElementSize(dtype());
    size_t axis = shape().size();
    uint64_t inner = element_size;  // bytes of one entry of axis - 1
    while (axis > 0 && shape()[axis - 1] <= static_cast<int64_t>(kSlab / inner)) {
      inner *= shape()[--axis];
    }
    if (axis == 0) return ReadSlab(file, begin, shape(), view_.strides, sink);
    return ReadBlocks(file, begin, 0, axis - 1, kSlab / inner, sink);
  }

  // Loops over the axes before `split`, then over blocks of `step` entries of `split`.
  absl::Status ReadBlocks(const files::InputFile& file, uint64_t begin, size_t axis, size_t split,
                          int64_t step, const Sink& sink) const {
    const uint64_t stride = view_.strides[axis] * ir::ElementSize(dtype());
    const int64_t by = axis == split ? step : 1;
    for (int64_t i = 0; i < shape()[axis]; i += by) {
      absl::Status status;
      if (axis < split) {
        status = ReadBlocks(file, begin + i * stride, axis + 1, split, step, sink);
      } else {
        std::vector<int64_t> sizes(shape().begin() + split, shape().end());
        sizes[0] = std::min(step, shape()[axis] - i);
        const std::vector<int64_t> strides(view_.strides.begin() + split, view_.strides.end());
        status = ReadSlab(file, begin + i * stride, sizes, strides, sink);
      }
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status ReadSlab(const files::InputFile& file, uint64_t begin,
                        const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                        const Sink& sink) const {
    uint64_t bytes = ir::ElementSize(dtype());
    for (const int64_t size : sizes) bytes *= size;
    std::string slab(bytes, '\0');
    SlabReader reader(file, ir::ElementSize(dtype()));
    const absl::Status status = reader.Read(begin, sizes, strides, slab.data());
    return status.ok() ? sink(slab) : status;
  }

  FileView view_;
};

}  // namespace

std::unique_ptr<TensorSource> FileSource(ir::DType dtype, std::vector<int64_t> shape,
                                         FileView view) {
  return std::make_unique<File>(dtype, std::move(shape), std::move(view));
}

}  // namespace rules_onnx::weights
