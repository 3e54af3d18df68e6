#include "exporter/torch/script/mapped_archive.h"

#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace rules_onnx::script {
namespace {

// Below this a read costs less than a mapping.
constexpr uint64_t kMinMappedBytes = 64 << 10;

uintptr_t PageSize() {
  static const auto size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// Whole pages around the bytes of an entry.
struct Pages {
  Pages(const void* data, size_t bytes)
      : lead(reinterpret_cast<uintptr_t>(data) % PageSize()),
        begin(static_cast<char*>(const_cast<void*>(data)) - lead),
        size((lead + bytes + PageSize() - 1) / PageSize() * PageSize()) {}

  size_t lead;  // bytes of the first page before the entry
  void* begin;
  size_t size;
};

// The order in which LibTorch numbers, and reads, tensors: data/2 before data/10.
bool InOrder(const zip::Entry* a, const zip::Entry* b) {
  return std::pair(a->name.size(), a->name) < std::pair(b->name.size(), b->name);
}

}  // namespace

// LibTorch's allocator of CPU memory from the first archive on. Never destroyed: a tensor made by it
// keeps a pointer to it, and a later resize_ allocates by that.
class MappedArchive::Allocator : public c10::Allocator {
 public:
  // Installed by the first call, and stays: memory may be freed long after it was given out.
  static Allocator* Get() {
    static auto* const allocator = new Allocator(c10::GetCPUAllocator());
    return allocator;
  }

  void Serve(MappedArchive* archive) { archive_ = archive; }  // null: none

  c10::DataPtr allocate(size_t bytes) override {
    void* reserved = archive_ == nullptr ? nullptr : archive_->Reserve(bytes);
    if (reserved == nullptr) return plain_->allocate(bytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    reserved_.emplace(reserved, Pages(reserved, bytes));
    return {reserved, reserved, &Free, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &Free; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  explicit Allocator(c10::Allocator* plain) : plain_(plain) { c10::SetCPUAllocator(this); }

  static void Free(void* data) {
    Allocator* const allocator = Get();
    const std::lock_guard<std::mutex> lock(allocator->mutex_);
    const auto found = allocator->reserved_.find(data);
    if (found == allocator->reserved_.end()) return allocator->plain_->raw_deleter()(data);
    // Other memory may come to lie there.
    if (allocator->archive_ != nullptr) allocator->archive_->waiting_.erase(data);
    munmap(found->second.begin, found->second.size);
    allocator->reserved_.erase(found);
  }

  c10::Allocator* plain_;
  MappedArchive* archive_ = nullptr;
  std::mutex mutex_;
  std::unordered_map<void*, Pages> reserved_;
};

absl::StatusOr<std::shared_ptr<MappedArchive>> MappedArchive::Open(
    const zip::ZipReader& archive) {
  auto file = files::InputFile::Open(archive.path());
  if (!file.ok()) return file.status();
  auto mapped = std::shared_ptr<MappedArchive>(new MappedArchive(*std::move(file)));
  std::vector<const zip::Entry*> entries;
  for (const zip::Entry& entry : archive.entries()) {
    if (entry.stored() && entry.size >= kMinMappedBytes) entries.push_back(&entry);
  }
  std::sort(entries.begin(), entries.end(), InOrder);
  for (const zip::Entry* entry : entries) mapped->entries_[entry->size].push_back(entry->offset);
  return mapped;
}

MappedArchive::MappedArchive(files::InputFile file) : file_(std::move(file)) {
  Allocator::Get()->Serve(this);
}

MappedArchive::~MappedArchive() { Allocator::Get()->Serve(nullptr); }

void* MappedArchive::Reserve(size_t bytes) {
  const auto found = entries_.find(bytes);
  if (found == entries_.end() || found->second.empty()) return nullptr;
  const size_t lead = found->second.front() % PageSize();
  void* begin = mmap(nullptr, lead + bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) return nullptr;
  found->second.pop_front();
  void* data = static_cast<char*>(begin) + lead;
  waiting_[data] = bytes;
  return data;
}

bool MappedArchive::Map(uint64_t offset, void* buffer, size_t bytes) const {
  const auto waiting = waiting_.find(buffer);
  if (waiting == waiting_.end()) return false;
  const Pages pages(buffer, waiting->second);
  const bool fits = bytes == waiting->second && offset % PageSize() == pages.lead;
  waiting_.erase(waiting);
  if (!fits) return false;
  void* mapped = mmap(nullptr, pages.size, PROT_READ | PROT_WRITE, MAP_PRIVATE,
                      file_.descriptor(), static_cast<off_t>(offset - pages.lead));
  if (mapped == MAP_FAILED) return false;
  if (mremap(mapped, pages.size, pages.size, MREMAP_MAYMOVE | MREMAP_FIXED, pages.begin) !=
      MAP_FAILED) {
    return true;
  }
  munmap(mapped, pages.size);
  return false;
}

size_t MappedArchive::read(uint64_t offset, void* buffer, size_t bytes, const char*) const {
  if (Map(offset, buffer, bytes)) return bytes;
  return file_.Read(offset, bytes, static_cast<char*>(buffer)).ok() ? bytes : 0;
}

}  // namespace rules_onnx::script
