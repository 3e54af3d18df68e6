// Digests of files that have not changed since they were read.
//
//   <folder>/v1/memo/<2 digits>/<30 digits>     named by the digest of "device inode"
//   memo = device SP inode SP size SP mtime SP ctime SP content SP check LF
//
// Times are nanoseconds; check is the digest of the text before it. One small file for each file
// remembered, replaced atomically, so that any number of processes may use it.
#ifndef RULES_ONNX_CACHE_MEMO_H_
#define RULES_ONNX_CACHE_MEMO_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cache/digest.h"

namespace rules_onnx::cache {

class Memo {
 public:
  // `now` is for tests.
  explicit Memo(std::string folder, std::function<absl::Time()> now = absl::Now)
      : folder_(std::move(folder)), now_(std::move(now)) {}

  // The digest of a file's content: remembered, if the file has the same device, inode, size,
  // mtime and ctime as when it was read; else it is read. A file that changed less than two seconds
  // ago is not remembered, since another change may leave the times equal. A memo that cannot be
  // written or is damaged costs time only.
  absl::StatusOr<Digest> DigestOfFile(const std::string& path) const;

 private:
  std::string folder_;
  std::function<absl::Time()> now_;
};

}  // namespace rules_onnx::cache

#endif  // RULES_ONNX_CACHE_MEMO_H_
