#include "exporter/cli/child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "exporter/cli/torch_child.h"

namespace rules_onnx::cli {
namespace {

using ::testing::HasSubstr;

TEST(ChildTest, ExitStatusAndMessages) {
  const auto result = RunChild("sh", {"-c", "echo oops >&2; exit 3"});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->exit_status, 3);
  EXPECT_EQ(result->signal, 0);
  EXPECT_EQ(result->errors, "oops\n");
}

TEST(ChildTest, Signal) {
  const auto result = RunChild("sh", {"-c", "kill -SEGV $$"});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->signal, SIGSEGV);
}

TEST(ChildTest, CannotBeStarted) {
  EXPECT_THAT(std::string(RunChild("/no/such/program", {}).status().message()),
              HasSubstr("/no/such/program"));
}

TEST(TorchChildTest, CrashNamesModelAndLastWords) {
  Options options{.model = "m.pt", .torch_capture = "sh"};
  std::string messages;
  const absl::Status status =
      RunTorchCapture(options, {"-c", "echo first >&2; echo last >&2; kill -ABRT $$"}, &messages);
  EXPECT_THAT(std::string(status.message()), HasSubstr("m.pt"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("last"));
}

TEST(TorchChildTest, FailureIsToldOnce) {
  Options options{.model = "m.pt", .torch_capture = "sh"};
  std::string messages;
  EXPECT_EQ(RunTorchCapture(options, {"-c", "echo why >&2; exit 1"}, &messages).message(), "");
  EXPECT_EQ(messages, "why\n");
  EXPECT_NE(RunTorchCapture(options, {"-c", "exit 1"}, &messages).message(), "");
}

}  // namespace
}  // namespace rules_onnx::cli
