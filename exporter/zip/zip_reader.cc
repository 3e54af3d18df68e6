#include "exporter/zip/zip_reader.h"

#include <minizip/unzip.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/zip/file_kind.h"

namespace rules_onnx::zip {
namespace {

struct Close {
  void operator()(void* archive) const { unzClose(archive); }
};
using Archive = std::unique_ptr<void, Close>;

// A range of a file as minizip reads it. The part of one archive that another one holds is such a
// range.
class Window {
 public:
  Window(const files::InputFile& file, uint64_t begin, uint64_t size)
      : file_(file), begin_(begin), size_(size) {}

  // An open archive that reads through this window; null if it is none.
  void* OpenArchive() {
    zlib_filefunc64_def functions = {};
    functions.opaque = this;
    functions.zopen64_file = [](void* window, const void*, int) {
      static_cast<Window*>(window)->position_ = 0;
      return window;
    };
    functions.zread_file = [](void*, void* window, void* buffer, uLong size) {
      return static_cast<Window*>(window)->Read(buffer, size);
    };
    functions.zwrite_file = [](void*, void*, const void*, uLong) -> uLong { return 0; };
    functions.ztell64_file = [](void*, void* window) -> ZPOS64_T {
      return static_cast<Window*>(window)->position_;
    };
    functions.zseek64_file = [](void*, void* window, ZPOS64_T offset, int origin) {
      return static_cast<Window*>(window)->Seek(offset, origin);
    };
    functions.zclose_file = [](void*, void*) { return 0; };
    functions.zerror_file = [](void*, void* window) {
      return static_cast<Window*>(window)->failed_ ? 1 : 0;
    };
    return unzOpen2_64(file_.path().c_str(), &functions);
  }

  absl::Status ReadAt(uint64_t offset, size_t size, char* out) const {
    return file_.Read(begin_ + offset, size, out);
  }
  uint64_t size() const { return size_; }
  const std::string& path() const { return file_.path(); }

 private:
  // minizip asks for a directory's numbers byte by byte.
  uLong Read(void* buffer, uLong size) {
    const uLong count = std::min<uint64_t>(size, size_ - std::min(position_, size_));
    failed_ = count < kAhead ? !ReadAhead(static_cast<char*>(buffer), count)
                             : !ReadAt(position_, count, static_cast<char*>(buffer)).ok();
    if (failed_) return 0;
    position_ += count;
    return count;
  }

  bool ReadAhead(char* out, uint64_t count) {
    if (position_ < ahead_begin_ || position_ + count > ahead_begin_ + ahead_.size()) {
      ahead_begin_ = position_;
      ahead_.resize(std::min<uint64_t>(kAhead, size_ - position_));
      if (!ReadAt(position_, ahead_.size(), ahead_.data()).ok()) {
        ahead_.clear();
        return false;
      }
    }
    std::copy_n(ahead_.data() + (position_ - ahead_begin_), count, out);
    return true;
  }

  long Seek(uint64_t offset, int origin) {
    uint64_t from = 0;
    if (origin == ZLIB_FILEFUNC_SEEK_CUR) from = position_;
    if (origin == ZLIB_FILEFUNC_SEEK_END) from = size_;
    if (from + offset > size_) return -1;
    position_ = from + offset;
    return 0;
  }

  static constexpr uint64_t kAhead = 4096;

