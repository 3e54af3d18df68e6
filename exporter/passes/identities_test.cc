#include "exporter/passes/identities.h"

#include <gtest/gtest.h>

#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

TEST(IdentitiesTest, WhatChangesNothingGoes) {
  Program p;
  ir::Value* x = p.Input("x", "float32[N, 3]");
  ir::Value* h = p.Op("aten::detach", {x}, "float32[N, 3]");
  h = p.Op("aten::contiguous", {h}, "float32[N, 3]");
  h = p.Op("aten::to.dtype", {h, ir::DType::kFloat32}, "float32[N, 3]");
  h = p.Op("aten::dropout", {h, 0.5, false}, "float32[N, 3]");
  h = p.Op("aten::slice.Tensor", {h, 0, 0, INT64_MAX, 1}, "float32[N, 3]");
  h = p.Op("aten::permute", {h, ir::Arg::Ints({0, -1})}, "float32[N, 3]");
  p.Op("aten::_assert_async", {h}, "bool[]");
  p.Output(h);
  p.graph()->main.nodes.back()->outputs.clear();
  EXPECT_TRUE(Identities(p.context()));
  EXPECT_EQ(p.Print(), "\noutput y0 = %x\n");
}

TEST(IdentitiesTest, WhatMayChangeSomethingStays) {
  Program p;
  ir::Value* x = p.Input("x", "float32[N, 3]");
  p.Output(p.Op("aten::to.dtype", {x, ir::DType::kInt64}, "int64[N, 3]"));
  p.Output(p.Op("aten::dropout", {x, 0.5, true}, "float32[N, 3]"));
  // Of a dynamic size, even one with the same name.
  p.Output(p.Op("aten::reshape", {x, ir::Arg::Ints({-1, 3})}, "float32[N, 3]"));
  p.Output(p.Op("aten::slice.Tensor", {x, 0, 0, 7, 1}, "float32[N, 3]"));
  p.Output(p.Op("aten::permute", {x, ir::Arg::Ints({1, 0})}, "float32[3, N]"));
  EXPECT_FALSE(Identities(p.context()));
}

}  // namespace
}  // namespace rules_onnx::passes
