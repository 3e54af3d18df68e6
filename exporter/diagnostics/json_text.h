// Strings in JSON.
#ifndef RULES_ONNX_EXPORTER_DIAGNOSTICS_JSON_TEXT_H_
#define RULES_ONNX_EXPORTER_DIAGNOSTICS_JSON_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace rules_onnx::diagnostics {

// The text as a JSON string with its quotes. UTF-8 stays as it is; each byte that is no part of
// valid UTF-8 becomes U+FFFD.
std::string JsonText(absl::string_view text);

}  // namespace rules_onnx::diagnostics

#endif  // RULES_ONNX_EXPORTER_DIAGNOSTICS_JSON_TEXT_H_
