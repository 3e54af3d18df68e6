#include "cache/memo.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "exporter/files/atomic_file.h"
#include "exporter/files/test_folder.h"

namespace rules_onnx::cache {
namespace {

class MemoTest : public ::testing::Test {
 protected:
  MemoTest()
      : path_(folder_.File("x")),
        memo_(folder_.File("cache"), [this] { return absl::Now() + later_; }) {
    EXPECT_TRUE(files::WriteFile(path_, "content").ok());
  }

  Digest Get() { return *memo_.DigestOfFile(path_); }
  // The memo's only file; empty if there is none.
  std::string MemoFile() const {
    const std::string root = folder_.File("cache");
    if (!std::filesystem::exists(root)) return "";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.is_regular_file()) return entry.path();
    }
    return "";
  }
  // Makes the memo tell of another digest, as no reading of the file would. Waits until the file
  // system's clock, which moves in steps, has moved.
  void Forge() {
    absl::SleepFor(absl::Milliseconds(20));
    std::string text = *files::ReadFile(MemoFile());
    text = text.substr(0, text.size() - 2 * 32 - 2) + DigestOf("forged").ToHex();
    ASSERT_TRUE(files::WriteFile(MemoFile(), text + " " + DigestOf(text).ToHex() + "\n").ok());
  }

  absl::Duration later_ = absl::Seconds(10);
  files::TestFolder folder_;
  std::string path_;
  Memo memo_;
};

TEST_F(MemoTest, AnUnchangedFileIsNotReadAgain) {
  EXPECT_EQ(Get(), DigestOf("content"));
  Forge();
  EXPECT_EQ(Get(), DigestOf("forged"));
}

TEST_F(MemoTest, AFileThatChangedJustNowIsNotRemembered) {
  later_ = absl::ZeroDuration();
  EXPECT_EQ(Get(), DigestOf("content"));
  EXPECT_EQ(MemoFile(), "");
}

TEST_F(MemoTest, AnyChangeIsSeen) {
  Get();
  Forge();
  const int fd = open(path_.c_str(), O_WRONLY);
  ASSERT_EQ(pwrite(fd, "C", 1, 0), 1);
  close(fd);
  // The same size and modification time: the change time tells.
  const timespec times[2] = {{0, UTIME_OMIT}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  EXPECT_EQ(Get(), DigestOf("Content"));
  Forge();
  ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  EXPECT_EQ(Get(), DigestOf("Content"));
  Forge();
  ASSERT_TRUE(files::WriteFile(path_, "Content").ok());  // a new inode
  EXPECT_EQ(Get(), DigestOf("Content"));
}

TEST_F(MemoTest, DamageIsNoticed) {
  Get();
  const std::string text = *files::ReadFile(MemoFile());
  for (size_t i = 0; i < text.size(); i += 5) {
    std::string damaged = text;
    damaged[i] ^= 1;
    ASSERT_TRUE(files::WriteFile(MemoFile(), damaged).ok());
    EXPECT_EQ(Get(), DigestOf("content")) << "byte " << i;
  }
}

TEST_F(MemoTest, AMemoThatCannotBeWrittenCostsTimeOnly) {
  ASSERT_TRUE(files::WriteFile(folder_.File("cache"), "a file").ok());
  EXPECT_EQ(Get(), DigestOf("content"));
}

TEST_F(MemoTest, AMissingFileIsAnError) {
  EXPECT_EQ(memo_.DigestOfFile("no/file").status().message(), "cannot read no/file: no such file");
}

}  // namespace
}  // namespace rules_onnx::cache
