#include "exporter/pt2/scalar_functions.h"

#include <string>

#include "absl/strings/str_join.h"
#include "exporter/ir/print.h"
#include "exporter/ir/schema.h"
#include "gtest/gtest.h"

namespace rules_onnx::pt2 {
namespace {

using ir::Arg;
using ir::Type;
using Kind = ir::Type::Kind;

class ScalarFunctionsTest : public ::testing::Test {
 protected:
  Arg Value(Kind kind, const std::string& name) {
    return graph_.NewValue(Type::Scalar(kind), name);
  }

  // The nodes of a call, one a line, or its error. Every node must fit its schema.
  std::string Call(absl::string_view target, const std::vector<Arg>& args, Kind result) {
    graph_.main.nodes.clear();
    const auto value = EmitScalarFunction(target, args, Type::Scalar(result), "r", &emitter_);
    if (!value.ok()) return "error";
    std::vector<std::string> lines;
    for (const auto& node : graph_.main.nodes) {
      lines.push_back(ir::PrintNode(*node));
      const ir::Schema* const schema = ir::FindSchema(node->op);
      if (node->op == "prim::If") continue;
      EXPECT_NE(schema, nullptr) << node->op;
      if (schema == nullptr) continue;
      EXPECT_TRUE(ir::BindToSchema(*schema, node.get()).ok()) << lines.back();
      EXPECT_EQ(schema->args.size(), node->args.size());
    }
    if (lines.empty()) return value->is_value() ? "%" + value->value()->name : "constant";
    return absl::StrJoin(lines, "\n");
  }

  ir::Graph graph_;
  ir::DebugInfo debug_;
  Emitter emitter_{&graph_, &debug_};
  const Arg i_ = Value(Kind::kInt, "i");
  const Arg j_ = Value(Kind::kInt, "j");
  const Arg f_ = Value(Kind::kFloat, "f");
  const Arg b_ = Value(Kind::kBool, "b");
  const Arg c_ = Value(Kind::kBool, "c");
};

TEST_F(ScalarFunctionsTest, Arithmetic) {
  EXPECT_EQ(Call("_operator.add", {i_, 1}, Kind::kInt), "%r: int = aten::add.int(a=%i, b=1)");
  EXPECT_EQ(Call("_operator.floordiv", {i_, j_}, Kind::kInt),
            "%r: int = aten::floordiv.int(a=%i, b=%j)");
  EXPECT_EQ(Call("_operator.mod", {i_, 3}, Kind::kInt), "%r: int = aten::remainder.int(a=%i, b=3)");
  EXPECT_EQ(Call("torch.sym_max", {i_, 5}, Kind::kInt), "%r: int = prim::max.int(a=%i, b=5)");
  EXPECT_EQ(Call("_operator.neg", {i_}, Kind::kInt), "%r: int = aten::neg.int(a=%i)");
  EXPECT_EQ(Call("_operator.pos", {i_}, Kind::kInt), "%i");
}

TEST_F(ScalarFunctionsTest, MixedNumbersBecomeFloats) {
  EXPECT_EQ(Call("_operator.mul", {f_, 2}, Kind::kFloat),
            "%r: float = aten::mul.float(a=%f, b=2.0)");
  EXPECT_EQ(Call("_operator.mul", {1.5, i_}, Kind::kFloat),
            "%6: float = aten::Float.int(a=%i)\n%r: float = aten::mul.float(a=1.5, b=%6)");
  EXPECT_EQ(Call("_operator.lt", {i_, 2.5}, Kind::kBool),
            "%8: float = aten::Float.int(a=%i)\n%r: bool = aten::lt.float(a=%8, b=2.5)");
}

TEST_F(ScalarFunctionsTest, DivisionAndPower) {
  EXPECT_EQ(Call("_operator.truediv", {i_, 2}, Kind::kFloat),
            "%r: float = aten::div.int(a=%i, b=2)");
  EXPECT_EQ(Call("_operator.pow", {i_, 2}, Kind::kInt),
            "%r: int = aten::pow.int_to_int(a=%i, b=2)");
  EXPECT_EQ(Call("_operator.pow", {i_, -1}, Kind::kFloat), "%r: float = aten::pow.int(a=%i, b=-1)");
  EXPECT_EQ(Call("_operator.pow", {f_, 0.5}, Kind::kFloat),
            "%r: float = aten::pow.float(a=%f, b=0.5)");
  EXPECT_EQ(Call("torch._sym_sqrt", {i_}, Kind::kFloat), "%r: float = aten::sqrt.int(a=%i)");
}

TEST_F(ScalarFunctionsTest, Conversions) {
  EXPECT_EQ(Call("math.ceil", {f_}, Kind::kInt), "%r: int = aten::ceil.float(a=%f)");
  EXPECT_EQ(Call("math.trunc", {f_}, Kind::kInt), "%r: int = aten::Int.float(a=%f)");
  EXPECT_EQ(Call("torch.sym_int", {i_}, Kind::kInt), "%i");
  EXPECT_EQ(Call("torch.sym_float", {i_}, Kind::kFloat), "%r: float = aten::Float.int(a=%i)");
  EXPECT_EQ(Call("torch.sym_float", {3}, Kind::kFloat), "constant");
}

TEST_F(ScalarFunctionsTest, Logic) {
  EXPECT_EQ(Call("_operator.and_", {b_, c_}, Kind::kBool),
            "%r: bool = aten::__and__.bool(a=%b, b=%c)");
  EXPECT_EQ(Call("_operator.or_", {i_, 4}, Kind::kInt), "%r: int = aten::__or__.int(a=%i, b=4)");
  EXPECT_EQ(Call("torch.sym_not", {b_}, Kind::kBool), "%r: bool = aten::__not__(self=%b)");
  EXPECT_EQ(Call("_operator.eq", {b_, c_}, Kind::kBool), "%r: bool = aten::eq.bool(a=%b, b=%c)");
  EXPECT_EQ(Call("_operator.lshift", {i_, 1}, Kind::kInt),
            "%r: int = aten::__lshift__.int(a=%i, b=1)");
}

TEST_F(ScalarFunctionsTest, SelectIsAnIf) {
  ASSERT_EQ(Call("torch.sym_ite", {b_, i_, 7}, Kind::kInt), "%r: int = prim::If(cond=%b)");
  const ir::Node& node = *graph_.main.nodes[0];
  ASSERT_EQ(node.blocks.size(), 2);
  EXPECT_EQ(node.blocks[0]->results, std::vector<Arg>{i_});
  EXPECT_EQ(node.blocks[1]->results, std::vector<Arg>{Arg(7)});
}

TEST_F(ScalarFunctionsTest, Refused) {
  EXPECT_FALSE(IsScalarFunction("_operator.matmul"));
  EXPECT_EQ(Call("_operator.matmul", {i_, j_}, Kind::kInt), "error");
  EXPECT_EQ(Call("_operator.add", {i_}, Kind::kInt), "error");
  EXPECT_EQ(Call("_operator.add", {i_, "x"}, Kind::kInt), "error");
  EXPECT_EQ(Call("_operator.and_", {f_, i_}, Kind::kInt), "error");
}

}  // namespace
}  // namespace rules_onnx::pt2
