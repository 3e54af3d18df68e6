// Where entries are kept: one local folder; later also servers.
#ifndef RULES_ONNX_CACHE_STORE_H_
#define RULES_ONNX_CACHE_STORE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cache/digest.h"
#include "exporter/files/atomic_file.h"
#include "exporter/files/input_file.h"

namespace rules_onnx::cache {

struct EntryId {
  enum class Space {
    kActions,  // named by the digest of the action's key; small
    kContent,  // named by the digest of the content itself; of any size
  };
  Space space = Space::kContent;
  Digest digest;
};

// A store of entries. A miss is a value, not an error; an error says that the store (or the target
// of a copy) does not work. What comes back may be damaged: the caller verifies it and removes a
// bad entry. Entries are small texts, held in memory, or files, which are streamed. Any number of
// threads and processes may use one store; an entry appears whole or not at all, and putting one
// that exists may keep the old one or replace it.
class Store {
 public:
  virtual ~Store() = default;

  // nullopt: there is no such entry.
  virtual absl::StatusOr<std::optional<std::string>> GetText(const EntryId& id) = 0;
  // Appends the entry to `to`, which is not committed. False: there is no such entry.
  virtual absl::StatusOr<bool> GetFile(const EntryId& id, files::AtomicFile* to) = 0;

  virtual absl::Status PutText(const EntryId& id, absl::string_view text) = 0;
  virtual absl::Status PutFile(const EntryId& id, const files::InputFile& from) = 0;

  // An entry that is not there is removed already.
  virtual absl::Status Remove(const EntryId& id) = 0;
};

}  // namespace rules_onnx::cache

#endif  // RULES_ONNX_CACHE_STORE_H_
