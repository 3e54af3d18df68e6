#include "exporter/inputs/input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rules_onnx::inputs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A uint8 tensor whose elements count from 0.
Value Counting(std::vector<Axis> axes) {
  Tensor tensor{.dtype = ir::DType::kUInt8, .axes = std::move(axes)};
  int64_t count = 1;
  for (const Axis& axis : tensor.axes) count *= axis.size;
  for (int64_t i = 0; i < count; ++i) tensor.bytes += static_cast<char>(i);
  return Value::OfTensor(std::move(tensor));
}

Value Dict(std::vector<Value> keys, std::vector<Value> elements) {
  Value dict = Value::Tuple(std::move(elements));
  dict.kind = Value::Kind::kDict;
  dict.keys = std::move(keys);
  return dict;
}

std::vector<std::string> Paths(const std::vector<Leaf>& leaves) {
  std::vector<std::string> paths;
  for (const Leaf& leaf : leaves) paths.push_back(leaf.path);
  return paths;
}

TEST(Leaves, AreNamedByTheirPath) {
  Inputs inputs =
      FromArguments(Value::Tuple({Value::Int(1), Value::List({Value::None(), Counting({{2}})}),
                                  Dict({Value::String("h"), Value::Int(4)},
                                       {Counting({}), Value::Tuple({Value::Bool(true)})})}));
  inputs.arguments[2].name = "state";
  EXPECT_THAT(Paths(Leaves(inputs)), ElementsAre("0", "1.0", "1.1", "state.h", "state.4.0"));
  EXPECT_THAT(Paths(TensorLeaves(inputs)), ElementsAre("1.1", "state.h"));
  EXPECT_EQ(MutableTensors(&inputs)[1], &inputs.arguments[2].value.elements[0].tensor);
}

TEST(FromArguments, AnyOtherValueIsTheOnlyArgument) {
  EXPECT_EQ(FromArguments(Value::List({Value::Int(1), Value::Int(2)})).arguments.size(), 1);
  EXPECT_THAT(FromArguments(Value::Tuple({})).arguments, IsEmpty());
}

TEST(SplitLastDict, EntriesAreKeywords) {
  Inputs inputs =
      FromArguments(Value::Tuple({Value::Int(1), Dict({Value::String("y"), Value::String("z")},
                                                      {Value::None(), Value::Int(2)})}));
  SplitLastDict(&inputs);
  ASSERT_EQ(inputs.arguments.size(), 3);
  EXPECT_FALSE(inputs.arguments[0].by_name);
  EXPECT_EQ(inputs.arguments[1].name, "y");
  EXPECT_TRUE(inputs.arguments[1].by_name);
  EXPECT_EQ(inputs.arguments[2].value.integer, 2);
}

TEST(SplitLastDict, AnEmptyOneKeepsTheDictBeforeIt) {
  const Value dict = Dict({Value::String("y")}, {Value::Int(1)});
  Inputs inputs = FromArguments(Value::Tuple({dict, Dict({}, {})}));
  SplitLastDict(&inputs);
  ASSERT_EQ(inputs.arguments.size(), 1);
  EXPECT_EQ(inputs.arguments[0].value.kind, Value::Kind::kDict);
}

TEST(SplitLastDict, LeavesOtherValuesAlone) {
  Inputs numbered = FromArguments(Value::Tuple({Dict({Value::Int(1)}, {Value::Int(1)})}));
  SplitLastDict(&numbered);
  EXPECT_EQ(numbered.arguments.size(), 1);
  Inputs plain = FromArguments(Value::Tuple({Value::Int(1)}));
  SplitLastDict(&plain);
  EXPECT_EQ(plain.arguments.size(), 1);
  Inputs none;
  SplitLastDict(&none);
  EXPECT_THAT(none.arguments, IsEmpty());
}

