#include "exporter/torch/script/mapped_archive.h"

#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace rules_onnx::script {
namespace {

constexpr int64_t kElements = 100000;
constexpr size_t kBytes = kElements * sizeof(float);

// A program with one large weight, 0, 1, 2, ...
class MappedArchiveTest : public ::testing::Test {
 protected:
  MappedArchiveTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "mappedXXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    torch::jit::Module module("M");
    module.register_buffer("w", torch::arange(kElements, torch::kFloat));
    module.define("def forward(self, x):\n  return x + self.w\n");
    module.save(path());
    const auto zip = zip::ZipReader::Open(path());
    for (const zip::Entry& entry : zip->entries()) {
      if (entry.size == kBytes) offset_ = entry.offset;
    }
    archive_ = *MappedArchive::Open(*zip);
  }
  ~MappedArchiveTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return (folder_ / "m.pt").string(); }
  bool Mapped() const {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find(path()) != std::string::npos) return true;
    }
    return false;
  }
  void ReadInto(void* buffer) {
    ASSERT_EQ(archive_->read(offset_, buffer, kBytes, ""), kBytes);
    const auto* numbers = static_cast<const float*>(buffer);
    EXPECT_EQ(numbers[0], 0);
    EXPECT_EQ(numbers[kElements - 1], kElements - 1);
  }

  std::filesystem::path folder_;
  uint64_t offset_ = 0;
  std::shared_ptr<MappedArchive> archive_;
};

TEST_F(MappedArchiveTest, MapsOverMemoryOfTheEntrysSize) {
  const c10::DataPtr memory = c10::GetCPUAllocator()->allocate(kBytes);
  ReadInto(memory.get());
  EXPECT_TRUE(Mapped());
}

TEST_F(MappedArchiveTest, ReadsIntoOtherMemory) {
  std::vector<char> memory(kBytes);
  ReadInto(memory.data());
  EXPECT_FALSE(Mapped());
}

// What another allocation has put in the place of freed memory holds more than the entry.
TEST_F(MappedArchiveTest, ReadsWhereFreedMemoryWas) {
  c10::DataPtr memory = c10::GetCPUAllocator()->allocate(kBytes);
  char* const data = static_cast<char*>(memory.get());
  memory.clear();
  const size_t page = sysconf(_SC_PAGESIZE), lead = reinterpret_cast<uintptr_t>(data) % page;
  char* const begin = static_cast<char*>(mmap(data - lead, lead + kBytes, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                                              -1, 0));
  ASSERT_EQ(begin, data - lead);
  std::memset(begin, 'x', lead);
  ReadInto(data);
  EXPECT_FALSE(Mapped());
  EXPECT_EQ(std::string(begin, lead), std::string(lead, 'x'));
  munmap(begin, lead + kBytes);
}

// As a tensor's storage does that was made while the archive lived.
TEST_F(MappedArchiveTest, AllocatorOutlivesTheArchive) {
  c10::Allocator* const allocator = c10::GetCPUAllocator();
  archive_.reset();
  const c10::DataPtr memory = allocator->allocate(kBytes);
  std::memset(memory.get(), 1, kBytes);
  EXPECT_FALSE(Mapped());
}

// As packing of weights does: memory of an entry's size, and of another, given back by its address.
TEST_F(MappedArchiveTest, GivesBackByTheAddress) {
  c10::Allocator* const allocator = c10::GetCPUAllocator();
  void* const entry = allocator->raw_allocate(kBytes);
  void* const other = allocator->raw_allocate(kBytes + 1);
  ReadInto(entry);
  EXPECT_TRUE(Mapped());
  archive_.reset();
  c10::GetCPUAllocator()->raw_deallocate(entry);
  c10::GetCPUAllocator()->raw_deallocate(other);
  EXPECT_FALSE(Mapped());
}

}  // namespace
}  // namespace rules_onnx::script
