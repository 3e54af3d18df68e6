// Writes to what may share memory with something that shares memory with something else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exporter/passes/functionalize.h"
#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

using ::testing::HasSubstr;

constexpr char kType[] = "float32[4]";

class SharingTest : public ::testing::Test {
 protected:
  ir::Value* Fresh() { return p_.Op("aten::sin", {x_}, kType); }
  // `value`, or a fresh tensor.
  ir::Value* Perhaps(ir::Value* value) {
    return p_.If(condition_, {kType}, [&] { return std::vector<ir::Arg>{value}; },
                 [&] { return std::vector<ir::Arg>{Fresh()}; })[0];
  }
  void Write(ir::Value* value) { p_.Op("aten::add_.Tensor", {value, 1}, kType); }
  std::string Problems() {
    Functionalize(p_.context());
    return p_.Problems();
  }

  Program p_;
  ir::Value* x_ = p_.Input("x", kType);
  ir::Value* condition_ = p_.Input("c", "bool");
};

TEST_F(SharingTest, ReadOfTheFirstOfThree) {
  ir::Value* a = Fresh();
  Write(Perhaps(Perhaps(a)));
  p_.Output(a);
  EXPECT_EQ(Problems(), "");
  EXPECT_NE(p_.context()->graph->main.results[0].value(), a);
}

TEST_F(SharingTest, ReadOfTheLastOfThree) {
  ir::Value* a = Fresh();
  ir::Value* b = Perhaps(Perhaps(a));
  Write(a);
  p_.Output(b);
  EXPECT_EQ(Problems(), "");
  EXPECT_NE(p_.context()->graph->main.results[0].value(), b);
}

TEST_F(SharingTest, BranchInABranch) {
  ir::Value* a = Fresh();
  ir::Value* b = p_.If(condition_, {kType}, [&] { return std::vector<ir::Arg>{Perhaps(a)}; },
                       [&] { return std::vector<ir::Arg>{Fresh()}; })[0];
  Write(b);
  p_.Output(a);
  EXPECT_THAT(Problems(), HasSubstr("error ambiguous-alias aten::add_.Tensor"));
}

TEST_F(SharingTest, OtherReadsAreFree) {
  ir::Value* a = Fresh();
  ir::Value* other = Fresh();
  ir::Value* b = Perhaps(Perhaps(a));
  Write(b);
  p_.Output(b);
  p_.Output(other);
  EXPECT_EQ(Problems(), "");
}

TEST_F(SharingTest, TheNextIterationMayHaveAnotherName) {
  ir::Value* a = Fresh();
  p_.Loop(3, true, {Fresh()}, {kType}, [&](std::vector<ir::Value*> in) {
    Write(in[1]);
    return std::vector<ir::Arg>{true, Perhaps(a)};
  });
  p_.Output(a);
  EXPECT_THAT(Problems(), HasSubstr("error ambiguous-alias prim::Loop"));
}

TEST_F(SharingTest, TheNextIterationHasTheSameNames) {
  ir::Value* out = p_.Loop(3, true, {Fresh()}, {kType}, [&](std::vector<ir::Value*> in) {
    Write(in[1]);
    return std::vector<ir::Arg>{true, Perhaps(in[1])};
  })[0];
  p_.Output(out);
  EXPECT_EQ(Problems(), "");
}

}  // namespace
}  // namespace rules_onnx::passes
