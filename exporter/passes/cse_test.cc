#include "exporter/passes/cse.h"

#include <gtest/gtest.h>

#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

TEST(CseTest, EqualNodesAreOne) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  ir::Value* a = p.Op("aten::sin", {x}, "float32[2]");
  ir::Value* b = p.Op("aten::sin", {x}, "float32[2]");
  p.Output(p.If(
      p.Input("c", "bool"), {"float32[2]"},
      [&]() -> std::vector<ir::Arg> { return {p.Op("aten::sin", {x}, "float32[2]")}; },
      [&]() -> std::vector<ir::Arg> { return {p.Op("aten::cos", {x}, "float32[2]")}; })[0]);
  p.Output(p.Op("aten::add.Tensor", {a, b}, "float32[2]"));
  // Not visible from the branch above.
  p.Output(p.Op("aten::cos", {x}, "float32[2]"));
  EXPECT_TRUE(Cse(p.context()));
  EXPECT_EQ(p.Print(), R"(
%1: float32[2] = aten::sin(self=%x)
%4: float32[2] = prim::If(cond=%c)
  block():
    return (%1)
  block():
    %6: float32[2] = aten::cos(self=%x)
    return (%6)
%7: float32[2] = aten::add.Tensor(self=%1, other=%1, alpha=1)
%8: float32[2] = aten::cos(self=%x)
output y0 = %4
output y1 = %7
output y2 = %8
)");
}

TEST(CseTest, EmptyListsOfDifferentItemsStay) {
  Program p;
  const std::vector<ir::NamedArg> empty = {{"items", ir::Arg::List{}}};
  for (const char* type : {"list[int]", "list[float]"}) {
    p.Output(p.Add("prim::ListConstruct", empty, {type})->output());
  }
  EXPECT_FALSE(Cse(p.context()));
  p.Output(p.Add("prim::ListConstruct", empty, {"list[int]"})->output());
  EXPECT_TRUE(Cse(p.context()));
}

TEST(CseTest, RandomAndDifferentNodesStay) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  p.Output(p.Op("aten::rand_like", {x}, "float32[2]"));
  p.Output(p.Op("aten::rand_like", {x}, "float32[2]"));
  // 0.0 and -0.0 are equal numbers and different constants.
  p.Output(p.Op("aten::add.Scalar", {x, 0.0}, "float32[2]"));
  p.Output(p.Op("aten::add.Scalar", {x, -0.0}, "float32[2]"));
  p.Output(p.Op("aten::add.Scalar", {x, 0}, "float32[2]"));
  EXPECT_FALSE(Cse(p.context()));
}

}  // namespace
}  // namespace rules_onnx::passes
