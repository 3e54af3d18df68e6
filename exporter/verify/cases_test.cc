#include "exporter/verify/cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rules_onnx::verify {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(CasesTest, StaticModelRunsOnce) {
  const auto cases = ChooseCases({});
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_THAT(cases[0].choices, ElementsAre(IsEmpty()));
}

TEST(CasesTest, OneAxisAtItsSecondSizeFirst) {
  const auto cases = ChooseCases({{"N", {.example = 10, .second = 7}}});
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[1].name, "N");
  EXPECT_THAT(cases[1].choices.front(), ElementsAre(Pair("N", 7)));
  EXPECT_THAT(cases[1].choices[1], ElementsAre(Pair("N", 11)));
}

TEST(CasesTest, AxesThatGoTogetherAreTriedLast) {
  const auto cases = ChooseCases({{"M", {.example = 8}}, {"P", {.example = 5}}});
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[2].name, "P");
  EXPECT_THAT(cases[2].choices.front(), ElementsAre(Pair("P", 6)));
  const size_t count = cases[2].choices.size();
  EXPECT_THAT(cases[2].choices[count - 2], ElementsAre(Pair("M", 11), Pair("P", 8)));
  EXPECT_THAT(cases[2].choices[count - 1], ElementsAre(Pair("M", 16), Pair("P", 10)));
}

TEST(CasesTest, AllAxesMoveByDifferentAmounts) {
  const auto cases = ChooseJointCases({{"H", {.example = 8}}, {"N", {.example = 8}}},
                                      {{}, {{"H", 9}}, {{"N", 9}}});
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].name, "all");
  EXPECT_THAT(cases[0].choices.front(), ElementsAre(Pair("H", 11), Pair("N", 13)));
}

TEST(CasesTest, AllAxesMoveWithThoseTheyDependOn) {
  // M = P + S.
  const auto cases = ChooseJointCases(
      {{"M", {.example = 8}}, {"P", {.example = 5}}, {"S", {.example = 3}}},
      {{}, {{"M", 9}, {"P", 6}}, {{"M", 9}, {"P", 6}}, {{"M", 11}, {"S", 6}}});
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_THAT(cases[0].choices.front(), ElementsAre(Pair("M", 16), Pair("P", 8), Pair("S", 8)));
  EXPECT_TRUE(cases[0].required);
}

TEST(CasesTest, AllAxesMoveByTheStepsOfTheRunsToo) {
  // Multiples of 3, M = N.
  const auto cases =
      ChooseJointCases({{"K", {.example = 6}}, {"M", {.example = 6}}, {"N", {.example = 6}}},
                       {{}, {{"K", 9}}, {{"M", 9}, {"N", 9}}});
  ASSERT_GE(cases.size(), 1u);
  EXPECT_THAT(cases[0].choices,
              ElementsAre(ElementsAre(Pair("K", 9), Pair("M", 11), Pair("N", 11)),
                          ElementsAre(Pair("K", 7), Pair("M", 9), Pair("N", 9)),
                          ElementsAre(Pair("K", 15), Pair("M", 21), Pair("N", 21)),
                          ElementsAre(Pair("K", 9), Pair("M", 15), Pair("N", 15))));
}

TEST(CasesTest, SmallerSizesAreTriedToo) {
  const auto cases = ChooseJointCases({{"H", {.example = 8}}, {"N", {.example = 1}}}, {{}});
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].name, "smaller");
  EXPECT_FALSE(cases[0].required);
  EXPECT_THAT(cases[0].choices, ElementsAre(ElementsAre(Pair("H", 2)), ElementsAre(Pair("H", 4)),
                                            ElementsAre(Pair("H", 7))));
}

TEST(CasesTest, Labels) {
  EXPECT_EQ(Label({}), "example");
  EXPECT_EQ(Label({{"N", 13}, {"H", 33}}), "H=33 N=13");
}

TEST(CasesTest, BoundsAndDataDependentSizesAreKept) {
  const std::map<std::string, ir::SymbolInfo> symbols = {
      {"N", {.example = 4, .min = 2, .max = 4}}, {"u0", {.example = 3, .data_dependent = true}}};
  const auto cases = ChooseCases(symbols), joint = ChooseJointCases(symbols, {{}, {{"N", 3}}});
  ASSERT_EQ(cases.size(), 2u);
  ASSERT_EQ(joint.size(), 1u);
  for (const Case& one : {cases[1], joint[0]}) {
    for (const Sizes& sizes : one.choices) {
      EXPECT_GE(sizes.at("N"), 2);
      EXPECT_LT(sizes.at("N"), 4);
    }
  }
}

}  // namespace
}  // namespace rules_onnx::verify
