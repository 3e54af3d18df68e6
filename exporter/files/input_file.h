// Reading of regular files. Errors name the path and the reason.
#ifndef RULES_ONNX_EXPORTER_FILES_INPUT_FILE_H_
#define RULES_ONNX_EXPORTER_FILES_INPUT_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "exporter/files/descriptor.h"

namespace rules_onnx::files {

// An open file, read by offset. Any number of threads may read at once.
class InputFile {
 public:
  // A directory, a device or a pipe is an error.
  static absl::StatusOr<InputFile> Open(absl::string_view path);

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  int descriptor() const { return descriptor_.get(); }

  // Fills `buffer` with `bytes` bytes from `offset` on. A file that ends before is kDataLoss.
  absl::Status Read(uint64_t offset, uint64_t bytes, char* buffer) const;

 private:
  InputFile(std::string path, Descriptor descriptor, uint64_t size)
      : path_(std::move(path)), descriptor_(std::move(descriptor)), size_(size) {}

  std::string path_;
  Descriptor descriptor_;
  uint64_t size_ = 0;
};

// A file's whole content; for small files.
absl::StatusOr<std::string> ReadFile(absl::string_view path);

// A whole file mapped into memory, read-only. Movable; the view is valid as long as it lives.
class MappedFile {
 public:
  static absl::StatusOr<MappedFile> Open(absl::string_view path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  absl::string_view content() const;

 private:
  MappedFile(void* data, uint64_t size) : data_(data), size_(size) {}

  void* data_ = nullptr;  // null for an empty file
  uint64_t size_ = 0;
};

}  // namespace rules_onnx::files

#endif  // RULES_ONNX_EXPORTER_FILES_INPUT_FILE_H_
