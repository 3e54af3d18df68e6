#include "exporter/passes/scalar_tensors.h"

#include <gtest/gtest.h>

#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

TEST(ScalarTensorsTest, SizeArithmeticOfTraces) {
  Program p;
  ir::Value* x = p.Input("x", "float32[N, 3]");
  ir::Value* size = p.Op("aten::size.int", {x, 0}, "int");
  ir::Value* tensor = p.Op("prim::NumToTensor.Scalar", {size}, "int64[]");
  ir::Value* product = p.Op("aten::mul.Scalar", {tensor, 2}, "int64[]");
  ir::Value* sum = p.Op("aten::add.Tensor", {product, tensor}, "int64[]");
  ir::Value* half = p.Op("aten::floor_divide.Scalar", {sum, 2}, "int64[]");
  p.Output(p.Op("aten::Int.Tensor", {half}, "int"));
  p.Output(p.Op("aten::Int.Tensor", {tensor}, "int"));
  EXPECT_TRUE(ScalarTensors(p.context()));
  EXPECT_EQ(p.Print(), R"(
%1: int = aten::size.int(self=%x, dim=0)
%2: int64[] = prim::NumToTensor.Scalar(a=%1)
%3: int64[] = aten::mul.Scalar(self=%2, other=2)
%4: int64[] = aten::add.Tensor(self=%3, other=%2, alpha=1)
%5: int64[] = aten::floor_divide.Scalar(self=%4, other=2)
%8: int = aten::mul.int(a=%1, b=2)
%9: int = aten::add.int(a=%8, b=%1)
%10: int = aten::floordiv.int(a=%9, b=2)
output y0 = %10
output y1 = %1
)");
}

TEST(ScalarTensorsTest, OtherTensorsStay) {
  Program p;
  ir::Value* x = p.Input("x", "int64[]");
  ir::Value* f = p.Op("prim::NumToTensor.Scalar", {p.Input("f", "float")}, "float64[]");
  p.Output(p.Op("aten::Int.Tensor", {x}, "int"));
  p.Output(p.Op("aten::Int.Tensor", {f}, "int"));
  p.Output(p.Op("aten::Int.Tensor", {p.Op("aten::add.Tensor", {x, 1}, "int64[]")}, "int"));
  EXPECT_FALSE(ScalarTensors(p.context()));
}

}  // namespace
}  // namespace rules_onnx::passes
