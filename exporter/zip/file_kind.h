// What a file seems to be, for the message that refuses it.
#ifndef RULES_ONNX_EXPORTER_ZIP_FILE_KIND_H_
#define RULES_ONNX_EXPORTER_ZIP_FILE_KIND_H_

#include <string>

#include "absl/strings/string_view.h"

namespace rules_onnx::zip {

// "it is a plain text file", with advice where there is some, told from a file's first bytes
// (up to kKindBytes of them). Empty where nothing is recognised.
inline constexpr size_t kKindBytes = 512;
std::string DescribeKind(absl::string_view head);

}  // namespace rules_onnx::zip

#endif  // RULES_ONNX_EXPORTER_ZIP_FILE_KIND_H_
