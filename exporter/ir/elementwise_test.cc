#include "exporter/ir/elementwise.h"

#include <gtest/gtest.h>

namespace rules_onnx::ir {
namespace {

TEST(ElementwiseTest, BroadcastsItsArguments) {
  for (const char* op : {"aten::add", "aten::where", "aten::tanh", "aten::__and__"}) {
    EXPECT_TRUE(IsElementwise(op)) << op;
  }
}

TEST(ElementwiseTest, SeesOtherElements) {
  for (const char* op : {"aten::softmax", "aten::cumsum", "aten::matmul", "aten::flip"}) {
    EXPECT_FALSE(IsElementwise(op)) << op;
  }
}

// Its value must have no axis, and an axis more is none in the result.
TEST(ElementwiseTest, DoesNotBroadcast) { EXPECT_FALSE(IsElementwise("aten::masked_fill")); }

}  // namespace
}  // namespace rules_onnx::ir
