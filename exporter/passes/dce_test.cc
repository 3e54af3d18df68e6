#include "exporter/passes/dce.h"

#include <gtest/gtest.h>

#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

TEST(DceTest, UnusedNodesOutputsAndCarriedValues) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  p.Op("aten::sin", {p.Op("aten::cos", {x}, "float32[2]")}, "float32[2]");
  const auto pair = p.If(
      p.Input("c", "bool"), {"float32[2]", "float32[2]"},
      [&]() -> std::vector<ir::Arg> { return {p.Op("aten::sin", {x}, "float32[2]"), x}; },
      [&]() -> std::vector<ir::Arg> { return {x, p.Op("aten::cos", {x}, "float32[2]")}; });
  // The second value is read by the first, the third by nothing but itself.
  const auto carried = p.Loop(
      p.Input("n", "int"), true, {x, x, x}, {"float32[2]", "float32[2]", "float32[2]"},
      [&](auto params) -> std::vector<ir::Arg> {
        return {true, p.Op("aten::add.Tensor", {params[1], params[2]}, "float32[2]"),
                p.Op("aten::sin", {params[2]}, "float32[2]"),
                p.Op("aten::cos", {params[3]}, "float32[2]")};
      });
  p.Output(pair[1]);
  p.Output(carried[0]);
  EXPECT_TRUE(Dce(p.context()));
  EXPECT_EQ(p.Print(), R"(
%5: float32[2] = prim::If(cond=%c)
  block():
    return (%x)
  block():
    %7: float32[2] = aten::cos(self=%x)
    return (%7)
%9: float32[2], %10: float32[2] = prim::Loop(max_trip_count=%n, cond=True, carried=[%x, %x])
  block(%12: int, %13: float32[2], %14: float32[2]):
    %16: float32[2] = aten::add.Tensor(self=%13, other=%14, alpha=1)
    %17: float32[2] = aten::sin(self=%14)
    return (True, %16, %17)
output y0 = %5
output y1 = %9
)");
  EXPECT_FALSE(Dce(p.context()));
}

TEST(DceTest, WritesStay) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  p.Op("aten::relu_", {x}, "float32[2]");
  p.Output(x);
  EXPECT_FALSE(Dce(p.context()));
}

}  // namespace
}  // namespace rules_onnx::passes
