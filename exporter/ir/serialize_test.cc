#include "exporter/ir/serialize.h"

#include <random>
#include <string>
#include <vector>

#include "exporter/ir/graph_test_util.h"
#include "exporter/ir/print.h"
#include "exporter/ir/seal.h"
#include "exporter/ir/verify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rules_onnx::ir {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SerializeGraphTest, RoundTrips) {
  Sample sample = MakeSample();
  const std::string bytes = SerializeGraph(&sample.graph);
  absl::StatusOr<Graph> graph = ParseGraph(bytes);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(PrintGraph(*graph), PrintGraph(sample.graph));
  EXPECT_EQ(SerializeGraph(&*graph), bytes);
}

TEST(SerializeGraphTest, KeepsWhatPrintingDoesNotShow) {
  Sample sample = MakeSample();
  Graph& graph = sample.graph;
  const std::string bytes = SerializeGraph(&graph);
  absl::StatusOr<Graph> parsed = ParseGraph(bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->main.nodes.size(), graph.main.nodes.size());
  for (size_t i = 0; i < graph.main.nodes.size(); ++i) {
    const Node& before = *graph.main.nodes[i];
    const Node& after = *parsed->main.nodes[i];
    EXPECT_EQ(after.id, before.id);
    EXPECT_EQ(after.scope, before.scope);
    ASSERT_EQ(after.args.size(), before.args.size());
    for (size_t j = 0; j < before.args.size(); ++j) {
      bool has_value = false;
      before.args[j].value.ForEachValue([&](Value*) { has_value = true; });
      EXPECT_TRUE(has_value || after.args[j].value == before.args[j].value);
    }
  }
  const Type& dict = parsed->main.nodes[4]->output()->type;
  ASSERT_EQ(dict.kind, Type::Kind::kDict);
  EXPECT_THAT(dict.elements[1].field_names, ::testing::ElementsAre("a", "b"));
  EXPECT_TRUE(dict.elements[1].elements[0].shape->at(0).is_unknown());
  const SymbolInfo& info = parsed->symbols.at("N");
  EXPECT_EQ(info.example, 10);
  EXPECT_EQ(info.second, 13);
  EXPECT_EQ(info.min, 1);
  EXPECT_EQ(info.max, 64);
  EXPECT_FALSE(info.data_dependent);
  EXPECT_EQ(parsed->symbols.at("u0").max, std::nullopt);
  EXPECT_TRUE(parsed->symbols.at("u0").data_dependent);
}

TEST(SerializeGraphTest, DoesNotShowIdsOfDroppedNodes) {
  Sample a = MakeSample(), b = MakeSample();
  for (int i = 0; i < 5; ++i) {
    b.graph.NewValue(Type::Scalar(Type::Kind::kInt));
    b.graph.NewNode("aten::relu", {});
  }
  EXPECT_EQ(SerializeGraph(&a.graph), SerializeGraph(&b.graph));
}

TEST(SerializeGraphTest, RenumbersInOrderOfAppearance) {
  Sample sample = MakeSample();
  SerializeGraph(&sample.graph, &sample.debug);
  int32_t next_node = 0;
  ForEachNode(sample.graph.main, [&](const Node& node) { EXPECT_EQ(node.id, next_node++); });
  EXPECT_EQ(sample.graph.num_node_ids(), next_node);
  EXPECT_EQ(sample.graph.weights[0].value->id, 0);
  EXPECT_EQ(sample.graph.main.params[0]->id, 2);
  EXPECT_EQ(sample.graph.main.nodes[0]->output()->id, 4);
  EXPECT_EQ(sample.debug.at(0).line, 12);
  EXPECT_EQ(sample.debug.at(5).line, 20);  // after the If and the node of each of its blocks
}

TEST(SerializeGraphTest, DebugInfoTakesTheScopes) {
  Sample sample = MakeSample(), renamed = MakeSample();
  renamed.graph.main.nodes[0]->scope = "Renamed/Linear[fc]";
  const std::string bytes = SerializeGraph(&sample.graph, &sample.debug);
  EXPECT_EQ(SerializeGraph(&renamed.graph, &renamed.debug), bytes);
  EXPECT_THAT(bytes, Not(HasSubstr("Linear[fc]")));
  EXPECT_EQ(renamed.debug.at(0).scope, "Renamed/Linear[fc]");
  EXPECT_EQ(renamed.debug.at(2).scope, "Net/Chooser[choose]");
  EXPECT_EQ(renamed.debug.at(2).file, "");

  absl::StatusOr<Graph> graph = ParseGraph(bytes);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->main.nodes[0]->scope, "/[fc]");
  RestoreScopes(sample.debug, &*graph);
  EXPECT_EQ(PrintGraph(*graph), PrintGraph(sample.graph));
}

