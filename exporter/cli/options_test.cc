#include "exporter/cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "exporter/cli/capture_stage.h"

namespace rules_onnx::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::MatchesRegex;

TEST(OptionsTest, NamesAreUniqueAndEveryRowIsComplete) {
  std::set<std::string> names;
  for (const OptionRow& row : OptionTable()) {
    EXPECT_THAT(row.name, MatchesRegex("[a-z_]+"));
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_NE(row.commands, 0u) << row.name;
    EXPECT_EQ(row.required & ~row.commands, 0u) << row.name;
    EXPECT_FALSE(row.doc.empty()) << row.name;
  }
  EXPECT_EQ(FlagName("do_constant_folding"), "--do-constant-folding");
}

TEST(OptionsTest, DefaultsAreAmongTheChoices) {
  for (const OptionRow& row : OptionTable()) {
    if (row.choices.empty()) continue;
    EXPECT_THAT(row.choices, ::testing::Contains(DefaultText(row)));
  }
}

TEST(OptionsTest, CaptureGetsWhatDiffersFromTheDefault) {
  Options options;
  options.model = "m.pt";
  options.inputs.items = {"x:float32[2,3]", "y:int64[2]"};
  options.do_constant_folding = false;
  options.input_names = {"a", "b"};
  options.output_names = {"c"};
  EXPECT_THAT(TorchCaptureArguments(options, {"g", "w", "d"}),
              ElementsAre("capture", "--model", "m.pt", "--inputs", "x:float32[2,3]", "--inputs",
                          "y:int64[2]", "--input-names", "a,b", "--do-constant-folding", "false",
                          "--graph", "g", "--weights", "w", "--debug", "d"));
}

}  // namespace
}  // namespace rules_onnx::cli
