#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "exporter/files/atomic_file.h"
#include "exporter/files/input_file.h"
#include "exporter/files/test_folder.h"
#include "exporter/weights/tensor_source.h"
#include "exporter/weights/weights_file.h"

namespace rules_onnx::weights {
namespace {

using ir::DType;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::unique_ptr<TensorSource> Owned(const std::string& bytes) {
  auto owner = std::make_shared<std::string>(bytes);
  return MemorySource(DType::kUInt8, {static_cast<int64_t>(bytes.size())}, *owner, owner);
}

std::vector<const TensorSource*> Pointers(
    const std::vector<std::unique_ptr<TensorSource>>& sources) {
  std::vector<const TensorSource*> pointers;
  for (const auto& source : sources) pointers.push_back(source.get());
  return pointers;
}

// Elements of a type, numbered from 0.
template <typename T>
std::string Numbered(size_t count) {
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), T{0});
  return std::string(reinterpret_cast<const char*>(values.data()), count * sizeof(T));
}

// What a strided view holds, element by element.
std::string Expected(const std::string& bytes, size_t element_size, const FileView& view,
                     const std::vector<int64_t>& shape) {
  std::string result;
  std::vector<int64_t> index(shape.size(), 0);
  while (true) {
    int64_t at = view.storage_offset;
    for (size_t i = 0; i < shape.size(); ++i) at += index[i] * view.strides[i];
    result += bytes.substr(view.file_offset + at * element_size, element_size);
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return result;
  }
}

class FileSourceTest : public ::testing::Test {
 protected:
  // Reads a view of a file of numbered int32, 8 bytes into it, and compares.
  void Check(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
             int64_t storage_offset = 0, size_t count = 4000) {
    const std::string content = "12345678" + Numbered<int32_t>(count);
    FileView view{folder_.File("w"), 8, content.size() - 8, storage_offset, strides};
    ASSERT_TRUE(files::WriteFile(view.path, content).ok());
    const auto source = FileSource(DType::kInt32, shape, view);
    std::string bytes;
    const absl::Status status = ReadAll(*source, &bytes);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(bytes == Expected(content, 4, view, shape));
  }

  // The message for a view of a file of 100 bytes.
  std::string Refusal(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides,
                      int64_t storage_offset = 0) {
    const std::string path = folder_.File("w");
    EXPECT_TRUE(files::WriteFile(path, std::string(100, 'x')).ok());
    const auto source = FileSource(dtype, shape, {path, 0, 100, storage_offset, strides});
    std::string bytes;
    const absl::Status status = ReadAll(*source, &bytes);
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
    return std::string(status.message());
  }

  files::TestFolder folder_;
};

TEST_F(FileSourceTest, Contiguous) { Check({3, 4, 5}, {20, 5, 1}, 17); }
TEST_F(FileSourceTest, ContiguousBeyondOnePiece) { Check({3, 400000}, {400000, 1}, 5, 1300000); }
TEST_F(FileSourceTest, ScalarAndAxesOfSizeOne) {
  Check({}, {}, 42);
  Check({1, 5, 1}, {7, 1, 99}, 3);
}
TEST_F(FileSourceTest, Transposed) { Check({30, 20}, {1, 30}); }
TEST_F(FileSourceTest, TransposedBeyondOneBlock) { Check({1500, 1700}, {1, 1500}, 0, 2550000); }
TEST_F(FileSourceTest, ChannelsLast) { Check({4, 3, 5, 7}, {105, 1, 21, 3}); }
TEST_F(FileSourceTest, Stepped) {
  Check({10, 20}, {100, 3}, 1);
  Check({600000}, {2}, 0, 1300000);
}
TEST_F(FileSourceTest, ElementsFarApart) { Check({40, 3}, {30000, 9000}, 2, 1300000); }
TEST_F(FileSourceTest, Expanded) {
  Check({6, 5}, {0, 1}, 3);
  Check({5, 6}, {1, 0}, 3);
  Check({2, 3, 4, 5}, {0, 1, 0, 3});
  Check({7}, {0}, 9);
}
TEST_F(FileSourceTest, ExpandedBeyondOneBlock) { Check({3000, 1000}, {0, 1}); }
TEST_F(FileSourceTest, OverlappingWindows) { Check({50, 8}, {1, 1}); }

