// A saved program whose weights are mapped from its file instead of read into memory.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_MAPPED_ARCHIVE_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_MAPPED_ARCHIVE_H_

#include <c10/core/Allocator.h>
#include <caffe2/serialize/read_adapter_interface.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "exporter/files/input_file.h"
#include "exporter/zip/zip_reader.h"

namespace rules_onnx::script {

// LibTorch allocates memory for an entry of the archive and then reads the entry into it. While a
// MappedArchive lives, the memory is laid out so that the entry's pages of the file can take its
// place: the allocation of an entry's size is placed as the next entry of that size lies in the file,
// and the read maps it there if it is the one. Whatever else is allocated or read goes the plain way.
//
// A mapped weight takes no memory of its own, and may be written: that changes a page's copy, not
// the file. The storages outlive the archive. One archive lives at a time, and nothing else allocates
// in other threads meanwhile.
class MappedArchive : public caffe2::serialize::ReadAdapterInterface {
 public:
  static absl::StatusOr<std::shared_ptr<MappedArchive>> Open(const zip::ZipReader& archive);
  ~MappedArchive() override;

  size_t size() const override { return file_.size(); }
  size_t read(uint64_t offset, void* buffer, size_t bytes, const char* what) const override;

 private:
  class Allocator;

  explicit MappedArchive(files::InputFile file);
  // Memory of that size, placed as the next entry of that size; null if there is none.
  void* Reserve(size_t bytes);
  // Maps the entry over memory that waits for it; false where it has to be read.
  bool Map(uint64_t offset, void* buffer, size_t bytes) const;

  files::InputFile file_;
  // Offsets of the large stored entries of each size, in the order of their numbers.
  std::map<uint64_t, std::deque<uint64_t>> entries_;
  // Memory that waits for its entry, with the entry's size, until it is read into or freed.
  mutable std::unordered_map<const void*, size_t> waiting_;
};

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_MAPPED_ARCHIVE_H_
