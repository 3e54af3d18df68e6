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

constexpr int kStored = 0, kDeflated = 8;
constexpr int kEncrypted = 1;             // a flag
constexpr uint64_t kMaxExpansion = 1032;  // of deflate

absl::Status NotAZip(const files::InputFile& file) {
  std::string head(std::min<uint64_t>(file.size(), kKindBytes), '\0');
  const absl::Status status = file.Read(0, head.size(), head.data());
  if (!status.ok()) return status;
  const std::string kind = DescribeKind(head);
  return absl::InvalidArgumentError(absl::StrCat(
      file.path(), " is not a zip file", kind.empty() ? "" : absl::StrCat(" (", kind, ")")));
}

// minizip accepts an archive whose last record is cut off.
absl::StatusOr<bool> EndsWithAWholeRecord(const files::InputFile& file) {
  constexpr size_t kRecord = 22, kLongestComment = 0xffff;
  std::string tail(std::min<uint64_t>(file.size(), kRecord + kLongestComment), '\0');
  const absl::Status status = file.Read(file.size() - tail.size(), tail.size(), tail.data());
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

// The entry that `archive` stands at.
absl::StatusOr<Entry> ReadEntry(void* archive, const files::InputFile& file) {
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

ZipReader::ZipReader(files::InputFile file, std::vector<Entry> entries,
                     std::vector<uint64_t> records)
    : file_(std::move(file)), entries_(std::move(entries)), records_(std::move(records)) {
  for (size_t i = 0; i < entries_.size(); ++i) index_.try_emplace(entries_[i].name, i);
}

absl::StatusOr<ZipReader> ZipReader::Open(absl::string_view path) {
  absl::StatusOr<files::InputFile> file = files::InputFile::Open(path);
  if (!file.ok()) return file.status();
  const absl::StatusOr<bool> whole = EndsWithAWholeRecord(*file);
  if (!whole.ok()) return whole.status();
  const Archive archive(*whole ? unzOpen64(file->path().c_str()) : nullptr);
  if (archive == nullptr) return NotAZip(*file);
  unz_global_info64 info;
  if (unzGetGlobalInfo64(archive.get(), &info) != UNZ_OK) return NotAZip(*file);
  std::vector<Entry> entries;
  std::vector<uint64_t> records;
  for (uint64_t i = 0; i < info.number_entry; ++i) {
    const int status = i == 0 ? unzGoToFirstFile(archive.get()) : unzGoToNextFile(archive.get());
    if (status != UNZ_OK) return Damaged(file->path(), "its directory is cut off");
    absl::StatusOr<Entry> entry = ReadEntry(archive.get(), *file);
    if (!entry.ok()) return entry.status();
    entries.push_back(*std::move(entry));
    unz64_file_pos position;
    unzGetFilePos64(archive.get(), &position);
    records.push_back(position.pos_in_zip_directory);
  }
  return ZipReader(*std::move(file), std::move(entries), std::move(records));
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
  const Archive archive(unzOpen64(path().c_str()));
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