TEST_F(FileSourceTest, AllElementSizes) {
  const std::string content = Numbered<uint8_t>(6 * 16);
  const std::string path = folder_.File("w");
  ASSERT_TRUE(files::WriteFile(path, content).ok());
  for (const DType dtype :
       {DType::kBool, DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kComplex128}) {
    const FileView view{path, 0, content.size(), 0, {1, 3}};
    std::string bytes;
    ASSERT_TRUE(ReadAll(*FileSource(dtype, {3, 2}, view), &bytes).ok());
    EXPECT_EQ(bytes, Expected(content, ir::ElementSize(dtype), view, {3, 2}));
  }
}

TEST_F(FileSourceTest, EmptyTensorsReadNothing) {
  std::string bytes = "old";
  EXPECT_TRUE(
      ReadAll(*FileSource(DType::kInt32, {3, 0}, {"no/file", 0, 0, 0, {1, 1}}), &bytes).ok());
  EXPECT_EQ(bytes, "");
}

TEST_F(FileSourceTest, RefusesViewsThatLeaveTheRange) {
  EXPECT_THAT(Refusal(DType::kFloat32, {26}, {1}), HasSubstr("does not fit in its 100 bytes"));
  EXPECT_THAT(Refusal(DType::kFloat32, {5, 5}, {5, 1}, 1), HasSubstr("shape [5, 5]"));
  Refusal(DType::kFloat32, {2}, {-1}, 4);
  Refusal(DType::kFloat32, {2}, {1}, -1);
  Refusal(DType::kFloat32, {-2}, {1});
  Refusal(DType::kFloat32, {2}, {1, 1});
  Refusal(DType::kUndefined, {2}, {1});
  Refusal(DType::kFloat32, {int64_t{1} << 40, 2}, {int64_t{1} << 40, int64_t{1} << 62});
}

TEST_F(FileSourceTest, NamesAFileThatEndsEarly) {
  const std::string path = folder_.File("w");
  ASSERT_TRUE(files::WriteFile(path, "abc").ok());
  std::string bytes;
  EXPECT_THAT(
      std::string(ReadAll(*FileSource(DType::kInt8, {9}, {path, 0, 9, 0, {1}}), &bytes).message()),
      HasSubstr(path + ": it ends at byte 3"));
}

TEST(TensorSource, BytesOfAnImpossibleShape) {
  EXPECT_EQ(
      MemorySource(DType::kFloat32, {int64_t{1} << 32, int64_t{1} << 32}, "", nullptr)->bytes(),
      UINT64_MAX);
  EXPECT_EQ(MemorySource(DType::kFloat32, {-1}, "", nullptr)->bytes(), UINT64_MAX);
  EXPECT_EQ(MemorySource(DType::kFloat16, {}, "", nullptr)->bytes(), 2);
}

TEST(WriteWeights, AlignsAndPadsWithZeros) {
  files::TestFolder folder;
  const std::string small(100, 's'), large(64 << 10, 'l');
  std::vector<std::unique_ptr<TensorSource>> sources;
  for (const std::string& bytes : {small, std::string("x"), large, std::string("y")}) {
    sources.push_back(Owned(bytes));
  }
  const auto places = WriteWeights(Pointers(sources), folder.File("w"));
  ASSERT_TRUE(places.ok()) << places.status();
  EXPECT_EQ((*places)[0].offset, 0);
  EXPECT_EQ((*places)[1].offset, 128);
  EXPECT_EQ((*places)[2].offset, 4096);
  EXPECT_EQ((*places)[3].offset, 4096 + (64 << 10));
  EXPECT_EQ(*files::ReadFile(folder.File("w")),
            small + std::string(28, '\0') + "x" + std::string(4096 - 129, '\0') + large + "y");
}

