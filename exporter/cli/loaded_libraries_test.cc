#include "exporter/cli/loaded_libraries.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

namespace rules_onnx::cli {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

TEST(LoadedLibrariesTest, FindsWhatTheLinkerFinds) {
  Dl_info info;
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "_ZSt9terminatev"), &info), 0);
  const std::filesystem::path library = info.dli_fname;
  setenv("LD_LIBRARY_PATH", library.parent_path().c_str(), 1);
  EXPECT_THAT(LoadedLibraries("/proc/self/exe"),
              Contains((library.parent_path() / "libstdc++.so.6").string()).Times(1));
  setenv("LD_LIBRARY_PATH", "/no/such/folder", 1);
  EXPECT_THAT(LoadedLibraries("/proc/self/exe"), IsEmpty());
  unsetenv("LD_LIBRARY_PATH");
}

TEST(LoadedLibrariesTest, OtherFilesHaveNone) {
  EXPECT_THAT(LoadedLibraries("exporter/cli/loaded_libraries_test.cc"), IsEmpty());
  EXPECT_THAT(LoadedLibraries("/no/such/file"), IsEmpty());
}

}  // namespace
}  // namespace rules_onnx::cli
