#include "exporter/ir/verify.h"

#include <functional>
#include <string>
#include <utility>

#include "exporter/ir/graph_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rules_onnx::ir {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(VerifyGraphTest, AcceptsSoundGraphs) {
  const Sample sample = MakeSample();
  const absl::Status status = VerifyGraph(sample.graph, {.functional = true});
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(VerifyGraph(Graph()).ok());
}

struct Case {
  const char* message;
  std::function<void(Graph&)> damage;
};

Node& If(Graph& graph) { return *graph.main.nodes[2]; }
Node& Loop(Graph& graph) { return *graph.main.nodes[3]; }

TEST(VerifyGraphTest, NamesWhatDoesNotHold) {
  Graph other;
  Value* const foreign = other.NewValue(Type::Tensor(DType::kFloat32, Shape{}), "foreign");
  const Case cases[] = {
      {"is defined a second time",
       [](Graph& g) { g.main.nodes[1]->outputs = g.main.nodes[0]->outputs; }},
      {"is used outside its scope or before it is defined",
       [](Graph& g) { std::swap(g.main.nodes[2], g.main.nodes[3]); }},
      {"the graph: value 7 is used outside its scope",
       [](Graph& g) { g.main.results[0] = If(g).blocks[0]->results[0]; }},
      {"is used outside its scope",
       [](Graph& g) { If(g).blocks[1]->results = If(g).blocks[0]->results; }},
      {"is used outside its scope",
       [](Graph& g) { If(g).blocks[0]->nodes[0]->Set("self", If(g).output()); }},
      {"has a value that is not the graph's",
       [&](Graph& g) { g.main.nodes[0]->Set("bias", foreign); }},
      {"has a value that is not the graph's", [&](Graph& g) { g.main.results[0] = foreign; }},
      {"has a value that is not the graph's",
       [](Graph& g) { g.main.nodes[0]->outputs = {nullptr}; }},
      {"defines a value that is not the graph's",
       [&](Graph& g) { Loop(g).blocks[0]->params[0] = foreign; }},
      {"the type of value 4 is not complete",
       [](Graph& g) { g.main.nodes[0]->output()->type = Type::Scalar(Type::Kind::kList); }},
      {"argument 0 is 'weight'; its schema has 'input'",
       [](Graph& g) { std::swap(g.main.nodes[0]->args[0], g.main.nodes[0]->args[1]); }},
      {"argument 'weight' does not fit Tensor",
       [](Graph& g) { g.main.nodes[0]->Set("weight", "w"); }},
      {"has 4 arguments; its schema has 3", [](Graph& g) { g.main.nodes[0]->Set("extra", 1); }},
      {"has 1 arguments; its schema has 0",
       [](Graph& g) { g.main.nodes.back()->Set("extra", 1); }},  // mylib::make's custom schema
      {"has 0 outputs; its schema has 1", [](Graph& g) { g.main.nodes.back()->outputs.clear(); }},
      {"has 1 blocks instead of 2", [](Graph& g) { If(g).blocks.pop_back(); }},
      {"has 1 blocks instead of 0",
       [](Graph& g) { g.main.nodes[0]->blocks.push_back(std::make_unique<Block>()); }},
      {"a block has 0 results", [](Graph& g) { If(g).blocks[1]->results.clear(); }},
      {"a block has 1 parameters",
       [](Graph& g) { If(g).blocks[0]->params = {g.NewValue(Type())}; }},
      {"a block has 1 parameters", [](Graph& g) { Loop(g).blocks[0]->params.pop_back(); }},
      {"a block has 1 results", [](Graph& g) { Loop(g).blocks[0]->results.pop_back(); }},
      {"does not carry one value for each output",
       [](Graph& g) { Loop(g).Set("carried", Arg::List{}); }},
      {"a literal's bytes are not those of its shape",
       [](Graph& g) {
         g.main.results[1] = std::make_shared<const TensorLiteral>(
             TensorLiteral{DType::kFloat32, {2}, "1234"});
       }},
      {"a literal's bytes are not those of its shape",
       [](Graph& g) {
         g.main.results[1] = Arg::List{std::make_shared<const TensorLiteral>(
             TensorLiteral{DType::kFloat32, {-1, int64_t{1} << 62}, ""})};
       }},
      {"input '': has no name", [](Graph& g) { g.main.params[0]->name = ""; }},
      {"input 'fc.bias': another input or weight has this name",
       [](Graph& g) { g.main.params[1]->name = "fc.bias"; }},
      {"weight 'fc.weight': another input or weight has this name",
       [](Graph& g) { g.weights[1].name = "fc.weight"; }},
      {"weight 'fc.bias': has 13 bytes; float32[3] takes 12",
       [](Graph& g) { g.weights[1].bytes = 13; }},
      {"weight 'fc.bias': is no tensor of known size: float32[N]",
       [](Graph& g) { g.weights[1].value->type.shape = Shape{Dim::Symbol("N")}; }},
      {"has 2 outputs and 1 names for them", [](Graph& g) { g.output_names.pop_back(); }},
      {"output 'out.seven': another output has this name",
       [](Graph& g) { g.output_names[0] = "out.seven"; }},
      {"output '': has no name", [](Graph& g) { g.output_names[0] = ""; }},
      {"operator schema 'nonsense'", [](Graph& g) { g.custom_schemas["mylib::make"] = "nonsense"; }},
      {"a::b() -> (): is the schema of c::d",
       [](Graph& g) { g.custom_schemas["c::d"] = "a::b() -> ()"; }},
  };
  for (const Case& c : cases) {
    Sample sample = MakeSample();
    sample.graph.Renumber();
    c.damage(sample.graph);
    const absl::Status status = VerifyGraph(sample.graph);
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
  }
}

TEST(VerifyGraphTest, MessagesNameTheNode) {
  Sample sample = MakeSample();
  sample.graph.main.nodes[0]->Set("weight", "w");
  EXPECT_THAT(
      std::string(VerifyGraph(sample.graph).message()),
      StartsWith("node 1 (%5: float32[N, 3] = aten::linear(input=%x, weight='w', bias=%fc.bias)) "
                 "in Net/Linear[fc]: "));
}

TEST(VerifyGraphTest, FunctionalGraphsWriteToNoArgument) {
  Sample sample = MakeSample();
  Node& node = *If(sample.graph).blocks[0]->nodes[0];
  node.op = "aten::sin_";
  EXPECT_TRUE(VerifyGraph(sample.graph).ok());
  EXPECT_THAT(std::string(VerifyGraph(sample.graph, {.functional = true}).message()),
              HasSubstr("aten::sin_(self=%5)): writes to an argument"));
}

}  // namespace
}  // namespace rules_onnx::ir
