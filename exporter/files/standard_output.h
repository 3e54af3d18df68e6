// The end of what a program prints.
#ifndef RULES_ONNX_EXPORTER_FILES_STANDARD_OUTPUT_H_
#define RULES_ONNX_EXPORTER_FILES_STANDARD_OUTPUT_H_

#include "absl/status/status.h"

namespace rules_onnx::files {

// Flushes std::cout. An error, "cannot write the standard output: the disk is full", if that or an
// earlier write to it failed; kCancelled if nobody reads it any more (EPIPE).
absl::Status FlushStandardOutput();

}  // namespace rules_onnx::files

#endif  // RULES_ONNX_EXPORTER_FILES_STANDARD_OUTPUT_H_
