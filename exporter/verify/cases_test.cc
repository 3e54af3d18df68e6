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
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[1].name, "N");
  EXPECT_THAT(cases[1].choices.front(), ElementsAre(Pair("N", 7)));
  EXPECT_THAT(cases[1].choices[1], ElementsAre(Pair("N", 11)));
}

TEST(CasesTest, AllAxesMoveByDifferentAmounts) {
  const auto cases = ChooseCases({{"H", {.example = 8}}, {"N", {.example = 8}}});
  ASSERT_EQ(cases.size(), 5u);
  EXPECT_EQ(cases[3].name, "all");
  EXPECT_THAT(cases[3].choices.front(), ElementsAre(Pair("H", 11), Pair("N", 13)));
}

TEST(CasesTest, SmallerSizesAreTriedToo) {
  const auto cases = ChooseCases({{"H", {.example = 8}}, {"N", {.example = 1}}});
  ASSERT_EQ(cases.size(), 5u);
  EXPECT_EQ(cases[4].name, "smaller");
  EXPECT_FALSE(cases[4].required);
  EXPECT_THAT(cases[4].choices, ElementsAre(ElementsAre(Pair("H", 2)), ElementsAre(Pair("H", 4)),
                                            ElementsAre(Pair("H", 7))));
}

TEST(CasesTest, Labels) {
  EXPECT_EQ(Label({}), "example");
  EXPECT_EQ(Label({{"N", 13}, {"H", 33}}), "H=33 N=13");
}

TEST(CasesTest, BoundsAndDataDependentSizesAreKept) {
  const auto cases = ChooseCases({{"N", {.example = 4, .min = 2, .max = 4}},
                                  {"u0", {.example = 3, .data_dependent = true}}});
  ASSERT_EQ(cases.size(), 3u);
  for (const Case& one : {cases[1], cases[2]}) {
    for (const Sizes& sizes : one.choices) {
      EXPECT_GE(sizes.at("N"), 2);
      EXPECT_LT(sizes.at("N"), 4);
    }
  }
}

}  // namespace
}  // namespace rules_onnx::verify
