// Outputs of actions, by the key of what they were made from.
//
//   Key key;
//   key.AddText("opset", "18");
//   key.AddFile("graph", *memo.DigestOfFile(graph));
//   if (!*cache.Restore(key, place)) { …make the outputs…; cache.Save(key, outputs); }
//
// The cache knows nothing of what is made.
#ifndef RULES_ONNX_CACHE_CACHE_H_
#define RULES_ONNX_CACHE_CACHE_H_

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cache/action.h"
#include "cache/key.h"
#include "cache/memo.h"
#include "cache/store.h"

namespace rules_onnx::cache {

// Any number of threads and processes may use the same store and memo.
class Cache {
 public:
  // Both must outlive the cache.
  Cache(Store* store, const Memo* memo) : store_(store), memo_(memo) {}

  // What an earlier run of the action gave; nullopt: a miss. A damaged record is removed.
  absl::StatusOr<std::optional<Action>> Find(const Key& key);

  // Puts a content at `path`: a new regular file with one link, whole and verified, or the file
  // that is there, untouched, if it is one and has that content already. False: the store has lost
  // the content, or it was damaged (and is removed now); nothing is written then.
  absl::StatusOr<bool> Fetch(const Artifact& artifact, const std::string& path);

  // Find and Fetch of all artifacts, each at place(its name). False: a miss; some files may be
  // there already, each whole.
  absl::StatusOr<bool> Restore(const Key& key,
                               const std::function<std::string(const std::string& name)>& place);

  // Keeps the files that an action gave (name → path), and the text of its key. An error leaves the
  // cache as useful as before.
  absl::Status Save(const Key& key, const std::map<std::string, std::string>& outputs);

 private:
  bool IsThere(const Artifact& artifact, const std::string& path) const;

  Store* store_;
  const Memo* memo_;
};

}  // namespace rules_onnx::cache

#endif  // RULES_ONNX_CACHE_CACHE_H_
