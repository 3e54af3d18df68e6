#include "cache/cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache/local_store.h"
#include "exporter/files/test_folder.h"

namespace rules_onnx::cache {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CacheTest : public ::testing::Test {
 protected:
  CacheTest()
      : store_(folder_.File("cache")), memo_(folder_.File("cache")), cache_(&store_, &memo_) {}

  std::string File(const std::string& name) const { return folder_.File(name); }
  void Write(const std::string& name, absl::string_view content) {
    ASSERT_TRUE(files::WriteFile(File(name), content).ok());
  }
  std::string Content(const std::string& name) { return files::ReadFile(File(name)).value_or("-"); }

  static Key KeyOf(absl::string_view text) {
    Key key;
    key.AddText("text", text);
    return key;
  }
  bool Restore(const Key& key) {
    const absl::StatusOr<bool> restored =
        cache_.Restore(key, [this](const std::string& name) { return File("out_" + name); });
    EXPECT_TRUE(restored.ok()) << restored.status();
    return restored.value_or(false);
  }
  void SaveTwo(const Key& key) {
    Write("a", "first content");
    Write("b", "second content");
    const absl::Status status = cache_.Save(key, {{"a", File("a")}, {"b", File("b")}});
    ASSERT_TRUE(status.ok()) << status;
  }
  // The store's file of a content.
  std::string ContentPath(absl::string_view content) const {
    const std::string hex = DigestOf(content).ToHex();
    return File("cache/v1/content/" + hex.substr(0, 2) + "/" + hex.substr(2));
  }
  std::string ActionPath(const Key& key) const {
    const std::string hex = key.digest().ToHex();
    return File("cache/v1/actions/" + hex.substr(0, 2) + "/" + hex.substr(2));
  }

