#include "exporter/passes/assertions.h"

#include <gtest/gtest.h>

#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

TEST(AssertionsTest, TheOtherBranchIsTaken) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  p.Output(p.If(
      p.Input("c", "bool"), {"float32[2]"},
      [&]() -> std::vector<ir::Arg> {
        p.Add("prim::RaiseException", {{"msg", "wrong"}, {"cls", ir::Arg()}}, {});
        return {p.Op("prim::Uninitialized", {}, "float32[2]")};
      },
      [&]() -> std::vector<ir::Arg> { return {x}; })[0]);
  EXPECT_TRUE(DropAssertions(p.context()));
  EXPECT_EQ(p.Problems(), "warning assertion-dropped prim::RaiseException\n");
  EXPECT_EQ(p.Print(), R"(
%2: float32[2] = prim::If(cond=False)
  block():
    prim::RaiseException(msg='wrong', cls=None)
    %3: float32[2] = prim::Uninitialized()
    return (%3)
  block():
    return (%x)
output y0 = %2
)");
}

TEST(AssertionsTest, AlwaysRaising) {
  Program p;
  p.Add("prim::RaiseException", {{"msg", "wrong"}, {"cls", ir::Arg()}}, {});
  DropAssertions(p.context());
  EXPECT_EQ(p.Problems(), "error always-raises prim::RaiseException\n");
}

}  // namespace
}  // namespace rules_onnx::passes
