#include "exporter/pt2/tree_spec.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rules_onnx::pt2 {
namespace {

using ::testing::ElementsAre;

constexpr char kLeaf[] = R"({"type": null, "context": null, "children_spec": []})";

std::string Node(const std::string& type, const std::string& context,
                 const std::vector<std::string>& children) {
  std::string text =
      R"({"type": ")" + type + R"(", "context": )" + context + R"(, "children_spec": [)";
  for (size_t i = 0; i < children.size(); ++i) text += (i == 0 ? "" : ", ") + children[i];
  return text + "]}";
}
std::string Tuple(const std::vector<std::string>& children) {
  return Node("builtins.tuple", R"("null")", children);
}
std::string Spec(const std::string& node) { return "[1, " + node + "]"; }

std::vector<std::string> Inputs(const std::string& spec, const std::vector<std::string>& names,
                                const NamedTupleFields& fields = {}) {
  return InputNames(Spec(spec), names, fields).value_or(std::vector<std::string>{"error"});
}
std::vector<std::string> Outputs(const std::string& spec, const NamedTupleFields& fields = {}) {
  return OutputNames(Spec(spec), "out", fields).value_or(std::vector<std::string>{"error"});
}

TEST(TreeSpecTest, InputsByArgumentAndKeyword) {
  const std::string kwargs = Node("builtins.dict", R"("[\"mask\"]")", {kLeaf});
  EXPECT_THAT(
      Inputs(Tuple({Tuple({kLeaf, Tuple({kLeaf, kLeaf})}), kwargs}), {"x", "state", "mask"}),
      ElementsAre("x", "state.0", "state.1", "mask"));
}

TEST(TreeSpecTest, InputsWithoutArgumentNames) {
  EXPECT_THAT(Inputs(Tuple({Tuple({kLeaf, kLeaf}), Node("builtins.dict", R"("[]")", {})}), {"x"}),
              ElementsAre("x", "input.1"));
}

TEST(TreeSpecTest, LoneOutput) { EXPECT_THAT(Outputs(kLeaf), ElementsAre("out")); }

TEST(TreeSpecTest, SequenceOfOutputs) {
  EXPECT_THAT(Outputs(Tuple({kLeaf, Node("builtins.list", R"("null")", {kLeaf})})),
              ElementsAre("out.0", "out.1.0"));
}

TEST(TreeSpecTest, Keys) {
  EXPECT_THAT(Outputs(Node("builtins.dict", R"("[\"a\", \"b\"]")", {kLeaf, Tuple({kLeaf})})),
              ElementsAre("out.a", "out.b.0"));
  EXPECT_THAT(Outputs(Node("collections.namedtuple", R"("my.Pair")", {kLeaf, kLeaf}),
                      {{"my.Pair", {"first", "second"}}}),
              ElementsAre("out.first", "out.second"));
  EXPECT_THAT(Outputs(Node("my.Data", R"("[[\"u\", \"v\"], []]")", {kLeaf, kLeaf})),
              ElementsAre("out.u", "out.v"));
}

TEST(TreeSpecTest, UnknownContainersByPosition) {
  EXPECT_THAT(Outputs(Node("my.Type", R"("no JSON")", {kLeaf, kLeaf})),
              ElementsAre("out.0", "out.1"));
  EXPECT_THAT(Outputs(Node("my.Type", R"("[1, {}]")", {kLeaf})), ElementsAre("out.0"));
}

TEST(TreeSpecTest, Errors) {
  EXPECT_FALSE(OutputNames("", "out", {}).ok());
  EXPECT_FALSE(OutputNames("[1]", "out", {}).ok());
  EXPECT_FALSE(OutputNames("{}", "out", {}).ok());
  EXPECT_FALSE(OutputNames("[1, {\"type\": 3}]", "out", {}).ok());
  EXPECT_FALSE(InputNames(Spec(kLeaf), {"x"}, {}).ok());
}

}  // namespace
}  // namespace rules_onnx::pt2
