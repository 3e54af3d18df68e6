// Reading of zip archives: PyTorch's .pt and .pt2, numpy's .npz.
#ifndef RULES_ONNX_EXPORTER_ZIP_ZIP_READER_H_
#define RULES_ONNX_EXPORTER_ZIP_ZIP_READER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "exporter/files/input_file.h"

namespace rules_onnx::zip {

enum class Packing {
  kStored,  // the entry's bytes stand in the archive as they are
  kDeflated,
  kOther,  // encrypted, or a compression that Read does not know
};

struct Entry {
  std::string name;
  Packing packing = Packing::kOther;
  uint64_t size = 0;         // unpacked
  uint64_t packed_size = 0;  // equals size if stored
  uint64_t offset = 0;       // of the first packed byte in the file

  bool stored() const { return packing == Packing::kStored; }
};

// The directory of an archive (zip64 too) and access to its entries. Immutable; any number of
// threads may read. Errors name the archive.
class ZipReader {
 public:
  // A file that is no whole archive is refused with what it seems to be instead: "x.pt is not a
  // zip file (it is a plain text file)". Every entry's bytes lie inside of the file.
  static absl::StatusOr<ZipReader> Open(absl::string_view path);

  // The archive that a stored entry of this one is.
  absl::StatusOr<ZipReader> OpenInside(const Entry& entry) const;

  const std::string& path() const { return file_.path(); }
  // In the archive's order.
  const std::vector<Entry>& entries() const { return entries_; }
  // The entry of that name, the first if there are several; nullptr if there is none.
  const Entry* Find(absl::string_view name) const;

  // A whole entry, unpacked, with its checksum verified; for small entries. An entry that is
  // missing is kNotFound.
  absl::StatusOr<std::string> Read(absl::string_view name) const;

 private:
  ZipReader(files::InputFile file, uint64_t begin, uint64_t size);
  absl::Status ReadDirectory();

  files::InputFile file_;
  uint64_t begin_, size_;  // of the archive in the file
  std::vector<Entry> entries_;
  std::vector<uint64_t> records_;  // where each entry's record stands in the archive's directory
  absl::flat_hash_map<std::string, size_t> index_;
};

}  // namespace rules_onnx::zip

#endif  // RULES_ONNX_EXPORTER_ZIP_ZIP_READER_H_
