#include "exporter/onnx/writer.h"

#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "exporter/files/atomic_file.h"
#include "exporter/files/input_file.h"
#include "exporter/onnx/check.h"
#include "exporter/onnx/layout.h"
#include "exporter/onnx/proto.h"
#include "exporter/onnx/stream.h"
#include "exporter/onnx/tensor_folder.h"

namespace rules_onnx::onnx_format {
namespace {

namespace fs = std::filesystem;

constexpr std::pair<absl::string_view, ExternalData> kLayouts[] = {
    {"none", ExternalData::kNone},
    {"single", ExternalData::kSingle},
    {"per_tensor", ExternalData::kPerTensor},
    {"shared", ExternalData::kShared},
};

constexpr uint64_t kMaxFile = std::numeric_limits<int32_t>::max();

// The files of one model, written under temporary names and then renamed together.
class OutputFiles {
 public:
  OutputFiles(const WriteOptions& options, std::string output, const files::InputFile* weights)
      : layout_(options.external_data), output_(std::move(output)), weights_(weights) {}

  // Name of the data beside the model, in layouts that have it: a file or a folder.
  std::string DataName() const {
    return fs::path(output_).filename().string() + ".data";
  }

  absl::Status Write(const onnx::ModelProto& model, const Layout& layout);

 private:
  std::string DataPath() const { return (fs::path(output_).parent_path() / DataName()).string(); }
  absl::Status WriteSingle(const Layout& layout, files::AtomicFile* model);
  absl::Status WritePerTensor(const Layout& layout, files::AtomicFile* model);
  // The data is in place already: it must not stay without its model.
  absl::Status CommitModel(files::AtomicFile* model);

  ExternalData layout_;
  std::string output_;
  const files::InputFile* weights_;
};

absl::Status OutputFiles::Write(const onnx::ModelProto& model, const Layout& layout) {
  const ModelStream stream(model, layout.streamed);
  if (stream.size() > kMaxFile) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the model takes ", stream.size(), " bytes, and an ONNX file can have ", kMaxFile,
        ": put the weights beside it with --external-data single, per_tensor or shared"));
  }
  absl::StatusOr<files::AtomicFile> file = files::AtomicFile::Create(output_);
  if (!file.ok()) return file.status();
  if (auto status = stream.Write(weights_, &*file); !status.ok()) return status;
  switch (layout_) {
    case ExternalData::kSingle: return WriteSingle(layout, &*file);
    case ExternalData::kPerTensor: return WritePerTensor(layout, &*file);
    default: return file->Commit();
  }
}

absl::Status OutputFiles::WriteSingle(const Layout& layout, files::AtomicFile* model) {
  absl::StatusOr<files::AtomicFile> data = files::AtomicFile::Create(DataPath());
  if (!data.ok()) return data.status();
  for (const Range& range : layout.copies) {
    absl::Status status = data->Resize(range.to);
    if (status.ok()) status = data->Append(*weights_, range.from, range.bytes);
    if (!status.ok()) return status;
  }
  if (auto status = data->Commit(); !status.ok()) return status;
  return CommitModel(model);
}

absl::Status OutputFiles::WritePerTensor(const Layout& layout, files::AtomicFile* model) {
  absl::StatusOr<TensorFolder> folder = TensorFolder::Create(DataPath());
  if (!folder.ok()) return folder.status();
  for (const Range& range : layout.copies) {
    auto file = files::AtomicFile::Create(absl::StrCat(folder->temporary(), "/", range.file));
    if (!file.ok()) return file.status();
    absl::Status status = file->Append(*weights_, range.from, range.bytes);
    if (status.ok()) status = file->Commit();
    if (!status.ok()) return status;
  }
  if (auto status = folder->Commit(); !status.ok()) return status;
  return CommitModel(model);
}

absl::Status OutputFiles::CommitModel(files::AtomicFile* model) {
  absl::Status status = model->Commit();
  std::error_code error;
  if (!status.ok()) fs::remove_all(DataPath(), error);
  return status;
}

}  // namespace

std::optional<ExternalData> ParseExternalData(absl::string_view name) {
  for (const auto& [text, layout] : kLayouts) {
    if (text == name) return layout;
  }
  return std::nullopt;
}

absl::Status CheckWeightsName(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '/');
  for (const std::string& part : parts) {
    if (!part.empty() && !absl::StrContains(part, "..")) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("weights file name '", name,
                     "' is no path below the model's folder (relative, without '..')"));
  }
  return absl::OkStatus();
}

absl::Status WriteModel(const builder::Model& model, const std::vector<ir::Weight>& weights,
                        const WriteOptions& options, const std::string& output) {
  const bool shared = options.external_data == ExternalData::kShared;
  if (shared) {
    if (auto status = CheckWeightsName(options.weights_name); !status.ok()) return status;
  }
  absl::StatusOr<Skeleton> skeleton =
      BuildSkeleton(model, weights, {options.metadata, options.doc_strings});
  if (!skeleton.ok()) return skeleton.status();
  if (options.check) {
    if (auto status = CheckModel(model, options.sources, &*skeleton); !status.ok()) return status;
  } else {
    InferTypes(&*skeleton);
  }

  std::optional<files::InputFile> weights_file;
  if (!shared || !options.weights_path.empty()) {
    absl::StatusOr<files::InputFile> file = files::InputFile::Open(options.weights_path);
    if (!file.ok()) return file.status();
    weights_file.emplace(*std::move(file));
  }
  const files::InputFile* input = weights_file.has_value() ? &*weights_file : nullptr;
  OutputFiles files(options, output, input);
  absl::StatusOr<Layout> layout =
      PlaceWeights(weights, options, files.DataName(), input, &*skeleton);
  if (!layout.ok()) return layout.status();
  return files.Write(skeleton->model, *layout);
}

}  // namespace rules_onnx::onnx_format
