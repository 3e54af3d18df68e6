#include "exporter/passes/running_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "exporter/passes/functionalize.h"
#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

// What the second output reads after a batch_norm in training, or in eval.
std::string Normalized(bool training, bool reads_mean) {
  Program p;
  ir::Value* x = p.Input("x", "float32[N, 3]");
  ir::Value* mean = p.Weight("mean", "float32[3]");
  ir::Value* variance = p.Weight("variance", "float32[3]");
  p.Output(p.Op("aten::batch_norm",
                {x, ir::Arg(), ir::Arg(), mean, variance, training, 0.5, 1e-5, false},
                "float32[N, 3]"));
  if (reads_mean) p.Output(p.Op("aten::neg", {mean}, "float32[3]"));
  StateRunningStatistics(p.context());
  Functionalize(p.context());
  return p.Print(/*functional=*/true);
}

TEST(RunningStatisticsTest, LaterReadsSeeThoseOfTraining) {
  EXPECT_EQ(Normalized(true, true), R"(
%8: float32[N, 3], %9: float32[3], %10: float32[3], %11: float32[3], %12: float32[3] = aten::_native_batch_norm_legit_functional(input=%x, weight=None, bias=None, running_mean=%mean, running_var=%variance, training=True, momentum=0.5, eps=1e-05)
%4: float32[3] = aten::neg(self=%11)
output y0 = %8
output y1 = %4
)");
}

TEST(RunningStatisticsTest, StayAsTheyAreElsewhere) {
  EXPECT_NE(Normalized(false, true).find("aten::batch_norm("), std::string::npos);
  EXPECT_NE(Normalized(true, false).find("aten::batch_norm("), std::string::npos);
}

std::string OfInstances(absl::string_view type) {
  Program p;
  ir::Value* mean = p.Weight("mean", "float32[3]");
  p.Output(p.Op("aten::instance_norm",
                {p.Input("x", type), ir::Arg(), ir::Arg(), mean, p.Weight("variance", "float32[3]"),
                 true, 0.25, 1e-5, false},
                type));
  p.Output(p.Op("aten::neg", {mean}, "float32[3]"));
  StateRunningStatistics(p.context());
  return p.Problems() + p.Print();
}

TEST(RunningStatisticsTest, ThoseOfInstancesAreTheirMean) {
  EXPECT_EQ(OfInstances("float32[N, 3, 2]"), R"(
%5: float32[N, 3] = aten::mean.dim(self=%x, dim=[2], keepdim=False, dtype=None)
%6: float32[N, 3] = aten::var.correction(self=%x, dim=[2], correction=1, keepdim=False)
%7: float32[3] = aten::mean.dim(self=%5, dim=[0], keepdim=False, dtype=None)
%8: float32[3] = aten::mul.Scalar(self=%7, other=0.25)
%9: float32[3] = aten::mul.Scalar(self=%mean, other=0.75)
%10: float32[3] = aten::add.Tensor(self=%9, other=%8, alpha=1)
%11: float32[3] = aten::copy_(self=%mean, src=%10, non_blocking=False)
%12: float32[3] = aten::mean.dim(self=%6, dim=[0], keepdim=False, dtype=None)
%13: float32[3] = aten::mul.Scalar(self=%12, other=0.25)
%14: float32[3] = aten::mul.Scalar(self=%variance, other=0.75)
%15: float32[3] = aten::add.Tensor(self=%14, other=%13, alpha=1)
%16: float32[3] = aten::copy_(self=%variance, src=%15, non_blocking=False)
%3: float32[N, 3, 2] = aten::instance_norm(input=%x, weight=None, bias=None, running_mean=None, running_var=None, use_input_stats=True, momentum=0.25, eps=1e-05, cudnn_enabled=False)
%4: float32[3] = aten::neg(self=%mean)
output y0 = %3
output y1 = %4
)");
}

TEST(RunningStatisticsTest, OfAnyNumberOfAxesTheyAreRefused) {
  EXPECT_THAT(OfInstances("float32[...]"),
              testing::StartsWith("error write-not-expressible aten::instance_norm\n"));
}

}  // namespace
}  // namespace rules_onnx::passes
