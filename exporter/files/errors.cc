#include "exporter/files/errors.h"

#include <cerrno>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace rules_onnx::files {
namespace {

std::string Reason(int error_number) {
  switch (error_number) {
    case ENOENT:
      return "no such file";
    case EISDIR:
      return "it is a directory";
    case ENOTDIR:
      return "a part of its path is not a directory";
    case EACCES:
    case EPERM:
      return "permission denied";
    case EROFS:
      return "the file system is read-only";
    case ENOSPC:
    case EDQUOT:
      return "the disk is full";
    default:
      return std::generic_category().message(error_number);
  }
}

}  // namespace

absl::Status SystemError(int error_number, absl::string_view action, absl::string_view path) {
  const std::string message =
      absl::StrCat("cannot ", action, " ", path, ": ", Reason(error_number));
  switch (error_number) {
    case EISDIR:
    case ENOTDIR:
      return absl::FailedPreconditionError(message);
    case EDQUOT:
      return absl::ResourceExhaustedError(message);
    case EROFS:
      return absl::PermissionDeniedError(message);
    default:
      return absl::Status(absl::ErrnoToStatusCode(error_number), message);
  }
}

}  // namespace rules_onnx::files
