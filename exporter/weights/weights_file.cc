#include "exporter/weights/weights_file.h"

#include <xxhash.h>

#include <memory>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "exporter/files/atomic_file.h"

namespace rules_onnx::weights {
namespace {

constexpr uint64_t kPageAligned = 64 << 10;  // tensors from this size on

// What equal bytes share: their hash and their count.
using Content = std::tuple<uint64_t, uint64_t, uint64_t>;

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

class Writer {
 public:
  explicit Writer(files::AtomicFile file) : file_(std::move(file)), hash_(XXH3_createState()) {}

  absl::StatusOr<Place> Add(const TensorSource& source) {
    if (source.bytes() == 0) return Place();
    const uint64_t end = file_.size();
    const uint64_t alignment = source.bytes() >= kPageAligned ? 4096 : 64;
    const Place place{(end + alignment - 1) / alignment * alignment, source.bytes()};
    absl::Status status;
    if (place.offset != end) status = file_.Resize(place.offset);
    if (!status.ok()) return status;
    const absl::StatusOr<Content> content = Write(source);
    if (!content.ok()) return content.status();
    const auto [known, is_new] = places_.try_emplace(*content, place);
    // Tied weights are found once they are written: one reading of each is enough.
    if (!is_new) status = file_.Resize(end);
    if (!status.ok()) return status;
    return known->second;
  }

  absl::Status Commit() { return file_.Commit(); }

 private:
  absl::StatusOr<Content> Write(const TensorSource& source) {
    const uint64_t begin = file_.size();
    XXH3_128bits_reset(hash_.get());
    const absl::Status status = source.Read([this](absl::string_view piece) {
      XXH3_128bits_update(hash_.get(), piece.data(), piece.size());
      return file_.Write(piece);
    });
    if (!status.ok()) return status;
    if (file_.size() - begin != source.bytes()) {
      return absl::InternalError(
          absl::StrCat("a tensor of ", source.bytes(), " bytes gave ", file_.size() - begin));
    }
    const XXH128_hash_t digest = XXH3_128bits_digest(hash_.get());
    return Content(digest.high64, digest.low64, source.bytes());
  }

  files::AtomicFile file_;
  std::unique_ptr<XXH3_state_t, FreeState> hash_;
  absl::flat_hash_map<Content, Place> places_;
};

}  // namespace

absl::StatusOr<std::vector<Place>> WriteWeights(const std::vector<const TensorSource*>& sources,
                                                const std::string& path) {
  absl::StatusOr<files::AtomicFile> file = files::AtomicFile::Create(path);
  if (!file.ok()) return file.status();
  Writer writer(*std::move(file));
  std::vector<Place> places;
  for (const TensorSource* source : sources) {
    const absl::StatusOr<Place> place = writer.Add(*source);
    if (!place.ok()) return place.status();
    places.push_back(*place);
  }
  const absl::Status status = writer.Commit();
  if (!status.ok()) return status;
  return places;
}

}  // namespace rules_onnx::weights
