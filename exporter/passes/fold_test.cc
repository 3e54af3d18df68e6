#include "exporter/passes/fold.h"

#include <gtest/gtest.h>

#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

// The program after Fold, which is to leave nothing of `op`.
std::string Folded(const char* op, std::vector<ir::Arg> args, const char* type) {
  Program p;
  p.Output(p.Op(op, std::move(args), type));
  Fold(p.context());
  return p.Print();
}

TEST(FoldTest, NumbersAsPythonComputesThem) {
  EXPECT_EQ(Folded("aten::add.int", {2, 3}, "int"), "\noutput y0 = 5\n");
  EXPECT_EQ(Folded("aten::floordiv.int", {-7, 2}, "int"), "\noutput y0 = -4\n");
  EXPECT_EQ(Folded("aten::remainder.int", {-7, 3}, "int"), "\noutput y0 = 2\n");
  EXPECT_EQ(Folded("aten::remainder.int", {7, -3}, "int"), "\noutput y0 = -2\n");
  EXPECT_EQ(Folded("aten::div.int", {1, 4}, "float"), "\noutput y0 = 0.25\n");
  EXPECT_EQ(Folded("aten::pow.int", {2, 10}, "float"), "\noutput y0 = 1024.0\n");
  EXPECT_EQ(Folded("aten::floor.float", {-1.5}, "int"), "\noutput y0 = -2\n");
  EXPECT_EQ(Folded("aten::Int.float", {-1.5}, "int"), "\noutput y0 = -1\n");
  EXPECT_EQ(Folded("aten::sqrt.int", {16}, "float"), "\noutput y0 = 4.0\n");
  EXPECT_EQ(Folded("aten::__not__", {true}, "bool"), "\noutput y0 = False\n");
  EXPECT_EQ(Folded("aten::lt.float_int", {1.5, 2}, "bool"), "\noutput y0 = True\n");
  EXPECT_EQ(Folded("aten::ne.str", {"a", "b"}, "bool"), "\noutput y0 = True\n");
}

TEST(FoldTest, UndefinedOrInexactStays) {
  EXPECT_NE(Folded("aten::floordiv.int", {1, 0}, "int"), "\noutput y0 = 0\n");
  EXPECT_EQ(Folded("aten::mul.int", {int64_t{1} << 62, 4}, "int"), R"(
%0: int = aten::mul.int(a=4611686018427387904, b=4)
output y0 = %0
)");
  EXPECT_EQ(Folded("aten::pow.float", {2.0, 0.5}, "float"), R"(
%0: float = aten::pow.float(a=2.0, b=0.5)
output y0 = %0
)");
}

TEST(FoldTest, SizesOnlyWhereTheyAreNumbers) {
  Program p;
  ir::Value* x = p.Input("x", "float16[N, 3]");
  p.Output(p.Op("aten::size.int", {x, -1}, "int"));
  p.Output(p.Op("aten::size.int", {x, 0}, "int"));
  p.Output(p.Op("aten::dim", {x}, "int"));
  p.Output(p.Op("aten::is_floating_point", {x}, "bool"));
  p.Output(p.Op("aten::__is__", {x, ir::Arg()}, "bool"));
  Fold(p.context());
  EXPECT_EQ(p.Print(), R"(
%2: int = aten::size.int(self=%x, dim=0)
output y0 = 3
output y1 = %2
output y2 = 2
output y3 = True
output y4 = False
)");
}

// A constant that something writes to is no constant.
TEST(FoldTest, WrittenConstantIsNotRead) {
  Program p;
  auto one = std::make_shared<ir::TensorLiteral>(
      ir::TensorLiteral{ir::DType::kInt64, {}, std::string("\1\0\0\0\0\0\0\0", 8)});
  const auto constant = [&] {
    return p.Add("prim::Constant", {{"value", ir::Arg(ir::Arg::Literal(one))}}, {"int64[]"})
        ->output();
  };
  ir::Value* kept = constant();
  ir::Value* written = constant();
  p.Op("aten::add_.Scalar", {written, 1}, "int64[]");
  p.Output(p.Op("aten::Int.Tensor", {kept}, "int"));
  p.Output(p.Op("aten::Int.Tensor", {written}, "int"));
  Fold(p.context());
  EXPECT_EQ(p.Print(), R"(
%0: int64[] = prim::Constant(value=int64[]{1})
%1: int64[] = prim::Constant(value=int64[]{1})
%2: int64[] = aten::add_.Scalar(self=%1, other=1, alpha=1)
%4: int = aten::Int.Tensor(a=%1)
output y0 = 1
output y1 = %4
)");
}

}  // namespace
}  // namespace rules_onnx::passes
