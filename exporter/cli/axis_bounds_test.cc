#include "exporter/cli/axis_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rules_onnx::cli {
namespace {

using ir::Dim;
using ::testing::ElementsAre;
using ::testing::Pair;

TEST(AxisBoundsTest, OfInputsThatAreBounded) {
  ir::Graph graph;
  const Dim n = Dim::Symbol("N"), m = Dim::Symbol("M"), k = Dim::Symbol("K");
  graph.main.params = {
      graph.NewValue(ir::Type::Tensor(ir::DType::kFloat32, ir::Shape{Dim(2) * n, m, k})),
      graph.NewValue(ir::Type::Scalar(ir::Type::Kind::kInt))};
  graph.symbols["N"] = {.min = 2, .max = 100};
  graph.symbols["M"] = {.min = 3};
  graph.symbols["K"] = {.min = 0};
  graph.symbols["u0"] = {.min = 4, .data_dependent = true};
  EXPECT_THAT(AxisBounds(graph), ElementsAre(Pair("axis.M", "3.."), Pair("axis.N", "2..100")));
}

}  // namespace
}  // namespace rules_onnx::cli
