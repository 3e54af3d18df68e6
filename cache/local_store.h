// A store in a folder:
//
//   <folder>/v1/actions/<2 digits>/<30 digits>    an action's record
//   <folder>/v1/content/<2 digits>/<30 digits>    a content, byte for byte
//
// The digits are those of the entry's digest. Reading an entry sets its modification time to now,
// so that the oldest ones are the least recently used; entries may be deleted at any time by
// anybody. Names that begin with a point are entries being written.
#ifndef RULES_ONNX_CACHE_LOCAL_STORE_H_
#define RULES_ONNX_CACHE_LOCAL_STORE_H_

#include <string>

#include "cache/store.h"

namespace rules_onnx::cache {

class LocalStore : public Store {
 public:
  // Nothing is made before something is put.
  explicit LocalStore(std::string folder) : folder_(std::move(folder)) {}

  absl::StatusOr<std::optional<std::string>> GetText(const EntryId& id) override;
  absl::StatusOr<bool> GetFile(const EntryId& id, files::AtomicFile* to) override;
  absl::Status PutText(const EntryId& id, absl::string_view text) override;
  absl::Status PutFile(const EntryId& id, const files::InputFile& from) override;
  absl::Status Remove(const EntryId& id) override;

 private:
  std::string Path(const EntryId& id) const;
  absl::StatusOr<files::AtomicFile> Create(const EntryId& id) const;

  std::string folder_;
};

}  // namespace rules_onnx::cache

#endif  // RULES_ONNX_CACHE_LOCAL_STORE_H_
