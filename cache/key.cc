#include "cache/key.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace rules_onnx::cache {

void Key::AddFile(absl::string_view name, const Digest& content) {
  lines_.push_back(absl::StrCat(absl::CEscape(name), "\tfile ", content.ToHex(), "\n"));
}

void Key::AddText(absl::string_view name, absl::string_view text) {
  lines_.push_back(absl::StrCat(absl::CEscape(name), "\ttext ", absl::CEscape(text), "\n"));
}

std::string Key::Text() const {
  std::vector<std::string> sorted = lines_;
  std::sort(sorted.begin(), sorted.end());
  return absl::StrJoin(sorted, "");
}

}  // namespace rules_onnx::cache
