#include "exporter/onnx/layout.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace rules_onnx::onnx_format {
namespace {

using onnx::TensorProto;

constexpr uint64_t kPageAligned = 64 << 10;  // tensors from this size on, as in the weights file
constexpr size_t kMaxFileName = 128;

void SetExternal(const std::string& location, uint64_t offset, uint64_t bytes,
                 TensorProto* tensor) {
  tensor->set_data_location(TensorProto::EXTERNAL);
  const auto add = [&](const char* key, std::string value) {
    onnx::StringStringEntryProto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(std::move(value));
  };
  add("location", location);
  add("offset", absl::StrCat(offset));
  add("length", absl::StrCat(bytes));
}

// A tensor's name as a file's: letters, digits, '.', '-' and '_', no ".." and no leading dot.
std::string FileName(const std::string& name) {
  std::string result;
  for (const char c : name.substr(0, kMaxFileName)) {
    const bool dot = c == '.' && !result.empty() && result.back() != '.';
    result += dot || c == '-' || absl::ascii_isalnum(c) ? c : '_';
  }
  return result;
}

class Placer {
 public:
  Placer(const WriteOptions& options, const std::string& data_name,
         const files::InputFile* weights_file)
      : options_(options), data_name_(data_name), weights_file_(weights_file) {}

  absl::Status Place(const ir::Weight& weight, TensorProto* tensor);
  absl::StatusOr<Layout> Take() { return std::move(layout_); }
  void AddConstant() { layout_.streamed.emplace_back(); }

 private:
  absl::Status CheckRange(const ir::Weight& weight) const;
  absl::Status Embed(const ir::Weight& weight, TensorProto* tensor) const;
  const Range& Copy(const ir::Weight& weight, const std::string& name);
  std::string UniqueFile(const std::string& name);

  const WriteOptions& options_;
  const std::string& data_name_;
  const files::InputFile* weights_file_;
  Layout layout_;
  uint64_t end_ = 0;                                       // of the data file, layout single
  std::map<std::pair<uint64_t, uint64_t>, size_t> known_;  // range → index in copies
  std::set<std::string> files_;                            // in lower case
};

absl::Status Placer::CheckRange(const ir::Weight& weight) const {
  if (weights_file_ == nullptr) return absl::OkStatus();
  const uint64_t size = weights_file_->size();
  if (weight.offset <= size && weight.bytes <= size - weight.offset) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("weight ", weight.name, " ends at byte ",
                                          weight.offset + weight.bytes, " of ",
                                          weights_file_->path(), ", which has ", size));
}

absl::Status Placer::Embed(const ir::Weight& weight, TensorProto* tensor) const {
  if (weight.bytes == 0) return absl::OkStatus();
  std::string data(weight.bytes, '\0');
  const absl::Status status = weights_file_->Read(weight.offset, weight.bytes, data.data());
  tensor->set_raw_data(std::move(data));
  return status;
}

std::string Placer::UniqueFile(const std::string& name) {
  const std::string base = FileName(name);
  std::string file = base;
  for (int i = 1; !files_.insert(absl::AsciiStrToLower(file)).second; ++i) {
    file = absl::StrCat(base, "-", i);
  }
  return file;
}

const Range& Placer::Copy(const ir::Weight& weight, const std::string& name) {
  const auto [entry, inserted] =
      known_.try_emplace({weight.offset, weight.bytes}, layout_.copies.size());
  if (inserted) {
    Range range{weight.offset, weight.bytes, 0, ""};
    if (options_.external_data == ExternalData::kSingle) {
      const uint64_t alignment = weight.bytes >= kPageAligned ? 4096 : 64;
      range.to = (end_ + alignment - 1) / alignment * alignment;
      end_ = range.to + range.bytes;
    } else {
      range.file = UniqueFile(name);
    }
    layout_.copies.push_back(std::move(range));
  }
  return layout_.copies[entry->second];
}

absl::Status Placer::Place(const ir::Weight& weight, TensorProto* tensor) {
  if (auto status = CheckRange(weight); !status.ok()) return status;
  layout_.streamed.emplace_back();
  const bool shared = options_.external_data == ExternalData::kShared;
  if (weight.bytes == 0 || (!shared && weight.bytes < kExternalFrom)) {
    return Embed(weight, tensor);
  }
  switch (options_.external_data) {
    case ExternalData::kNone:
      layout_.streamed.back() = {weight.offset, weight.bytes};
      break;
    case ExternalData::kSingle:
      SetExternal(data_name_, Copy(weight, "").to, weight.bytes, tensor);
      break;
    case ExternalData::kPerTensor: {
      const Range& range = Copy(weight, tensor->name());
      SetExternal(absl::StrCat(data_name_, "/", range.file), 0, weight.bytes, tensor);
      break;
    }
    case ExternalData::kShared:
      SetExternal(options_.weights_name, weight.offset, weight.bytes, tensor);
      break;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Layout> PlaceWeights(const std::vector<ir::Weight>& weights,
                                    const WriteOptions& options, const std::string& data_name,
                                    const files::InputFile* weights_file, Skeleton* skeleton) {
  Placer placer(options, data_name, weights_file);
  onnx::GraphProto* graph = skeleton->model.mutable_graph();
  for (int i = 0; i < graph->initializer_size(); ++i) {
    const int weight = skeleton->weights[i];
    if (weight < 0) {
      placer.AddConstant();
      continue;
    }
    const absl::Status status = placer.Place(weights.at(weight), graph->mutable_initializer(i));
    if (!status.ok()) return status;
  }
  return placer.Take();
}

}  // namespace rules_onnx::onnx_format
