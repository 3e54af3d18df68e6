#include "cache/memo.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "exporter/files/atomic_file.h"
#include "exporter/files/errors.h"
#include "exporter/files/folders.h"
#include "exporter/files/input_file.h"

namespace rules_onnx::cache {
namespace {

constexpr absl::Duration kSettled = absl::Seconds(2);

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

// What must be equal for a content to be equal.
std::string StateText(const struct stat& info) {
  return absl::StrCat(info.st_dev, " ", info.st_ino, " ", info.st_size, " ",
                      Nanoseconds(info.st_mtim), " ", Nanoseconds(info.st_ctim), " ");
}

std::string MemoPath(const std::string& folder, const struct stat& info) {
  const std::string hex = DigestOf(absl::StrCat(info.st_dev, " ", info.st_ino)).ToHex();
  return absl::StrCat(folder, "/v1/memo/", hex.substr(0, 2), "/", hex.substr(2));
}

std::string WithCheck(const std::string& text) {
  return absl::StrCat(text, " ", DigestOf(text).ToHex(), "\n");
}

std::optional<Digest> Lookup(const std::string& memo_path, const std::string& state) {
  const absl::StatusOr<std::string> text = files::ReadFile(memo_path);
  if (!text.ok() || !absl::StartsWith(*text, state)) return std::nullopt;
  const std::optional<Digest> digest =
      Digest::FromHex(absl::string_view(*text).substr(state.size()).substr(0, 32));
  if (!digest || *text != WithCheck(state + digest->ToHex())) return std::nullopt;
  return digest;
}

void Remember(const std::string& memo_path, const std::string& state, const Digest& digest) {
  const absl::Status status = files::MakeFolders(memo_path.substr(0, memo_path.rfind('/')));
  if (status.ok()) files::WriteFile(memo_path, WithCheck(state + digest.ToHex())).IgnoreError();
}

}  // namespace

absl::StatusOr<Digest> Memo::DigestOfFile(const std::string& path) const {
  const absl::StatusOr<files::InputFile> file = files::InputFile::Open(path);
  if (!file.ok()) return file.status();
  struct stat before, after;
  if (fstat(file->descriptor(), &before) != 0) return files::SystemError(errno, "read", path);
  const std::string state = StateText(before), memo_path = MemoPath(folder_, before);
  if (const std::optional<Digest> known = Lookup(memo_path, state)) return *known;

  const absl::StatusOr<Digest> digest = DigestOf(*file);
  if (!digest.ok()) return digest;
  const absl::Time changed =
      absl::FromUnixNanos(std::max(Nanoseconds(before.st_mtim), Nanoseconds(before.st_ctim)));
  const bool settled = changed + kSettled <= now_();
  if (settled && fstat(file->descriptor(), &after) == 0 && StateText(after) == state) {
    Remember(memo_path, state, *digest);
  }
  return digest;
}

}  // namespace rules_onnx::cache
