#include "exporter/inputs/coupled_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rules_onnx::inputs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CoupledSizesTest, AnAxisThatIsAloneMovesWithNoOther) {
  EXPECT_THAT(CoupledSizes({{"N", 2}}, "N", {3, 5}), IsEmpty());
}

TEST(CoupledSizesTest, AxesOfOneSizeMoveTogetherFirst) {
  EXPECT_THAT(CoupledSizes({{"K", 4}, {"N", 4}}, "N", {5, 8}),
              ElementsAre(Sizes{{"K", 5}, {"N", 5}}, Sizes{{"K", 8}, {"N", 8}},
                          Sizes{{"K", 5}, {"N", 5}}, Sizes{{"K", 7}, {"N", 7}},
                          Sizes{{"K", 8}, {"N", 8}}));
}

TEST(CoupledSizesTest, OtherAxesMoveByTheSameAmountOrInProportion) {
  EXPECT_THAT(CoupledSizes({{"L", 3}, {"M", 9}, {"N", 4}}, "N", {5}),
              ElementsAre(Sizes{{"L", 4}, {"N", 5}}, Sizes{{"M", 10}, {"N", 5}},
                          Sizes{{"L", 6}, {"N", 7}}, Sizes{{"M", 12}, {"N", 7}},
                          Sizes{{"L", 6}, {"N", 8}}, Sizes{{"M", 18}, {"N", 8}}));
}

}  // namespace
}  // namespace rules_onnx::inputs
