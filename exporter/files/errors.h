// One wording for what the operating system refuses: "cannot write out/x.onnx: no such directory".
#ifndef RULES_ONNX_EXPORTER_FILES_ERRORS_H_
#define RULES_ONNX_EXPORTER_FILES_ERRORS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace rules_onnx::files {

// "cannot <action> <path>: <reason>" with the code that fits errno (kNotFound, kPermissionDenied,
// kResourceExhausted for a full disk, …). Where an output's folder is the reason, it is named.
absl::Status SystemError(int error_number, absl::string_view action, absl::string_view path);

}  // namespace rules_onnx::files

#endif  // RULES_ONNX_EXPORTER_FILES_ERRORS_H_
