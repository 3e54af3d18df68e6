#include "exporter/passes/overlapping_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "exporter/passes/functionalize.h"
#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

// Two weights with these places in memory, of which the second is written to before the first is
// an output.
struct Pair {
  std::string first, second;
  ir::WeightMemory first_memory, second_memory;
};

void Build(const Pair& pair, Program* p) {
  ir::Value* first = p->Weight("first", pair.first);
  ir::Value* second = p->Weight("second", pair.second);
  p->context()->weight_memory = {pair.first_memory, pair.second_memory};
  p->Op("aten::zero_", {second}, pair.second);
  p->Output(p->Op("aten::neg", {first}, pair.first));
  ViewOverlappingWeights(p->context());
}

std::string Viewed(const Pair& pair) {
  Program p;
  Build(pair, &p);
  return p.Print();
}

std::string Problems(const Pair& pair) {
  Program p;
  Build(pair, &p);
  return p.Problems();
}

TEST(OverlappingWeightsTest, PartBecomesAView) {
  EXPECT_EQ(Viewed({"float32[2, 3]", "float32[3]", {0, 1, {3, 1}}, {0, 4, {1}}}), R"(
%4: float32[3] = aten::as_strided(self=%first, size=[3], stride=[1], storage_offset=4)
%2: float32[3] = aten::zero_(self=%4)
%3: float32[2, 3] = aten::neg(self=%first)
output y0 = %3
)");
}

TEST(OverlappingWeightsTest, TheContiguousOneHoldsItsTranspose) {
  EXPECT_EQ(Viewed({"float32[3, 2]", "float32[2, 3]", {0, 0, {1, 3}}, {0, 0, {3, 1}}}), R"(
%4: float32[3, 2] = aten::as_strided(self=%second, size=[3, 2], stride=[1, 3], storage_offset=0)
%2: float32[2, 3] = aten::zero_(self=%second)
%3: float32[3, 2] = aten::neg(self=%4)
output y0 = %3
)");
}

TEST(OverlappingWeightsTest, WeightsApartStay) {
  const std::string apart = R"(
%2: float32[3] = aten::zero_(self=%second)
%3: float32[3] = aten::neg(self=%first)
output y0 = %3
)";
  EXPECT_EQ(Viewed({"float32[3]", "float32[3]", {0, 0, {1}}, {1, 0, {1}}}), apart);
  EXPECT_EQ(Viewed({"float32[3]", "float32[3]", {0, 0, {1}}, {0, 3, {1}}}), apart);
  EXPECT_EQ(Viewed({"float32[3]", "float32[3]", {0, 0, {2}}, {0, 1, {2}}}), apart);
}

TEST(OverlappingWeightsTest, RefusesWhatNoneHolds) {
  const std::string refused = "error ambiguous-alias aten::zero_\n";
  EXPECT_EQ(Problems({"float32[3]", "float32[3]", {0, 0, {1}}, {0, 1, {1}}}), refused);
  EXPECT_EQ(Problems({"float32[3]", "int32[3]", {0, 0, {1}}, {0, 0, {1}}}), refused);
  EXPECT_EQ(Problems({"float32[3]", "float32[2]", {0, 0, {2}}, {0, 0, {2}}}), refused);
}

TEST(OverlappingWeightsTest, UnwrittenOnesMayOverlap) {
  Program p;
  ir::Value* first = p.Weight("first", "float32[3]");
  ir::Value* second = p.Weight("second", "float32[3]");
  p.context()->weight_memory = {{0, 0, {1}}, {0, 1, {1}}};
  p.Output(p.Op("aten::neg", {first}, "float32[3]"));
  p.Output(p.Op("aten::neg", {second}, "float32[3]"));
  ViewOverlappingWeights(p.context());
  EXPECT_EQ(p.Problems(), "");
}

// What the first output reads after reshape(-1) of a weight was written to.
std::string Reshaped(const std::vector<int64_t>& strides) {
  Program p;
  ir::Value* weight = p.Weight("weight", "float32[2, 3]");
  p.context()->weight_memory = {{0, 0, strides}};
  p.Op("aten::zero_", {p.Op("aten::reshape", {weight, ir::Arg::Ints({-1})}, "float32[6]")}, "float32[6]");
  p.Output(weight);
  Functionalize(p.context());
  return p.Print(/*functional=*/true);
}

TEST(OverlappingWeightsTest, ReshapeOfATransposedWeightIsACopy) {
  EXPECT_THAT(Reshaped({3, 1}), testing::Not(testing::HasSubstr("output y0 = %weight")));
  EXPECT_THAT(Reshaped({1, 2}), testing::HasSubstr("output y0 = %weight"));
}

}  // namespace
}  // namespace rules_onnx::passes
