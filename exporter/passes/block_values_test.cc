#include "exporter/passes/block_values.h"

#include <gtest/gtest.h>

#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

TEST(BlockValuesTest, UnchangedCarriedValueIsItsInitialValue) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  ir::Value* y = p.Input("y", "float32[2]");
  const auto carried = p.Loop(
      p.Input("n", "int"), true, {x, y}, {"float32[2]", "float32[2]"},
      [&](auto params) -> std::vector<ir::Arg> {
        return {true, p.Op("aten::add.Tensor", {params[1], params[2]}, "float32[2]"), params[2]};
      });
  p.Output(carried[0]);
  p.Output(carried[1]);
  EXPECT_TRUE(SimplifyBlockValues(p.context()));
  EXPECT_EQ(p.Print(), R"(
%3: float32[2], %4: float32[2] = prim::Loop(max_trip_count=%n, cond=True, carried=[%x, %y])
  block(%5: int, %6: float32[2], %7: float32[2]):
    %8: float32[2] = aten::add.Tensor(self=%6, other=%y, alpha=1)
    return (True, %8, %y)
output y0 = %3
output y1 = %y
)");
  EXPECT_FALSE(SimplifyBlockValues(p.context()));
}

TEST(BlockValuesTest, BranchesThatGiveTheSame) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  const auto give = [&]() -> std::vector<ir::Arg> { return {x, 3}; };
  const auto outputs = p.If(p.Input("c", "bool"), {"float32[2]", "int"}, give, give);
  p.Output(outputs[0]);
  p.Output(outputs[1]);
  EXPECT_TRUE(SimplifyBlockValues(p.context()));
  EXPECT_EQ(p.Print(), R"(
%2: float32[2], %3: int = prim::If(cond=%c)
  block():
    return (%x, 3)
  block():
    return (%x, 3)
output y0 = %x
output y1 = 3
)");
}

}  // namespace
}  // namespace rules_onnx::passes
