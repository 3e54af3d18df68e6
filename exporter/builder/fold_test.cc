#include "exporter/builder/fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "exporter/builder/literal.h"
#include "exporter/onnx/op_schemas.h"

namespace rules_onnx::builder {
namespace {

using Ints = std::vector<int64_t>;

class FoldTest : public ::testing::Test {
 protected:
  FoldTest() : b((model.opset = 18, &model), &schemas) {}

  onnx_format::OnnxOpSchemas schemas;
  Model model;
  Builder b;
};

TEST_F(FoldTest, IntegerArithmetic) {
  EXPECT_EQ(b.Add(b.Ints({1, 2}), b.Int(3)).ints(), (Ints{4, 5}));
  EXPECT_EQ(b.Div(b.Int(-7), b.Int(2)).int_value(), -3);  // ONNX truncates
  EXPECT_EQ(b.Mod(b.Int(-7), b.Int(2), false).int_value(), 1);
  EXPECT_EQ(b.Max(b.Ints({1, 9}), b.Ints({4, 4})).ints(), (Ints{4, 9}));
  EXPECT_EQ(b.Less(b.Ints({1, 9}), b.Int(4)).ints(), (Ints{1, 0}));
  EXPECT_TRUE(model.graph.nodes.empty());
}

TEST_F(FoldTest, DivisionByZeroStaysANode) {
  EXPECT_FALSE(b.Div(b.Int(1), b.Int(0)).is_const());
  EXPECT_FALSE(b.Mod(b.Int(1), b.Int(0), false).is_const());
}

TEST_F(FoldTest, SmallIntegersWrap) {
  const Val x = b.ScalarInt(200, DType::kUInt8);
  EXPECT_EQ(b.Add(x, x).int_value(), 144);
}

TEST_F(FoldTest, FloatsRoundOnce) {
  const float third = 1.0f / 3.0f;
  EXPECT_EQ(b.Div(b.Scalar(1, DType::kFloat32), b.Scalar(3, DType::kFloat32)).float_value(), third);
  EXPECT_EQ(b.Unary("Sqrt", b.Scalar(2, DType::kFloat32)).float_value(), std::sqrt(2.0f));
}

TEST_F(FoldTest, WhatNeedsLibmStaysANode) {
  EXPECT_FALSE(b.Unary("Exp", b.Scalar(1, DType::kFloat32)).is_const());
  EXPECT_FALSE(b.Pow(b.Scalar(2, DType::kFloat32), b.Scalar(3, DType::kFloat32)).is_const());
}

TEST_F(FoldTest, Movement) {
  const Val x = b.Ints({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(b.Gather(x, b.Ints({-1, 0}), 0).ints(), (Ints{6, 1}));
  EXPECT_EQ(b.Slice(x, 0, 4, 0, -2).ints(), (Ints{5, 3}));
  EXPECT_EQ(b.Concat({x, b.Ints({7})}, 0).ints(), (Ints{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(b.Transpose(b.Reshape(x, Ints{2, -1}), {1, 0}).ints(), (Ints{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(b.Expand(b.Reshape(b.Ints({1, 2}), Ints{2, 1}), b.Ints({2, 2})).ints(),
            (Ints{1, 1, 2, 2}));
  EXPECT_EQ(b.Range(b.Int(5), b.Int(0), b.Int(-2)).ints(), (Ints{5, 3, 1}));
  EXPECT_EQ(b.Where(b.ScalarInt(1, DType::kBool), b.Int(3), b.Int(4)).int_value(), 3);
  EXPECT_EQ(b.Reduce("ReduceProd", b.Ints({2, 3}), {0}, false).int_value(), 6);
}

TEST_F(FoldTest, Casts) {
  EXPECT_EQ(b.Cast(b.Scalar(-2.7, DType::kFloat32), DType::kInt64).int_value(), -2);
  EXPECT_EQ(b.Cast(b.Scalar(0.5, DType::kFloat32), DType::kBool).int_value(), 1);
  // Out of range the result differs between runtimes.
  EXPECT_FALSE(b.Cast(b.Scalar(1e30, DType::kFloat32), DType::kInt64).is_const());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(b.Cast(b.Scalar(nan, DType::kFloat32), DType::kInt64).is_const());
}

TEST_F(FoldTest, LargeConstantsAreNotMade) {
  EXPECT_FALSE(b.ConstantOfShape(b.Ints({1000}), 0, DType::kFloat32).is_const());
  EXPECT_FALSE(b.Range(b.Int(0), b.Int(100000), b.Int(1)).is_const());
}

// Values from the definition of the formats: 1 sign bit, 5 (8) exponent bits, 10 (7) of fraction.
TEST(LiteralTest, HalfPrecision) {
  const auto bits = [](double value, DType dtype) {
    const LiteralPtr literal = FloatLiteral({value}, {}, dtype);
    return static_cast<uint8_t>(literal->bytes[0]) | static_cast<uint8_t>(literal->bytes[1]) << 8;
  };
  EXPECT_EQ(bits(1, DType::kFloat16), 0x3c00);
  EXPECT_EQ(bits(-2, DType::kFloat16), 0xc000);
  EXPECT_EQ(bits(65504, DType::kFloat16), 0x7bff);
  EXPECT_EQ(bits(65520, DType::kFloat16), 0x7c00);             // rounds to infinity
  EXPECT_EQ(bits(std::ldexp(1, -24), DType::kFloat16), 0x0001);  // least subnormal
  EXPECT_EQ(bits(std::ldexp(1, -25), DType::kFloat16), 0x0000);  // half of it: to even
  EXPECT_EQ(bits(1 + std::ldexp(1, -11), DType::kFloat16), 0x3c00);
  EXPECT_EQ(bits(1 + 3 * std::ldexp(1, -11), DType::kFloat16), 0x3c02);
  EXPECT_EQ(bits(1, DType::kBFloat16), 0x3f80);
  EXPECT_EQ(bits(3.140625, DType::kBFloat16), 0x4049);
}

TEST(LiteralTest, HalfPrecisionReadsBack) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (const double value : {0.0, 1.0, -1.5, 0.0078125, 240.0}) {
      EXPECT_EQ(LiteralFloats(*FloatLiteral({value}, {}, dtype))->front(), value);
    }
  }
}

}  // namespace
}  // namespace rules_onnx::builder
