#include "exporter/onnx/op_schemas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exporter/onnx/dtypes.h"

namespace rules_onnx::onnx_format {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

TEST(OpSchemasTest, FormsDifferByOpset) {
  const OnnxOpSchemas schemas;
  EXPECT_EQ(schemas.Find("Squeeze", 9)->since_version, 1);
  EXPECT_EQ(schemas.Find("Squeeze", 12)->inputs.size(), 1u);
  EXPECT_EQ(schemas.Find("Squeeze", 13)->inputs.size(), 2u);
  EXPECT_THAT(schemas.Find("Clip", 11)->inputs[0].dtypes, Not(Contains(ir::DType::kInt64)));
  EXPECT_THAT(schemas.Find("Clip", 12)->inputs[0].dtypes, Contains(ir::DType::kInt64));
}

TEST(OpSchemasTest, ParametersTellTypesAndRepetition) {
  const OnnxOpSchemas schemas;
  const builder::OpSchema* gather = schemas.Find("Gather", 13);
  ASSERT_EQ(gather->inputs.size(), 2u);
  EXPECT_EQ(gather->inputs[0].type_variable, "T");
  EXPECT_THAT(gather->inputs[1].dtypes, ElementsAre(ir::DType::kInt32, ir::DType::kInt64));
  EXPECT_FALSE(gather->inputs[0].variadic);
  EXPECT_TRUE(schemas.Find("Concat", 13)->inputs[0].variadic);
  EXPECT_TRUE(schemas.Find("Concat", 13)->inputs[0].homogeneous);
  EXPECT_FALSE(schemas.Find("Loop", 13)->inputs[2].homogeneous);
  EXPECT_EQ(schemas.Find("Shape", 15)->outputs[0].type_variable, "T1");
  EXPECT_EQ(schemas.Find("Reshape", 13)->inputs[1].type_variable, "tensor(int64)");
  EXPECT_THAT(schemas.Find("SequenceAt", 11)->inputs[0].dtypes, Contains(ir::DType::kFloat32));
}

TEST(OpSchemasTest, AbsentAndDeprecatedOperatorsAreNone) {
  const OnnxOpSchemas schemas;
  EXPECT_EQ(schemas.Find("Gelu", 19), nullptr);
  EXPECT_NE(schemas.Find("Gelu", 20), nullptr);
  EXPECT_EQ(schemas.FirstOpset("Gelu"), 20);
  EXPECT_NE(schemas.Find("Upsample", 9), nullptr);
  EXPECT_EQ(schemas.Find("Upsample", 10), nullptr);
  EXPECT_EQ(schemas.Find("NoSuchOperator", kMaxOpset), nullptr);
  EXPECT_EQ(schemas.FirstOpset("NoSuchOperator"), 0);
}

TEST(DTypesTest, EveryTypeHasAnOnnxForm) {
  for (int i = 1; i < ir::kNumDTypes; ++i) {
    const auto dtype = static_cast<ir::DType>(i);
    EXPECT_NE(ToOnnxType(dtype), 0) << ir::DTypeName(dtype);
    if (!ir::IsQuantized(dtype)) {
      EXPECT_EQ(FromOnnxType(ToOnnxType(dtype)), dtype) << ir::DTypeName(dtype);
    }
  }
  EXPECT_EQ(FromOnnxType(ToOnnxType(ir::DType::kQUInt8)), ir::DType::kUInt8);
}

}  // namespace
}  // namespace rules_onnx::onnx_format
