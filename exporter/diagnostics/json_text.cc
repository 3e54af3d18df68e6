#include "exporter/diagnostics/json_text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace rules_onnx::diagnostics {
namespace {

// Bytes of the UTF-8 sequence at the start of the text; 0 if it is not valid there (RFC 3629: no
// overlong forms, no surrogates, nothing above U+10FFFF).
size_t SequenceLength(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  size_t length;
  uint32_t lowest;
  if (byte(0) < 0x80) return 1;
  if (byte(0) >> 5 == 0x6) {
    length = 2;
    lowest = 0x80;
  } else if (byte(0) >> 4 == 0xe) {
    length = 3;
    lowest = 0x800;
  } else if (byte(0) >> 3 == 0x1e) {
    length = 4;
    lowest = 0x10000;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  uint32_t code = byte(0) & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 0x2) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  return code < lowest || code > 0x10ffff || is_surrogate ? 0 : length;
}

void AppendAscii(char c, std::string* out) {
  switch (c) {
    case '"': *out += "\\\""; break;
    case '\\': *out += "\\\\"; break;
    case '\n': *out += "\\n"; break;
    case '\r': *out += "\\r"; break;
    case '\t': *out += "\\t"; break;
    default:
      if (c >= 0x20) {
        *out += c;
      } else {
        absl::StrAppend(out, "\\u", absl::Hex(static_cast<int>(c), absl::kZeroPad4));
      }
  }
}

}  // namespace

std::string JsonText(absl::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 1) {
      AppendAscii(text.front(), &out);
    } else if (length == 0) {
      out += "\xef\xbf\xbd";
    } else {
      absl::StrAppend(&out, text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + "\"";
}

}  // namespace rules_onnx::diagnostics
