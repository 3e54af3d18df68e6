#include "exporter/files/input_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/files/errors.h"

namespace rules_onnx::files {

absl::StatusOr<InputFile> InputFile::Open(absl::string_view path) {
  std::string name(path);
  // O_NONBLOCK: a pipe without a writer is refused below instead of waited for.
  Descriptor descriptor(open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (!descriptor.valid() || fstat(descriptor.get(), &info) != 0) {
    return SystemError(errno, "read", path);
  }
  if (S_ISDIR(info.st_mode)) return SystemError(EISDIR, "read", path);
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot read ", path, ": it is not a regular file"));
  }
  return InputFile(std::move(name), std::move(descriptor), info.st_size);
}

absl::Status InputFile::Read(uint64_t offset, uint64_t bytes, char* buffer) const {
  // Linux moves at most 2 GiB in one call.
  constexpr uint64_t kMost = uint64_t{1} << 30;
  while (bytes > 0) {
    const ssize_t got = pread(descriptor_.get(), buffer, std::min(bytes, kMost), offset);
    if (got < 0) {
      if (errno == EINTR) continue;
      return SystemError(errno, "read", path_);
    }
    if (got == 0) {
      return absl::DataLossError(
          absl::StrCat("cannot read ", path_, ": it ends at byte ", offset, ", too early"));
    }
    offset += got;
    buffer += got;
    bytes -= got;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFile(absl::string_view path) {
  absl::StatusOr<InputFile> file = InputFile::Open(path);
  if (!file.ok()) return file.status();
  std::string content(file->size(), '\0');
  const absl::Status status = file->Read(0, content.size(), content.data());
  if (!status.ok()) return status;
  return content;
}

absl::StatusOr<MappedFile> MappedFile::Open(absl::string_view path) {
  absl::StatusOr<InputFile> file = InputFile::Open(path);
  if (!file.ok()) return file.status();
  if (file->size() == 0) return MappedFile(nullptr, 0);
  void* data = mmap(nullptr, file->size(), PROT_READ, MAP_PRIVATE, file->descriptor(), 0);
  if (data == MAP_FAILED) return SystemError(errno, "map", path);
  return MappedFile(data, file->size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

absl::string_view MappedFile::content() const {
  return absl::string_view(static_cast<const char*>(data_), size_);
}

}  // namespace rules_onnx::files
