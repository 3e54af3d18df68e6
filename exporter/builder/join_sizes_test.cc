#include "exporter/builder/join_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exporter/builder/builder.h"
#include "exporter/builder/dce.h"
#include "exporter/onnx/op_schemas.h"

namespace rules_onnx::builder {
namespace {

using ::testing::ElementsAre;

class JoinSizesTest : public ::testing::Test {
 protected:
  explicit JoinSizesTest(int opset = 18) : b((model.opset = opset, &model), &schemas) {}

  // "Shape(0,2) Concat": the nodes left of those that the outputs need.
  std::vector<std::string> Joined(const Vals& outputs) {
    for (const Val& output : outputs) model.graph.outputs.push_back(output.get());
    JoinSizes(&model);
    RemoveUnused(&model);
    std::vector<std::string> nodes;
    for (const auto& node : model.graph.nodes) {
      nodes.push_back(node->op_type);
      if (node->op_type != "Shape" || node->attrs.empty()) continue;
      for (const Attr& attr : node->attrs) {
        nodes.back() += " " + attr.name + "=" + std::to_string(std::get<int64_t>(attr.data));
      }
    }
    return nodes;
  }

  onnx_format::OnnxOpSchemas schemas;
  Model model;
  Builder b;
  const Dim n = Dim::Symbol("N"), m = Dim::Symbol("M");
  const Val x = b.Input("x", ValueType{{}, DType::kFloat32, Shape{n, m, 4}});
};

class JoinSizesOldTest : public JoinSizesTest {
 protected:
  JoinSizesOldTest() : JoinSizesTest(14) {}
};

TEST_F(JoinSizesTest, NeighboursAreReadAtOnce) {
  const Val sizes = b.Vector({b.Size(x, 0), b.Size(x, 1), b.Int(8)});
  EXPECT_THAT(Joined({sizes}), ElementsAre("Shape start=0 end=2", "Concat"));
  EXPECT_EQ(sizes.get()->type.shape->size(), 1u);
}

TEST_F(JoinSizesTest, AllSizes) {
  const Val y = b.Input("y", ValueType{{}, DType::kFloat32, Shape{n, m}});
  EXPECT_THAT(Joined({b.Vector({b.Size(y, 0), b.Size(y, 1)})}), ElementsAre("Shape"));
}

TEST_F(JoinSizesTest, OtherOrderStaysApart) {
  EXPECT_THAT(Joined({b.Vector({b.Size(x, 1), b.Size(x, 0)})}),
              ElementsAre("Shape start=1 end=2", "Shape start=0 end=1", "Concat"));
}

TEST_F(JoinSizesTest, WhatOthersReadStays) {
  const Val first = b.Vector({b.Size(x, 0)});
  const Val sizes = b.Vector({b.Size(x, 0), b.Size(x, 1), b.Int(8)});
  EXPECT_THAT(Joined({first, sizes}),
              ElementsAre("Shape start=0 end=1", "Shape start=0 end=2", "Concat"));
}

TEST_F(JoinSizesTest, NumberInArithmetic) {
  const Val twice = b.Mul(b.Size(x, 0), b.Int(2));
  EXPECT_THAT(Joined({b.Vector({twice})}), ElementsAre("Shape", "Gather", "Mul", "Unsqueeze"));
}

TEST_F(JoinSizesOldTest, ShapeHasNoRangeBelowOpset15) {
  EXPECT_THAT(Joined({b.Vector({b.Size(x, 0), b.Int(8)})}),
              ElementsAre("Shape", "Gather", "Unsqueeze", "Concat"));
}

}  // namespace
}  // namespace rules_onnx::builder
