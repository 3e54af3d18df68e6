#include "exporter/ir/overloads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rules_onnx::ir {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(OverloadsTest, OfWhatWritesNothing) {
  EXPECT_THAT(OverloadsOf("aten::relu"), ElementsAre(""));
  EXPECT_THAT(OverloadsOf("aten::add"), AllOf(Contains("Tensor"), Contains("Scalar"), Not(Contains("out"))));
  EXPECT_THAT(OverloadsOf("torchvision::nms"), ElementsAre(""));
}

TEST(OverloadsTest, NamesAreWhole) {
  EXPECT_THAT(OverloadsOf("aten::rel"), IsEmpty());
  EXPECT_THAT(OverloadsOf("mylib::add"), IsEmpty());
}

}  // namespace
}  // namespace rules_onnx::ir
