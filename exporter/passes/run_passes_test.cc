#include "exporter/passes/run_passes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

absl::Status RunAll(Program* p, const StageObserver& observer = nullptr) {
  return RunPasses(p->graph(), p->context()->debug, p->context()->diagnostics, {observer});
}

TEST(RunPassesTest, ScriptedListInAConstantLoopBecomesPlainValues) {
  Program p;
  ir::Value* x = p.Input("x", "float32[N, 4]");
  ir::Value* list =
      p.Add("prim::ListConstruct", {{"items", ir::Arg(ir::Arg::List{})}}, {"list[float32[4]]"})
          ->output();
  p.Loop(3, true, {}, {}, [&](std::vector<ir::Value*> params) -> std::vector<ir::Arg> {
    ir::Value* row = p.Op("aten::select.int", {x, 0, params[0]}, "float32[4]");
    p.Op("aten::append.t", {list, row}, "list[float32[4]]");
    return {true};
  });
  ir::Value* length = p.Op("aten::len.t", {list}, "int");
  p.Output(p.Op("aten::stack", {list, 0}, "float32[3, 4]"));
  p.Output(length);
  std::vector<std::string> stages;
  ASSERT_TRUE(RunAll(&p, [&](absl::string_view stage, const ir::Graph&) {
                stages.emplace_back(stage);
              }).ok());
  EXPECT_EQ(stages, (std::vector<std::string>{"captured", "simplified", "functional", "final"}));
  EXPECT_EQ(p.Print(/*functional=*/true), R"(
%7: float32[4] = aten::select.int(self=%x, dim=0, index=0)
%9: float32[4] = aten::select.int(self=%x, dim=0, index=1)
%11: float32[4] = aten::select.int(self=%x, dim=0, index=2)
%6: float32[3, 4] = aten::stack(tensors=[%7, %9, %11], dim=0)
output y0 = %6
output y1 = 3
)");
}

// The loop's tensor is written before and after; only what is read stays.
TEST(RunPassesTest, UntouchedTensorsAreNotCarried) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[N, 4]")}, "float32[N, 4]");
  ir::Value* y = p.Op("aten::cos", {x}, "float32[N, 4]");
  p.Op("aten::relu_", {y}, "float32[N, 4]");
  p.Loop(p.Input("n", "int"), true, {}, {},
         [&](std::vector<ir::Value*> params) -> std::vector<ir::Arg> {
           ir::Value* row = p.Op("aten::select.int", {x, 0, params[0]}, "float32[4]");
           p.Op("aten::add_.Tensor", {row, p.Op("aten::select.int", {y, 0, 0}, "float32[4]")},
                "float32[4]");
           return {true};
         });
  p.Output(x);
  ASSERT_TRUE(RunAll(&p).ok());
  EXPECT_EQ(p.Print(/*functional=*/true), R"(
%1: float32[N, 4] = aten::sin(self=%x)
%2: float32[N, 4] = aten::cos(self=%1)
%9: float32[N, 4] = aten::relu(self=%2)
%11: float32[N, 4] = prim::Loop(max_trip_count=%n, cond=True, carried=[%1])
  block(%5: int, %10: float32[N, 4]):
    %6: float32[4] = aten::select.int(self=%10, dim=0, index=%5)
    %7: float32[4] = aten::select.int(self=%9, dim=0, index=0)
    %12: float32[4] = aten::add.Tensor(self=%6, other=%7, alpha=1)
    %13: float32[N, 4] = aten::select_scatter(self=%10, src=%12, dim=0, index=%5)
    return (True, %13)
output y0 = %11
)");
}

// What t_() makes of x's shape must not be folded into what stands before it.
TEST(RunPassesTest, SizesOfATensorWhoseGeometryChanges) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[2, 3]")}, "float32[2, 3]");
  ir::Value* before = p.Op("aten::size.int", {x, 0}, "int");
  p.Op("aten::t_", {x}, "float32[3, 2]");
  p.Output(before);
  p.Output(p.Op("aten::size.int", {x, 0}, "int"));
  ASSERT_TRUE(RunAll(&p).ok());
  EXPECT_EQ(p.Print(/*functional=*/true), "\noutput y0 = 2\noutput y1 = 3\n");
}

TEST(RunPassesTest, AllRefusalsAtOnce) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  p.Op("aten::resize_", {x, ir::Arg::Ints({4})}, "float32[4]");
  p.Op("aten::set_.source_Tensor", {x, x}, "float32[2]");
  p.Output(x);
  ASSERT_TRUE(RunAll(&p).ok());
  EXPECT_EQ(p.Problems(),
            "error write-not-expressible aten::resize_\n"
            "error write-not-expressible aten::set_.source_Tensor\n");
}

TEST(RunPassesTest, GraphThatDoesNotVerifyIsAStatus) {
  Program p, other;
  p.Output(other.Input("x", "float32[2]"));
  EXPECT_FALSE(RunAll(&p).ok());
}

}  // namespace
}  // namespace rules_onnx::passes
