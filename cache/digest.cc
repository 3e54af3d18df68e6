#include "cache/digest.h"

#include <xxhash.h>

#include <algorithm>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace rules_onnx::cache {
namespace {

constexpr uint64_t kPiece = uint64_t{1} << 20;

Digest From(const XXH128_hash_t& hash) { return {hash.high64, hash.low64}; }

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

}  // namespace

std::string Digest::ToHex() const {
  return absl::StrCat(absl::Hex(high, absl::kZeroPad16), absl::Hex(low, absl::kZeroPad16));
}

std::optional<Digest> Digest::FromHex(absl::string_view hex) {
  const bool digits = std::all_of(hex.begin(), hex.end(), [](char c) {
    return absl::ascii_isxdigit(c) && !absl::ascii_isupper(c);
  });
  Digest digest;
  if (hex.size() != 32 || !digits || !absl::SimpleHexAtoi(hex.substr(0, 16), &digest.high) ||
      !absl::SimpleHexAtoi(hex.substr(16), &digest.low)) {
    return std::nullopt;
  }
  return digest;
}

Digest DigestOf(absl::string_view bytes) { return From(XXH3_128bits(bytes.data(), bytes.size())); }

absl::StatusOr<Digest> DigestOf(const files::InputFile& file) {
  const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  XXH3_128bits_reset(state.get());
  std::string piece(std::min(file.size(), kPiece), '\0');
  for (uint64_t offset = 0; offset < file.size(); offset += piece.size()) {
    piece.resize(std::min(kPiece, file.size() - offset));
    const absl::Status status = file.Read(offset, piece.size(), piece.data());
    if (!status.ok()) return status;
    XXH3_128bits_update(state.get(), piece.data(), piece.size());
  }
  return From(XXH3_128bits_digest(state.get()));
}

}  // namespace rules_onnx::cache
