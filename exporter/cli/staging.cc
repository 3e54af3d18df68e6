#include "exporter/cli/staging.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exporter/files/atomic_file.h"
#include "exporter/files/errors.h"

namespace rules_onnx::cli {

namespace fs = std::filesystem;

// A file or folder on its way out, and where the one that it replaces was put; empty: nowhere.
struct Staging::Move {
  // Takes it back.
  void Undo() const {
    std::error_code error;
    fs::remove_all(to, error);
    if (!replaced.empty()) fs::rename(replaced, to, error);
  }

  fs::path from, to, replaced;
};

absl::StatusOr<Staging> Staging::Create(const std::string& folder) {
  const std::string parent = folder.empty() ? "." : folder;
  for (int i = 0;; ++i) {
    std::string temporary = absl::StrCat(parent, "/.rules_onnx-", getpid(), "-", i, ".staging");
    GuardedFolder guard(temporary);
    if (mkdir(temporary.c_str(), 0777) == 0) {
      return Staging(folder, std::move(temporary), std::move(guard));
    }
    int reason = errno;
    if (reason == EEXIST) continue;
    std::error_code error;
    if (reason == ENOENT && !fs::exists(parent, error)) {
      return absl::NotFoundError(absl::StrCat("cannot write the output: there is no folder ", parent));
    }
    if (reason == ENOENT) reason = EPERM;  // as in /proc
    return files::SystemError(reason, "write into", parent);
  }
}

Staging::Staging(Staging&& other) noexcept
    : folder_(std::move(other.folder_)),
      temporary_(std::exchange(other.temporary_, "")),
      guard_(std::move(other.guard_)) {}

Staging::~Staging() {
  std::error_code error;
  if (!temporary_.empty()) fs::remove_all(temporary_, error);
}

std::string Staging::File(const std::string& name) const {
  return absl::StrCat(temporary_, "/", name);
}

std::string Staging::Published(absl::string_view text) const {
  const std::string folder = folder_.empty() ? "" : absl::StrCat(folder_, "/");
  return absl::StrReplaceAll(text, {{absl::StrCat(temporary_, "/"), folder}});
}

bool Staging::Has(const std::string& name) const {
  std::error_code error;
  return fs::exists(File(name), error);
}

// A name in the staging folder that nothing has.
std::string Staging::Unused() const {
  std::string name;
  for (int i = 0; name.empty() || Has(name); ++i) name = absl::StrCat(".replaced-", i);
  return File(name);
}

// A model's data, x.onnx.data, is a file or a folder, as the layout says: either takes the other's
// place. No other file takes a folder's.
absl::Status Staging::Publish(Move* move) const {
  std::error_code error;
  const bool is_folder = fs::is_directory(move->from, error);
  const bool is_data = move->to.extension() == ".data";
  const auto status = files::CheckReplaceable(move->to.string(), is_folder || is_data);
  if (!status.ok()) return status;
  // Only files take each other's place by rename.
  const auto stands = fs::symlink_status(move->to, error);
  if (is_folder ? fs::exists(stands) : fs::is_directory(stands)) {
    const std::string replaced = Unused();
    fs::rename(move->to, replaced, error);
    if (error) return files::SystemError(error.value(), "write", move->to.string());
    move->replaced = replaced;
  }
  fs::rename(move->from, move->to, error);
  return error ? files::SystemError(error.value(), "write", move->to.string()) : absl::OkStatus();
}

absl::Status Staging::Publish(const std::vector<std::string>& names) {
  const SignalsWait wait;
  std::vector<Move> moves;
  for (const std::string& name : names) {
    Move move{File(name), fs::path(folder_) / name, ""};
    const absl::Status status = Publish(&move);
    if (!status.ok()) {
      if (!move.replaced.empty()) move.Undo();
      for (const Move& made : moves) made.Undo();
      return status;
    }
    moves.push_back(std::move(move));
  }
  return absl::OkStatus();
}

}  // namespace rules_onnx::cli
