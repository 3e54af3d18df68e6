#include "exporter/passes/functionalize.h"

#include <gtest/gtest.h>

#include "exporter/passes/dce.h"
#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

std::string Functional(Program* program) {
  Functionalize(program->context());
  EXPECT_EQ(program->Problems(), "");
  Dce(program->context());
  return program->Print(/*functional=*/true);
}

TEST(FunctionalizeTest, InPlaceOperatorBecomesItsTwin) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2, 3]");
  ir::Value* h = p.Op("aten::sin", {x}, "float32[2, 3]");
  p.Op("aten::relu_", {h}, "float32[2, 3]");
  p.Output(p.Op("aten::cos", {h}, "float32[2, 3]"));
  EXPECT_EQ(Functional(&p), R"(
%1: float32[2, 3] = aten::sin(self=%x)
%4: float32[2, 3] = aten::relu(self=%1)
%3: float32[2, 3] = aten::cos(self=%4)
output y0 = %3
)");
}

TEST(FunctionalizeTest, WriteThroughSelect) {
  Program p;
  ir::Value* x = p.Input("x", "float32[N, 3]");
  ir::Value* v = p.Op("aten::select.int", {x, 0, 0}, "float32[3]");
  p.Op("aten::add_.Tensor", {v, 1}, "float32[3]");
  ir::Value* w = p.Op("aten::select.int", {x, 1, 2}, "float32[N]");
  p.Output(w);
  p.Output(v);
  p.Output(x);
  EXPECT_EQ(Functional(&p), R"(
%1: float32[3] = aten::select.int(self=%x, dim=0, index=0)
%4: float32[3] = aten::add.Tensor(self=%1, other=1, alpha=1)
%5: float32[N, 3] = aten::select_scatter(self=%x, src=%4, dim=0, index=0)
%3: float32[N] = aten::select.int(self=%5, dim=1, index=2)
output y0 = %3
output y1 = %4
output y2 = %5
)");
}

TEST(FunctionalizeTest, OtherViewsAreDerivedAnew) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[4, 3]")}, "float32[4, 3]");
  ir::Value* t = p.Op("aten::t", {x}, "float32[3, 4]");
  ir::Value* s = p.Op("aten::slice.Tensor", {t, 1, 1, ir::Arg(), 2}, "float32[3, 2]");
  p.Op("aten::zero_", {s}, "float32[3, 2]");
  p.Output(p.Op("aten::cos", {t}, "float32[3, 4]"));
  EXPECT_EQ(Functional(&p), R"(
%1: float32[4, 3] = aten::sin(self=%x)
%2: float32[3, 4] = aten::t(self=%1)
%3: float32[3, 2] = aten::slice.Tensor(self=%2, dim=1, start=1, end=None, step=2)
%6: float32[3, 2] = aten::zeros_like(self=%3, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None)
%7: float32[3, 4] = aten::slice_scatter(self=%2, src=%6, dim=1, start=1, end=None, step=2)
%5: float32[3, 4] = aten::cos(self=%7)
output y0 = %5
)");
}

TEST(FunctionalizeTest, BranchesDeliverTheNewestVersion) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  ir::Value* c = p.Input("c", "bool");
  ir::Value* h = p.Op("aten::sin", {x}, "float32[2]");
  p.If(
      c, {},
      [&] {
        p.Op("aten::add_.Tensor", {h, 1}, "float32[2]");
        return std::vector<ir::Arg>{};
      },
      [] { return std::vector<ir::Arg>{}; });
  p.Output(h);
  EXPECT_EQ(Functional(&p), R"(
%2: float32[2] = aten::sin(self=%x)
%5: float32[2] = prim::If(cond=%c)
  block():
    %4: float32[2] = aten::add.Tensor(self=%2, other=1, alpha=1)
    return (%4)
  block():
    return (%2)
output y0 = %5
)");
}

TEST(FunctionalizeTest, LoopsCarryWhatTheyWrite) {
  Program p;
  ir::Value* x = p.Input("x", "float32[N, 2]");
  ir::Value* n = p.Input("n", "int");
  ir::Value* h = p.Op("aten::zeros_like", {x}, "float32[N, 2]");
  p.Loop(n, true, {}, {}, [&](std::vector<ir::Value*> params) {
    ir::Value* row = p.Op("aten::select.int", {h, 0, params[0]}, "float32[2]");
    ir::Value* source = p.Op("aten::select.int", {x, 0, params[0]}, "float32[2]");
    p.Op("aten::copy_", {row, source}, "float32[2]");
    return std::vector<ir::Arg>{true};
  });
  p.Output(h);
  EXPECT_EQ(Functional(&p), R"(
%2: float32[N, 2] = aten::zeros_like(self=%x, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None)
%8: float32[N, 2] = prim::Loop(max_trip_count=%n, cond=True, carried=[%2])
  block(%3: int, %7: float32[N, 2]):
    %5: float32[2] = aten::select.int(self=%x, dim=0, index=%3)
    %9: float32[N, 2] = aten::select_scatter(self=%7, src=%5, dim=0, index=%3)
    return (True, %9)
output y0 = %8
)");
}

TEST(FunctionalizeTest, ListsGrowInLoops) {
  Program p;
  ir::Value* x = p.Input("x", "float32[N, 2]");
  ir::Value* n = p.Input("n", "int");
  ir::Value* list =
      p.Add("prim::ListConstruct", {{"items", ir::Arg(ir::Arg::List{})}}, {"list[float32[2]]"})
          ->output();
  p.Op("aten::append.t", {list, p.Op("aten::select.int", {x, 0, 0}, "float32[2]")},
       "list[float32[2]]");
  p.Loop(n, true, {}, {}, [&](std::vector<ir::Value*> params) {
    ir::Value* row = p.Op("aten::select.int", {x, 0, params[0]}, "float32[2]");
    p.Op("aten::append.t", {list, row}, "list[float32[2]]");
    return std::vector<ir::Arg>{true};
  });
  p.Output(p.Op("aten::stack", {list, 0}, "float32[?, 2]"));
  EXPECT_EQ(Functional(&p), R"(
%3: float32[2] = aten::select.int(self=%x, dim=0, index=0)
%9: list[float32[2]] = prim::ListConstruct(items=[%3])
%11: list[float32[2]] = prim::Loop(max_trip_count=%n, cond=True, carried=[%9])
  block(%5: int, %10: list[float32[2]]):
    %6: float32[2] = aten::select.int(self=%x, dim=0, index=%5)
    %12: list[float32[2]] = prim::ListAppend(self=%10, el=%6)
    return (True, %12)
%8: float32[?, 2] = aten::stack(tensors=%11, dim=0)
output y0 = %8
)");
}

}  // namespace
}  // namespace rules_onnx::passes
