#include "exporter/builder/infer.h"

#include <gtest/gtest.h>

#include "exporter/onnx/op_schemas.h"

namespace rules_onnx::builder {
namespace {

class InferTest : public ::testing::Test {
 protected:
  InferTest() : b((model.opset = 18, &model), &schemas) {}

  Val Input(Shape shape, DType dtype = DType::kFloat32) {
    return b.Input("x", ValueType{{}, dtype, shape});
  }
  std::string ShapeText(Val val) {
    return val.has_shape() ? ir::ShapeToString(val.shape()) : "unknown";
  }

  onnx_format::OnnxOpSchemas schemas;
  Model model;
  Builder b;
  const Dim n = Dim::Symbol("N"), m = Dim::Symbol("M");
};

TEST_F(InferTest, Broadcast) {
  EXPECT_EQ(ShapeText(b.Add(Input({n, 3}), Input({3}))), "[N, 3]");
  EXPECT_EQ(ShapeText(b.Add(Input({n, 1}), Input({4}))), "[N, 4]");
  EXPECT_EQ(ShapeText(b.Add(Input({n}), Input({m}))), "[?]");
  EXPECT_EQ(ShapeText(b.Add(Input({n}), Input({7}))), "[7]");
}

TEST_F(InferTest, Types) {
  EXPECT_EQ(b.Less(Input({2}), Input({2})).dtype(), DType::kBool);
  EXPECT_EQ(b.ShapeOf(Input({n})).dtype(), DType::kInt64);
  EXPECT_EQ(b.Cast(Input({n}), DType::kFloat16).dtype(), DType::kFloat16);
  EXPECT_EQ(b.ArgMax(Input({n, 3}), 1, false).dtype(), DType::kInt64);
}

TEST_F(InferTest, Movement) {
  const Val x = Input({n, 3, 4});
  EXPECT_EQ(ShapeText(b.Transpose(x, {2, 0, 1})), "[4, N, 3]");
  EXPECT_EQ(ShapeText(b.Reshape(x, std::vector<int64_t>{-1, 12})), "[N, 12]");
  EXPECT_EQ(ShapeText(b.Reshape(x, std::vector<int64_t>{-1})), "[12*N]");
  EXPECT_EQ(ShapeText(b.Unsqueeze(x, {0, -1})), "[1, N, 3, 4, 1]");
  EXPECT_EQ(ShapeText(b.Squeeze(b.Unsqueeze(x, {1}), {1})), "[N, 3, 4]");
  EXPECT_EQ(ShapeText(b.Concat({x, x}, 0)), "[2*N, 3, 4]");
  EXPECT_EQ(ShapeText(b.Gather(x, Input({5, 6}, DType::kInt64), 1)), "[N, 5, 6, 4]");
  EXPECT_EQ(ShapeText(b.Pad(x, {0, 1, 0}, {2, 1, 0})), "[N + 2, 5, 4]");
}

TEST_F(InferTest, Slices) {
  const Val x = Input({n, 10});
  EXPECT_EQ(ShapeText(b.Slice(x, 1, 2, -1)), "[N, 7]");
  EXPECT_EQ(ShapeText(b.Slice(x, 1, 0, 100, 3)), "[N, 4]");
  EXPECT_EQ(ShapeText(b.Slice(x, 1, 9, -100, -4)), "[N, 3]");
  EXPECT_EQ(ShapeText(b.Slice(x, 1, 8, 2)), "[N, 0]");
  EXPECT_EQ(ShapeText(b.Slice(x, 0, 1, 100)), "[?, 10]");
}

TEST_F(InferTest, Reductions) {
  const Val x = Input({n, 3, 4});
  EXPECT_EQ(ShapeText(b.Reduce("ReduceSum", x, {-1}, false)), "[N, 3]");
  EXPECT_EQ(ShapeText(b.Reduce("ReduceMax", x, {0, 2}, true)), "[1, 3, 1]");
  EXPECT_EQ(ShapeText(b.Reduce("ReduceMean", x, {}, false)), "[]");
  EXPECT_EQ(ShapeText(b.TopK(x, b.Int(2), 1, true)[1]), "[N, 2, 4]");
}

TEST_F(InferTest, Products) {
  EXPECT_EQ(ShapeText(b.MatMul(Input({n, 2, 3}), Input({3, 5}))), "[N, 2, 5]");
  EXPECT_EQ(ShapeText(b.MatMul(Input({3}), Input({n, 3, 5}))), "[N, 5]");
  EXPECT_EQ(ShapeText(b.MatMul(Input({3}), Input({3}))), "[]");
  EXPECT_EQ(ShapeText(b.Op("Gemm", {Input({n, 3}), Input({5, 3})}, {{"transB", 1}})), "[N, 5]");
}

}  // namespace
}  // namespace rules_onnx::builder
