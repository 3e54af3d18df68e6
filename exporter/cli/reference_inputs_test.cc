#include "exporter/cli/reference_inputs.h"

#include <gtest/gtest.h>

namespace rules_onnx::cli {
namespace {

using ir::Dim;

TEST(ReferenceInputsTest, AxesOfInputs) {
  ir::Graph graph;
  const auto add = [&](ir::Type type) { graph.main.params.push_back(graph.NewValue(type, "x")); };
  add(ir::Type::Tensor(ir::DType::kFloat32, ir::Shape{Dim::Symbol("N"), 4, Dim::Symbol("N") * 2}));
  add(ir::Type::Scalar(ir::Type::Kind::kInt));
  add(ir::Type::Tensor(ir::DType::kFloat32, ir::Shape{2}));
  graph.symbols["N"].example = 3;
  EXPECT_EQ(AxesOfInputs(graph), R"([{"0": "N"}, {}])");
}

TEST(ReferenceInputsTest, WithoutAxisNames) {
  EXPECT_EQ(WithoutAxisNames("x:float32[N=10|7,3,S=2]=0..1"), "x:float32[10,3,2]=0..1");
  EXPECT_EQ(WithoutAxisNames("x:float32[]"), "x:float32[]");
  EXPECT_EQ(WithoutAxisNames("n:int=3"), "n:int=3");
  EXPECT_EQ(WithoutAxisNames("inputs.pt"), "inputs.pt");
}

}  // namespace
}  // namespace rules_onnx::cli
