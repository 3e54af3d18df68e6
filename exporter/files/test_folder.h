// For tests: a folder of their own, removed with all it holds at the end.
#ifndef RULES_ONNX_EXPORTER_FILES_TEST_FOLDER_H_
#define RULES_ONNX_EXPORTER_FILES_TEST_FOLDER_H_

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace rules_onnx::files {

class TestFolder {
 public:
  TestFolder() {
    const char* root = getenv("TEST_TMPDIR");  // Bazel's
    path_ =
        (root != nullptr ? std::filesystem::path(root) : std::filesystem::temp_directory_path()) /
        "rules_onnx_XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) abort();
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  // Names in the folder, sorted.
  std::vector<std::string> List() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string path_;
};

}  // namespace rules_onnx::files

#endif  // RULES_ONNX_EXPORTER_FILES_TEST_FOLDER_H_
