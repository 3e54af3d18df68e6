#include "exporter/builder/print.h"

#include <gtest/gtest.h>

#include "exporter/builder/builder.h"
#include "exporter/builder/dce.h"
#include "exporter/builder/order.h"
#include "exporter/onnx/op_schemas.h"

namespace rules_onnx::builder {
namespace {

TEST(PrintTest, ModelWithABranch) {
  const onnx_format::OnnxOpSchemas schemas;
  Model model;
  model.opset = 18;
  Builder b(&model, &schemas);
  const Val x = b.Input("x", ValueType{{}, DType::kFloat32, Shape{Dim::Symbol("N"), 3}});
  const Val weight = b.Weight(0, "fc.weight", ValueType{{}, DType::kFloat32, Shape{3, 2}});
  b.SetSource("/fc", 7);
  const Val product = b.MatMul(x, weight);
  b.SetSource("", 8);
  const auto add = b.Subgraph("then", {}, [&] {
    return Vals{b.Add(product, b.Scalar(1, DType::kFloat32))};
  });
  const auto copy = b.Subgraph("else", {}, [&] { return Vals{product}; });
  const Val condition = b.Greater(b.Size(x, 0), b.Int(4));
  const Val y = b.Op("If", {condition}, {{"then_branch", add}, {"else_branch", copy}},
                     {DType::kFloat32, product.shape()});
  model.graph.outputs.push_back(b.Output(y, "y").get());
  RemoveUnused(&model);
  OrderAndName(&model);
  EXPECT_EQ(PrintModel(model, {{7, "net.py:12"}}),
            "opset 18\n"
            "input %x: float32[N, 3]\n"
            "weight %fc.weight: float32[3, 2]\n"
            "constant %constant: int64[]{0}\n"
            "constant %constant_1: int64[]{4}\n"
            "constant %constant_2: float32[]{1.0}\n"
            "%/fc/MatMul_output: float32[N, 2] = MatMul(%x, %fc.weight)  # /fc/MatMul  net.py:12\n"
            "%/Shape_output: int64[2] = Shape(%x)  # /Shape\n"
            "%/Gather_output: int64[] = Gather(%/Shape_output, %constant) {axis=0}  # /Gather\n"
            "%/Greater_output: bool[] = Greater(%/Gather_output, %constant_1)  # /Greater\n"
            "%y: float32[N, 2] = If(%/Greater_output) {then_branch=then, else_branch=else}  # /If\n"
            "  then_branch:\n"
            "    %/Add_output: float32[N, 2] = Add(%/fc/MatMul_output, %constant_2)  # /Add\n"
            "    output %/Add_output\n"
            "  else_branch:\n"
            "    %/Identity_output: float32[N, 2] = Identity(%/fc/MatMul_output)  # /Identity\n"
            "    output %/Identity_output\n"
            "output %y\n");
}

}  // namespace
}  // namespace rules_onnx::builder
