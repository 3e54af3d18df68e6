// XXH3-128 digests: the names of contents and of actions.
#ifndef RULES_ONNX_CACHE_DIGEST_H_
#define RULES_ONNX_CACHE_DIGEST_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "exporter/files/input_file.h"

namespace rules_onnx::cache {

struct Digest {
  uint64_t high = 0;
  uint64_t low = 0;

  friend bool operator==(const Digest&, const Digest&) = default;
  // 32 lower-case hexadecimal digits, and back.
  std::string ToHex() const;
  static std::optional<Digest> FromHex(absl::string_view hex);
};

Digest DigestOf(absl::string_view bytes);

// Of a file's content, which is read in pieces.
absl::StatusOr<Digest> DigestOf(const files::InputFile& file);

}  // namespace rules_onnx::cache

#endif  // RULES_ONNX_CACHE_DIGEST_H_
