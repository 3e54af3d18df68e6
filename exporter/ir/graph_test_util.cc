#include "exporter/ir/graph_test_util.h"

#include <cmath>
#include <cstring>
#include <utility>

namespace rules_onnx::ir {
namespace {

Type Float(Shape shape) { return Type::Tensor(DType::kFloat32, std::move(shape)); }

Arg::Literal FloatLiteral(const std::vector<float>& values) {
  TensorLiteral literal{DType::kFloat32, {static_cast<int64_t>(values.size())}, ""};
  literal.bytes.assign(reinterpret_cast<const char*>(values.data()),
                       values.size() * sizeof(float));
  return std::make_shared<const TensorLiteral>(std::move(literal));
}

// Appends a node with one output.
Value* Append(Graph* graph, Block* block, std::string op, std::vector<NamedArg> args, Type type,
              std::string name = "") {
  std::unique_ptr<Node> node = graph->NewNode(std::move(op), std::move(args));
  node->outputs.push_back(graph->NewValue(std::move(type), std::move(name)));
  block->nodes.push_back(std::move(node));
  return block->nodes.back()->output();
}

void AddIf(Graph* graph, Value* condition, Value* x) {
  std::unique_ptr<Node> node = graph->NewNode("prim::If", {{"cond", condition}});
  for (const char* op : {"aten::sin", "aten::cos"}) {
    node->blocks.push_back(std::make_unique<Block>());
    Block* const block = node->blocks.back().get();
    block->results = {Append(graph, block, op, {{"self", x}}, x->type, "same")};
  }
  node->outputs.push_back(graph->NewValue(x->type, "chosen"));
  node->scope = "Net/Chooser[choose]";
  graph->main.nodes.push_back(std::move(node));
}

void AddLoop(Graph* graph, Value* count, Value* x) {
  std::unique_ptr<Node> node = graph->NewNode(
      "prim::Loop", {{"max_trip_count", count}, {"cond", true}, {"carried", Arg::List{x}}});
  node->blocks.push_back(std::make_unique<Block>());
  Block* const block = node->blocks.back().get();
  block->params = {graph->NewValue(Type::Scalar(Type::Kind::kInt), "i"),
                   graph->NewValue(x->type, "state")};
  Value* const next = Append(
      graph, block, "aten::add.Tensor",
      {{"self", block->params[1]}, {"other", block->params[0]}, {"alpha", 1}}, x->type);
  block->results = {true, next};
  node->outputs.push_back(graph->NewValue(x->type, "total"));
  graph->main.nodes.push_back(std::move(node));
}

void AddOddities(Graph* graph, Value* x) {
  const std::vector<NamedArg> args = {
      {"none", Arg()},
      {"flag", false},
      {"integer", int64_t{-5}},
      {"number", 0.1},
      {"large", 1e30},
      {"nan", std::nan("")},
      {"z", std::complex<double>(1, -2)},
      {"text", std::string("a'\n\xff\0b", 6)},
      {"dtype", DType::kBFloat16},
      {"literal", FloatLiteral({1, -0.5f})},
      {"nested", Arg::List{1, Arg::List{x, Arg()}, Arg::List{}}},
  };
  Append(graph, &graph->main, "mylib::odd", args,
         Type{.kind = Type::Kind::kDict,
              .elements = {Type::Scalar(Type::Kind::kString),
                           Type{.kind = Type::Kind::kTuple,
                                .elements = {Float({Dim::Unknown()}), Type::List(Type())},
                                .field_names = {"a", "b"}}}});
  Append(graph, &graph->main, "mylib::make", {},
         Type{.kind = Type::Kind::kObject, .class_name = "Thing"});
}

}  // namespace

Sample MakeSample() {
  Sample sample;
  Graph& graph = sample.graph;
  const Dim n = Dim::Symbol("N");
  graph.symbols["N"] = {10, 13, 1, 64, false};
  graph.symbols["u0"] = {4, 0, 0, std::nullopt, true};
  graph.custom_schemas["mylib::make"] = "mylib::make() -> t";

  graph.weights.push_back({graph.NewValue(Float({3, 4}), "fc.weight"), "fc.weight", true, 64, 48});
  graph.weights.push_back({graph.NewValue(Float({3}), "fc.bias"), "fc.bias", false, 128, 12});
  Value* const x = graph.NewValue(Float({n, 4}), "x");
  Value* const count = graph.NewValue(Type::Scalar(Type::Kind::kInt), "count");
  graph.main.params = {x, count};

  graph.NewValue(Type(), "dropped");  // what a pass took out leaves gaps in the ids
  graph.NewNode("aten::dropped", {});
  Value* const y = Append(&graph, &graph.main, "aten::linear",
                          {{"input", x},
                           {"weight", graph.weights[0].value},
                           {"bias", graph.weights[1].value}},
                          Float({n, 3}));
  graph.main.nodes.back()->scope = "Net/Linear[fc]";
  sample.debug[graph.main.nodes.back()->id] = {"net.py", 12, "x = self.fc(x)", ""};
  Value* const condition = Append(&graph, &graph.main, "aten::gt.int", {{"a", count}, {"b", 2}},
                                  Type::Scalar(Type::Kind::kBool), "if");
  AddIf(&graph, condition, y);
  AddLoop(&graph, count, graph.main.nodes.back()->output());
  Value* const total = graph.main.nodes.back()->output();
  sample.debug[graph.main.nodes.back()->id] = {"net.py", 20, "", ""};
  AddOddities(&graph, x);

  graph.main.results = {total, 7};
  graph.output_names = {"out.total", "out.seven"};
  graph.dropped_outputs = {{"out.name", "str"}};
  return sample;
}

}  // namespace rules_onnx::ir
