#include "exporter/torch/script/loader.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace rules_onnx::script {
namespace {

class LoaderTest : public ::testing::Test {
 protected:
  LoaderTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "loaderXXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~LoaderTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& content) {
    const std::string path = (folder_ / "m.pt").string();
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  std::string Message(const std::string& path) {
    const auto loaded = LoadProgram(path);
    EXPECT_FALSE(loaded.ok());
    const std::string message(loaded.status().message());
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_NE(message.find(path), std::string::npos) << message;
    return message;
  }

  std::filesystem::path folder_;
};

TEST_F(LoaderTest, SaysWhatAFileIs) {
  EXPECT_NE(Message((folder_ / "none.pt").string()).find("No such file"), std::string::npos);
  EXPECT_NE(Message(folder_.string()).find("directory"), std::string::npos);
  EXPECT_NE(Message(Write("")).find("empty"), std::string::npos);
  EXPECT_NE(Message(Write("hello, world\n")).find("text file"), std::string::npos);
  EXPECT_NE(Message(Write("\x80\x02}q\x01.")).find("state dict"), std::string::npos);
}

TEST_F(LoaderTest, LoadsAndTellsOfTruncation) {
  torch::jit::Module module("M");
  module.define("def forward(self, x):\n  return x + 1\n");
  const std::string path = (folder_ / "m.pt").string();
  module.save(path);
  EXPECT_TRUE(LoadProgram(path).ok());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_NE(Message(path).find("damaged"), std::string::npos);
}

}  // namespace
}  // namespace rules_onnx::script
