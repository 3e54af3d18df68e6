#include "exporter/ir/graph.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "exporter/ir/graph_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rules_onnx::ir {
namespace {

using ::testing::ElementsAre;

TEST(ArgTest, ComparesConstantsByContent) {
  const auto literal = [](const char* bytes) {
    return Arg(std::make_shared<const TensorLiteral>(TensorLiteral{DType::kInt8, {1}, bytes}));
  };
  EXPECT_TRUE(Arg() == Arg());
  EXPECT_FALSE(Arg(1) == Arg(1.0));
  EXPECT_FALSE(Arg(1) == Arg(true));
  EXPECT_TRUE(Arg(std::nan("")) == Arg(std::nan("")));
  EXPECT_FALSE(Arg(0.0) == Arg(-0.0));
  EXPECT_TRUE(literal("a") == literal("a"));
  EXPECT_FALSE(literal("a") == literal("b"));
  EXPECT_TRUE(Arg(Arg::List{1, literal("a")}) == Arg(Arg::List{1, literal("a")}));
}

TEST(ArgTest, IntsAreForListsOfIntsOnly) {
  EXPECT_EQ(Arg::Ints({1, 2}).ints(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(Arg(Arg::List{}).ints(), std::vector<int64_t>());
  EXPECT_EQ(Arg(Arg::List{1, true}).ints(), std::nullopt);
  EXPECT_EQ(Arg(1).ints(), std::nullopt);
}

TEST(ArgTest, VisitsAndMapsValuesOfNestedLists) {
  Graph graph;
  Value* const a = graph.NewValue(Type());
  Value* const b = graph.NewValue(Type());
  Arg arg(Arg::List{a, Arg::List{1, b}, Arg()});
  std::vector<Value*> seen;
  arg.ForEachValue([&](Value* value) { seen.push_back(value); });
  EXPECT_THAT(seen, ElementsAre(a, b));
  arg.MapValues([&](Value* value) { return value == a ? b : value; });
  EXPECT_TRUE(arg == Arg(Arg::List{b, Arg::List{1, b}, Arg()}));
}

TEST(NodeTest, FindsSetsAndNamesArguments) {
  Graph graph;
  const std::unique_ptr<Node> node = graph.NewNode("aten::add.Tensor", {{"self", 1}});
  EXPECT_EQ(node->base_op(), "aten::add");
  node->Set("other", 2);
  node->Set("self", 3);
  ASSERT_EQ(node->args.size(), 2);
  EXPECT_EQ(node->Find("self")->as_int(), 3);
  EXPECT_EQ(node->Find("alpha"), nullptr);
  node->op = "aten::relu";
  EXPECT_EQ(node->base_op(), "aten::relu");
}

TEST(GraphTest, VisitsOuterNodesBeforeInner) {
  const Sample sample = MakeSample();
  std::vector<std::string> ops;
  ForEachNode(sample.graph.main, [&](const Node& node) { ops.push_back(node.op); });
  EXPECT_THAT(ops, ElementsAre("aten::linear", "aten::gt.int", "prim::If", "aten::sin", "aten::cos",
                               "prim::Loop", "aten::add.Tensor", "mylib::odd", "mylib::make"));
}

TEST(GraphTest, RenumberKeepsIdsUniqueAndTellsTheOldOnes) {
  Sample sample = MakeSample();
  std::vector<int32_t> before, after;
  ForEachNode(sample.graph.main, [&](const Node& node) { before.push_back(node.id); });
  EXPECT_EQ(sample.graph.Renumber(), before);
  ForEachNode(sample.graph.main, [&](const Node& node) { after.push_back(node.id); });
  EXPECT_THAT(after, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));

  std::vector<bool> seen(sample.graph.values().size());
  for (const auto& value : sample.graph.values()) {
    ASSERT_LT(value->id, static_cast<int32_t>(seen.size()));
    EXPECT_FALSE(seen[value->id]);
    seen[value->id] = true;
    EXPECT_EQ(value->name == "dropped", value->id == static_cast<int32_t>(seen.size()) - 1);
  }
  EXPECT_EQ(sample.graph.NewValue(Type())->id, static_cast<int32_t>(seen.size()));
}

TEST(TypeTest, PrintsAndKnowsItsDType) {
  const Type tensor = Type::Tensor(DType::kFloat32, Shape{Dim::Symbol("N"), 3});
  EXPECT_EQ(tensor.ToString(), "float32[N, 3]");
  EXPECT_EQ(Type::Tensor(DType::kBool, std::nullopt).ToString(), "bool[...]");
  EXPECT_EQ(Type::Tuple({tensor, Type::Scalar(Type::Kind::kInt)}).ToString(),
            "(float32[N, 3], int)");
  EXPECT_EQ(Type::List(tensor).ToString(), "list[float32[N, 3]]");
  EXPECT_EQ(tensor.TensorDType(), DType::kFloat32);
  EXPECT_EQ(Type::Scalar(Type::Kind::kInt).TensorDType(), DType::kInt64);
  EXPECT_EQ(Type::Scalar(Type::Kind::kFloat).TensorDType(), DType::kFloat64);
  EXPECT_EQ(Type::List(tensor).TensorDType(), DType::kUndefined);
}

}  // namespace
}  // namespace rules_onnx::ir
