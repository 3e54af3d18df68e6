#include "exporter/files/standard_output.h"

#include <unistd.h>

#include <cerrno>
#include <iostream>

#include "exporter/files/errors.h"

namespace rules_onnx::files {

namespace {

// Why a write failed whose errno is lost: a further one tells, at the end of a text that has a hole.
int LostReason() { return write(STDOUT_FILENO, "\n", 1) < 0 ? errno : EIO; }

}  // namespace

absl::Status FlushStandardOutput() {
  const bool failed_before = !std::cout;
  std::cout.clear();
  errno = 0;
  std::cout.flush();
  if (std::cout && !failed_before) return absl::OkStatus();
  const int reason = errno != 0 ? errno : LostReason();
  const absl::Status status = SystemError(reason, "write", "the standard output");
  return reason == EPIPE ? absl::CancelledError(status.message()) : status;
}

}  // namespace rules_onnx::files
