#include "exporter/capture/derived_source.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace rules_onnx::capture {
namespace {

using weights::Sink;
using weights::TensorSource;

constexpr size_t kPiece = size_t{1} << 20;

template <typename Float>
void ScalePiece(const ChannelMap& channels, const std::vector<double>& scale, int64_t first,
                std::string* piece) {
  const int64_t count = piece->size() / sizeof(Float), run = channels.Run();
  char* at = piece->data();
  for (int64_t i = 0; i < count;) {
    const double factor = scale[channels.ChannelOf(first + i)];
    const int64_t end = std::min(count, i + run - (first + i) % run);
    for (; i < end; ++i, at += sizeof(Float)) {
      Float value;
      std::memcpy(&value, at, sizeof(Float));
      value = static_cast<Float>(static_cast<double>(value) * factor);
      std::memcpy(at, &value, sizeof(Float));
    }
  }
}

class Scaled : public TensorSource {
 public:
  Scaled(std::shared_ptr<const TensorSource> base, ChannelMap channels,
         std::vector<double> scale)
      : TensorSource(base->dtype(), base->shape()),
        base_(std::move(base)),
        channels_(channels),
        scale_(std::move(scale)) {}

  absl::Status Read(const Sink& sink) const override {
    const size_t size = ir::ElementSize(dtype());
    int64_t done = 0;
    std::string rest;  // an element that a piece ends in the middle of
    return base_->Read([&](absl::string_view piece) {
      std::string elements = std::move(rest);
      elements.append(piece.data(), piece.size());
      rest = elements.substr(elements.size() / size * size);
      elements.resize(elements.size() - rest.size());
      if (dtype() == ir::DType::kFloat32) {
        ScalePiece<float>(channels_, scale_, done, &elements);
      } else {
        ScalePiece<double>(channels_, scale_, done, &elements);
      }
      done += static_cast<int64_t>(elements.size() / size);
      return sink(elements);
    });
  }

 private:
  std::shared_ptr<const TensorSource> base_;
  ChannelMap channels_;
  std::vector<double> scale_;
};

class Strided : public TensorSource {
 public:
  Strided(std::shared_ptr<const TensorSource> base, std::vector<int64_t> shape,
          std::vector<int64_t> strides, int64_t offset)
      : TensorSource(base->dtype(), std::move(shape)),
        base_(std::move(base)),
        strides_(std::move(strides)),
        offset_(offset) {}

  absl::Status Read(const Sink& sink) const override {
    if (bytes() == 0) return absl::OkStatus();
    std::string all;
    if (absl::Status status = weights::ReadAll(*base_, &all); !status.ok()) return status;
    if (all.size() != base_->bytes()) {
      return absl::DataLossError("a weight has fewer bytes than its shape says");
    }
    std::string piece;
    absl::Status status = Walk(all, 0, offset_, sink, &piece);
    return status.ok() && !piece.empty() ? sink(piece) : status;
  }

 private:
  absl::Status Walk(const std::string& all, size_t axis, int64_t at, const Sink& sink,
                    std::string* piece) const {
    const size_t size = ir::ElementSize(dtype());
    if (axis == shape().size()) {
      piece->append(all, static_cast<size_t>(at) * size, size);
      if (piece->size() < kPiece) return absl::OkStatus();
      absl::Status status = sink(*piece);
      piece->clear();
      return status;
    }
    for (int64_t i = 0; i < shape()[axis]; ++i) {
      absl::Status status = Walk(all, axis + 1, at + i * strides_[axis], sink, piece);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  std::shared_ptr<const TensorSource> base_;
  std::vector<int64_t> strides_;
  int64_t offset_;
};

template <typename Float>
void Unpack(const std::string& bytes, std::vector<double>* values) {
  for (size_t i = 0; i + sizeof(Float) <= bytes.size(); i += sizeof(Float)) {
    Float value;
    std::memcpy(&value, bytes.data() + i, sizeof(Float));
    values->push_back(static_cast<double>(value));
  }
}

template <typename Float>
void Pack(const std::vector<double>& values, std::string* bytes) {
  for (const double value : values) {
    const Float rounded = static_cast<Float>(value);
    bytes->append(reinterpret_cast<const char*>(&rounded), sizeof(Float));
  }
}

}  // namespace

int64_t ChannelMap::ChannelOf(int64_t element) const {
  const int64_t row = element / inner;
  if (!transposed) return row / columns;
  return row / columns / rows_of_group * columns + row % columns;
}

std::unique_ptr<TensorSource> ScaledSource(std::shared_ptr<const TensorSource> base,
                                           ChannelMap channels, std::vector<double> scale) {
  return std::make_unique<Scaled>(std::move(base), channels, std::move(scale));
}

std::unique_ptr<TensorSource> StridedSource(std::shared_ptr<const TensorSource> base,
                                            std::vector<int64_t> shape,
                                            std::vector<int64_t> strides, int64_t offset) {
  return std::make_unique<Strided>(std::move(base), std::move(shape), std::move(strides), offset);
}

absl::Status ReadFloats(const TensorSource& source, std::vector<double>* values) {
  std::string bytes;
  if (absl::Status status = weights::ReadAll(source, &bytes); !status.ok()) return status;
  values->clear();
  if (source.dtype() == ir::DType::kFloat32) {
    Unpack<float>(bytes, values);
  } else {
    Unpack<double>(bytes, values);
  }
  return absl::OkStatus();
}

std::unique_ptr<TensorSource> FloatsSource(ir::DType dtype, const std::vector<double>& values) {
  auto bytes = std::make_shared<std::string>();
  if (dtype == ir::DType::kFloat32) {
    Pack<float>(values, bytes.get());
  } else {
    Pack<double>(values, bytes.get());
  }
  const absl::string_view view(*bytes);
  return weights::MemorySource(dtype, {static_cast<int64_t>(values.size())}, view,
                               std::move(bytes));
}

}  // namespace rules_onnx::capture
