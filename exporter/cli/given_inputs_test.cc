#include "exporter/cli/given_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rules_onnx::cli {
namespace {

using ::testing::HasSubstr;
using ir::Dim;

// x float32[N, 4], ids int64[2*N], n int
ir::Graph MakeGraph() {
  ir::Graph graph;
  const auto add = [&](const char* name, ir::Type type) {
    graph.main.params.push_back(graph.NewValue(std::move(type), name));
  };
  add("x", ir::Type::Tensor(ir::DType::kFloat32, ir::Shape{Dim::Symbol("N"), 4}));
  add("ids", ir::Type::Tensor(ir::DType::kInt64, ir::Shape{Dim::Symbol("N") * 2}));
  add("n", ir::Type::Scalar(ir::Type::Kind::kInt));
  graph.symbols["N"] = {.example = 8, .min = 3, .max = 64};
  return graph;
}

absl::StatusOr<inputs::Inputs> Given(const std::vector<std::string>& items, ir::Graph* graph,
                                     diagnostics::Diagnostics* diagnostics) {
  return GivenInputs(items, graph, diagnostics);
}

TEST(GivenInputsTest, NamesAndSizesOfAxes) {
  ir::Graph graph = MakeGraph();
  diagnostics::Diagnostics diagnostics;
  const auto examples = Given({"x:float32[B=5|9,4]", "int64[10]", "n:int=3"}, &graph, &diagnostics);
  ASSERT_TRUE(examples.ok()) << examples.status();
  EXPECT_TRUE(diagnostics.all().empty());
  ASSERT_EQ(examples->arguments.size(), 2u);
  EXPECT_EQ(examples->arguments[0].value.tensor.axes[0].symbol, "B");
  EXPECT_EQ(examples->arguments[0].value.tensor.axes[1].symbol, "");
  EXPECT_EQ(examples->arguments[1].value.tensor.axes[0].size, 10);
  EXPECT_EQ(graph.symbols["N"].example, 5);
  EXPECT_EQ(graph.symbols["N"].second, 9);
}

TEST(GivenInputsTest, WithoutItemsSizesAreTheFiles) {
  ir::Graph graph = MakeGraph();
  diagnostics::Diagnostics diagnostics;
  const auto examples = Given({}, &graph, &diagnostics);
  ASSERT_TRUE(examples.ok());
  EXPECT_EQ(examples->arguments[0].value.tensor.axes[0].size, 8);
  EXPECT_EQ(examples->arguments[1].value.tensor.axes[0].size, 16);
}

TEST(GivenInputsTest, RefusesWhatTheProgramDoesNotTake) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"y:float32[8,4]"}, "inputs are x, ids, n; --input-names"},
      {{"x:int64[8,4]"}, "input x of the program is float32[N, 4]"},
      {{"x:float32[8,5]"}, "input x of the program is float32[N, 4]"},
      {{"x:float32[8,4,1]"}, "input x of the program is float32[N, 4]"},
      {{"x:float32[2,4]"}, "axis 0 of input x of the program must be 3 or more, 64 or less"},
      {{"x:float32[65,4]"}, "64 or less"},
      {{"x:float32[5,4]", "ids:int64[9]"}, "input ids of the program is int64[2*N]"},
      {{"x:float32[8,4]", "x:float32[8,4]"}, "given twice"},
      {{"float32[8,4]", "int64[16]", "int64[16]"}, "inputs are x, ids, n"},
      {{"x:int=3"}, "input x of the program is float32[N, 4]"},
      {{"n:float=3"}, "input n of the program is int"},
      {{"x:float32[N=8,N=4]"}, "N"},
      {{"x:float99[8,4]"}, "float99"},
      {{"no/such/file.pt"}, "no/such/file.pt"},
  };
  for (const auto& [items, message] : cases) {
    ir::Graph graph = MakeGraph();
    diagnostics::Diagnostics diagnostics;
    const auto examples = Given(items, &graph, &diagnostics);
    ASSERT_FALSE(examples.ok()) << items.back();
    EXPECT_THAT(examples.status().message(), HasSubstr(message));
  }
}

TEST(GivenInputsTest, FilesAreNotRead) {
  ir::Graph graph = MakeGraph();
  diagnostics::Diagnostics diagnostics;
  const std::string file = testing::TempDir() + "/given_inputs_test.pt";
  fclose(fopen(file.c_str(), "w"));
  EXPECT_TRUE(Given({file, "x:float32[8,4]"}, &graph, &diagnostics).ok());
  const auto unnamed = Given({file, "float32[8,4]"}, &graph, &diagnostics);
  ASSERT_FALSE(unnamed.ok());
  EXPECT_THAT(unnamed.status().message(), HasSubstr("must name its input"));
  remove(file.c_str());
}

TEST(GivenInputsTest, AFixedNumberIsAWarning) {
  ir::Graph graph = MakeGraph();
  diagnostics::Diagnostics diagnostics;
  EXPECT_TRUE(Given({"scale:float=0.5", "None"}, &graph, &diagnostics).ok());
  EXPECT_FALSE(diagnostics.has_errors());
  ASSERT_EQ(diagnostics.all().size(), 2u);
  EXPECT_THAT(diagnostics.all()[0].message, HasSubstr("scale:float=0.5 changes nothing"));
}

}  // namespace
}  // namespace rules_onnx::cli
