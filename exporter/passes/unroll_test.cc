#include "exporter/passes/unroll.h"

#include <gtest/gtest.h>

#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

std::vector<ir::Arg> AddIteration(Program* p, const std::vector<ir::Value*>& params) {
  return {true, p->Op("aten::add.Tensor", {params[1], params[0]}, "float32[2]")};
}

TEST(UnrollTest, ConstantTripCount) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  p.Output(p.Loop(3, true, {x}, {"float32[2]"}, [&](auto params) {
    return AddIteration(&p, params);
  })[0]);
  EXPECT_TRUE(Unroll(p.context()));
  EXPECT_EQ(p.Print(), R"(
%5: float32[2] = aten::add.Tensor(self=%x, other=0, alpha=1)
%6: float32[2] = aten::add.Tensor(self=%5, other=1, alpha=1)
%7: float32[2] = aten::add.Tensor(self=%6, other=2, alpha=1)
output y0 = %7
)");
}

TEST(UnrollTest, NeverRun) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  p.Output(p.Loop(p.Input("n", "int"), false, {x}, {"float32[2]"}, [&](auto params) {
    return AddIteration(&p, params);
  })[0]);
  EXPECT_TRUE(Unroll(p.context()));
  EXPECT_EQ(p.Print(), "\noutput y0 = %x\n");
}

TEST(UnrollTest, LongOrDynamicLoopsStay) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  for (const ir::Arg& count : {ir::Arg(65), ir::Arg(p.Input("n", "int"))}) {
    p.Output(p.Loop(count, true, {x}, {"float32[2]"}, [&](auto params) {
      return AddIteration(&p, params);
    })[0]);
  }
  p.Output(p.Loop(3, true, {x}, {"float32[2]"}, [&](auto params) -> std::vector<ir::Arg> {
    return {p.Op("aten::lt.int", {params[0], 1}, "bool"), params[1]};
  })[0]);
  EXPECT_FALSE(Unroll(p.context()));
}

TEST(UnrollTest, BranchTakenAtBuildTime) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  p.Output(p.If(
      false, {"float32[2]"},
      [&]() -> std::vector<ir::Arg> { return {p.Op("aten::sin", {x}, "float32[2]")}; },
      [&]() -> std::vector<ir::Arg> { return {p.Op("aten::cos", {x}, "float32[2]")}; })[0]);
  EXPECT_TRUE(Unroll(p.context()));
  EXPECT_EQ(p.Print(), R"(
%3: float32[2] = aten::cos(self=%x)
output y0 = %3
)");
}

}  // namespace
}  // namespace rules_onnx::passes
