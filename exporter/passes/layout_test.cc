#include "exporter/passes/layout.h"

#include <gtest/gtest.h>

#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

// Applies one view after the other to a contiguous tensor.
class Views {
 public:
  explicit Views(const char* type) : value_(program_.Input("x", type)) {
    layout_ = Layout::Contiguous(value_->type);
  }

  Views& Then(const char* op, std::vector<ir::Arg> args, const char* type) {
    args.insert(args.begin(), ir::Arg(value_));
    ir::Value* next = program_.Op(op, std::move(args), type);
    layout_ = layout_.AfterView(*program_.graph()->main.nodes.back(), value_->type, next->type);
    value_ = next;
    return *this;
  }

  Answer IsContiguous() const { return layout_.IsContiguous(value_->type); }
  Answer ReshapeIsView(const char* type) const {
    return layout_.ReshapeIsView(value_->type, ParseType(type));
  }

 private:
  Program program_;
  ir::Value* value_;
  Layout layout_;
};

// What torch.Tensor.is_contiguous says of the same views.
TEST(LayoutTest, Contiguous) {
  EXPECT_EQ(Views("float32[4, 3]").IsContiguous(), Answer::kYes);
  EXPECT_EQ(Views("float32[4, 3]").Then("aten::t", {}, "float32[3, 4]").IsContiguous(),
            Answer::kNo);
  EXPECT_EQ(Views("float32[N, 1]").Then("aten::t", {}, "float32[1, N]").IsContiguous(),
            Answer::kYes);
  EXPECT_EQ(Views("float32[4, 3]").Then("aten::select.int", {0, 1}, "float32[3]").IsContiguous(),
            Answer::kYes);
  EXPECT_EQ(Views("float32[4, 3]").Then("aten::select.int", {1, 1}, "float32[4]").IsContiguous(),
            Answer::kNo);
  EXPECT_EQ(Views("float32[N, 3]")
                .Then("aten::slice.Tensor", {0, 1, 3, 1}, "float32[2, 3]")
                .IsContiguous(),
            Answer::kYes);
  EXPECT_EQ(Views("float32[N, ?]").Then("aten::t", {}, "float32[?, N]").IsContiguous(),
            Answer::kUnknown);
}

// What torch.Tensor.view accepts without an error.
TEST(LayoutTest, ReshapeIsAView) {
  EXPECT_EQ(Views("float32[N, 6]").ReshapeIsView("float32[2*N, 3]"), Answer::kYes);
  Views columns("float32[N, 6]");
  columns.Then("aten::slice.Tensor", {1, 0, 4, 1}, "float32[N, 4]");
  EXPECT_EQ(columns.ReshapeIsView("float32[N, 2, 2]"), Answer::kYes);
  EXPECT_EQ(columns.ReshapeIsView("float32[4*N]"), Answer::kAtSizeOne);
  Views transposed("float32[2, 3, 4]");
  transposed.Then("aten::transpose.int", {0, 2}, "float32[4, 3, 2]");
  EXPECT_EQ(transposed.ReshapeIsView("float32[12, 2]"), Answer::kNo);
  EXPECT_EQ(transposed.ReshapeIsView("float32[4, 3, 2, 1]"), Answer::kYes);
  Views expanded("float32[3]");
  expanded.Then("aten::expand", {ir::Arg::Ints({4, 3})}, "float32[4, 3]");
  EXPECT_EQ(expanded.ReshapeIsView("float32[12]"), Answer::kNo);
  EXPECT_EQ(expanded.ReshapeIsView("float32[2, 2, 3]"), Answer::kYes);
}

// Strides of an axis of size 1 do not count.
TEST(LayoutTest, SizesAtWhichAnAxisIsOne) {
  EXPECT_EQ(Views("float32[N, 3]").Then("aten::t", {}, "float32[3, N]").IsContiguous(),
            Answer::kAtSizeOne);
  EXPECT_EQ(Views("float32[N, 4, 6]")
                .Then("aten::slice.Tensor", {2, 0, 3, 1}, "float32[N, 4, 3]")
                .ReshapeIsView("float32[N, 12]"),
            Answer::kNo);
  Views rest("float32[N, 4]");
  rest.Then("aten::slice.Tensor", {0, 1, 9223372036854775807, 1}, "float32[N-1, 4]")
      .Then("aten::slice.Tensor", {1, 0, 2, 1}, "float32[N-1, 2]");
  EXPECT_EQ(rest.ReshapeIsView("float32[2*N-2]"), Answer::kAtSizeOne);  // N = 2
  EXPECT_EQ(Views("float32[2*N, 2*N]")
                .Then("aten::diagonal", {0, 0, 1}, "float32[2*N]")
                .ReshapeIsView("float32[2, N]"),
            Answer::kYes);
}

TEST(LayoutTest, StridesOfAWeight) {
  const ir::Type type = ParseType("float32[2, 3]");
  EXPECT_EQ(Layout::Strided({3, 1}, type).IsContiguous(type), Answer::kYes);
  EXPECT_EQ(Layout::Strided({1, 2}, type).IsContiguous(type), Answer::kNo);
  EXPECT_EQ(Layout::Strided({1, 2}, type).ReshapeIsView(type, ParseType("float32[6]")),
            Answer::kNo);
  const ir::Type row = ParseType("float32[1, 3]");
  EXPECT_EQ(Layout::Strided({7, 1}, row).IsContiguous(row), Answer::kYes);
}

}  // namespace
}  // namespace rules_onnx::passes
