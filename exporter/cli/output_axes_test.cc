#include "exporter/cli/output_axes.h"

#include <gtest/gtest.h>

namespace rules_onnx::cli {
namespace {

TEST(OutputAxesTest, DropsEntriesOfOutputsOnly) {
  EXPECT_EQ(WithoutOutputAxes(R"({"x": {"0": "N"}, "y": ["0:N"], "z": {}})", {"y", "w"}),
            R"({"x": {"0":"N"}, "z": {}})");
  EXPECT_EQ(WithoutOutputAxes(R"({"y": {"0": "N"}})", {"y"}), "");
}

TEST(OutputAxesTest, OtherFormsStay) {
  for (const char* json : {R"([{"0": "N"}, null])", R"({"x":  {"0": "N"}})", "nonsense", ""}) {
    EXPECT_EQ(WithoutOutputAxes(json, {"y"}), json);
  }
}

}  // namespace
}  // namespace rules_onnx::cli
