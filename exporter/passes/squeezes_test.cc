#include "exporter/passes/squeezes.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

// The warnings for `squeeze(dim)` of a float32[N, M, 1] with N ≥ 2.
std::string WarningsOf(const char* op, std::vector<ir::Arg> args) {
  Program p;
  args.insert(args.begin(), p.Input("x", "float32[N, M, 1]"));
  p.context()->graph->symbols["N"].min = 2;
  p.Op(op, std::move(args), "float32[N, M]");
  WarnOfSqueezes(p.context());
  return p.Problems();
}

constexpr char kWarning[] = "warning squeezed-axis aten::squeeze";

TEST(SqueezesTest, OnlyAnAxisThatMayHaveSizeOneIsWarnedAbout) {
  EXPECT_EQ(WarningsOf("aten::squeeze", {}), std::string(kWarning) + "\n");
  EXPECT_EQ(WarningsOf("aten::squeeze.dim", {-2}), std::string(kWarning) + ".dim\n");
  EXPECT_EQ(WarningsOf("aten::squeeze.dims", {ir::Arg(ir::Arg::List{0, 1})}),
            std::string(kWarning) + ".dims\n");
  EXPECT_EQ(WarningsOf("aten::squeeze.dim", {0}), "");
  EXPECT_EQ(WarningsOf("aten::squeeze.dims", {ir::Arg(ir::Arg::List{0, 2})}), "");
}

}  // namespace
}  // namespace rules_onnx::passes