TEST(WriteWeights, StoresEqualBytesOnce) {
  files::TestFolder folder;
  const std::string bytes = Numbered<int32_t>(100);
  std::vector<std::unique_ptr<TensorSource>> sources;
  sources.push_back(Owned("a"));
  sources.push_back(Owned(bytes));
  sources.push_back(MemorySource(DType::kFloat32, {10, 10}, bytes, nullptr));  // another dtype
  sources.push_back(Owned("b"));
  sources.push_back(Owned("a"));
  sources.push_back(Owned(""));
  const auto places = WriteWeights(Pointers(sources), folder.File("w"));
  ASSERT_TRUE(places.ok()) << places.status();
  EXPECT_EQ((*places)[1].offset, 64);
  EXPECT_EQ((*places)[2].offset, 64);
  EXPECT_EQ((*places)[3].offset, 512);
  EXPECT_EQ((*places)[4].offset, 0);
  EXPECT_EQ((*places)[5].bytes, 0);
  EXPECT_EQ(*files::ReadFile(folder.File("w")),
            "a" + std::string(63, '\0') + bytes + std::string(48, '\0') + "b");
}

TEST(WriteWeights, LongerDuplicateLeavesNoTrace) {
  files::TestFolder folder;
  const std::string large(100000, 'l');
  std::vector<std::unique_ptr<TensorSource>> sources;
  sources.push_back(Owned(large));
  sources.push_back(Owned(large));
  const auto places = WriteWeights(Pointers(sources), folder.File("w"));
  ASSERT_TRUE(places.ok()) << places.status();
  EXPECT_EQ(*files::ReadFile(folder.File("w")), large);
}

TEST(WriteWeights, TwiceGivesTheSameFile) {
  files::TestFolder folder;
  std::vector<std::unique_ptr<TensorSource>> sources;
  sources.push_back(Owned("abc"));
  ASSERT_TRUE(WriteWeights(Pointers(sources), folder.File("w")).ok());
  ASSERT_TRUE(WriteWeights(Pointers(sources), folder.File("w")).ok());
  EXPECT_EQ(*files::ReadFile(folder.File("w")), "abc");
}

TEST(WriteWeights, AFailedSourceLeavesNoFile) {
  files::TestFolder folder;
  std::vector<std::unique_ptr<TensorSource>> sources;
  sources.push_back(Owned("abc"));
  sources.push_back(FileSource(DType::kInt8, {3}, {folder.File("none"), 0, 3, 0, {1}}));
  const absl::Status status = WriteWeights(Pointers(sources), folder.File("w")).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder.File("none") + ": no such file"));
  EXPECT_THAT(folder.List(), IsEmpty());
}

// A child of its own, since peak memory only grows: 144 MB of contiguous and 144 MB of transposed
// weights pass through less than 40 MB.
TEST(WriteWeights, MemoryDoesNotGrowWithTheWeights) {
  files::TestFolder folder;
  constexpr int64_t kSide = 6000;
  absl::StatusOr<files::AtomicFile> file = files::AtomicFile::Create(folder.File("in"));
  ASSERT_TRUE(file.ok() && file->Write("x").ok() && file->Resize(kSide * kSide * 4).ok() &&
              file->Commit().ok());
  const pid_t child = fork();
  if (child == 0) {
    const FileView view{folder.File("in"), 0, kSide * kSide * 4, 0, {kSide, 1}};
    FileView transposed = view;
    transposed.strides = {1, kSide};
    std::vector<std::unique_ptr<TensorSource>> sources;
    sources.push_back(FileSource(DType::kFloat32, {kSide, kSide}, view));
    sources.push_back(FileSource(DType::kFloat32, {kSide, kSide}, transposed));
    const auto places = WriteWeights(Pointers(sources), folder.File("w"));
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    if (!places.ok() || (*places)[1].offset != 0) _exit(2);
    _exit(usage.ru_maxrss < 40 * 1024 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace rules_onnx::weights