  const files::InputFile& file_;
  const uint64_t begin_, size_;
  uint64_t position_ = 0;
  uint64_t ahead_begin_ = 0;
  std::string ahead_;  // the file's bytes from there on
  bool failed_ = false;
};

constexpr int kStored = 0, kDeflated = 8;
constexpr int kEncrypted = 1;             // a flag
constexpr uint64_t kMaxExpansion = 1032;  // of deflate

absl::Status NotAZip(const Window& file) {
  std::string head(std::min<uint64_t>(file.size(), kKindBytes), '\0');
  const absl::Status status = file.ReadAt(0, head.size(), head.data());
  if (!status.ok()) return status;
  const std::string kind = DescribeKind(head);
  return absl::InvalidArgumentError(absl::StrCat(
      file.path(), " is not a zip file", kind.empty() ? "" : absl::StrCat(" (", kind, ")")));
}

// minizip accepts an archive whose last record is cut off.
absl::StatusOr<bool> EndsWithAWholeRecord(const Window& file) {
  constexpr size_t kRecord = 22, kLongestComment = 0xffff;
  std::string tail(std::min<uint64_t>(file.size(), kRecord + kLongestComment), '\0');
  const absl::Status status = file.ReadAt(file.size() - tail.size(), tail.size(), tail.data());
  if (!status.ok()) return status;
  const size_t begin = tail.rfind("PK\x05\x06");
  return begin != std::string::npos && tail.size() - begin >= kRecord;
}

absl::Status Damaged(const std::string& path, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(path, " is a damaged zip file: ", what));
}

Packing PackingOf(const unz_file_info64& info) {
  if ((info.flag & kEncrypted) != 0) return Packing::kOther;
  if (info.compression_method == kStored) return Packing::kStored;
  return info.compression_method == kDeflated ? Packing::kDeflated : Packing::kOther;
}

// The entry that `archive` stands at; its offset counts from the start of the window.
absl::StatusOr<Entry> ReadEntry(void* archive, const Window& file) {
  unz_file_info64 info;
  if (unzGetCurrentFileInfo64(archive, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK) {
    return Damaged(file.path(), "its directory cannot be read");
  }
  Entry entry;
  entry.name.resize(info.size_filename);
  unzGetCurrentFileInfo64(archive, nullptr, entry.name.data(), entry.name.size(), nullptr, 0,
                          nullptr, 0);
  entry.size = info.uncompressed_size;
  entry.packed_size = info.compressed_size;
  entry.packing = PackingOf(info);
  int method, level;
  if (unzOpenCurrentFile2(archive, &method, &level, /*raw=*/1) != UNZ_OK) {
    return Damaged(file.path(), absl::StrCat("no entry stands where ", entry.name, " should be"));
  }
  entry.offset = unzGetCurrentFileZStreamPos64(archive);
  unzCloseCurrentFile(archive);
  const bool inside =
      entry.offset <= file.size() && entry.packed_size <= file.size() - entry.offset;
  if (!inside || (entry.stored() && entry.size != entry.packed_size)) {
    return Damaged(file.path(), absl::StrCat("entry ", entry.name, " leaves the file"));
  }
  return entry;
}

}  // namespace

ZipReader::ZipReader(files::InputFile file, uint64_t begin, uint64_t size)
    : file_(std::move(file)), begin_(begin), size_(size) {}

absl::StatusOr<ZipReader> ZipReader::Open(absl::string_view path) {
  absl::StatusOr<files::InputFile> file = files::InputFile::Open(path);
  if (!file.ok()) return file.status();
  const uint64_t size = file->size();
  ZipReader reader(*std::move(file), 0, size);
  if (absl::Status status = reader.ReadDirectory(); !status.ok()) return status;
  return reader;
}

absl::StatusOr<ZipReader> ZipReader::OpenInside(const Entry& entry) const {
  if (!entry.stored()) {
    return absl::UnimplementedError(
        absl::StrCat(path(), ": the archive ", entry.name, " in it is compressed"));
  }
  absl::StatusOr<files::InputFile> file = files::InputFile::Open(path());
  if (!file.ok()) return file.status();
  ZipReader reader(*std::move(file), entry.offset, entry.size);
  if (absl::Status status = reader.ReadDirectory(); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(entry.name, " in ", status.message()));
  }
  return reader;
}

absl::Status ZipReader::ReadDirectory() {
  Window window(file_, begin_, size_);
  const absl::StatusOr<bool> whole = EndsWithAWholeRecord(window);
  if (!whole.ok()) return whole.status();
  const Archive archive(*whole ? window.OpenArchive() : nullptr);
  if (archive == nullptr) return NotAZip(window);
  unz_global_info64 info;
  if (unzGetGlobalInfo64(archive.get(), &info) != UNZ_OK) return NotAZip(window);
  for (uint64_t i = 0; i < info.number_entry; ++i) {
    const int status = i == 0 ? unzGoToFirstFile(archive.get()) : unzGoToNextFile(archive.get());
    if (status != UNZ_OK) return Damaged(path(), "its directory is cut off");
    absl::StatusOr<Entry> entry = ReadEntry(archive.get(), window);
    if (!entry.ok()) return entry.status();
    entry->offset += begin_;
    index_.try_emplace(entry->name, i);
    entries_.push_back(*std::move(entry));
    unz64_file_pos position;
    unzGetFilePos64(archive.get(), &position);
    records_.push_back(position.pos_in_zip_directory);
  }
  return absl::OkStatus();
}

const Entry* ZipReader::Find(absl::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? nullptr : &entries_[found->second];
}

absl::StatusOr<std::string> ZipReader::Read(absl::string_view name) const {
  const auto found = index_.find(std::string(name));
  if (found == index_.end()) {
    return absl::NotFoundError(absl::StrCat(path(), " holds no entry ", name));
  }
  const Entry& entry = entries_[found->second];
  // Before the memory is asked for: the size may be damaged.
  if (entry.size / kMaxExpansion > entry.packed_size) {
    return Damaged(path(), absl::StrCat("entry ", name, " has an impossible size"));
  }
  if (entry.packing == Packing::kOther) {
    return absl::UnimplementedError(
        absl::StrCat("entry ", name, " of ", path(),
                     " is encrypted, or compressed by something else than deflate"));
  }
  Window window(file_, begin_, size_);
  const Archive archive(window.OpenArchive());
  const unz64_file_pos position = {records_[found->second], found->second};
  if (archive == nullptr || unzGoToFilePos64(archive.get(), &position) != UNZ_OK ||
      unzOpenCurrentFile(archive.get()) != UNZ_OK) {
    return Damaged(path(), absl::StrCat("entry ", name, " cannot be opened"));
  }
  std::string content(entry.size, '\0');
  size_t done = 0;
  while (done < content.size()) {
    const unsigned piece = std::min<size_t>(content.size() - done, 1 << 30);
    const int got = unzReadCurrentFile(archive.get(), content.data() + done, piece);
    if (got <= 0) return Damaged(path(), absl::StrCat("entry ", name, " cannot be unpacked"));
    done += got;
  }
  if (unzCloseCurrentFile(archive.get()) != UNZ_OK) {
    return Damaged(path(), absl::StrCat("entry ", name, " has a wrong checksum"));
  }
  return content;
}

}  // namespace rules_onnx::zip
