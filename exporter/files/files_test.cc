#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "exporter/files/atomic_file.h"
#include "exporter/files/folders.h"
#include "exporter/files/input_file.h"
#include "exporter/files/test_folder.h"

namespace rules_onnx::files {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// The exit status of `body` in a process of its own.
template <typename Body>
int InChild(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool DropCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

bool WriteTo(const std::string& path, const std::string& text) {
  return static_cast<bool>(std::ofstream(path) << text << std::flush);
}

// Mounts a file system of 64 kB on `folder`, seen by this process only.
bool MountSmallDisk(const std::string& folder) {
  const std::string user = std::to_string(geteuid()), group = std::to_string(getegid());
  return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && WriteTo("/proc/self/setgroups", "deny") &&
         WriteTo("/proc/self/uid_map", "0 " + user + " 1") &&
         WriteTo("/proc/self/gid_map", "0 " + group + " 1") &&
         mount("none", folder.c_str(), "tmpfs", 0, "size=64k") == 0;
}

TEST(ReadFile, GivesTheContent) {
  TestFolder folder;
  const std::string content("a\0b\n", 4);
  ASSERT_TRUE(WriteFile(folder.File("x"), content).ok());
  EXPECT_EQ(*ReadFile(folder.File("x")), content);
}

TEST(ReadFile, NamesAMissingFile) {
  const absl::Status status = ReadFile("no/such.pt").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Message(status), "cannot read no/such.pt: no such file");
}

TEST(ReadFile, RefusesWhatIsNoRegularFile) {
  TestFolder folder;
  EXPECT_EQ(Message(ReadFile(folder.path()).status()),
            "cannot read " + folder.path() + ": it is a directory");
  ASSERT_EQ(mkfifo(folder.File("pipe").c_str(), 0666), 0);
  EXPECT_THAT(Message(ReadFile(folder.File("pipe")).status()), HasSubstr("not a regular file"));
}

TEST(InputFile, ReadsByOffsetAndTellsOfAnEarlyEnd) {
  TestFolder folder;
  ASSERT_TRUE(WriteFile(folder.File("x"), "0123456789").ok());
  absl::StatusOr<InputFile> file = InputFile::Open(folder.File("x"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->size(), 10);
  char buffer[4];
  ASSERT_TRUE(file->Read(3, 4, buffer).ok());
  EXPECT_EQ(std::string(buffer, 4), "3456");
  const absl::Status status = file->Read(8, 4, buffer);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr(folder.File("x") + ": it ends at byte 10"));
}

TEST(MappedFile, ShowsTheContent) {
  TestFolder folder;
  ASSERT_TRUE(WriteFile(folder.File("x"), "abc").ok());
  ASSERT_TRUE(WriteFile(folder.File("empty"), "").ok());
  absl::StatusOr<MappedFile> file = MappedFile::Open(folder.File("x"));
  ASSERT_TRUE(file.ok());
  const MappedFile moved = *std::move(file);
  EXPECT_EQ(moved.content(), "abc");
  EXPECT_EQ(MappedFile::Open(folder.File("empty"))->content(), "");
}

// With files that have no name until they are committed, and with temporary names.
class AtomicFileTest : public ::testing::TestWithParam<AtomicFile::Temporary> {
 protected:
  static absl::StatusOr<AtomicFile> Create(const std::string& path) {
    return AtomicFile::Create(path, GetParam());
  }
  static absl::Status WriteFile(const std::string& path, absl::string_view content) {
    absl::StatusOr<AtomicFile> file = Create(path);
    if (!file.ok()) return file.status();
    const absl::Status status = file->Write(content);
    return status.ok() ? file->Commit() : status;
  }
};
INSTANTIATE_TEST_SUITE_P(Unnamed, AtomicFileTest,
                         ::testing::Values(AtomicFile::Temporary::kUnnamed));
INSTANTIATE_TEST_SUITE_P(Named, AtomicFileTest, ::testing::Values(AtomicFile::Temporary::kNamed));

TEST_P(AtomicFileTest, AppearsOnCommitOnly) {
  TestFolder folder;
  ASSERT_TRUE(WriteFile(folder.File("x"), "old").ok());
  {
    absl::StatusOr<AtomicFile> file = Create(folder.File("x"));
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Write("new").ok());
    EXPECT_EQ(*ReadFile(folder.File("x")), "old");
    ASSERT_TRUE(file->Commit().ok());
    EXPECT_EQ(*ReadFile(folder.File("x")), "new");
  }
  EXPECT_THAT(folder.List(), ElementsAre("x"));
}

TEST_P(AtomicFileTest, WithoutCommitLeavesNothing) {
  TestFolder folder;
  {
    absl::StatusOr<AtomicFile> file = Create(folder.File("x"));
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Write("new").ok());
    AtomicFile moved = *std::move(file);
    EXPECT_TRUE(moved.Write("more").ok());
  }
  EXPECT_THAT(folder.List(), IsEmpty());
}

