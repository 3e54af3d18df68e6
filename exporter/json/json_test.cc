#include "exporter/json/json.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace rules_onnx::json {
namespace {

JsonDocument Parse(absl::string_view text) { return JsonDocument::Parse("m.json", text).value(); }

std::string Message(const JsonDocument& document) {
  return std::string(document.status().message());
}

TEST(JsonTest, Values) {
  const JsonDocument document =
      Parse(R"({"s": "x", "i": -3, "b": true, "d": 1.5, "n": null, "a": [1, 2]})");
  const Json& root = document.root();
  EXPECT_EQ(root.Field("s").String(), "x");
  EXPECT_EQ(root.Field("i").Int(), -3);
  EXPECT_TRUE(root.Field("b").Bool());
  EXPECT_EQ(root.Field("d").Double(), 1.5);
  EXPECT_EQ(root.Field("i").Double(), -3.0);
  EXPECT_TRUE(root.Field("n").is_null());
  EXPECT_TRUE(root.Optional("missing").is_null());
  int64_t sum = 0;
  root.Field("a").ForEachItem([&](const Json& item) { sum += item.Int(); });
  EXPECT_EQ(sum, 3);
  EXPECT_TRUE(document.status().ok());
}

TEST(JsonTest, FloatsThatJsonDoesNotHave) {
  const JsonDocument document = Parse(R"(["Infinity", "-Infinity", "NaN"])");
  std::vector<double> values;
  document.root().ForEachItem([&](const Json& item) { values.push_back(item.Double()); });
  ASSERT_EQ(values.size(), 3);
  EXPECT_EQ(values[0], HUGE_VAL);
  EXPECT_EQ(values[1], -HUGE_VAL);
  EXPECT_TRUE(std::isnan(values[2]));
}

TEST(JsonTest, ErrorsNameThePlace) {
  const JsonDocument document = Parse(R"({"graph": {"nodes": [{"target": 3}]}})");
  const Json graph = document.root().Field("graph");
  const Json nodes = graph.Field("nodes");
  nodes.ForEachItem([](const Json& node) { EXPECT_EQ(node.Field("target").String(), ""); });
  EXPECT_EQ(Message(document), "m.json: graph.nodes[0].target: expected a string, found a number");
}

TEST(JsonTest, FirstErrorStays) {
  const JsonDocument document = Parse(R"({"a": 1})");
  document.root().Field("b").Int();
  document.root().Field("a").String();
  EXPECT_EQ(Message(document), "m.json: has no member 'b'");
}

TEST(JsonTest, WrongContainers) {
  const JsonDocument list = Parse("[1]");
  list.root().Field("x").Int();
  EXPECT_EQ(Message(list), "m.json: expected an object, found a list");
  const JsonDocument object = Parse("{}");
  object.root().ForEachItem([](const Json&) { FAIL(); });
  EXPECT_EQ(Message(object), "m.json: expected a list, found an object");
}

// Python's integers have no bounds, and torch writes such for sizes without one.
TEST(JsonTest, IntegersBeyondInt64) {
  const JsonDocument document =
      Parse(R"(["a\\\"9", 36893488147419103224, -36893488147419103224, 9223372036854775807,
               0.36893488147419103224, 36893488147419103224.5e-1, -9223372036854775808])");
  std::vector<Json> items;
  document.root().ForEachItem([&](const Json& item) { items.push_back(item); });
  ASSERT_EQ(items.size(), 7);
  EXPECT_EQ(items[0].String(), "a\\\"9");
  EXPECT_EQ(items[1].Int(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(items[2].Int(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(items[3].Int(), std::numeric_limits<int64_t>::max());
  EXPECT_DOUBLE_EQ(items[4].Double(), 0.36893488147419103224);
  EXPECT_DOUBLE_EQ(items[5].Double(), 3689348814741910322.45);
  EXPECT_EQ(items[6].Int(), std::numeric_limits<int64_t>::min());
  EXPECT_TRUE(document.status().ok());
}

TEST(JsonTest, IntegersThatOnlyFitWithoutASignAreErrors) {
  for (const char* text : {"[18446744073709551615]", "[18446744073709551615, 36893488147419103224]"}) {
    const JsonDocument document = Parse(text);
    document.root().ForEachItem([](const Json& item) { item.Int(); });
    EXPECT_EQ(Message(document), "m.json: [0]: expected an integer of 64 bits, found a number");
  }
}

TEST(JsonTest, NoJson) {
  EXPECT_FALSE(JsonDocument::Parse("m.json", "").ok());
  EXPECT_FALSE(JsonDocument::Parse("m.json", "{\"a\": ").ok());
  EXPECT_FALSE(JsonDocument::Parse("m.json", std::string(100000, '[')).ok());
}

}  // namespace
}  // namespace rules_onnx::json
