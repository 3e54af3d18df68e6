#include "exporter/cli/symbol_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rules_onnx::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ir::Dim;

// x[s0, 4], y[s1, s0]
ir::Graph MakeGraph() {
  ir::Graph graph;
  const auto add = [&](const char* name, ir::Shape shape) {
    graph.main.params.push_back(
        graph.NewValue(ir::Type::Tensor(ir::DType::kFloat32, std::move(shape)), name));
  };
  add("x", {Dim::Symbol("s0"), 4});
  add("y", {Dim::Symbol("s1"), Dim::Symbol("s0")});
  graph.NewValue(ir::Type::List(ir::Type::Tensor(
      ir::DType::kFloat32, ir::Shape{Dim::Symbol("s0") * 2 + Dim::Symbol("s1")})));
  graph.symbols["s0"].example = 8;
  graph.symbols["s1"].example = 8;
  return graph;
}

TEST(SymbolNamesTest, RenamesEverywhere) {
  ir::Graph graph = MakeGraph();
  diagnostics::Diagnostics diagnostics;
  ASSERT_TRUE(
      NameSymbols({}, R"({"x": {"0": "N"}, "1": {"0": "s0"}})", false, &graph, &diagnostics).ok());
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_EQ(graph.main.params[0]->type.ToString(), "float32[N, 4]");
  EXPECT_EQ(graph.main.params[1]->type.ToString(), "float32[s0, N]");
  EXPECT_TRUE((*graph.values()[2]->type.elements[0].shape)[0].Equals(
      Dim::Symbol("N") * 2 + Dim::Symbol("s0")));
  EXPECT_EQ(graph.symbols.count("N"), 1u);
  EXPECT_EQ(graph.symbols.count("s1"), 0u);
}

TEST(SymbolNamesTest, FixedAxisIsFrozen) {
  for (const bool allow : {false, true}) {
    ir::Graph graph = MakeGraph();
    diagnostics::Diagnostics diagnostics;
    ASSERT_TRUE(NameSymbols({}, R"({"x": {"1": "C"}})", allow, &graph, &diagnostics).ok());
    ASSERT_EQ(diagnostics.all().size(), 1u);
    EXPECT_EQ(diagnostics.has_errors(), !allow);
    EXPECT_THAT(diagnostics.all()[0].message, HasSubstr("axis 1 of input x"));
  }
}

TEST(SymbolNamesTest, SizeThatFollowsFromOthersKeepsItsForm) {
  ir::Graph graph = MakeGraph();
  graph.main.params[1]->type.shape->front() = Dim::Symbol("s0") * 2;
  diagnostics::Diagnostics diagnostics;
  ASSERT_TRUE(
      NameSymbols({}, R"({"x": {"0": "N"}, "y": {"0": "M"}})", false, &graph, &diagnostics).ok());
  EXPECT_TRUE(diagnostics.all().empty());
  EXPECT_EQ(graph.main.params[1]->type.ToString(), "float32[2*N, N]");
}

TEST(SymbolNamesTest, OfTwoNamesForOneSizeTheFirstIsTaken) {
  ir::Graph graph = MakeGraph();
  diagnostics::Diagnostics diagnostics;
  ASSERT_TRUE(
      NameSymbols({}, R"({"x": {"0": "N"}, "y": {"1": "M"}})", false, &graph, &diagnostics).ok());
  EXPECT_FALSE(diagnostics.has_errors());
  ASSERT_EQ(diagnostics.all().size(), 1u);
  EXPECT_THAT(diagnostics.all()[0].message, HasSubstr("both are named N"));
  EXPECT_EQ(graph.main.params[1]->type.ToString(), "float32[s1, N]");
}

TEST(SymbolNamesTest, OneNameMakesTwoSizesOne) {
  const std::string json = R"({"x": {"0": "N"}, "y": {"0": "N"}})";
  ir::Graph graph = MakeGraph();
  graph.symbols["s0"].max = 20;
  graph.symbols["s1"].min = 2;
  diagnostics::Diagnostics diagnostics;
  ASSERT_TRUE(NameSymbols({}, json, false, &graph, &diagnostics).ok());
  EXPECT_EQ(graph.main.params[1]->type.ToString(), "float32[N, N]");
  ASSERT_EQ(graph.symbols.size(), 1u);
  EXPECT_EQ(graph.symbols["N"].min, 2);
  EXPECT_EQ(graph.symbols["N"].max, 20);

  ir::Graph unequal = MakeGraph();
  unequal.symbols["s1"].example = 9;
  EXPECT_FALSE(NameSymbols({}, json, false, &unequal, &diagnostics).ok());

  ir::Graph apart = MakeGraph();
  apart.symbols["s0"].max = 8;
  apart.symbols["s1"].min = 9;
  EXPECT_FALSE(NameSymbols({}, json, false, &apart, &diagnostics).ok());
}

TEST(SymbolNamesTest, NamesMustFitTheProgram) {
  for (const char* json : {R"({"x": {"0": "s1"}})",                   // a name in use
                           R"({"z": {"0": "N"}})", R"({"x": {"2": "N"}})", "nonsense"}) {
    ir::Graph graph = MakeGraph();
    diagnostics::Diagnostics diagnostics;
    EXPECT_FALSE(NameSymbols({}, json, false, &graph, &diagnostics).ok()) << json;
  }
}

}  // namespace
}  // namespace rules_onnx::cli