TEST_P(AtomicFileTest, HasTheModeThatTheUmaskLeavesAndOneLink) {
  TestFolder folder;
  const mode_t old = umask(027);
  ASSERT_TRUE(WriteFile(folder.File("x"), "").ok());
  umask(old);
  struct stat info;
  ASSERT_EQ(stat(folder.File("x").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640);
  EXPECT_EQ(info.st_nlink, 1);
}

TEST_P(AtomicFileTest, ReplacesASymlinkNotItsTarget) {
  TestFolder folder;
  ASSERT_TRUE(WriteFile(folder.File("target"), "old").ok());
  ASSERT_EQ(symlink("target", folder.File("x").c_str()), 0);
  ASSERT_TRUE(WriteFile(folder.File("x"), "new").ok());
  EXPECT_EQ(*ReadFile(folder.File("target")), "old");
  EXPECT_EQ(*ReadFile(folder.File("x")), "new");
}

TEST_P(AtomicFileTest, AppendsARangeOfAnotherFile) {
  TestFolder folder;
  std::string content;
  for (int i = 0; i < 1000000; ++i) content += std::to_string(i);
  ASSERT_TRUE(WriteFile(folder.File("from"), content).ok());
  absl::StatusOr<InputFile> from = InputFile::Open(folder.File("from"));
  absl::StatusOr<AtomicFile> file = Create(folder.File("x"));
  ASSERT_TRUE(from.ok() && file.ok());
  ASSERT_TRUE(file->Write("head").ok());
  ASSERT_TRUE(file->Append(*from, 7, 3000000).ok());
  ASSERT_TRUE(file->Resize(3000006).ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(*ReadFile(folder.File("x")),
            "head" + content.substr(7, 3000000) + std::string(2, '\0'));
}

TEST_P(AtomicFileTest, AppendPastTheEndIsAnErrorThatNamesTheSource) {
  TestFolder folder;
  ASSERT_TRUE(WriteFile(folder.File("from"), "abc").ok());
  absl::StatusOr<InputFile> from = InputFile::Open(folder.File("from"));
  absl::StatusOr<AtomicFile> file = Create(folder.File("x"));
  ASSERT_TRUE(from.ok() && file.ok());
  EXPECT_THAT(Message(file->Append(*from, 1, 10)), HasSubstr(folder.File("from")));
}

TEST_P(AtomicFileTest, CanBeReadBeforeItIsCommitted) {
  TestFolder folder;
  absl::StatusOr<AtomicFile> file = Create(folder.File("x"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->Write("abc").ok());
  absl::StatusOr<InputFile> written = file->OpenWritten();
  ASSERT_TRUE(written.ok());
  std::string content(3, ' ');
  ASSERT_TRUE(written->Read(0, 3, content.data()).ok());
  EXPECT_EQ(content, "abc");
}

TEST_P(AtomicFileTest, ResizeCutsAndLengthensWithZeros) {
  TestFolder folder;
  absl::StatusOr<AtomicFile> file = Create(folder.File("x"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->Write("abcdef").ok());
  ASSERT_TRUE(file->Resize(2).ok());
  ASSERT_TRUE(file->Resize(4).ok());
  ASSERT_TRUE(file->Write("z").ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(*ReadFile(folder.File("x")), std::string("ab\0\0z", 5));
}

TEST_P(AtomicFileTest, NamesWhyItCannotBeMade) {
  TestFolder folder;
  EXPECT_EQ(Message(WriteFile(folder.File("no/x"), "")),
            "cannot write " + folder.File("no/x") + ": there is no folder " + folder.File("no"));
  EXPECT_EQ(Message(WriteFile(folder.path(), "")),
            "cannot write " + folder.path() + ": it is a directory");
  EXPECT_EQ(Message(WriteFile("/dev/null", "")),
            "cannot write /dev/null: it is not a regular file");
  ASSERT_TRUE(WriteFile(folder.File("file"), "").ok());
  EXPECT_THAT(Message(WriteFile(folder.File("file/x"), "")), HasSubstr("is not a directory"));
}

TEST(CheckReplaceable, AllowsFilesAndFoldersForFolders) {
  TestFolder folder;
  ASSERT_TRUE(WriteFile(folder.File("file"), "").ok());
  ASSERT_EQ(mkfifo(folder.File("pipe").c_str(), 0666), 0);
  for (const bool by_folder : {false, true}) {
    EXPECT_TRUE(CheckReplaceable(folder.File("nothing"), by_folder).ok());
    EXPECT_TRUE(CheckReplaceable(folder.File("file"), by_folder).ok());
    EXPECT_THAT(Message(CheckReplaceable(folder.File("pipe"), by_folder)),
                HasSubstr("not a regular file"));
    ASSERT_EQ(mkdir(folder.File("tensors").c_str(), 0777) == 0, !by_folder);
    ASSERT_TRUE(WriteFile(folder.File("tensors/a"), "").ok());
    EXPECT_EQ(CheckReplaceable(folder.File("tensors"), by_folder).ok(), by_folder);
  }
  EXPECT_THAT(Message(CheckReplaceable(folder.path(), true)), HasSubstr("holds"));
}

TEST(CheckReplaceable, RefusesFoldersThatHoldMoreThanFiles) {
  TestFolder folder;
  ASSERT_EQ(mkdir(folder.File("data").c_str(), 0777), 0);
  ASSERT_TRUE(WriteFile(folder.File("data/tensor"), "").ok());
  ASSERT_EQ(symlink("tensor", folder.File("data/link").c_str()), 0);
  EXPECT_THAT(Message(CheckReplaceable(folder.File("data"), true)), HasSubstr("holds link"));
  ASSERT_EQ(unlink(folder.File("data/link").c_str()), 0);
  EXPECT_TRUE(CheckReplaceable(folder.File("data"), true).ok());
  ASSERT_EQ(mkdir(folder.File("data/precious").c_str(), 0777), 0);
  EXPECT_THAT(Message(CheckReplaceable(folder.File("data"), true)), HasSubstr("holds precious"));
}

TEST_P(AtomicFileTest, NamesAFolderThatIsNotWritable) {
  TestFolder folder;
  ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
  const int result = InChild([&] {
    // Root may write everywhere.
    if (!DropCapabilities()) return 2;
    const absl::Status status = WriteFile(folder.File("x"), "");
    return status.message() == "cannot write " + folder.File("x") + ": folder " + folder.path() +
                                   " is not writable"
               ? 0
               : 1;
  });
  EXPECT_EQ(result, 0);
}

TEST_P(AtomicFileTest, AWriteThatFailsLeavesNothing) {
  TestFolder folder;
  const int result = InChild([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1000, 1000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    const absl::Status status = WriteFile(folder.File("x"), std::string(5000, 'x'));
    return absl::StrContains(status.message(), folder.File("x")) ? 0 : 1;
  });
  EXPECT_EQ(result, 0);
  EXPECT_THAT(folder.List(), IsEmpty());
}

TEST_P(AtomicFileTest, TellsOfAFullDisk) {
  TestFolder folder;
  const int result = InChild([&] {
    if (!MountSmallDisk(folder.path())) return 3;
    const absl::Status status = WriteFile(folder.File("x"), std::string(200000, 'x'));
    if (status.code() != absl::StatusCode::kResourceExhausted) return 1;
    if (status.message() != "cannot write " + folder.File("x") + ": the disk is full") return 1;
    return folder.List().empty() ? 0 : 1;
  });
  if (result == 3) GTEST_SKIP() << "this machine lets nobody mount a small file system";
  EXPECT_EQ(result, 0);
}

TEST_P(AtomicFileTest, ManyProcessesMayWriteOnePath) {
  TestFolder folder;
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int round = 0; round < 50; ++round) {
        if (!WriteFile(folder.File("x"), std::string(10000, 'a' + i)).ok()) _exit(1);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (int round = 0; round < 200; ++round) {
    const absl::StatusOr<std::string> content = ReadFile(folder.File("x"));
    if (!content.ok()) continue;
    ASSERT_EQ(*content, std::string(10000, (*content)[0]));
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_THAT(folder.List(), ElementsAre("x"));
}

TEST(AtomicFile, AKilledProcessLeavesNothing) {
  TestFolder folder;
  const int fd = open(folder.path().c_str(), O_RDWR | O_TMPFILE, 0666);
  if (fd < 0) GTEST_SKIP() << "the file system of " << folder.path() << " has no O_TMPFILE";
  close(fd);
  const pid_t child = fork();
  if (child == 0) {
    absl::StatusOr<AtomicFile> file = AtomicFile::Create(folder.File("x"));
    if (file.ok() && file->Write(std::string(100000, 'x')).ok()) raise(SIGKILL);
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(folder.List(), IsEmpty());
}

TEST(MakeFolders, MakesAllThatAreMissing) {
  TestFolder folder;
  EXPECT_TRUE(MakeFolders(folder.File("a/b/c")).ok());
  EXPECT_TRUE(MakeFolders(folder.File("a/b/c")).ok());
  EXPECT_TRUE(WriteFile(folder.File("a/b/c/x"), "").ok());
  EXPECT_THAT(Message(MakeFolders(folder.File("a/b/c/x/d"))),
              HasSubstr("cannot make folder " + folder.File("a/b/c/x/d")));
}

}  // namespace
}  // namespace rules_onnx::files
