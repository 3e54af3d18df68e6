#include "exporter/builder/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "exporter/builder/dce.h"
#include "exporter/onnx/op_schemas.h"

namespace rules_onnx::builder {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// A builder at one opset, with inputs of any type.
struct Fixture {
  explicit Fixture(int opset) : b((model.opset = opset, &model), &schemas) {}

  Val Input(DType dtype, Shape shape) { return b.Input("x", ValueType{{}, dtype, shape}); }
  std::vector<std::string> Operators() const {
    std::vector<std::string> names;
    for (const auto& node : model.graph.nodes) names.push_back(node->op_type);
    return names;
  }
  const Node& Last() const { return *model.graph.nodes.back(); }

  onnx_format::OnnxOpSchemas schemas;
  Model model;
  Builder b;
};

const Dim kN = Dim::Symbol("N");

TEST(BuilderTest, EqualNodesAreEmittedOnce) {
  Fixture f(18);
  const Val x = f.Input(DType::kFloat32, {kN, 3});
  EXPECT_EQ(f.b.Add(x, x), f.b.Add(x, x));
  EXPECT_NE(f.b.Sub(x, x), f.b.Add(x, x));
  EXPECT_THAT(f.Operators(), ElementsAre("Add", "Sub"));
}

TEST(BuilderTest, RandomNodesStayApart) {
  Fixture f(18);
  const Val x = f.Input(DType::kFloat32, {3});
  const auto random = [&] { return f.b.Op("RandomNormalLike", {x}, {}, {DType::kFloat32}); };
  EXPECT_NE(random(), random());
}

TEST(BuilderTest, SizesAreConstantsWhereTheyAreNumbers) {
  Fixture f(18);
  const Val x = f.Input(DType::kFloat32, {kN, 3});
  EXPECT_EQ(f.b.Size(x, 1).int_value(), 3);
  EXPECT_FALSE(f.b.Size(x, 0).is_const());
  EXPECT_EQ(f.b.Size(x, -2), f.b.Size(x, 0));
  EXPECT_THAT(f.Operators(), ElementsAre("Shape", "Gather"));
}

TEST(BuilderTest, OperatorThatTheOpsetLacksNamesTheOneThatHasIt) {
  Fixture f(18);
  EXPECT_FALSE(f.b.Unary("Gelu", f.Input(DType::kFloat32, {3})));
  EXPECT_THAT(std::string(f.b.TakeStatus().message()), HasSubstr("Gelu needs opset 20"));
  EXPECT_TRUE(f.b.TakeStatus().ok());
}

TEST(BuilderTest, UnknownOperator) {
  Fixture f(18);
  f.b.Unary("NoSuchThing", f.Input(DType::kFloat32, {3}));
  EXPECT_THAT(std::string(f.b.TakeStatus().message()), HasSubstr("no operator NoSuchThing"));
}

TEST(BuilderTest, TypeThatAnOperatorLacksIsComputedInAWiderOne) {
  Fixture f(9);
  const Val x = f.Input(DType::kInt8, {3});
  const Val sum = f.b.Add(x, x);
  EXPECT_EQ(sum.dtype(), DType::kInt8);
  EXPECT_THAT(f.Operators(), ElementsAre("Cast", "Add", "Cast"));
}

TEST(BuilderTest, TypeThatNoWiderOneHoldsIsRefused) {
  Fixture f(18);
  f.b.Unary("Erf", f.Input(DType::kComplex64, {3}));
  EXPECT_THAT(std::string(f.b.TakeStatus().message()), HasSubstr("Erf does not take complex64"));
}

TEST(BuilderTest, OperandsOfDifferentTypesAreRefused) {
  Fixture f(18);
  f.b.Add(f.Input(DType::kFloat32, {3}), f.Input(DType::kInt64, {3}));
  EXPECT_THAT(std::string(f.b.TakeStatus().message()), HasSubstr("float32 and int64"));
}

TEST(BuilderTest, NullOperandsGiveNullWithoutAFailure) {
  Fixture f(18);
  const Val x = f.Input(DType::kFloat32, {3});
  EXPECT_FALSE(f.b.Add(x, Val()));
  EXPECT_FALSE(f.b.Reshape(Val(), std::vector<int64_t>{3}));
  EXPECT_FALSE(f.b.Concat({x, Val()}, 0));
  EXPECT_TRUE(f.b.TakeStatus().ok());
}

TEST(BuilderTest, AxesAreAnAttributeOrAnInput) {
  for (const int opset : {11, 13, 18}) {
    Fixture f(opset);
    const Val x = f.Input(DType::kFloat32, {kN, 3});
    f.b.Reduce("ReduceMax", x, {-1}, true);
    EXPECT_EQ(f.Last().inputs.size(), opset >= 18 ? 2u : 1u);
    f.b.Reduce("ReduceSum", x, {1}, true);
    EXPECT_EQ(f.Last().inputs.size(), opset >= 13 ? 2u : 1u);
    f.b.Unsqueeze(x, {0});
    EXPECT_EQ(f.Last().inputs.size(), opset >= 13 ? 2u : 1u);
  }
}

TEST(BuilderTest, SoftmaxOfAnInnerAxisBeforeOpset13) {
  Fixture f(11);
  const Val y = f.b.Softmax(f.Input(DType::kFloat32, {2, 3, 4}), 1);
  EXPECT_THAT(f.Operators(), ElementsAre("Transpose", "Softmax", "Transpose"));
  EXPECT_EQ(ir::ShapeToString(y.shape()), "[2, 3, 4]");
}

TEST(BuilderTest, ReshapeKeepsAsMuchConstantAsIsKnown) {
  Fixture f(18);
  const Val x = f.Input(DType::kFloat32, {kN, 3, 4});
  const Val y = f.b.Reshape(x, {f.b.Size(x, 0), f.b.Int(12)}, Shape{kN, 12});
  EXPECT_EQ(ir::ShapeToString(y.shape()), "[N, 12]");
  EXPECT_EQ(Val(f.Last().inputs[1]).ints(), (std::vector<int64_t>{-1, 12}));
}

TEST(BuilderTest, ReshapeToNothing) {
  Fixture f(18);
  const Val x = f.Input(DType::kFloat32, {0, 3});
  f.b.Reshape(x, std::vector<int64_t>{3, 0});
  ASSERT_EQ(f.Last().op_type, "Reshape");
  EXPECT_EQ(f.Last().attrs.at(0).name, "allowzero");
}

// ONNX forbids a -1 beside a 0 that means 0.
TEST(BuilderTest, ReshapeToNothingWithAnInferredSize) {
  Fixture f(18);
  const Val x = f.Input(DType::kFloat32, {2, 3, 0, 5});
  f.b.Reshape(x, std::vector<int64_t>{-1, 0, 5});
  EXPECT_EQ(Val(f.Last().inputs[1]).ints(), (std::vector<int64_t>{6, 0, 5}));
  f.b.Reshape(f.Input(DType::kFloat32, {kN, 0, 4}), std::vector<int64_t>{-1, 0, 2, 2});
  EXPECT_EQ(f.Last().op_type, "Reshape");
  EXPECT_FALSE(Val(f.Last().inputs[1]).is_const());
  f.b.Reshape(f.Input(DType::kFloat32, {0, 0, 5}), std::vector<int64_t>{-1, 0, 5});
  EXPECT_EQ(Val(f.Last().inputs[1]).ints(), (std::vector<int64_t>{0, 0, 5}));
  EXPECT_TRUE(f.b.TakeStatus().ok());
}

TEST(BuilderTest, NegativeIndicesBeforeOpset11) {
  Fixture f(9);
  const Val x = f.Input(DType::kFloat32, {5, 3});
  f.b.Gather(x, f.Input(DType::kInt64, {2}), 0);
  EXPECT_THAT(f.Operators(), UnorderedElementsAre("Less", "Add", "Where", "Gather"));
}

TEST(BuilderTest, SliceWithComputedBoundsAtOpset9) {
  Fixture f(9);
  const Val x = f.Input(DType::kFloat32, {kN, 3});
  f.b.Slice(x, 1, f.b.Int(0), f.b.Size(x, 0));
  EXPECT_TRUE(f.b.TakeStatus().ok());
  EXPECT_EQ(f.Last().op_type, "Gather");
}

TEST(BuilderTest, OutputsAreDistinctValuesMadeByNodes) {
  Fixture f(18);
  const Val x = f.Input(DType::kFloat32, {3});
  const Val y = f.b.Unary("Relu", x);
  const Val first = f.b.Output(y, "a"), second = f.b.Output(y, "b"), third = f.b.Output(x, "c");
  EXPECT_EQ(first, y);
  EXPECT_NE(second, y);
  EXPECT_NE(third, x);
  EXPECT_EQ(first.get()->name, "a");
  EXPECT_EQ(third.get()->name, "c");
}

TEST(BuilderTest, OptionalValuesOfTensorsAndSequences) {
  using Kind = ValueType::Kind;
  Fixture f(18);
  const Val x = f.Input(DType::kFloat32, {kN, 3});
  const Val there = f.b.Optional(x);
  EXPECT_EQ(there.get()->type.kind, Kind::kOptional);
  EXPECT_EQ(ir::ShapeToString(there.shape()), "[N, 3]");
  const Val empty = f.b.EmptyOptional(x.get()->type);
  EXPECT_EQ(empty.dtype(), DType::kFloat32);
  EXPECT_TRUE(f.Last().inputs.empty());
  EXPECT_EQ(std::get<ValueType>(f.Last().attrs.at(0).data).kind, Kind::kTensor);
  const ValueType sequence{Kind::kSequence, DType::kInt64};
  const Val list = f.b.EmptyOptional(sequence);
  EXPECT_EQ(list.get()->type.kind, Kind::kOptionalSequence);
  EXPECT_EQ(f.b.EmptyOptional(sequence), list);
  EXPECT_NE(f.b.EmptyOptional(ValueType{Kind::kSequence, DType::kFloat32}), list);
  EXPECT_TRUE(f.b.TakeStatus().ok());
}

TEST(BuilderTest, OptionalValuesOfNoOtherType) {
  Fixture f(18);
  EXPECT_FALSE(f.b.Optional(f.Input(DType::kBFloat16, {3})));
  EXPECT_THAT(std::string(f.b.TakeStatus().message()),
              HasSubstr("Optional does not take bfloat16"));
  Fixture old(14);
  EXPECT_FALSE(old.b.Optional(old.Input(DType::kFloat32, {3})));
  EXPECT_THAT(std::string(old.b.TakeStatus().message()), HasSubstr("Optional needs opset 15"));
}

TEST(BuilderTest, InnerGraphsSeeOuterNodesAndKeepTheirOwn) {
  Fixture f(18);
  const Val x = f.Input(DType::kFloat32, {3});
  const Val outer = f.b.Unary("Relu", x);
  Val inside;
  const auto graph = f.b.Subgraph("body", nullptr, [&] {
    inside = f.b.Unary("Exp", x);
    return Vals{f.b.Unary("Relu", x), inside};
  });
  EXPECT_EQ(graph->outputs.size(), 2u);
  EXPECT_NE(graph->outputs[0], outer.get());  // by an Identity of the inner graph
  EXPECT_EQ(graph->outputs[1], inside.get());
  EXPECT_NE(f.b.Unary("Exp", x), inside);
}

TEST(RemoveUnusedTest, DropsNodesAndInitializersThatNothingNeeds) {
  Fixture f(18);
  const Val x = f.Input(DType::kFloat32, {3});
  f.b.Add(x, f.b.Scalar(1, DType::kFloat32));
  f.model.graph.outputs.push_back(f.b.Output(f.b.Unary("Relu", x), "y").get());
  RemoveUnused(&f.model);
  EXPECT_THAT(f.Operators(), ElementsAre("Relu"));
  EXPECT_TRUE(f.model.initializers.empty());
}

}  // namespace
}  // namespace rules_onnx::builder
