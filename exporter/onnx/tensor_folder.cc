#include "exporter/onnx/tensor_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/files/atomic_file.h"
#include "exporter/files/errors.h"

namespace rules_onnx::onnx_format {
namespace {

namespace fs = std::filesystem;

}  // namespace

absl::StatusOr<TensorFolder> TensorFolder::Create(const std::string& path) {
  if (auto status = files::CheckReplaceable(path, /*by_folder=*/true); !status.ok()) return status;
  const fs::path parent = fs::path(path).parent_path();
  for (int i = 0;; ++i) {
    const fs::path temporary = parent / absl::StrCat(".rules_onnx-", getpid(), "-", i, ".tensors");
    if (mkdir(temporary.c_str(), 0777) == 0) return TensorFolder(path, temporary.string());
    if (errno != EEXIST) return files::SystemError(errno, "write", path);
  }
}

TensorFolder::TensorFolder(TensorFolder&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, "")) {}

TensorFolder::~TensorFolder() {
  std::error_code error;
  if (!temporary_.empty()) fs::remove_all(temporary_, error);
}

absl::Status TensorFolder::Commit() {
  std::error_code error;
  fs::remove_all(path_, error);
  if (!error) fs::rename(temporary_, path_, error);
  if (error) return files::SystemError(error.value(), "write", path_);
  temporary_.clear();
  return absl::OkStatus();
}

}  // namespace rules_onnx::onnx_format
