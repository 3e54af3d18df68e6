#include "exporter/cli/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rules_onnx::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

TEST(ParseTest, DocumentedCall) {
  const ParseResult result = ParseCommandLine(
      {"export", "--model", "M.pt", "--inputs", "I.pt", "--opset", "18", "--output", "O.onnx",
       "--dynamic-axes", R"({"0": {"0": "N"}})", "--cache-dir", "D"});
  ASSERT_TRUE(result.command_line.has_value());
  const Options& options = result.command_line->options;
  EXPECT_EQ(result.command_line->command, kExport);
  EXPECT_EQ(options.model, "M.pt");
  EXPECT_THAT(options.inputs.items, ElementsAre("I.pt"));
  EXPECT_THAT(options.opsets, ElementsAre(18));
  EXPECT_EQ(options.output, "O.onnx");
  EXPECT_EQ(options.dynamic_axes, R"({"0": {"0": "N"}})");
  EXPECT_EQ(options.cache_dir, "D");
}

TEST(ParseTest, FormsOfValues) {
  const ParseResult result = ParseCommandLine(
      {"export", "--model=m.pt", "--inputs", "x:float32[N=10,3]", "--inputs", "y:int64[2]",
       "--opsets", "13,18", "--opset", "21", "--output", "m{opset}.onnx", "--check", "false",
       "--input-names", "a,b", "--metadata", "k=v=w", "--metadata", "l=", "--verbose"});
  ASSERT_TRUE(result.command_line.has_value()) << result.problems.front();
  const Options& options = result.command_line->options;
  EXPECT_THAT(options.inputs.items, ElementsAre("x:float32[N=10,3]", "y:int64[2]"));
  EXPECT_THAT(options.opsets, ElementsAre(13, 18, 21));
  EXPECT_FALSE(options.check);
  EXPECT_TRUE(options.verbose);
  EXPECT_THAT(options.input_names, ElementsAre("a", "b"));
  EXPECT_THAT(options.metadata, ElementsAre(Pair("k", "v=w"), Pair("l", "")));
  EXPECT_TRUE(options.export_params);
}

TEST(ParseTest, AllProblemsAtOnce) {
  const ParseResult result = ParseCommandLine({"export", "--modell", "m.pt", "--check", "maybe",
                                               "--opset", "6,99,x", "--metadata", "k",
                                               "--external-data", "some"});
  EXPECT_FALSE(result.command_line.has_value());
  EXPECT_THAT(result.problems, Contains(HasSubstr("unknown option --modell")));
  EXPECT_THAT(result.problems, Contains(HasSubstr("--model is missing")));
  EXPECT_THAT(result.problems, Contains(HasSubstr("--output is missing")));
  EXPECT_THAT(result.problems, Contains(HasSubstr("--check: 'maybe'")));
  EXPECT_THAT(result.problems, Contains(HasSubstr("6 is not within 9..28")));
  EXPECT_THAT(result.problems, Contains(HasSubstr("99 is not within 9..28")));
  EXPECT_THAT(result.problems, Contains(HasSubstr("'x' is no number")));
  EXPECT_THAT(result.problems, Contains(HasSubstr("--metadata: 'k' is not key=value")));
  EXPECT_THAT(result.problems, Contains(HasSubstr("--external-data: 'some' is none of")));
  EXPECT_THAT(result.problems, SizeIs(9));
}

TEST(ParseTest, SaysWhatIsNoCommand) {
  EXPECT_THAT(ParseCommandLine({}).problems, ElementsAre(HasSubstr("a command is missing")));
  EXPECT_THAT(ParseCommandLine({"exprot", "--model", "m"}).problems,
              ElementsAre(HasSubstr("'exprot' is no command")));
}

TEST(ParseTest, ItemsOfAListAreOneArgument) {
  EXPECT_THAT(ParseCommandLine({"ops", "--opset", "13", "18"}).problems,
              Contains(HasSubstr("unexpected argument '18'; the items of a list are parted by")));
}

