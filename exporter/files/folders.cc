#include "exporter/files/folders.h"

#include <filesystem>
#include <system_error>

#include "exporter/files/errors.h"

namespace rules_onnx::files {

absl::Status MakeFolders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? SystemError(error.value(), "make folder", path) : absl::OkStatus();
}

}  // namespace rules_onnx::files
