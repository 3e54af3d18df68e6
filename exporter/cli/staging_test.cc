#include "exporter/cli/staging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "exporter/files/atomic_file.h"
#include "exporter/files/input_file.h"
#include "exporter/files/test_folder.h"

namespace rules_onnx::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(StagingTest, PublishesWhatIsNamedAndLeavesNothingElse) {
  files::TestFolder folder;
  ASSERT_TRUE(files::WriteFile(folder.File("a"), "old").ok());
  {
    auto staging = Staging::Create(folder.path());
    ASSERT_TRUE(staging.ok());
    for (const char* name : {"a", "b", "c"}) {
      ASSERT_TRUE(files::WriteFile(staging->File(name), "new").ok());
    }
    EXPECT_TRUE(staging->Has("c"));
    EXPECT_FALSE(staging->Has("d"));
    ASSERT_TRUE(staging->Publish({"a", "b"}).ok());
  }
  EXPECT_THAT(folder.List(), ElementsAre("a", "b"));
  EXPECT_EQ(*files::ReadFile(folder.File("a")), "new");
}

TEST(StagingTest, FoldersReplaceFoldersAndFiles) {
  files::TestFolder folder;
  ASSERT_TRUE(files::WriteFile(folder.File("data"), "old").ok());
  for (int i = 0; i < 2; ++i) {
    auto staging = Staging::Create(folder.path());
    std::filesystem::create_directory(staging->File("data"));
    ASSERT_TRUE(files::WriteFile(staging->File("data/" + std::to_string(i)), "").ok());
    ASSERT_TRUE(staging->Publish({"data"}).ok());
    EXPECT_TRUE(std::filesystem::exists(folder.File("data/" + std::to_string(i))));
  }
  EXPECT_FALSE(std::filesystem::exists(folder.File("data/0")));
}

TEST(StagingTest, DataOfOneLayoutReplacesThatOfAnother) {
  files::TestFolder folder;
  std::filesystem::create_directory(folder.File("x.onnx.data"));
  ASSERT_TRUE(files::WriteFile(folder.File("x.onnx.data/0"), "").ok());
  auto staging = Staging::Create(folder.path());
  ASSERT_TRUE(files::WriteFile(staging->File("x.onnx.data"), "weights").ok());
  ASSERT_TRUE(staging->Publish({"x.onnx.data"}).ok());
  EXPECT_EQ(*files::ReadFile(folder.File("x.onnx.data")), "weights");
}

TEST(StagingTest, FailureTakesBackWhatWasMoved) {
  files::TestFolder folder;
  std::filesystem::create_directory(folder.File("b"));
  {
    auto staging = Staging::Create(folder.path());
    ASSERT_TRUE(files::WriteFile(staging->File("a"), "").ok());
    ASSERT_TRUE(files::WriteFile(staging->File("b"), "").ok());
    EXPECT_FALSE(staging->Publish({"a", "b"}).ok());
  }
  EXPECT_THAT(folder.List(), ElementsAre("b"));
}

TEST(StagingTest, FailurePutsFoldersBack) {
  files::TestFolder folder;
  const auto data = [&](const std::string& name) { return folder.File(name + "/tensor"); };
  for (const char* name : {"a", "b.data"}) {
    std::filesystem::create_directory(folder.File(name));
    ASSERT_TRUE(files::WriteFile(data(name), name).ok());
  }
  {
    auto staging = Staging::Create(folder.path());
    std::filesystem::create_directory(staging->File("a"));
    EXPECT_FALSE(staging->Publish({"a", "b.data"}).ok());  // there is no new b.data
  }
  EXPECT_THAT(folder.List(), ElementsAre("a", "b.data"));
  for (const char* name : {"a", "b.data"}) EXPECT_EQ(*files::ReadFile(data(name)), name);
}

TEST(StagingTest, FoldersThatHoldMoreThanFilesStay) {
  files::TestFolder folder;
  std::filesystem::create_directories(folder.File("x.onnx.data/precious"));
  {
    auto staging = Staging::Create(folder.path());
    ASSERT_TRUE(files::WriteFile(staging->File("x.onnx.data"), "weights").ok());
    const absl::Status status = staging->Publish({"x.onnx.data"});
    EXPECT_THAT(std::string(status.message()), HasSubstr("precious"));
  }
  EXPECT_THAT(folder.List(), ElementsAre("x.onnx.data"));
  EXPECT_TRUE(std::filesystem::exists(folder.File("x.onnx.data/precious")));
}

TEST(StagingTest, MissingFolderIsNamed) {
  files::TestFolder folder;
  const auto staging = Staging::Create(folder.File("missing"));
  EXPECT_THAT(std::string(staging.status().message()), HasSubstr("missing"));
  EXPECT_THAT(folder.List(), IsEmpty());
}

}  // namespace
}  // namespace rules_onnx::cli
