#include "exporter/passes/dissolve_scans.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

using Args = std::vector<ir::Arg>;
using Values = std::vector<ir::Value*>;

TEST(DissolveScansTest, OperatorsOnSlicesBecomeOperatorsOnTensors) {
  Program p;
  ir::Value* x = p.Input("x", "float32[N, 3]");
  ir::Value* s = p.Input("s", "float32[N]");
  ir::Value* y = p.Input("y", "float32[3]");
  const auto stacked =
      p.Scan({}, {x, s}, {"float32[3]", "float32[]"},
             {"float32[N, 3]", "float32[N, 3, 1]", "float32[N, 3]"}, [&](Values slice) -> Args {
               ir::Value* shared = p.Op("aten::cos", {y}, "float32[3]");
               ir::Value* sum = p.Op("aten::add.Tensor", {slice[0], slice[1]}, "float32[3]");
               ir::Value* column = p.Op("aten::unsqueeze", {sum, 1}, "float32[3, 1]");
               return {p.Op("aten::softmax.int", {sum, 0}, "float32[3]"), column, shared};
             });
  for (ir::Value* value : stacked) p.Output(value);
  EXPECT_TRUE(DissolveScans(p.context()));
  EXPECT_EQ(p.Print(/*functional=*/true), R"(
%12: float32[3] = aten::cos(self=%y)
%13: float32[N, 1] = aten::unsqueeze(self=%s, dim=1)
%14: float32[N, 3] = aten::add.Tensor(self=%x, other=%13, alpha=1)
%15: float32[N, 3, 1] = aten::unsqueeze(self=%14, dim=2)
%16: float32[N, 3] = aten::softmax.int(self=%14, dim=1, dtype=None)
%17: int = aten::size.int(self=%x, dim=0)
%18: float32[1, 3] = aten::unsqueeze(self=%12, dim=0)
%19: float32[N, 3] = aten::expand(self=%18, size=[%17, -1], implicit=False)
output y0 = %16
output y1 = %15
output y2 = %19
)");
}

TEST(DissolveScansTest, WhatHasNoFormWithAnAxisMoreStays) {
  const auto dissolves = [](const char* slice, const char* other, const char* result,
                            const char* stacked, const char* op) {
    Program p;
    ir::Value* x = p.Input("x", (std::string("float32[N") + slice).c_str());
    ir::Value* y = p.Input("y", other);
    p.Output(p.Scan({}, {x}, {std::string("float32[") + (slice[0] == ',' ? slice + 2 : slice)},
                    {stacked}, [&](Values params) -> Args {
                      return {p.Op(op, {params[0], y}, result)};
                    })[0]);
    return DissolveScans(p.context());
  };
  EXPECT_TRUE(dissolves(", 3]", "float32[3]", "float32[3]", "float32[N, 3]", "aten::mul.Tensor"));
  // Without axes float64 does not count against float32 with axes.
  EXPECT_FALSE(dissolves(", 3]", "float64[]", "float32[3]", "float32[N, 3]", "aten::mul.Tensor"));
  EXPECT_TRUE(dissolves(", 3]", "float64[3]", "float64[3]", "float64[N, 3]", "aten::mul.Tensor"));
  EXPECT_FALSE(dissolves(", 3]", "float32[3]", "float32[]", "float32[N]", "aten::dot"));
}

TEST(DissolveScansTest, ScansThatCarryStay) {
  Program p;
  ir::Value* x = p.Input("x", "float32[N]");
  p.Output(p.Scan({p.Input("c", "float32[]")}, {x}, {"float32[]", "float32[]"}, {"float32[]"},
                  [&](Values params) -> Args {
                    return {p.Op("aten::mul.Tensor", {params[0], params[1]}, "float32[]")};
                  })[0]);
  EXPECT_FALSE(DissolveScans(p.context()));
}

}  // namespace
}  // namespace rules_onnx::passes
