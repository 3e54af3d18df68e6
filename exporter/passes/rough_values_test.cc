#include "exporter/passes/rough_values.h"

#include <gtest/gtest.h>

#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

class RoughValuesTest : public testing::Test {
 protected:
  ir::Value* Input(const char* name) { return p_.Input(name, "float32[3, 3]"); }
  ir::Value* Op(const char* op, std::vector<ir::Arg> args) {
    return p_.Op(op, std::move(args), "float32[3, 3]");
  }
  bool IsRough(const ir::Value* value) {
    const AliasClasses classes(*p_.graph(), p_.context()->schemas);
    return RoughValues(*p_.context(), classes).contains(value);
  }

  Program p_;
  const std::vector<std::string> tensor_ = {"float32[3, 3]"};
};

TEST_F(RoughValuesTest, ResultsFollowTheirArguments) {
  ir::Value* x = Input("x");
  ir::Value* turned = Op("aten::t", {x});
  EXPECT_TRUE(IsRough(Op("aten::relu", {turned})));
  EXPECT_TRUE(IsRough(Op("aten::linalg_inv", {x})));
  EXPECT_FALSE(IsRough(Op("aten::relu", {x})));
  EXPECT_FALSE(IsRough(Op("aten::mm", {turned, x})));
  EXPECT_FALSE(IsRough(Op("aten::contiguous", {turned})));
}

TEST_F(RoughValuesTest, BranchesGiveThem) {
  ir::Value* x = Input("x");
  const auto results = p_.If(
      p_.Input("c", "bool"), {"float32[3, 3]", "float32[3, 3]"},
      [&]() -> std::vector<ir::Arg> { return {Op("aten::t", {x}), x}; },
      [&]() -> std::vector<ir::Arg> { return {x, Op("aten::relu", {x})}; });
  EXPECT_TRUE(IsRough(results[0]));
  EXPECT_FALSE(IsRough(results[1]));
}

TEST_F(RoughValuesTest, LoopsCarryThem) {
  ir::Value* x = Input("x");
  ir::Value* seen = nullptr;
  const auto results = p_.Loop(3, true, {x, x}, {"float32[3, 3]", "float32[3, 3]"},
                               [&](std::vector<ir::Value*> carried) -> std::vector<ir::Arg> {
                                 seen = Op("aten::relu", {carried[1]});
                                 return {true, Op("aten::t", {carried[1]}), carried[2]};
                               });
  EXPECT_TRUE(IsRough(seen));  // from the second iteration on
  EXPECT_TRUE(IsRough(results[0]));
  EXPECT_FALSE(IsRough(results[1]));
}

TEST_F(RoughValuesTest, ListsHoldThem) {
  ir::Value* x = Input("x");
  for (const bool rough : {false, true}) {
    ir::Value* list =
        p_.Add("prim::ListConstruct", {{"items", ir::Arg::List{x}}}, {"list[float32[3, 3]]"})
            ->output();
    p_.Op("aten::append.t", {list, Op(rough ? "aten::t" : "aten::relu", {x})}, "list[float32[3, 3]]");
    EXPECT_EQ(IsRough(Op("aten::__getitem__.t", {list, 0})), rough);
  }
}

TEST_F(RoughValuesTest, TensorsThatAreTurnedInPlace) {
  ir::Value* y = Op("aten::relu", {Input("x")});
  Op("aten::t_", {y});
  EXPECT_TRUE(IsRough(y));
}

TEST_F(RoughValuesTest, WeightsThatAreStoredSo) {
  ir::Value* plain = p_.Weight("plain", "float32[3, 3]");
  ir::Value* turned = p_.Weight("turned", "float32[3, 3]");
  p_.context()->weight_memory = {{0, 0, {3, 1}}, {1, 0, {1, 3}}};
  EXPECT_FALSE(IsRough(plain));
  EXPECT_TRUE(IsRough(Op("aten::add.Tensor", {plain, turned})));
}

}  // namespace
}  // namespace rules_onnx::passes
