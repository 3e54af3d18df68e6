#include "cache/cache.h"

#include <sys/stat.h>

#include <utility>

namespace rules_onnx::cache {
namespace {

EntryId ActionId(const Key& key) { return {EntryId::Space::kActions, key.digest()}; }
EntryId ContentId(const Artifact& artifact) { return {EntryId::Space::kContent, artifact.content}; }

absl::StatusOr<bool> HasContent(const files::AtomicFile& file, const Artifact& artifact) {
  const absl::StatusOr<files::InputFile> written = file.OpenWritten();
  if (!written.ok()) return written.status();
  if (written->size() != artifact.size) return false;
  const absl::StatusOr<Digest> digest = DigestOf(*written);
  if (!digest.ok()) return digest.status();
  return *digest == artifact.content;
}

bool IsPlainFile(const std::string& path, uint64_t size) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1 &&
         static_cast<uint64_t>(info.st_size) == size;
}

}  // namespace

absl::StatusOr<std::optional<Action>> Cache::Find(const Key& key) {
  const EntryId id = ActionId(key);
  const absl::StatusOr<std::optional<std::string>> record = store_->GetText(id);
  if (!record.ok()) return record.status();
  if (!*record) return std::nullopt;
  std::optional<Action> action = ParseAction(**record);
  if (action && action->key == key.Text()) return action;
  const absl::Status status = store_->Remove(id);
  if (!status.ok()) return status;
  return std::nullopt;
}

bool Cache::IsThere(const Artifact& artifact, const std::string& path) const {
  if (!IsPlainFile(path, artifact.size)) return false;
  const absl::StatusOr<Digest> digest = memo_->DigestOfFile(path);
  return digest.ok() && *digest == artifact.content;
}

absl::StatusOr<bool> Cache::Fetch(const Artifact& artifact, const std::string& path) {
  if (IsThere(artifact, path)) return true;
  absl::StatusOr<files::AtomicFile> file = files::AtomicFile::Create(path);
  if (!file.ok()) return file.status();
  const EntryId id = ContentId(artifact);
  const absl::StatusOr<bool> found = store_->GetFile(id, &*file);
  if (!found.ok() || !*found) return found;
  const absl::StatusOr<bool> good = HasContent(*file, artifact);
  if (!good.ok()) return good;
  const absl::Status status = *good ? file->Commit() : store_->Remove(id);
  if (!status.ok()) return status;
  return *good;
}

absl::StatusOr<bool> Cache::Restore(
    const Key& key, const std::function<std::string(const std::string& name)>& place) {
  const absl::StatusOr<std::optional<Action>> action = Find(key);
  if (!action.ok()) return action.status();
  if (!*action) return false;
  for (const Artifact& artifact : (*action)->artifacts) {
    const absl::StatusOr<bool> fetched = Fetch(artifact, place(artifact.name));
    if (!fetched.ok() || !*fetched) return fetched;
  }
  return true;
}

absl::Status Cache::Save(const Key& key, const std::map<std::string, std::string>& outputs) {
  Action action{.key = key.Text()};
  for (const auto& [name, path] : outputs) {
    const absl::StatusOr<files::InputFile> file = files::InputFile::Open(path);
    if (!file.ok()) return file.status();
    const absl::StatusOr<Digest> digest = DigestOf(*file);
    if (!digest.ok()) return digest.status();
    action.artifacts.push_back({name, file->size(), *digest});
    const absl::Status status = store_->PutFile(ContentId(action.artifacts.back()), *file);
    if (!status.ok()) return status;
  }
  return store_->PutText(ActionId(key), SerializeAction(action));
}

}  // namespace rules_onnx::cache
