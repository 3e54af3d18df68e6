#include "exporter/ir/seal.h"

#include <cstdint>

namespace rules_onnx::ir {
namespace {

constexpr size_t kChecksumBytes = 8;

std::string Checksum(absl::string_view content) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : content) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  std::string bytes;
  for (size_t i = 0; i < kChecksumBytes; ++i) bytes.push_back(static_cast<char>(hash >> (8 * i)));
  return bytes;
}

}  // namespace

std::string Seal(std::string content) {
  content += Checksum(content);
  return content;
}

std::optional<absl::string_view> Unseal(absl::string_view bytes) {
  if (bytes.size() < kChecksumBytes) return std::nullopt;
  const absl::string_view content = bytes.substr(0, bytes.size() - kChecksumBytes);
  if (bytes.substr(content.size()) != Checksum(content)) return std::nullopt;
  return content;
}

}  // namespace rules_onnx::ir
