#include "exporter/onnx/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exporter/onnx/model_test_util.h"

namespace rules_onnx::onnx_format {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using builder::Value;
using ir::Dim;
using ir::DType;

std::string Int64s(std::vector<int64_t> values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * 8);
}

TEST(CheckTest, WrongOperandNamesNodeAndSource) {
  TestModel test;
  Value* x = test.Input("x", DType::kFloat32, {2, 3});
  Value* y = test.NewValue("y", DType::kFloat32, ir::Shape{2, 3});
  test.Node("Add", {x}, y);
  test.Output(y);
  const absl::Status status = test.Write({.sources = {{y->id, "net.py:12"}}});
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("/node/y"), HasSubstr("net.py:12")));
  EXPECT_TRUE(test.folder.List().empty());
  EXPECT_TRUE(test.Write({.check = false}).ok());
}

TEST(CheckTest, OurTypeAgainstOnnxType) {
  for (const bool shape : {false, true}) {
    TestModel test;
    Value* x = test.Input("x", DType::kFloat32, {2, 3});
    Value* y = test.NewValue("y", shape ? DType::kFloat32 : DType::kInt64,
                             ir::Shape{2, shape ? 4 : 3});
    test.Node("Relu", {x}, y);
    test.Output(y);
    const absl::Status status = test.Write({.sources = {{y->id, "net.py:12"}}});
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("/node/y"), HasSubstr("net.py:12")));
  }
}

// A size that should vary and does not, found by propagating Shape's value into Reshape.
TEST(CheckTest, FrozenSizeIsAConflict) {
  TestModel test;
  Value* x = test.Input("x", DType::kFloat32, {Dim::Symbol("N"), 3});
  Value* sizes = test.Constant("sizes", DType::kInt64, {2}, Int64s({3, 7}));
  Value* y = test.NewValue("y", DType::kFloat32, ir::Shape{3, Dim::Symbol("N")});
  test.Node("Reshape", {x, sizes}, y);
  test.Output(y);
  const absl::Status status = test.Write({.sources = {{y->id, "net.py:12"}}});
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("value y: axis 1 is N, but ONNX infers 7"), HasSubstr("net.py:12")));
}

// floordiv(N, floordiv(N, 4)) is 4 where N is a multiple of 4.
TEST(CheckTest, ExpressionOfOneValueIsNoConflict) {
  const Dim n = Dim::Symbol("N"), four = Dim::FloorDiv(n, Dim::FloorDiv(n, 4));
  for (const Dim& size : {four, Dim::FloorDiv(n, 4)}) {
    TestModel test;
    Value* x = test.Input("x", DType::kFloat32, {n, 3});
    Value* sizes = test.Constant("sizes", DType::kInt64, {2}, Int64s({-1, 4}));
    Value* y = test.NewValue("y", DType::kFloat32, ir::Shape{Dim::Unknown(), size});
    test.Node("Reshape", {x, sizes}, y);
    test.Output(y);
    EXPECT_EQ(test.Write({}).ok(), size.Equals(four));
  }
}

TEST(CheckTest, InferenceFillsInWhatLoweringLeftOpen) {
  TestModel test;
  Value* x = test.Input("x", DType::kFloat32, {Dim::Symbol("N"), 3});
  Value* shape = test.NewValue("shape", DType::kUndefined, std::nullopt);
  Value* flat = test.Constant("flat", DType::kInt64, {2}, Int64s({1, -1}));
  Value* reshaped = test.NewValue("reshaped", DType::kFloat32, std::nullopt);
  Value* back = test.NewValue("back", DType::kUndefined, std::nullopt);
  Value* y = test.NewValue("y", DType::kFloat32, ir::Shape{Dim::Unknown(), 3});
  test.Node("Shape", {x}, shape);
  test.Node("Reshape", {x, flat}, reshaped);
  test.Node("Reshape", {reshaped, shape}, back);
  test.Node("Relu", {back}, y);
  test.Output(y);
  ASSERT_TRUE(test.Write({}).ok());
  const onnx::GraphProto graph = test.Read().graph();
  ASSERT_EQ(graph.value_info_size(), 3);
  EXPECT_EQ(graph.value_info(0).name(), "shape");
  EXPECT_EQ(graph.value_info(0).type().tensor_type().elem_type(), onnx::TensorProto::INT64);
  EXPECT_EQ(graph.value_info(1).type().tensor_type().shape().dim(0).dim_value(), 1);
  EXPECT_EQ(graph.value_info(2).type().tensor_type().shape().dim(0).dim_param(), "N");
  EXPECT_EQ(graph.output(0).type().tensor_type().shape().dim(0).dim_param(), "N");
  EXPECT_THAT(test.Read().DebugString(), Not(HasSubstr("unk__")));
  const std::string checked = test.Bytes("m.onnx");
  ASSERT_TRUE(test.Write({.check = false}).ok());
  EXPECT_EQ(test.Bytes("m.onnx"), checked);
}

