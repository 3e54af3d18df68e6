#include "cache/local_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "exporter/files/errors.h"
#include "exporter/files/folders.h"

namespace rules_onnx::cache {
namespace {

// The entry's file, marked as just used; nullopt where there is none.
absl::StatusOr<std::optional<files::InputFile>> OpenEntry(const std::string& path) {
  absl::StatusOr<files::InputFile> file = files::InputFile::Open(path);
  if (absl::IsNotFound(file.status())) return std::nullopt;
  if (!file.ok()) return file.status();
  // A store that is not ours to write still serves.
  (void)utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return *std::move(file);
}

}  // namespace

std::string LocalStore::Path(const EntryId& id) const {
  const std::string hex = id.digest.ToHex();
  return absl::StrCat(folder_,
                      id.space == EntryId::Space::kActions ? "/v1/actions/" : "/v1/content/",
                      hex.substr(0, 2), "/", hex.substr(2));
}

absl::StatusOr<std::optional<std::string>> LocalStore::GetText(const EntryId& id) {
  absl::StatusOr<std::optional<files::InputFile>> file = OpenEntry(Path(id));
  if (!file.ok()) return file.status();
  if (!*file) return std::nullopt;
  std::string text((*file)->size(), '\0');
  const absl::Status status = (*file)->Read(0, text.size(), text.data());
  if (!status.ok()) return status;
  return text;
}

absl::StatusOr<bool> LocalStore::GetFile(const EntryId& id, files::AtomicFile* to) {
  absl::StatusOr<std::optional<files::InputFile>> file = OpenEntry(Path(id));
  if (!file.ok()) return file.status();
  if (!*file) return false;
  const absl::Status status = to->Append(**file, 0, (*file)->size());
  if (!status.ok()) return status;
  return true;
}

absl::StatusOr<files::AtomicFile> LocalStore::Create(const EntryId& id) const {
  const std::string path = Path(id);
  const absl::Status status = files::MakeFolders(path.substr(0, path.rfind('/')));
  if (!status.ok()) return status;
  return files::AtomicFile::Create(path);
}

absl::Status LocalStore::PutText(const EntryId& id, absl::string_view text) {
  absl::StatusOr<files::AtomicFile> file = Create(id);
  if (!file.ok()) return file.status();
  const absl::Status status = file->Write(text);
  return status.ok() ? file->Commit() : status;
}

absl::Status LocalStore::PutFile(const EntryId& id, const files::InputFile& from) {
  // A content that is there need not be copied again. If it is damaged, the next reader removes it.
  struct stat info;
  const std::string path = Path(id);
  if (id.space == EntryId::Space::kContent && stat(path.c_str(), &info) == 0 &&
      static_cast<uint64_t>(info.st_size) == from.size() &&
      utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0) {
    return absl::OkStatus();
  }
  absl::StatusOr<files::AtomicFile> file = Create(id);
  if (!file.ok()) return file.status();
  const absl::Status status = file->Append(from, 0, from.size());
  return status.ok() ? file->Commit() : status;
}

absl::Status LocalStore::Remove(const EntryId& id) {
  const std::string path = Path(id);
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return files::SystemError(errno, "remove", path);
}

}  // namespace rules_onnx::cache
