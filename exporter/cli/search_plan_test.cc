#include "exporter/cli/search_plan.h"

#include <gtest/gtest.h>

namespace rules_onnx::cli {
namespace {

using ir::Arg;
using ir::Type;

// for i in range(n): x = exp(x) * 2
Captured MakeLoop() {
  Captured captured;
  ir::Graph& graph = captured.graph;
  const Type tensor = Type::Tensor(ir::DType::kFloat32, ir::Shape{3});
  const Type number = Type::Scalar(Type::Kind::kInt);
  ir::Value* const x = graph.NewValue(tensor, "x");
  ir::Value* const n = graph.NewValue(number, "n");
  graph.main.params = {x, n};
  auto loop = graph.NewNode("prim::Loop", {{"max_trip_count", n},
                                           {"cond", true},
                                           {"carried", Arg::List{x}}});
  auto body = std::make_unique<ir::Block>();
  ir::Value* const iteration = graph.NewValue(number);
  ir::Value* const carried = graph.NewValue(tensor);
  body->params = {iteration, carried};
  auto exp = graph.NewNode("aten::exp", {{"self", carried}});
  exp->scope = "Net/Gate[gate]";
  exp->outputs = {graph.NewValue(tensor)};
  captured.debug[exp->id] = {.file = "net.py", .line = 7, .text = "return x.exp()"};
  auto mul = graph.NewNode("aten::mul.Scalar", {{"self", exp->output()}, {"other", 2}});
  mul->outputs = {graph.NewValue(tensor)};
  body->results = {true, mul->output()};
  body->nodes.push_back(std::move(exp));
  body->nodes.push_back(std::move(mul));
  loop->blocks.push_back(std::move(body));
  loop->outputs = {graph.NewValue(tensor)};
  graph.main.results = {loop->output()};
  graph.output_names = {"out"};
  graph.main.nodes.push_back(std::move(loop));
  return captured;
}

constexpr char kPlan[] = R"json({"command": ["run", "--graph", "a \"b\""],
"blocks": {"": [{"node": 0, "value": 6, "op": "prim::Loop", "scope": "", "location": "", "nodes": ["/Loop", "/Identity"], "parts": [["/Loop", 0]], "is_list": false}],
"0": [{"node": 0, "value": 2, "op": "prim::Loop", "scope": "", "location": "", "nodes": ["/Loop", "/Identity"], "parts": ["iteration"], "is_list": false},
{"node": 0, "value": 3, "op": "prim::Loop", "scope": "", "location": "", "nodes": ["/Loop", "/Identity"], "parts": ["carried"], "is_list": false},
{"node": 1, "value": 4, "op": "aten::exp", "scope": "Net/Gate[gate]", "location": "net.py:7: return x.exp()", "nodes": ["/gate/Exp"], "parts": [["/gate/Exp", 0]], "is_list": false},
{"node": 2, "value": 5, "op": "aten::mul.Scalar", "scope": "", "location": "", "nodes": ["/Mul"], "parts": [["/Mul", 0]], "is_list": false}]}}
)json";

TEST(SearchPlanTest, StepsOfALoop) {
  const Captured captured = MakeLoop();
  diagnostics::Diagnostics diagnostics;
  lowering::LoweredValues values;
  const auto model = LowerToModel(captured, Options(), 18, &diagnostics, &values);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(SearchPlan(captured, *model, values, {"run", "--graph", "a \"b\""}), kPlan);
}

}  // namespace
}  // namespace rules_onnx::cli
