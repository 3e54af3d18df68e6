#include "exporter/lowering/registry.h"

#include <map>
#include <string>

#include "gtest/gtest.h"

namespace rules_onnx::lowering {
namespace {

TEST(RegistryTest, EachOperatorHasOneRow) {
  std::map<std::string, std::string> families;
  for (const Family* family : Families()) {
    for (const Row& row : family->rows) {
      const auto [it, is_new] = families.emplace(row.op, family->name);
      EXPECT_TRUE(is_new) << row.op << " is in " << it->second << " and in " << family->name;
    }
  }
  EXPECT_GT(families.size(), 1000u);
}

TEST(RegistryTest, OverloadsWinOverTheOperator) {
  EXPECT_EQ(FindRow("aten::div.Tensor")->op, "aten::div");
  EXPECT_EQ(FindRow("aten::div.int")->op, "aten::div.int");
  EXPECT_EQ(FindRow("aten::div")->op, "aten::div.");  // (Scalar a, Scalar b)
  EXPECT_EQ(FindRow("aten::atan2")->op, "aten::atan2");  // (Tensor self, Tensor other)
  EXPECT_EQ(FindRow("aten::no_such_operator"), nullptr);
}

}  // namespace
}  // namespace rules_onnx::lowering
