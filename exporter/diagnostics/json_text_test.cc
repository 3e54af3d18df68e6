#include "exporter/diagnostics/json_text.h"

#include <string>

#include "gtest/gtest.h"

namespace rules_onnx::diagnostics {
namespace {

TEST(JsonTextTest, Escapes) {
  EXPECT_EQ(JsonText(""), "\"\"");
  EXPECT_EQ(JsonText("a\"b\\c\n\t\r"), R"("a\"b\\c\n\t\r")");
  EXPECT_EQ(JsonText(std::string("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
}

TEST(JsonTextTest, KeepsUtf8) {
  EXPECT_EQ(JsonText("3× 漢 😀"), "\"3× 漢 😀\"");
}

TEST(JsonTextTest, ReplacesWhatIsNotUtf8) {
  const std::string r = "\xef\xbf\xbd";
  EXPECT_EQ(JsonText("a\xff" "b"), "\"a" + r + "b\"");
  EXPECT_EQ(JsonText("\xc3"), "\"" + r + "\"");                             // cut off
  EXPECT_EQ(JsonText("\xc0\xaf"), "\"" + r + r + "\"");                     // overlong
  EXPECT_EQ(JsonText("\xed\xa0\x80"), "\"" + r + r + r + "\"");             // surrogate
  EXPECT_EQ(JsonText("\xf4\x90\x80\x80"), "\"" + r + r + r + r + "\"");     // above U+10FFFF
  EXPECT_EQ(JsonText("\xe6\xbc" "a"), "\"" + r + r + "a\"");
}

}  // namespace
}  // namespace rules_onnx::diagnostics