TEST(ParseTest, NamesThatCannotBeMeant) {
  const ParseResult result = ParseCommandLine(
      {"export", "--model", "", "--output", "", "--output-names", "o,o", "--custom-opsets",
       "ai.onnx=5", "--metadata", "k=\xff", "--external-data", "shared", "--weights-name", "../w"});
  EXPECT_THAT(result.problems, Contains("--model: is empty"));
  EXPECT_THAT(result.problems, Contains("--output: is empty"));
  EXPECT_THAT(result.problems, Contains("--output-names: a name is given twice"));
  EXPECT_THAT(result.problems, Contains(HasSubstr("--custom-opsets: the version of ai.onnx")));
  EXPECT_THAT(result.problems, Contains(HasSubstr("--metadata: is not UTF-8")));
  EXPECT_THAT(result.problems, Contains(HasSubstr("--weights-name: ")));
  EXPECT_THAT(result.problems, SizeIs(6));
}

TEST(ParseTest, OperatorsOfOnesOwn) {
  const ParseResult result = ParseCommandLine(
      {"export", "--model", "m.pt", "--output", "o.onnx", "--operator-export-type", "fallthrough",
       "--custom-opsets", "mine=2", "--plugin", "a.so", "--plugins", "b.so", "--op-mapping", "m.json",
       "--torch-library", "t.so"});
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_EQ(result.command_line->options.operator_export_type, "fallthrough");
  EXPECT_EQ(result.command_line->options.custom_opsets, (Map{{"mine", "2"}}));
  EXPECT_EQ(result.command_line->options.plugins.items, (Texts{"a.so", "b.so"}));
  EXPECT_EQ(result.command_line->options.op_mapping.items, Texts{"m.json"});
  EXPECT_EQ(result.command_line->options.torch_libraries.items, Texts{"t.so"});
}

TEST(ParseTest, VersionsOfDomainsAreNumbers) {
  const ParseResult result = ParseCommandLine(
      {"export", "--model", "m.pt", "--output", "o.onnx", "--custom-opsets", "mine=x"});
  EXPECT_THAT(result.problems, Contains(HasSubstr("'x' is no version of mine")));
}

TEST(ParseTest, OptionsThatDoNotGoTogether) {
  const auto problems = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"lower", "--graph", "g", "--output", "o.onnx"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return ParseCommandLine(arguments).problems;
  };
  EXPECT_THAT(problems({"--weights", "w"}), IsEmpty());
  EXPECT_THAT(problems({}), ElementsAre(HasSubstr("--weights:")));
  EXPECT_THAT(problems({"--external-data", "shared", "--weights-name", "w"}), IsEmpty());
  EXPECT_THAT(problems({"--external-data", "shared"}), ElementsAre(HasSubstr("--weights-name")));
  EXPECT_THAT(problems({"--weights", "w", "--weights-name", "w"}),
              ElementsAre(HasSubstr("--weights-name")));
  EXPECT_THAT(problems({"--weights", "w", "--opset", "13,18"}), ElementsAre(HasSubstr("--opset")));
  EXPECT_THAT(problems({"--weights", "w", "--opset", "18", "--opset", "18"}),
              ElementsAre(HasSubstr("18 is given twice")));
  EXPECT_THAT(problems({"--weights", "w", "--graph", "h"}),
              ElementsAre(HasSubstr("--graph: is given twice")));
}

TEST(ParseTest, SeveralOpsetsNeedAPlaceInTheName) {
  const auto problems = [](const std::string& output) {
    return ParseCommandLine(
               {"export", "--model", "m.pt", "--opsets", "13,18", "--output", output})
        .problems;
  };
  EXPECT_THAT(problems("o{opset}.onnx"), IsEmpty());
  EXPECT_THAT(problems("d/o{opset}.onnx"), IsEmpty());
  EXPECT_THAT(problems("o.onnx"), ElementsAre(HasSubstr("{opset}")));
  EXPECT_THAT(problems("d{opset}/o.onnx"), ElementsAre(HasSubstr("{opset}")));
}

TEST(ParseTest, HelpVersionAndTable) {
  EXPECT_THAT(ParseCommandLine({"--help"}).text, HasSubstr("capture"));
  EXPECT_THAT(ParseCommandLine({"export", "--help"}).text, HasSubstr("--dynamic-axes"));
  EXPECT_THAT(ParseCommandLine({"--version"}).text, HasSubstr("onnx-export"));
  EXPECT_THAT(ParseCommandLine({"options"}).text, HasSubstr("\"keep_initializers_as_inputs\""));
  EXPECT_THAT(ParseCommandLine({}).problems, SizeIs(1));
  EXPECT_THAT(ParseCommandLine({"explode"}).problems, SizeIs(1));
}

}  // namespace
}  // namespace rules_onnx::cli