TEST(TensorBytes, RefusesWhatNoInputHas) {
  EXPECT_EQ(*TensorBytes(ir::DType::kFloat32, {2, 3}), 24);
  EXPECT_EQ(*TensorBytes(ir::DType::kFloat32, {}), 4);
  EXPECT_EQ(*TensorBytes(ir::DType::kFloat32, {0, INT64_MAX, INT64_MAX}), 0);
  EXPECT_FALSE(TensorBytes(ir::DType::kFloat32, {-1}).ok());
  EXPECT_FALSE(TensorBytes(ir::DType::kFloat32, {INT64_MAX, INT64_MAX}).ok());
  EXPECT_FALSE(TensorBytes(ir::DType::kUInt8, {(int64_t{16} << 30) + 1}).ok());
}

TEST(CollectSymbols, MergesEqualOnes) {
  const auto symbols = CollectSymbols(FromArguments(
      Value::Tuple({Counting({{2, "N"}, {3, "S"}}), Counting({{2, "N", 5}}), Counting({{7}})})));
  ASSERT_TRUE(symbols.ok());
  EXPECT_EQ(symbols->size(), 2);
  EXPECT_EQ(symbols->at("N").example, 2);
  EXPECT_EQ(symbols->at("N").second, 5);
  EXPECT_EQ(symbols->at("S").second, std::nullopt);
}

TEST(CollectSymbols, RefusesTwoSizes) {
  const auto sizes =
      CollectSymbols(FromArguments(Value::Tuple({Counting({{2, "N"}}), Counting({{3, "N"}})})));
  EXPECT_THAT(std::string(sizes.status().message()),
              HasSubstr("axis N has size 3 in input 1, but 2 before"));
  const auto seconds = CollectSymbols(
      FromArguments(Value::Tuple({Counting({{2, "N", 4}}), Counting({{2, "N", 5}})})));
  EXPECT_THAT(std::string(seconds.status().message()), HasSubstr("second size 5"));
}

TEST(WithSizes, RepeatsAndCrops) {
  const Inputs inputs = FromArguments(Value::Tuple({Counting({{2, "N"}, {3, "S"}, {2}})}));
  const Inputs other = WithSizes(inputs, {{"N", 3}, {"S", 2}, {"other", 9}});
  const Tensor& tensor = other.arguments[0].value.tensor;
  EXPECT_THAT(tensor.shape(), ElementsAre(3, 2, 2));
  EXPECT_EQ(tensor.bytes, std::string({0, 1, 2, 3, 6, 7, 8, 9, 0, 1, 2, 3}));
  EXPECT_EQ(tensor.axes[0].symbol, "N");
}

TEST(WithSizes, RepeatsMoreThanOnce) {
  const Inputs inputs = FromArguments(Counting({{2}, {2, "S"}}));
  EXPECT_EQ(WithSizes(inputs, {{"S", 5}}).arguments[0].value.tensor.bytes,
            std::string({0, 1, 0, 1, 0, 2, 3, 2, 3, 2}));
}

TEST(WithSizes, GrowsFromNothingAndToNothing) {
  const Inputs empty = FromArguments(Counting({{0, "N"}, {2}}));
  EXPECT_EQ(WithSizes(empty, {{"N", 2}}).arguments[0].value.tensor.bytes, std::string(4, '\0'));
  const Inputs some = FromArguments(Counting({{3, "N"}, {2}}));
  EXPECT_EQ(WithSizes(some, {{"N", 0}}).arguments[0].value.tensor.bytes, "");
}

TEST(WithSizesAlone, HasNoBytes) {
  const Inputs inputs = FromArguments(Value::Tuple({Counting({{2, "N"}, {3}}), Counting({{4}})}));
  const Inputs other = WithSizesAlone(inputs, {{"N", 5}});
  EXPECT_THAT(other.arguments[0].value.tensor.shape(), ElementsAre(5, 3));
  EXPECT_EQ(other.arguments[0].value.tensor.bytes, "");
  EXPECT_THAT(other.arguments[1].value.tensor.shape(), ElementsAre(4));
}

}  // namespace
}  // namespace rules_onnx::inputs
