#include "exporter/cli/loaded_libraries.h"

#include <elf.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "exporter/files/input_file.h"

namespace rules_onnx::cli {
namespace {

namespace fs = std::filesystem;

// What the dynamic section of an ELF file says.
struct Dynamic {
  std::vector<std::string> needed;
  std::vector<std::string> folders;
};

class ElfReader {
 public:
  explicit ElfReader(absl::string_view content) : content_(content) {}

  Dynamic Read() const;

 private:
  // The structure at an offset; zeros outside of the file.
  template <typename T>
  T At(uint64_t offset) const {
    T value{};
    if (offset <= content_.size() && content_.size() - offset >= sizeof(T)) {
      std::memcpy(&value, content_.data() + offset, sizeof(T));
    }
    return value;
  }
  std::vector<Elf64_Phdr> Segments() const;
  std::string Text(uint64_t offset) const {
    if (offset >= content_.size()) return "";
    const absl::string_view rest = content_.substr(offset);
    return std::string(rest.substr(0, rest.find('\0')));
  }

  absl::string_view content_;
};

std::vector<Elf64_Phdr> ElfReader::Segments() const {
  const auto header = At<Elf64_Ehdr>(0);
  std::vector<Elf64_Phdr> segments;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    segments.push_back(At<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr)));
  }
  return segments;
}

Dynamic ElfReader::Read() const {
  const auto header = At<Elf64_Ehdr>(0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return {};
  }
  const std::vector<Elf64_Phdr> segments = Segments();
  std::vector<Elf64_Dyn> entries;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (uint64_t at = 0; at < segment.p_filesz; at += sizeof(Elf64_Dyn)) {
      entries.push_back(At<Elf64_Dyn>(segment.p_offset + at));
      if (entries.back().d_tag == DT_NULL) break;
    }
  }
  uint64_t strings = content_.size();
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag != DT_STRTAB) continue;
    for (const Elf64_Phdr& segment : segments) {
      const uint64_t at = entry.d_un.d_ptr - segment.p_vaddr;
      if (segment.p_type == PT_LOAD && at < segment.p_filesz) strings = segment.p_offset + at;
    }
  }
  Dynamic result;
  for (const Elf64_Dyn& entry : entries) {
    const std::string text = Text(strings + entry.d_un.d_val);
    if (entry.d_tag == DT_NEEDED) result.needed.push_back(text);
    if (entry.d_tag == DT_RUNPATH || entry.d_tag == DT_RPATH) {
      result.folders = absl::StrSplit(text, ':', absl::SkipEmpty());
    }
  }
  return result;
}

class Walk {
 public:
  Walk() {
    const char* folders = getenv("LD_LIBRARY_PATH");
    if (folders != nullptr) searched_ = absl::StrSplit(folders, ':', absl::SkipEmpty());
  }

  void Visit(const std::string& path);
  std::vector<std::string> Take() { return std::move(found_); }

 private:
  std::vector<std::string> searched_;
  std::set<std::string> seen_;  // names, of which the linker loads one library each
  std::vector<std::string> found_;
};

void Walk::Visit(const std::string& path) {
  const auto file = files::MappedFile::Open(path);
  if (!file.ok()) return;
  const Dynamic dynamic = ElfReader(file->content()).Read();
  std::error_code error;
  const std::string origin = fs::canonical(path, error).parent_path().string();
  std::vector<std::string> folders = searched_;
  for (const std::string& folder : dynamic.folders) {
    folders.push_back(absl::StrReplaceAll(folder, {{"$ORIGIN", origin}, {"${ORIGIN}", origin}}));
  }
  for (const std::string& name : dynamic.needed) {
    for (const std::string& folder : folders) {
      const std::string library = (fs::path(folder) / name).string();
      if (!fs::is_regular_file(library, error)) continue;
      if (!seen_.insert(name).second) break;
      found_.push_back(library);
      Visit(library);
      break;
    }
  }
}

}  // namespace

std::vector<std::string> LoadedLibraries(const std::string& program) {
  Walk walk;
  walk.Visit(program);
  return walk.Take();
}

}  // namespace rules_onnx::cli
