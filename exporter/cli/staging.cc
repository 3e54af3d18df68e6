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
namespace {

namespace fs = std::filesystem;

// A model's data, x.onnx.data, is a file or a folder, as the layout says: either takes the other's
// place. No other file takes a folder's.
absl::Status Move(const fs::path& from, const fs::path& to) {
  std::error_code error;
  const bool is_folder = fs::is_directory(from, error), is_data = to.extension() == ".data";
  const auto status = files::CheckReplaceable(to.string(), is_folder || is_data);
  if (!status.ok()) return status;
  if (is_folder || fs::is_directory(to, error)) fs::remove_all(to, error);
  fs::rename(from, to, error);
  return error ? files::SystemError(error.value(), "write", to.string()) : absl::OkStatus();
}

}  // namespace

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

absl::Status Staging::Publish(const std::vector<std::string>& names) {
  const SignalsWait wait;
  std::vector<fs::path> published;
  for (const std::string& name : names) {
    const fs::path target = fs::path(folder_) / name;
    const absl::Status status = Move(File(name), target);
    if (!status.ok()) {
      std::error_code error;
      for (const fs::path& path : published) fs::remove_all(path, error);
      return status;
    }
    published.push_back(target);
  }
  return absl::OkStatus();
}

}  // namespace rules_onnx::cli
