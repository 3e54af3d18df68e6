// The key of an action: all that its outputs depend on, as a text.
//
//   key   = { line }                       sorted
//   line  = name TAB value LF
//   value = "file " digest | "text " text  name and text escaped as in C
#ifndef RULES_ONNX_CACHE_KEY_H_
#define RULES_ONNX_CACHE_KEY_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cache/digest.h"

namespace rules_onnx::cache {

// The order of adding does not matter; one name may come several times. The text is kept with the
// action's entry, so that a miss can be explained.
class Key {
 public:
  void AddFile(absl::string_view name, const Digest& content);
  void AddText(absl::string_view name, absl::string_view text);

  std::string Text() const;
  // Of the text.
  Digest digest() const { return DigestOf(Text()); }

 private:
  std::vector<std::string> lines_;
};

}  // namespace rules_onnx::cache

#endif  // RULES_ONNX_CACHE_KEY_H_
