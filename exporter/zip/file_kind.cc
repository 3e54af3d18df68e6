#include "exporter/zip/file_kind.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace rules_onnx::zip {
namespace {

// torch.save before PyTorch 1.6: a pickle of this number comes first.
constexpr absl::string_view kTorchMagic("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.", 15);

// No control characters; bytes above ASCII may be UTF-8.
bool IsText(absl::string_view head) {
  return std::all_of(head.begin(), head.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' || (c >= '\t' && c <= '\r');
  });
}

bool IsPickle(absl::string_view head) {
  return head.size() > 1 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

}  // namespace

std::string DescribeKind(absl::string_view head) {
  if (head.empty()) return "it is empty";
  if (absl::StartsWith(head, "PK\x03\x04")) return "it begins as one, but is cut off or damaged";
  if (absl::StartsWith(head, kTorchMagic)) {
    return "it is a torch.save file, of a state dict perhaps, in the form from before PyTorch 1.6; "
           "save it again with a newer PyTorch";
  }
  if (IsPickle(head)) return "it is a Python pickle, of a state dict perhaps";
  if (head.size() >= 262 && head.substr(257, 5) == "ustar") return "it is a tar file";
  if (absl::StartsWith(head, "version https://git-lfs")) {
    return "it is a Git LFS pointer; fetch the file itself with git lfs pull";
  }
  if (absl::StartsWith(head, "\x1f\x8b")) return "it is a gzip file";
  if (absl::StartsWith(head, "\x93NUMPY")) return "it is a .npy file";
  if (IsText(head)) return "it is a plain text file";
  return "";
}

}  // namespace rules_onnx::zip