  files::TestFolder folder_;
  LocalStore store_;
  Memo memo_;
  Cache cache_;
};

TEST_F(CacheTest, AMissMakesNothing) {
  EXPECT_FALSE(Restore(KeyOf("x")));
  EXPECT_THAT(folder_.List(), IsEmpty());
}

TEST_F(CacheTest, GivesBackWhatWasSaved) {
  SaveTwo(KeyOf("x"));
  EXPECT_FALSE(Restore(KeyOf("y")));
  EXPECT_TRUE(Restore(KeyOf("x")));
  EXPECT_EQ(Content("out_a"), "first content");
  EXPECT_EQ(Content("out_b"), "second content");
}

TEST_F(CacheTest, RestoredFilesAreOnesOwn) {
  SaveTwo(KeyOf("x"));
  ASSERT_TRUE(Restore(KeyOf("x")));
  struct stat info;
  ASSERT_EQ(lstat(File("out_a").c_str(), &info), 0);
  EXPECT_TRUE(S_ISREG(info.st_mode));
  EXPECT_EQ(info.st_nlink, 1);
  Write("out_a", "spoilt");
  EXPECT_TRUE(Restore(KeyOf("x")));
  EXPECT_EQ(Content("out_a"), "first content");
}

TEST_F(CacheTest, AFileThatIsRightAlreadyIsNotTouched) {
  SaveTwo(KeyOf("x"));
  ASSERT_TRUE(Restore(KeyOf("x")));
  struct stat before, after;
  stat(File("out_a").c_str(), &before);
  ASSERT_TRUE(Restore(KeyOf("x")));
  stat(File("out_a").c_str(), &after);
  EXPECT_EQ(before.st_ino, after.st_ino);
  ASSERT_EQ(link(File("out_a").c_str(), File("other").c_str()), 0);
  ASSERT_TRUE(Restore(KeyOf("x")));
  stat(File("out_a").c_str(), &after);
  EXPECT_EQ(after.st_nlink, 1);
}

TEST_F(CacheTest, EqualContentsAreKeptOnce) {
  SaveTwo(KeyOf("x"));
  struct stat before, after;
  ASSERT_EQ(stat(ContentPath("first content").c_str(), &before), 0);
  SaveTwo(KeyOf("y"));
  ASSERT_EQ(stat(ContentPath("first content").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_TRUE(Restore(KeyOf("x")) && Restore(KeyOf("y")));
}

TEST_F(CacheTest, ADamagedContentIsAMissAndIsDropped) {
  SaveTwo(KeyOf("x"));
  const std::string path = ContentPath("second content");
  for (const std::string& damage :
       {std::string("Second content"), std::string("second"), std::string()}) {
    ASSERT_TRUE(files::WriteFile(path, damage).ok());
    EXPECT_FALSE(Restore(KeyOf("x")));
    EXPECT_EQ(Content("out_b"), "-");
    EXPECT_NE(access(path.c_str(), F_OK), 0);
    SaveTwo(KeyOf("x"));
    EXPECT_TRUE(Restore(KeyOf("x")));
    ASSERT_EQ(unlink(File("out_b").c_str()), 0);
  }
}

TEST_F(CacheTest, ALostContentIsAMiss) {
  SaveTwo(KeyOf("x"));
  ASSERT_EQ(unlink(ContentPath("first content").c_str()), 0);
  EXPECT_FALSE(Restore(KeyOf("x")));
}

TEST_F(CacheTest, ADamagedRecordIsAMissAndIsDropped) {
  SaveTwo(KeyOf("x"));
  const std::string path = ActionPath(KeyOf("x")), record = *files::ReadFile(path);
  for (size_t i = 0; i < record.size(); i += 3) {
    std::string damaged = record;
    damaged[i] ^= 4;
    ASSERT_TRUE(files::WriteFile(path, damaged).ok());
    ASSERT_FALSE(cache_.Find(KeyOf("x"))->has_value()) << "byte " << i;
    ASSERT_NE(access(path.c_str(), F_OK), 0);
  }
}

TEST_F(CacheTest, ARecordOfAnotherKeyIsAMiss) {
  SaveTwo(KeyOf("x"));
  const std::string record = *files::ReadFile(ActionPath(KeyOf("x")));
  SaveTwo(KeyOf("y"));
  ASSERT_TRUE(files::WriteFile(ActionPath(KeyOf("y")), record).ok());
  EXPECT_FALSE(Restore(KeyOf("y")));
}

TEST_F(CacheTest, KeepsTheTextOfTheKey) {
  SaveTwo(KeyOf("x"));
  const absl::StatusOr<std::optional<Action>> action = cache_.Find(KeyOf("x"));
  ASSERT_TRUE(action.ok() && *action);
  EXPECT_EQ((*action)->key, "text\ttext x\n");
  EXPECT_EQ((*action)->artifacts[0].name, "a");
  EXPECT_EQ((*action)->artifacts[0].size, 13);
}

TEST_F(CacheTest, ReadingMarksAnEntryAsUsed) {
  SaveTwo(KeyOf("x"));
  const std::string path = ContentPath("first content");
  const timespec old[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), old, 0), 0);
  ASSERT_TRUE(Restore(KeyOf("x")));
  struct stat info;
  stat(path.c_str(), &info);
  EXPECT_GT(info.st_mtim.tv_sec, 1000);
}

TEST_F(CacheTest, AnOutputThatCannotBeWrittenIsAnError) {
  SaveTwo(KeyOf("x"));
  const absl::StatusOr<bool> restored =
      cache_.Restore(KeyOf("x"), [this](const std::string& name) { return File("no/" + name); });
  EXPECT_THAT(std::string(restored.status().message()), HasSubstr("there is no folder"));
}

TEST_F(CacheTest, AnOutputThatIsMissingIsAnErrorAndSavesNothing) {
  const absl::Status status = cache_.Save(KeyOf("x"), {{"a", File("none")}});
  EXPECT_THAT(std::string(status.message()), HasSubstr(File("none")));
  EXPECT_FALSE(Restore(KeyOf("x")));
}

TEST_F(CacheTest, AStoreThatCannotBeWrittenIsAnErrorThatNamesIt) {
  Write("cache", "a file");
  Write("a", "content");
  EXPECT_THAT(std::string(cache_.Save(KeyOf("x"), {{"a", File("a")}}).message()),
              HasSubstr(File("cache")));
}

TEST_F(CacheTest, ManyProcessesMayUseIt) {
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    const std::string mine = File("mine" + std::to_string(child));
    for (int round = 0; round < 100; ++round) {
      // All processes work on the same keys and contents.
      const std::string content(5000, 'a' + round % 10);
      const Key key = KeyOf(content);
      const auto place = [&](const std::string&) { return mine; };
      const absl::StatusOr<bool> restored = cache_.Restore(key, place);
      if (!restored.ok()) _exit(1);
      if (*restored && *files::ReadFile(mine) != content) _exit(2);
      if (*restored) unlink(ContentPath(content).c_str());
      if (!files::WriteFile(mine, content).ok()) _exit(3);
      if (!cache_.Save(key, {{"a", mine}}).ok()) _exit(4);
    }
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

TEST(Key, TextIsCanonical) {
  Key key, same;
  key.AddText("opset", "18");
  key.AddFile("graph", DigestOf("g"));
  key.AddText("names", "a\tb\nc");
  same.AddText("names", "a\tb\nc");
  same.AddFile("graph", DigestOf("g"));
  same.AddText("opset", "18");
  EXPECT_EQ(key.Text(), same.Text());
  EXPECT_EQ(key.Text(),
            "graph\tfile " + DigestOf("g").ToHex() + "\nnames\ttext a\\tb\\nc\nopset\ttext 18\n");
  EXPECT_EQ(key.digest(), DigestOf(key.Text()));
}

TEST(Key, NoTwoKeysHaveOneText) {
  Key one, other;
  one.AddText("a", "b\nc\ttext d");
  other.AddText("a", "b");
  other.AddText("c", "d");
  EXPECT_NE(one.Text(), other.Text());
  Key file, text;
  file.AddFile("a", DigestOf("x"));
  text.AddText("a", "file " + DigestOf("x").ToHex());
  EXPECT_NE(file.Text(), text.Text());
}

// The first is XXH3-128's test vector for the empty input with seed 0, in its canonical form.
TEST(Digest, IsXxh3) {
  EXPECT_EQ(DigestOf("").ToHex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(*Digest::FromHex(DigestOf("abc").ToHex()), DigestOf("abc"));
  EXPECT_EQ(Digest::FromHex("99aa06d3014798d86001c324468d497"), std::nullopt);
  EXPECT_EQ(Digest::FromHex("99AA06D3014798D86001C324468D497F"), std::nullopt);
  EXPECT_EQ(Digest::FromHex("99aa06d3014798d86001c324468d497g"), std::nullopt);
}

TEST(Digest, OfALargeFileEqualsThatOfItsBytes) {
  files::TestFolder folder;
  std::string content;
  for (int i = 0; i < 500000; ++i) content += std::to_string(i);
  ASSERT_TRUE(files::WriteFile(folder.File("x"), content).ok());
  EXPECT_EQ(*DigestOf(*files::InputFile::Open(folder.File("x"))), DigestOf(content));
}

TEST(Action, NamesMayHoldAnything) {
  const Action action{{{"data/a\tb\nc", 3, DigestOf("x")}}, "opset\ttext 18\n"};
  const std::optional<Action> parsed = ParseAction(SerializeAction(action));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->artifacts[0].name, "data/a\tb\nc");
  EXPECT_EQ(parsed->artifacts[0].content, DigestOf("x"));
  EXPECT_EQ(parsed->key, action.key);
}

}  // namespace
}  // namespace rules_onnx::cache
