#include "exporter/files/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/files/errors.h"

namespace rules_onnx::files {
namespace {

constexpr uint64_t kCopyPiece = uint64_t{1} << 20;

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status FolderError(int error_number, const std::string& path) {
  const std::string folder = FolderOf(path);
  if (error_number == ENOENT) {
    return absl::NotFoundError(
        absl::StrCat("cannot write ", path, ": there is no folder ", folder));
  }
  if (error_number == EACCES) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot write ", path, ": folder ", folder, " is not writable"));
  }
  return SystemError(error_number, "write", path);
}

std::string TemporaryName(const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  return absl::StrCat(FolderOf(path), "/.rules_onnx-", getpid(), "-", counter++, ".tmp");
}

// Another name for an open file, as open(2) describes it for O_TMPFILE.
std::string DescriptorPath(const Descriptor& descriptor) {
  return absl::StrCat("/proc/self/fd/", descriptor.get());
}

// Not valid where the file system has no files without a name, or none that could get one.
Descriptor OpenUnnamed(const std::string& folder) {
  Descriptor descriptor(open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0666));
  if (access(DescriptorPath(descriptor).c_str(), F_OK) != 0) return Descriptor();
  return descriptor;
}

// Where copy_file_range is not to be had between two files.
bool CopyUnsupported(int error_number) {
  return error_number == ENOSYS || error_number == EXDEV || error_number == EINVAL ||
         error_number == EOPNOTSUPP || error_number == EPERM;
}

absl::Status CheckHoldsFilesAlone(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.symlink_status(error).type() == std::filesystem::file_type::regular) continue;
    return absl::FailedPreconditionError(absl::StrCat("cannot write ", folder, ": the folder holds ",
                                                      entry.path().filename().string(),
                                                      ", which is no regular file"));
  }
  return error ? SystemError(error.value(), "read", folder) : absl::OkStatus();
}

}  // namespace

absl::StatusOr<AtomicFile> AtomicFile::Create(absl::string_view path, Temporary temporary) {
  std::string name(path);
  if (name.empty()) return absl::InvalidArgumentError("the name of an output file is empty");
  const absl::Status status = CheckReplaceable(name);
  if (!status.ok()) return status;
  if (temporary == Temporary::kUnnamed) {
    Descriptor descriptor = OpenUnnamed(FolderOf(name));
    if (descriptor.valid()) return AtomicFile(std::move(name), "", std::move(descriptor));
  }
  while (true) {
    std::string present = TemporaryName(name);
    Descriptor descriptor(open(present.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (descriptor.valid()) {
      return AtomicFile(std::move(name), std::move(present), std::move(descriptor));
    }
    if (errno != EEXIST) return FolderError(errno, name);
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_.valid() && !temporary_.empty()) unlink(temporary_.c_str());
}

absl::StatusOr<InputFile> AtomicFile::OpenWritten() const {
  return InputFile::Open(temporary_.empty() ? DescriptorPath(descriptor_) : temporary_);
}

// Gives a temporary name to a file that has none: only rename replaces.
absl::Status AtomicFile::Name() {
  while (temporary_.empty()) {
    std::string name = TemporaryName(path_);
    if (linkat(AT_FDCWD, DescriptorPath(descriptor_).c_str(), AT_FDCWD, name.c_str(),
               AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = std::move(name);
    } else if (errno != EEXIST) {
      return FolderError(errno, path_);
    }
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Write(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = pwrite(descriptor_.get(), bytes.data(), bytes.size(), size_);
    if (wrote < 0) {
      if (errno == EINTR) continue;
      return SystemError(errno, "write", path_);
    }
    bytes.remove_prefix(wrote);
    size_ += wrote;
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Append(const InputFile& from, uint64_t offset, uint64_t bytes) {
  while (bytes > 0) {
    loff_t source = offset, target = size_;
    const ssize_t copied =
        copy_file_range(from.descriptor(), &source, descriptor_.get(), &target, bytes, 0);
    if (copied < 0 && errno == EINTR) continue;
    // Some file systems answer 0 for a file that has bytes left: reading tells the truth.
    if (copied == 0 || (copied < 0 && CopyUnsupported(errno))) {
      return AppendThroughMemory(from, offset, bytes);
    }
    if (copied < 0) return SystemError(errno, "write", path_);
    offset += copied;
    size_ += copied;
    bytes -= copied;
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::AppendThroughMemory(const InputFile& from, uint64_t offset,
                                             uint64_t bytes) {
  std::string piece(std::min(bytes, kCopyPiece), '\0');
  while (bytes > 0) {
    const uint64_t length = std::min(bytes, kCopyPiece);
    absl::Status status = from.Read(offset, length, piece.data());
    if (status.ok()) status = Write(absl::string_view(piece.data(), length));
    if (!status.ok()) return status;
    offset += length;
    bytes -= length;
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Resize(uint64_t size) {
  while (ftruncate(descriptor_.get(), size) != 0) {
    if (errno != EINTR) return SystemError(errno, "write", path_);
  }
  size_ = size;
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  const absl::Status named = Name();
  if (!named.ok()) return named;
  int error_number = descriptor_.Close() == 0 ? 0 : errno;
  if (error_number == 0) {
    if (rename(temporary_.c_str(), path_.c_str()) == 0) return absl::OkStatus();
    error_number = errno;
  }
  unlink(temporary_.c_str());
  return FolderError(error_number, path_);
}

absl::Status CheckReplaceable(const std::string& path, bool by_folder) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return absl::OkStatus();
  if (S_ISDIR(info.st_mode)) {
    return by_folder ? CheckHoldsFilesAlone(path) : SystemError(EISDIR, "write", path);
  }
  return absl::FailedPreconditionError(
      absl::StrCat("cannot write ", path, ": it is not a regular file"));
}

absl::Status WriteFile(absl::string_view path, absl::string_view content) {
  absl::StatusOr<AtomicFile> file = AtomicFile::Create(path);
  if (!file.ok()) return file.status();
  absl::Status status = file->Write(content);
  if (status.ok()) status = file->Commit();
  return status;
}

}  // namespace rules_onnx::files