TEST(CheckTest, UnknownSizesStayUnknown) {
  TestModel test;
  Value* x = test.Input("x", DType::kFloat32, {Dim::Symbol("N"), 3});
  Value* indices = test.NewValue("indices", DType::kUndefined, std::nullopt);
  Value* y = test.NewValue("y", DType::kInt64, ir::Shape{Dim::Unknown(), 2});
  test.Node("NonZero", {x}, indices);
  test.Node("Transpose", {indices}, y, {{"perm", std::vector<int64_t>{1, 0}}});
  test.Output(y);
  ASSERT_TRUE(test.Write({}).ok());
  const onnx::TensorShapeProto dims = test.Read().graph().value_info(0).type().tensor_type().shape();
  ASSERT_EQ(dims.dim_size(), 2);
  EXPECT_EQ(dims.dim(0).dim_value(), 2);
  EXPECT_FALSE(dims.dim(1).has_dim_param());
}

// Indices that are a weight: ONNX's inference would read them, and they are not at hand.
TEST(CheckTest, IntegerWeightsNeedNoData) {
  TestModel test;
  Value* x = test.Input("x", DType::kInt64, {Dim::Symbol("N")});
  Value* table = test.Weight("table", DType::kInt64, {512}, std::string(4096, '\0'));
  Value* y = test.NewValue("y", DType::kInt64, ir::Shape{Dim::Symbol("N")});
  test.Node("Gather", {table, x}, y);
  test.Output(y);
  ASSERT_TRUE(test.Write({}).ok());
  EXPECT_EQ(test.Read().graph().input_size(), 1);
}

TEST(CheckTest, SubgraphsAreCheckedAndFilledIn) {
  for (const bool fault : {false, true}) {
    TestModel test;
    Value* condition = test.Input("condition", DType::kBool, {});
    Value* x = test.Input("x", DType::kFloat32, {Dim::Symbol("N")});
    const auto branch = [&](const std::string& name, const std::string& op) {
      auto graph = std::make_shared<builder::Graph>();
      graph->name = name;
      Value* inner = test.NewValue(name + "_inner", DType::kUndefined, std::nullopt);
      test.Node(op, {x}, inner, {}, graph.get());
      Value* out = test.NewValue(name + "_out", DType::kFloat32, ir::Shape{Dim::Symbol("N")});
      test.Node("Relu", {inner}, out, {}, graph.get());
      graph->outputs.push_back(out);
      return graph;
    };
    Value* y = test.NewValue("y", DType::kFloat32, ir::Shape{Dim::Symbol("N")});
    test.Node("If", {condition}, y,
              {{"then_branch", branch("then", "Exp")},
               {"else_branch", branch("else", fault ? "NonZero" : "Abs")}});
    test.Output(y);
    const absl::Status status = test.Write({.sources = {{y->id, "net.py:12"}}});
    if (fault) {
      EXPECT_THAT(std::string(status.message()), HasSubstr("net.py:12"));
      continue;
    }
    ASSERT_TRUE(status.ok()) << status;
    const onnx::GraphProto then = test.Read().graph().node(0).attribute(0).g();
    ASSERT_EQ(then.value_info_size(), 1);
    EXPECT_EQ(then.value_info(0).type().tensor_type().shape().dim(0).dim_param(), "N");
  }
}

}  // namespace
}  // namespace rules_onnx::onnx_format
