#include "exporter/pt2/source.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace rules_onnx::pt2 {
namespace {

std::string Location(absl::string_view trace) {
  const auto location = ParseStackTrace(trace);
  if (!location) return "none";
  return absl::StrCat(location->file, ":", location->line, ": ", location->text);
}

TEST(ModuleStackTest, NamesAreRelativeToTheModuleAround) {
  EXPECT_EQ(ParseModuleStack("L__self__,,alexnet.AlexNet;"
                             "L__self___features,features,torch.nn.modules.container.Sequential;"
                             "L__self___features_0,features.0,torch.nn.modules.conv.Conv2d"),
            "AlexNet/Sequential[features]/Conv2d[0]");
  EXPECT_EQ(ParseModuleStack("L__self__,,m.Net;k,layers.1,m.Block;k,layers.1.norm,m.Norm"),
            "Net/Block[layers.1]/Norm[norm]");
}

TEST(ModuleStackTest, NamesThatOnlyBeginAlike) {
  EXPECT_EQ(ParseModuleStack("L__self__,,m.Net;a,conv,m.A;b,conv2.x,m.B"),
            "Net/A[conv]/B[conv2.x]");
}

TEST(ModuleStackTest, RepeatedCallsLocalClassesAndPlaceholders) {
  EXPECT_EQ(ParseModuleStack("L__self__,,m.f.<locals>.Net;a,fc@1,torch.nn.modules.linear.Linear"),
            "Net/Linear[fc]");
  constexpr absl::string_view kHook = "_empty_nn_module_stack_from_metadata_hook";
  EXPECT_EQ(ParseModuleStack(absl::StrCat(kHook, ",", kHook, ",", kHook)), "");
  EXPECT_EQ(ParseModuleStack(""), "");
  EXPECT_EQ(ParseModuleStack(";,;x"), "");
}

TEST(StackTraceTest, InnermostLineOfTheProgram) {
  EXPECT_EQ(Location("File \"/home/u/net.py\", line 9, in forward\n    x = self.a(x)\n"
                     "  File \"/home/u/block.py\", line 12, in forward\n    return self.conv(x)\n"
                     "  File \"/v/site-packages/torch/nn/modules/conv.py\", line 565, in forward\n"
                     "    return self._conv_forward(input, self.weight, self.bias)"),
            "block.py:12: return self.conv(x)");
}

TEST(StackTraceTest, TorchWhereThereIsNothingElse) {
  EXPECT_EQ(Location("File \"/v/site-packages/torch/nn/modules/linear.py\", line 134, in forward\n"
                     "    return F.linear(input, self.weight, self.bias)"),
            "linear.py:134: return F.linear(input, self.weight, self.bias)");
  EXPECT_EQ(Location("File \"torch/fx/passes/runtime_assert.py\", line 24, in insert"), "none");
  EXPECT_EQ(Location("File \"<eval_with_key>.5\", line 6, in forward\n    add = x + 1"), "none");
}

TEST(StackTraceTest, Damaged) {
  EXPECT_EQ(Location(""), "none");
  EXPECT_EQ(Location("File \"net.py\""), "none");
  EXPECT_EQ(Location("File \"net.py\", line many, in f"), "none");
  EXPECT_EQ(Location("File \"net.py\", line 3"), "net.py:3: ");
}

}  // namespace
}  // namespace rules_onnx::pt2
