// A folder with a file a tensor that appears whole or not at all. Internal to exporter/onnx.
#ifndef RULES_ONNX_EXPORTER_ONNX_TENSOR_FOLDER_H_
#define RULES_ONNX_EXPORTER_ONNX_TENSOR_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rules_onnx::onnx_format {

// Filled under a temporary name beside `path` and renamed by Commit, which replaces an earlier
// folder or file of that name; without Commit the destructor removes it. Not thread-safe.
class TensorFolder {
 public:
  // Errors: the parent folder is missing or not writable; something stands at `path` that is no
  // regular file, or a folder that holds anything but those (files::CheckReplaceable).
  static absl::StatusOr<TensorFolder> Create(const std::string& path);
  TensorFolder(TensorFolder&& other) noexcept;
  TensorFolder& operator=(TensorFolder&&) = delete;
  ~TensorFolder();

  // Where to put the files until Commit.
  const std::string& temporary() const { return temporary_; }
  absl::Status Commit();

 private:
  TensorFolder(std::string path, std::string temporary)
      : path_(std::move(path)), temporary_(std::move(temporary)) {}

  std::string path_;
  std::string temporary_;  // empty: committed or moved from
};

}  // namespace rules_onnx::onnx_format

#endif  // RULES_ONNX_EXPORTER_ONNX_TENSOR_FOLDER_H_
