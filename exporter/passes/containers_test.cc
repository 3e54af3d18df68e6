#include "exporter/passes/containers.h"

#include <gtest/gtest.h>

#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

using List = ir::Arg::List;

std::string Resolved(Program* p) {
  ResolveContainers(p->context());
  return p->Print();
}

TEST(ContainersTest, ItemsAndLengthOfKnownLists) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  ir::Value* y = p.Input("y", "float32[2]");
  ir::Value* list =
      p.Add("prim::ListConstruct", {{"items", List{x, y}}}, {"list[float32[2]]"})->output();
  ir::Value* longer = p.Op("aten::add.t", {list, List{x}}, "list[float32[2]]");
  p.Output(p.Op("aten::__getitem__.t", {longer, -2}, "float32[2]"));
  p.Output(p.Op("aten::len.t", {longer}, "int"));
  p.Output(p.Op("aten::cat", {longer, 0}, "float32[6]"));
  EXPECT_EQ(Resolved(&p), R"(
%2: list[float32[2]] = prim::ListConstruct(items=[%x, %y])
%7: list[float32[2]] = prim::ListConstruct(items=[%x, %y, %x])
%6: float32[6] = aten::cat(tensors=[%x, %y, %x], dim=0)
output y0 = %y
output y1 = 3
output y2 = %6
)");
}

TEST(ContainersTest, ChangedListsOfValues) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  ir::Value* list = p.Add("prim::ListAppend", {{"self", List{x}}, {"el", x}},
                          {"list[float32[2]]"})->output();
  list = p.Add("prim::ListSet", {{"self", list}, {"idx", 0}, {"el", p.Input("y", "float32[2]")}},
               {"list[float32[2]]"})->output();
  ir::Node* pop = p.Add("prim::ListPop", {{"self", list}, {"idx", -1}},
                        {"float32[2]", "list[float32[2]]"});
  p.Output(pop->outputs[0]);
  p.Output(p.Op("aten::stack", {pop->outputs[1], 0}, "float32[1, 2]"));
  EXPECT_EQ(Resolved(&p), R"(
%7: list[float32[2]] = prim::ListConstruct(items=[%x, %x])
%8: list[float32[2]] = prim::ListConstruct(items=[%y, %x])
%9: list[float32[2]] = prim::ListConstruct(items=[%y])
%6: float32[1, 2] = aten::stack(tensors=[%y], dim=0)
output y0 = %x
output y1 = %6
)");
}

TEST(ContainersTest, SizesByAxis) {
  Program p;
  ir::Value* x = p.Input("x", "float32[N, 3]");
  ir::Value* sizes = p.Op("aten::size", {x}, "list[int]");
  ir::Node* unpack = p.Add("prim::ListUnpack", {{"self", sizes}}, {"int", "int"});
  p.Output(unpack->outputs[0]);
  p.Output(p.Op("aten::__getitem__.t", {sizes, -1}, "int"));
  EXPECT_EQ(Resolved(&p), R"(
%1: list[int] = aten::size(self=%x)
%5: int = aten::size.int(self=%x, dim=0)
%6: int = aten::size.int(self=%x, dim=1)
%7: int = aten::size.int(self=%x, dim=-1)
output y0 = %5
output y1 = %7
)");
}

TEST(ContainersTest, ItemsOfSplitAreSlices) {
  Program p;
  ir::Value* x = p.Input("x", "float32[N, 6]");
  ir::Value* parts = p.Op("aten::split.Tensor", {x, 2, 1}, "list[float32[N, 2]]");
  p.Output(p.Op("aten::__getitem__.t", {parts, 1}, "float32[N, 2]"));
  ir::Value* rows = p.Op("aten::unbind.int", {x, 1}, "list[float32[N]]");
  p.Output(p.Op("aten::__getitem__.t", {rows, -1}, "float32[N]"));
  EXPECT_EQ(Resolved(&p), R"(
%1: list[float32[N, 2]] = aten::split.Tensor(self=%x, split_size=2, dim=1)
%5: float32[N, 2] = aten::slice.Tensor(self=%x, dim=1, start=2, end=4, step=1)
%3: list[float32[N]] = aten::unbind.int(self=%x, dim=1)
%4: float32[N] = aten::__getitem__.t(list=%3, idx=-1)
output y0 = %5
output y1 = %4
)");
}

TEST(ContainersTest, TuplesAndDicts) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  ir::Value* tuple =
      p.Add("prim::TupleConstruct", {{"items", List{x, 3}}}, {"tuple(float32[2];int)"})->output();
  ir::Node* unpack = p.Add("prim::TupleUnpack", {{"self", tuple}}, {"float32[2]", "int"});
  p.Output(unpack->outputs[0]);
  p.Output(unpack->outputs[1]);
  ir::Value* dict =
      p.Add("prim::DictConstruct", {{"items", List{"a", x, "b", 1}}}, {"int"})->output();
  dict->type = ir::Type{.kind = ir::Type::Kind::kDict,
                        .elements = {ir::Type::Scalar(ir::Type::Kind::kString),
                                     ir::Type::Scalar(ir::Type::Kind::kInt)}};
  p.Output(p.Op("aten::__getitem__.Dict_str", {dict, "b"}, "int"));
  p.Output(p.Op("aten::__contains__.str", {dict, "c"}, "bool"));
  EXPECT_EQ(Resolved(&p), R"(
%1: (float32[2], int) = prim::TupleConstruct(items=[%x, 3])
%4: dict[str, int] = prim::DictConstruct(items=['a', %x, 'b', 1])
output y0 = %x
output y1 = 3
output y2 = 1
output y3 = False
)");
}

TEST(ContainersTest, ListsThatAreWrittenToAreLeftAlone) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  ir::Value* list =
      p.Add("prim::ListConstruct", {{"items", List{x}}}, {"list[float32[2]]"})->output();
  p.Op("aten::append.t", {list, x}, "list[float32[2]]");
  p.Output(p.Op("aten::len.t", {list}, "int"));
  EXPECT_FALSE(ResolveContainers(p.context()));
}

}  // namespace
}  // namespace rules_onnx::passes
