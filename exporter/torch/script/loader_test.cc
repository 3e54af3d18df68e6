#include "exporter/torch/script/loader.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

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
  EXPECT_NE(Message((folder_ / "none.pt").string()).find("no such file"), std::string::npos);
  EXPECT_NE(Message(folder_.string()).find("directory"), std::string::npos);
  EXPECT_NE(Message(Write("")).find("it is empty"), std::string::npos);
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

// Ranges of this process's memory that are pages of the file.
int MappedRanges(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.size() > path.size() &&
        line.compare(line.size() - path.size(), path.size(), path) == 0) {
      ++count;
    }
  }
  return count;
}

// Weights come from their own pages of the file, in whatever order equal sizes are asked for, and a
// write to one stays in memory.
TEST_F(LoaderTest, MapsLargeWeights) {
  torch::jit::Module module("M");
  const auto weight = [](int64_t rows, float first) {
    return torch::arange(rows * 1000, torch::kFloat) + first;
  };
  for (int i = 0; i < 12; ++i) {
    module.register_buffer("w" + std::to_string(i), weight(i % 3 == 0 ? 30 : 40, i));
  }
  module.register_buffer("small", torch::ones({3}));
  module.register_attribute("list", c10::ListType::ofTensors(),
                            c10::List<at::Tensor>({weight(40, 100), weight(30, 200)}));
  module.define("def forward(self, x):\n  return x + self.w0\n");
  const std::string path = (folder_ / "m.pt").string();
  module.save(path);
  for (int repeat = 0; repeat < 2; ++repeat) {
    const auto loaded = LoadProgram(path);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(MappedRanges(path), 14);
    for (int i = 0; i < 12; ++i) {
      const at::Tensor buffer = loaded->attr("w" + std::to_string(i)).toTensor();
      EXPECT_TRUE(buffer.equal(weight(i % 3 == 0 ? 30 : 40, i))) << i;
      buffer.zero_();
      EXPECT_EQ(buffer.sum().item<float>(), 0);
    }
    EXPECT_EQ(loaded->attr("small").toTensor().sum().item<float>(), 3);
    EXPECT_TRUE(loaded->attr("list").toTensorVector()[1].equal(weight(30, 200)));
  }
  EXPECT_EQ(MappedRanges(path), 0);
}

TEST_F(LoaderTest, LoadedWeightsOutliveTheFile) {
  torch::jit::Module module("M");
  module.register_buffer("w", torch::arange(50000));
  module.define("def forward(self, x):\n  return x + self.w\n");
  const std::string path = (folder_ / "m.pt").string();
  module.save(path);
  const auto loaded = LoadProgram(path);
  std::filesystem::remove(path);
  EXPECT_TRUE(loaded->attr("w").toTensor().equal(torch::arange(50000)));
}

// A tensor made by the program's own code during the load keeps the allocator of that time.
TEST_F(LoaderTest, TensorsMadeDuringTheLoadMayGrow) {
  torch::jit::Module module("M");
  module.register_buffer("w", torch::arange(50000));
  module.register_buffer("made", torch::zeros({1}));
  module.define(R"(
def forward(self, x):
  return x + self.w
def __getstate__(self):
  return self.w
def __setstate__(self, state: Tensor):
  self.made = torch.ones([50000], dtype=3) + torch.ones([50000], dtype=4)
  self.made = torch.ones([3])
  self.w = state
)");
  const std::string path = (folder_ / "m.pt").string();
  module.save(path);
  const auto loaded = LoadProgram(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  at::Tensor made = loaded->attr("made").toTensor();
  EXPECT_NE(made.storage().allocator(), nullptr);
  made.resize_({100000}).fill_(2);
  EXPECT_EQ(made.sum().item<float>(), 200000);
  EXPECT_TRUE(loaded->attr("w").toTensor().equal(torch::arange(50000)));
}

}  // namespace
}  // namespace rules_onnx::script
