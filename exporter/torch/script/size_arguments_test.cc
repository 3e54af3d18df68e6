#include "exporter/torch/script/size_arguments.h"

#include <gtest/gtest.h>

#include <string>

#include "exporter/ir/graph.h"

namespace rules_onnx::script {
namespace {

using ir::Arg;
using ir::Type;

class SizeArgumentsTest : public testing::Test {
 protected:
  ir::Value* Number() { return graph_.NewValue(Type::Scalar(Type::Kind::kInt)); }
  ir::Value* Tensor(ir::Shape shape) {
    return graph_.NewValue(Type::Tensor(ir::DType::kFloat32, std::move(shape)));
  }
  // What follows from `asked`: "x.x" for axes 0 and 2 of three, "+" for the length of a list.
  std::string Decided(std::string op, std::vector<ir::NamedArg> args, size_t rank,
                      const ir::Value* asked) {
    const auto node = graph_.NewNode(std::move(op), std::move(args));
    const DecidedSizes decided =
        SizesDecidedBy(*node, rank, [&](const ir::Value& value) { return &value == asked; });
    std::string text;
    for (const bool axis : decided.axes) text += axis ? 'x' : '.';
    return text + (decided.length ? "+" : "") + (decided.vague ? "?" : "");
  }

  ir::Graph graph_;
  ir::Value* x_ = Tensor({ir::Dim::Symbol("N"), ir::Dim(4), ir::Dim(6)});
  ir::Value* n_ = Number();
};

TEST_F(SizeArgumentsTest, SliceDecidesOneAxis) {
  EXPECT_EQ(Decided("aten::slice.Tensor",
                    {{"self", x_}, {"dim", -2}, {"start", n_}, {"end", Arg()}, {"step", 1}}, 3, n_),
            ".x.");
}

TEST_F(SizeArgumentsTest, DimThatIsNotKnownMayBeAny) {
  EXPECT_EQ(Decided("aten::slice.Tensor",
                    {{"self", x_}, {"dim", Number()}, {"start", n_}, {"end", Arg()}, {"step", 1}}, 3, n_),
            "xxx");
}

TEST_F(SizeArgumentsTest, TensorsDecideAll) {
  EXPECT_EQ(Decided("aten::matmul", {{"self", x_}, {"other", Tensor({ir::Dim(6), ir::Dim(2)})}}, 3, x_), "xxx+");
}

TEST_F(SizeArgumentsTest, ElementwiseResultsAreAsLargeAsTheArguments) {
  EXPECT_EQ(Decided("aten::relu", {{"self", x_}}, 3, x_), "x..+");
  EXPECT_EQ(Decided("aten::add_.Tensor", {{"self", Tensor({ir::Dim(4), ir::Dim(6)})}, {"other", x_}, {"alpha", 1}},
                    4, x_),
            ".x..+");
}

TEST_F(SizeArgumentsTest, FeaturesOfRecurrentNetworksFollowFromWeights) {
  ir::Value* packed = Tensor({ir::Dim::Unknown(), ir::Dim(7)});
  EXPECT_EQ(Decided("aten::lstm.data", {{"data", packed}}, 3, packed), "xx.+");
  EXPECT_EQ(Decided("aten::_pad_packed_sequence", {{"data", packed}}, 3, packed), "xx.+");
}

TEST_F(SizeArgumentsTest, FactorsDecideNothing) {
  EXPECT_EQ(Decided("aten::mul.Scalar", {{"self", x_}, {"other", n_}}, 3, n_), "...");
  EXPECT_EQ(Decided("aten::select.int", {{"self", x_}, {"dim", 0}, {"index", n_}}, 2, n_), "..");
  EXPECT_EQ(Decided("aten::cumsum", {{"self", x_}, {"dim", n_}, {"dtype", Arg()}}, 3, n_), "...");
}

TEST_F(SizeArgumentsTest, ItemsDecideTheirAxes) {
  EXPECT_EQ(Decided("aten::zeros", {{"size", Arg::List{4, n_, 2}}}, 3, n_), ".x.");
  EXPECT_EQ(Decided("aten::repeat", {{"self", x_}, {"repeats", Arg::List{n_, 1}}}, 3, n_), ".x.");
  EXPECT_EQ(Decided("aten::constant_pad_nd", {{"self", x_}, {"pad", Arg::List{0, 0, 0, n_}}, {"value", 0}}, 3,
                    n_),
            ".x.");
}

TEST_F(SizeArgumentsTest, RestOfAViewFollowsItsItems) {
  EXPECT_EQ(Decided("aten::view", {{"self", x_}, {"size", Arg::List{n_, 3, -1}}}, 3, n_), "x.x");
  EXPECT_EQ(Decided("aten::expand", {{"self", x_}, {"size", Arg::List{n_, 3, -1}}, {"implicit", false}}, 3, n_),
            "x..");
}

TEST_F(SizeArgumentsTest, LengthsOfLists) {
  const ir::Value* n = n_;
  EXPECT_EQ(Decided("aten::split.Tensor", {{"self", x_}, {"split_size", n_}, {"dim", 1}}, 3, n), ".x.+");
  EXPECT_EQ(Decided("aten::split_with_sizes", {{"self", x_}, {"split_sizes", Arg::List{n_, 3}}, {"dim", 1}}, 3, n),
            ".x.");
  EXPECT_EQ(Decided("aten::slice.t", {{"l", Arg::List{x_, x_}}, {"start", Arg()}, {"end", n_}, {"step", 1}}, 3, n),
            "...+");
}

TEST_F(SizeArgumentsTest, SizesOfPickedItems) {
  const ir::Shape shape = {ir::Dim(4), ir::Dim::Unknown()};
  ir::Value* list = graph_.NewValue(Type::List(Type::Tensor(ir::DType::kFloat32, shape)));
  EXPECT_EQ(Decided("aten::__getitem__.t", {{"list", list}, {"idx", n_}}, 2, n_), ".x");
}

TEST_F(SizeArgumentsTest, OtherNumbersMayDecideAll) {
  EXPECT_EQ(Decided("aten::unflatten.int", {{"self", x_}, {"dim", 0}, {"sizes", Arg::List{n_, 2}}}, 4, n_), "xxxx+?");
}

TEST_F(SizeArgumentsTest, NumberOfPartsFollowsTheAxis) {
  const auto follows = [&](int64_t dim, Arg size) {
    return LengthFollowsSize(*graph_.NewNode("aten::split.Tensor", {{"self", x_}, {"split_size", size}, {"dim", dim}}));
  };
  EXPECT_TRUE(follows(0, 2));
  EXPECT_TRUE(follows(-3, 2));
  EXPECT_FALSE(follows(1, 2));
  EXPECT_FALSE(follows(0, n_));
}

}  // namespace
}  // namespace rules_onnx::script