TEST(SerializeDebugTest, RoundTrips) {
  Sample sample = MakeSample();
  SerializeGraph(&sample.graph, &sample.debug);
  const std::string bytes = SerializeDebug(sample.debug);
  const absl::StatusOr<DebugInfo> debug = ParseDebug(bytes);
  ASSERT_TRUE(debug.ok()) << debug.status();
  EXPECT_EQ(debug->at(0).file, "net.py");
  EXPECT_EQ(debug->at(0).text, "x = self.fc(x)");
  EXPECT_EQ(debug->at(0).scope, "Net/Linear[fc]");
  EXPECT_EQ(SerializeDebug(*debug), bytes);
}

TEST(ParseGraphTest, RefusesForeignBytes) {
  Sample sample = MakeSample();
  EXPECT_FALSE(ParseGraph("").ok());
  EXPECT_FALSE(ParseGraph("PK\x03\x04 a zip file").ok());
  EXPECT_FALSE(ParseGraph(SerializeDebug(sample.debug)).ok());
  EXPECT_FALSE(ParseDebug(SerializeGraph(&sample.graph)).ok());
  EXPECT_FALSE(ParseDebug("").ok());
}

TEST(ParseGraphTest, RefusesAGraphThatDoesNotVerify) {
  Sample sample = MakeSample();
  sample.graph.main.nodes[0]->args.pop_back();
  const absl::StatusOr<Graph> graph = ParseGraph(SerializeGraph(&sample.graph));
  EXPECT_THAT(std::string(graph.status().message()),
              HasSubstr("has 2 arguments; its schema has 3"));
}

TEST(ParseGraphTest, RefusesUseBeforeDefinition) {
  Sample sample = MakeSample();
  std::swap(sample.graph.main.nodes[1], sample.graph.main.nodes[2]);
  EXPECT_THAT(std::string(ParseGraph(SerializeGraph(&sample.graph)).status().message()),
              HasSubstr("used before it is defined"));
}

TEST(ParseGraphTest, BoundsNesting) {
  Sample sample = MakeSample();
  Arg nested;
  for (int i = 0; i < 1000; ++i) nested = Arg(Arg::List{std::move(nested)});
  sample.graph.main.results[0] = std::move(nested);
  EXPECT_FALSE(ParseGraph(SerializeGraph(&sample.graph)).ok());
}

// Whatever the damage, the answer is an error or a graph that verifies.
void ExpectSound(const std::string& bytes) {
  absl::StatusOr<Graph> graph = ParseGraph(bytes);
  if (!graph.ok()) return;
  EXPECT_TRUE(VerifyGraph(*graph).ok());
  PrintGraph(*graph);
  SerializeGraph(&*graph);
}

TEST(ParseGraphTest, NoticesAnyDamage) {
  Sample sample = MakeSample();
  const std::string bytes = SerializeGraph(&sample.graph);
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(ParseGraph(bytes.substr(0, i)).ok());
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_FALSE(ParseGraph(damaged).ok());
  }
}

// Damage under a checksum that fits, as a hostile file has it.
TEST(ParseGraphTest, SurvivesDamage) {
  Sample sample = MakeSample();
  const std::string content(*Unseal(SerializeGraph(&sample.graph)));
  for (size_t i = 0; i < content.size(); ++i) {
    ExpectSound(Seal(content.substr(0, i)));
    for (const int flip : {0x01, 0xff}) {
      std::string damaged = content;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      ExpectSound(Seal(damaged));
    }
  }
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::string damaged = content;
    for (int i = 0; i < 8; ++i) damaged[random() % content.size()] = static_cast<char>(random());
    ExpectSound(Seal(damaged));
  }
}

TEST(ParseDebugTest, SurvivesDamage) {
  Sample sample = MakeSample();
  SerializeGraph(&sample.graph, &sample.debug);
  const std::string content(*Unseal(SerializeDebug(sample.debug)));
  for (size_t i = 0; i < content.size(); ++i) {
    std::string damaged = content;
    damaged[i] = static_cast<char>(damaged[i] ^ 0xff);
    const absl::StatusOr<DebugInfo> debug = ParseDebug(Seal(damaged));
    if (debug.ok()) SerializeDebug(*debug);
  }
}

}  // namespace
}  // namespace rules_onnx::ir
