#include "exporter/passes/foreach.h"

#include <gtest/gtest.h>

#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

constexpr char kType[] = "float32[2]";
constexpr char kList[] = "list[float32[2]]";

std::string Expanded(Program* p) {
  ExpandForeach(p->context());
  EXPECT_EQ(p->Problems(), "");
  return p->Print();
}

TEST(ForeachTest, WritesToEachTensor) {
  Program p;
  ir::Value *x = p.Input("x", kType), *y = p.Input("y", kType);
  p.Add("aten::_foreach_add_.List",
        {{"self", ir::Arg(ir::Arg::List{x, y})},
         {"other", ir::Arg(ir::Arg::List{y, x})},
         {"alpha", 2}},
        {});
  p.Output(x);
  EXPECT_EQ(Expanded(&p), R"(
%2: float32[2] = aten::add_.Tensor(self=%x, other=%y, alpha=2)
%3: float32[2] = aten::add_.Tensor(self=%y, other=%x, alpha=2)
output y0 = %x
)");
}

TEST(ForeachTest, ResultsAreAList) {
  Program p;
  ir::Value *x = p.Input("x", kType), *y = p.Input("y", kType);
  ir::Value* list =
      p.Add("prim::ListConstruct", {{"items", ir::Arg(ir::Arg::List{x, y})}}, {kList})->output();
  p.Output(
      p.Op("aten::_foreach_maximum.ScalarList", {list, ir::Arg(ir::Arg::List{0.5, 2.0})}, kList));
  EXPECT_EQ(Expanded(&p), R"(
%2: list[float32[2]] = prim::ListConstruct(items=[%x, %y])
%4: float32[2] = aten::clamp_min(self=%x, min=0.5)
%5: float32[2] = aten::clamp_min(self=%y, min=2.0)
%6: list[float32[2]] = prim::ListConstruct(items=[%4, %5])
output y0 = %6
)");
}

TEST(ForeachTest, ListsThatGrowStay) {
  Program p;
  ir::Value* x = p.Input("x", kType);
  ir::Value* list =
      p.Add("prim::ListConstruct", {{"items", ir::Arg(ir::Arg::List{x})}}, {kList})->output();
  p.Op("aten::append.t", {list, x}, kList);
  p.Output(p.Op("aten::_foreach_abs", {list}, kList));
  EXPECT_NE(Expanded(&p).find("aten::_foreach_abs(self=%1)"), std::string::npos);
}

TEST(ForeachTest, OneNumberForEachTensorIsNoTensor) {
  Program p;
  ir::Value* x = p.Input("x", kType);
  const ir::Arg list(ir::Arg::List{x});
  p.Output(p.Op("aten::_foreach_addcmul.Tensor", {list, list, list, x}, kList));
  EXPECT_NE(Expanded(&p).find("aten::_foreach_addcmul.Tensor"), std::string::npos);
}

}  // namespace
}  // namespace rules_onnx::passes
