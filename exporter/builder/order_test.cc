#include "exporter/builder/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exporter/builder/builder.h"
#include "exporter/builder/dce.h"
#include "exporter/onnx/op_schemas.h"

namespace rules_onnx::builder {
namespace {

using ::testing::ElementsAre;

std::string NameOf(const Value* value) { return value == nullptr ? "" : value->name; }

void Describe(const Graph& graph, std::vector<std::string>* lines) {
  for (const auto& node : graph.nodes) {
    std::string line = absl::StrCat(NameOf(node->outputs.front()), " = ", node->name, "(");
    for (const Value* input : node->inputs) absl::StrAppend(&line, NameOf(input), " ");
    lines->push_back(line + ")");
    for (const Attr& attr : node->attrs) {
      if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&attr.data)) Describe(**inner, lines);
    }
  }
}

// The nodes of what `emit` builds from one input, as text.
std::vector<std::string> Nodes(const std::function<Val(Builder&, Val)>& emit) {
  const onnx_format::OnnxOpSchemas schemas;
  Model model;
  model.opset = 18;
  Builder b(&model, &schemas);
  const Val x = b.Input("x", ValueType{{}, DType::kFloat32, Shape{Dim::Symbol("N"), 3}});
  b.SetSource("/net", 1);
  model.graph.outputs.push_back(b.Output(emit(b, x), "y").get());
  RemoveUnused(&model);
  OrderAndName(&model);
  std::vector<std::string> lines;
  for (const Value* value : model.initializers) lines.push_back(value->name);
  Describe(model.graph, &lines);
  return lines;
}

TEST(OrderTest, OperandsComeInTheOrderOfTheirUse) {
  const auto exp_first = [](Builder& b, Val x) {
    const Val exp = b.Unary("Exp", x);
    const Val neg = b.Unary("Neg", x);
    return b.Sub(exp, neg);
  };
  const auto neg_first = [](Builder& b, Val x) {
    const Val neg = b.Unary("Neg", x);
    const Val exp = b.Unary("Exp", x);
    return b.Sub(exp, neg);
  };
  EXPECT_THAT(Nodes(neg_first),
              ElementsAre("/net/Exp_output = /net/Exp(x )", "/net/Neg_output = /net/Neg(x )",
                          "y = /net/Sub(/net/Exp_output /net/Neg_output )"));
  EXPECT_EQ(Nodes(exp_first), Nodes(neg_first));
}

TEST(OrderTest, ConstantsComeInTheOrderOfTheirUse) {
  const auto two_first = [](Builder& b, Val x) {
    const Val two = b.Scalar(2, DType::kFloat32);
    const Val three = b.Scalar(3, DType::kFloat32);
    return b.Mul(b.Add(x, two), three);
  };
  const auto three_first = [](Builder& b, Val x) {
    const Val three = b.Scalar(3, DType::kFloat32);
    const Val two = b.Scalar(2, DType::kFloat32);
    return b.Mul(b.Add(x, two), three);
  };
  EXPECT_EQ(Nodes(two_first), Nodes(three_first));
}

// The steps of a program stay in its order, whatever uses them; inside each the users decide.
TEST(OrderTest, StepsStayTogether) {
  const auto emit = [](bool swap) {
    return [swap](Builder& b, Val x) {
      const Val first = b.Unary(swap ? "Exp" : "Neg", x);
      const Val second = b.Unary(swap ? "Neg" : "Exp", x);
      b.SetSource("/net/next", 2);
      const Val exp = swap ? first : second;
      const Val neg = swap ? second : first;
      return b.Add(b.Sub(neg, exp), neg);
    };
  };
  EXPECT_THAT(Nodes(emit(false)),
              ElementsAre("/net/Neg_output = /net/Neg(x )", "/net/Exp_output = /net/Exp(x )",
                          "/net/next/Sub_output = /net/next/Sub(/net/Neg_output /net/Exp_output )",
                          "y = /net/next/Add(/net/next/Sub_output /net/Neg_output )"));
  EXPECT_EQ(Nodes(emit(false)), Nodes(emit(true)));
}

TEST(OrderTest, InnerGraphsUseOuterValues) {
  const auto emit = [](bool swap) {
    return [swap](Builder& b, Val x) {
      const Val first = b.Unary(swap ? "Exp" : "Neg", x);
      const Val second = b.Unary(swap ? "Neg" : "Exp", x);
      const Val exp = swap ? first : second;
      const Val neg = swap ? second : first;
      const auto then_branch = b.Subgraph("then", {}, [&] { return Vals{b.Unary("Abs", exp)}; });
      const auto else_branch = b.Subgraph("else", {}, [&] { return Vals{b.Unary("Abs", neg)}; });
      const Val condition = b.Greater(b.NumElements(x), b.Int(3));
      return b.Op("If", {condition}, {{"then_branch", then_branch}, {"else_branch", else_branch}},
                  {DType::kFloat32, x.shape()});
    };
  };
  const std::vector<std::string> lines = Nodes(emit(false));
  EXPECT_EQ(lines, Nodes(emit(true)));
  EXPECT_EQ(lines.back(), "/net/Abs_1_output = /net/Abs_1(/net/Neg_output )");
}

TEST(OrderTest, NamesThatTheProgramGivesStay) {
  const auto lines = Nodes([](Builder& b, Val x) {
    const Val taken = b.Input("/net/Exp_output", x.get()->type);
    return b.Add(b.Unary("Exp", x), taken);
  });
  EXPECT_THAT(lines, ElementsAre("/net/Exp_output_1 = /net/Exp(x )",
                                 "y = /net/Add(/net/Exp_output_1 /net/Exp_output )"));
}

}  // namespace
}  // namespace rules_onnx::builder
