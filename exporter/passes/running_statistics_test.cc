#include "exporter/passes/running_statistics.h"

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

TEST(RunningStatisticsTest, ThoseOfInstancesAreRefused) {
  Program p;
  ir::Value* mean = p.Weight("mean", "float32[3]");
  p.Output(p.Op("aten::instance_norm",
                {p.Input("x", "float32[N, 3, 2]"), ir::Arg(), ir::Arg(), mean,
                 p.Weight("variance", "float32[3]"), true, 0.5, 1e-5, false},
                "float32[N, 3, 2]"));
  p.Output(p.Op("aten::neg", {mean}, "float32[3]"));
  StateRunningStatistics(p.context());
  EXPECT_EQ(p.Problems(), "error write-not-expressible aten::instance_norm\n");
}

}  // namespace
}  // namespace rules_onnx::passes
