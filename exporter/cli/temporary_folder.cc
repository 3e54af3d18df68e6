#include "exporter/cli/temporary_folder.h"

#include <stdlib.h>

#include <filesystem>
#include <system_error>

namespace rules_onnx::cli {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  path_ = (fs::temp_directory_path(error) / "onnx-export-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) {
    path_.clear();
  } else {
    guard_.emplace(path_);
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

absl::Status TemporaryFolder::status() const {
  return path_.empty() ? absl::UnavailableError("cannot make a folder for temporary files")
                       : absl::OkStatus();
}

}  // namespace rules_onnx::cli
