// A file that appears whole or not at all.
#ifndef RULES_ONNX_EXPORTER_FILES_ATOMIC_FILE_H_
#define RULES_ONNX_EXPORTER_FILES_ATOMIC_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "exporter/files/descriptor.h"
#include "exporter/files/input_file.h"

namespace rules_onnx::files {

// Written without a name in the folder of `path`, so that a process that is killed leaves nothing,
// or under a temporary one where the file system cannot do that; Commit gives it the name, in the
// place of an earlier file (or symlink); without Commit it vanishes. The result is a new regular
// file with one link and the mode that the umask leaves of 0666. Whole towards other processes;
// there is no fsync, so not against a loss of power. After an error only destruction is allowed.
// Not thread-safe; any number of processes may write the same path.
class AtomicFile {
 public:
  enum class Temporary { kUnnamed, kNamed };

  // Errors: the folder is missing or not writable; `path` is a directory or a device. kNamed is
  // for tests.
  static absl::StatusOr<AtomicFile> Create(absl::string_view path,
                                           Temporary temporary = Temporary::kUnnamed);
  AtomicFile(AtomicFile&&) noexcept = default;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  uint64_t size() const { return size_; }

  absl::Status Write(absl::string_view bytes);  // at the end
  // Copies a range of another file to the end, inside the kernel where it can (a reflink, where
  // the file system has them).
  absl::Status Append(const InputFile& from, uint64_t offset, uint64_t bytes);
  // Cuts the file, or lengthens it with zeros.
  absl::Status Resize(uint64_t size);
  // What is written so far, to be checked before it is committed.
  absl::StatusOr<InputFile> OpenWritten() const;
  absl::Status Commit();

 private:
  AtomicFile(std::string path, std::string temporary, Descriptor descriptor)
      : path_(std::move(path)),
        temporary_(std::move(temporary)),
        descriptor_(std::move(descriptor)) {}
  absl::Status Name();
  absl::Status AppendThroughMemory(const InputFile& from, uint64_t offset, uint64_t bytes);

  std::string path_;
  std::string temporary_;  // the present name; empty: none
  Descriptor descriptor_;  // not valid: committed or moved from
  uint64_t size_ = 0;
};

// An error where something stands that an output must not replace: a device, a pipe, a socket, or
// a link to one; a folder, unless the output is a folder itself, or takes the place of one, and what
// stands there holds regular files alone, as folders of tensors do.
absl::Status CheckReplaceable(const std::string& path, bool by_folder = false);

// Creates, writes and commits.
absl::Status WriteFile(absl::string_view path, absl::string_view content);

}  // namespace rules_onnx::files

#endif  // RULES_ONNX_EXPORTER_FILES_ATOMIC_FILE_H_
