// A checksum at the end of a file, so that damage and truncation show. Internal to serialize.
//
//   file = content checksum
//   checksum = 64-bit FNV-1a of the content, little endian
#ifndef RULES_ONNX_EXPORTER_IR_SEAL_H_
#define RULES_ONNX_EXPORTER_IR_SEAL_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace rules_onnx::ir {

std::string Seal(std::string content);
// The content; nullopt if the checksum is not its own.
std::optional<absl::string_view> Unseal(absl::string_view bytes);

}  // namespace rules_onnx::ir

#endif  // RULES_ONNX_EXPORTER_IR_SEAL_H_
