#include "exporter/ir/print.h"

#include <string>

#include "exporter/ir/graph_test_util.h"
#include "gtest/gtest.h"

namespace rules_onnx::ir {
namespace {

TEST(PrintGraphTest, Golden) {
  Sample sample = MakeSample();
  sample.graph.Renumber();
  EXPECT_EQ(PrintGraph(sample.graph), R"(symbol N = 10|13, 1..64
symbol u0 = 4, 0.., data-dependent
weight %fc.weight: float32[3, 4] = 'fc.weight' parameter at 64 + 48
weight %fc.bias: float32[3] = 'fc.bias' buffer at 128 + 12
input %x: float32[N, 4]
input %count: int
%4: float32[N, 3] = aten::linear(input=%x, weight=%fc.weight, bias=%fc.bias)  # Net/Linear[fc]
%if: bool = aten::gt.int(a=%count, b=2)
%chosen: float32[N, 3] = prim::If(cond=%if)  # Net/Chooser[choose]
  block():
    %7: float32[N, 3] = aten::sin(self=%4)
    return (%7)
  block():
    %8: float32[N, 3] = aten::cos(self=%4)
    return (%8)
%total: float32[N, 3] = prim::Loop(max_trip_count=%count, cond=True, carried=[%chosen])
  block(%i: int, %state: float32[N, 3]):
    %12: float32[N, 3] = aten::add.Tensor(self=%state, other=%i, alpha=1)
    return (True, %12)
%13: dict[str, (float32[?], list[unknown])] = mylib::odd(none=None, flag=False, integer=-5, number=0.1, large=1e+30, nan=nan, z=complex(1.0, -2.0), text='a\'\n\377\000b', dtype=bfloat16, literal=float32[2]{1.0, -0.5}, nested=[1, [%x, None], []])
%14: object Thing = mylib::make()
output out.total = %total
output out.seven = 7
dropped output out.name: str
schema mylib::make() -> t
)");
}

TEST(PrintGraphTest, ShowsSourceLinesAndHidesScopes) {
  Graph graph;
  Value* const x = graph.NewValue(Type::Tensor(DType::kFloat32, std::nullopt), "x");
  graph.main.params = {x};
  for (const char* op : {"aten::sin", "aten::cos"}) {
    graph.main.nodes.push_back(graph.NewNode(op, {{"self", x}}));
    graph.main.nodes.back()->outputs = {graph.NewValue(x->type)};
  }
  graph.main.nodes[0]->scope = "Net";
  const DebugInfo debug = {{0, {"net.py", 3, "", ""}}, {1, {"", 0, "", "Net/Cos[cos]"}}};
  EXPECT_EQ(PrintGraph(graph, {.debug = &debug}),
            "input %x: float32[...]\n"
            "%1: float32[...] = aten::sin(self=%x)  # Net  net.py:3\n"
            "%2: float32[...] = aten::cos(self=%x)  # Net/Cos[cos]\n");
  EXPECT_EQ(PrintGraph(graph, {.scopes = false, .debug = &debug}),
            "input %x: float32[...]\n"
            "%1: float32[...] = aten::sin(self=%x)  # net.py:3\n"
            "%2: float32[...] = aten::cos(self=%x)\n");
}

std::string LiteralText(DType dtype, std::vector<int64_t> shape, std::string bytes) {
  Graph graph;
  graph.main.results = {std::make_shared<const TensorLiteral>(
      TensorLiteral{dtype, std::move(shape), std::move(bytes)})};
  graph.output_names = {"y"};
  return PrintGraph(graph);
}

TEST(PrintGraphTest, Literals) {
  EXPECT_EQ(LiteralText(DType::kInt64, {}, std::string("\xfe\xff\xff\xff\xff\xff\xff\xff", 8)),
            "output y = int64[]{-2}\n");
  EXPECT_EQ(LiteralText(DType::kBool, {2}, std::string("\0\1", 2)),
            "output y = bool[2]{False, True}\n");
  EXPECT_EQ(LiteralText(DType::kUInt8, {1}, "\xff"), "output y = uint8[1]{255}\n");
  EXPECT_EQ(LiteralText(DType::kFloat16, {1}, std::string("\0\x3c", 2)),
            "output y = float16[1]{0x003c}\n");
  EXPECT_EQ(LiteralText(DType::kInt8, {20}, std::string(20, '\1')),
            "output y = int8[20]{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, …}\n");
  EXPECT_EQ(LiteralText(DType::kInt8, {0, 3}, ""), "output y = int8[0, 3]{}\n");
}

TEST(PrintNodeTest, PrintsOneLine) {
  const Sample sample = MakeSample();
  EXPECT_EQ(PrintNode(*sample.graph.main.nodes[1]),
            "%if: bool = aten::gt.int(a=%count, b=2)");
}

}  // namespace
}  // namespace rules_onnx::ir
