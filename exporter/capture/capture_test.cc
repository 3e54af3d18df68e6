#include "exporter/capture/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exporter/files/input_file.h"
#include "exporter/files/test_folder.h"
#include "exporter/ir/schema.h"
#include "exporter/weights/tensor_source.h"

namespace rules_onnx::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ir::Type Float32(std::vector<int64_t> shape) {
  return ir::Type::Tensor(ir::DType::kFloat32, ir::Shape(shape.begin(), shape.end()));
}

// A program whose weights hold the given numbers.
class TestProgram {
 public:
  ir::Value* Input(std::string name, std::vector<int64_t> shape) {
    program_.graph.main.params.push_back(
        program_.graph.NewValue(Float32(std::move(shape)), std::move(name)));
    return program_.graph.main.params.back();
  }

  ir::Value* Weight(std::string name, std::vector<int64_t> shape, std::vector<float> numbers) {
    ir::Value* value = program_.graph.NewValue(Float32(shape), name);
    program_.graph.weights.push_back({.value = value, .name = std::move(name)});
    auto owner = std::make_shared<std::vector<float>>(std::move(numbers));
    const absl::string_view bytes(reinterpret_cast<const char*>(owner->data()),
                                  owner->size() * sizeof(float));
    program_.sources.push_back(
        weights::MemorySource(ir::DType::kFloat32, std::move(shape), bytes, owner));
    return value;
  }

  ir::Value* Op(const std::string& op, std::vector<ir::Arg> args, std::vector<int64_t> shape) {
    std::vector<ir::NamedArg> named;
    for (ir::Arg& arg : args) named.push_back({"", std::move(arg)});
    auto node = program_.graph.NewNode(op, std::move(named));
    EXPECT_TRUE(ir::BindToSchema(*ir::FindSchema(op), node.get()).ok());
    node->outputs.push_back(program_.graph.NewValue(Float32(std::move(shape))));
    program_.graph.main.nodes.push_back(std::move(node));
    return program_.graph.main.nodes.back()->output();
  }

  void Output(ir::Arg value) {
    program_.graph.output_names.push_back("y" +
                                          std::to_string(program_.graph.output_names.size()));
    program_.graph.main.results.push_back(std::move(value));
  }

  Program Take() { return std::move(program_); }

 private:
  Program program_;
};

class CaptureTest : public ::testing::Test {
 protected:
  absl::Status Finish(Program program, const CaptureOptions& options = {}) {
    return FinishCapture(std::move(program), options,
                         {folder_.File("x.graph"), folder_.File("x.weights"),
                          folder_.File("x.debug")},
                         &diagnostics_);
  }

  std::string ReadFile(const std::string& name) {
    auto file = files::InputFile::Open(folder_.File(name));
    EXPECT_TRUE(file.ok()) << file.status();
    std::string bytes(file->size(), '\0');
    EXPECT_TRUE(file->Read(0, bytes.size(), bytes.data()).ok());
    return bytes;
  }

  ir::Graph Graph() {
    auto graph = ir::ParseGraph(ReadFile("x.graph"));
    EXPECT_TRUE(graph.ok()) << graph.status();
    return *std::move(graph);
  }

  std::vector<std::string> Names(const ir::Graph& graph) {
    std::vector<std::string> names;
    for (const ir::Weight& weight : graph.weights) names.push_back(weight.name);
    return names;
  }

  std::vector<float> Numbers(const ir::Graph& graph, const std::string& name) {
    const std::string bytes = ReadFile("x.weights");
    for (const ir::Weight& weight : graph.weights) {
      if (weight.name != name) continue;
      std::vector<float> numbers(weight.bytes / sizeof(float));
      std::memcpy(numbers.data(), bytes.data() + weight.offset, weight.bytes);
      return numbers;
    }
    ADD_FAILURE() << "no weight " << name;
    return {};
  }

  files::TestFolder folder_;
  diagnostics::Diagnostics diagnostics_;
};

// Two output channels; the scales are 3 / sqrt(3 + 1) and 5 / sqrt(24 + 1).
Program ConvolutionAndNorm(bool weight_is_shared) {
  TestProgram p;
  ir::Value* x = p.Input("x", {1, 2, 4, 4});
  ir::Value* weight = p.Weight("conv.weight", {2, 2, 1, 1}, {1, 2, 3, 4});
  ir::Value* gamma = p.Weight("bn.weight", {2}, {3, 5});
  ir::Value* beta = p.Weight("bn.bias", {2}, {10, 20});
  ir::Value* mean = p.Weight("bn.running_mean", {2}, {2, 4});
  ir::Value* variance = p.Weight("bn.running_var", {2}, {3, 24});
  ir::Value* conv = p.Op("aten::conv2d", {x, weight, ir::Arg()}, {1, 2, 4, 4});
  ir::Value* norm = p.Op("aten::batch_norm",
                         {conv, gamma, beta, mean, variance, false, 0.1, 1.0, true},
                         {1, 2, 4, 4});
  p.Output(norm);
  if (weight_is_shared) p.Output(p.Op("aten::sin", {weight}, {2, 2, 1, 1}));
  return p.Take();
}

TEST_F(CaptureTest, BatchNormGoesIntoTheConvolution) {
  ASSERT_TRUE(Finish(ConvolutionAndNorm(false)).ok());
  const ir::Graph graph = Graph();
  EXPECT_THAT(Names(graph), ElementsAre("conv.weight.folded", "conv.bias.folded"));
  EXPECT_THAT(Numbers(graph, "conv.weight.folded"), ElementsAre(1.5f, 3.0f, 3.0f, 4.0f));
  EXPECT_THAT(Numbers(graph, "conv.bias.folded"), ElementsAre(7.0f, 16.0f));
  ASSERT_EQ(graph.main.nodes.size(), 1u);
}

TEST_F(CaptureTest, BatchNormStaysWhereFoldingIsOff) {
  ASSERT_TRUE(Finish(ConvolutionAndNorm(false), {.do_constant_folding = false}).ok());
  EXPECT_EQ(Graph().main.nodes.size(), 2u);
  ASSERT_TRUE(Finish(ConvolutionAndNorm(false), {.training = Training::kPreserve}).ok());
  EXPECT_EQ(Graph().main.nodes.size(), 2u);
}

TEST_F(CaptureTest, SharedWeightIsNotFolded) {
  ASSERT_TRUE(Finish(ConvolutionAndNorm(true)).ok());
  EXPECT_THAT(Names(Graph()), ElementsAre("conv.weight", "bn.weight", "bn.bias",
                                          "bn.running_mean", "bn.running_var"));
}

// Two BatchNorms in a row; with `is_read`, something else reads what is between them.
Program ConvolutionAndTwoNorms(bool is_read) {
  TestProgram p;
  ir::Value* x = p.Input("x", {1, 1, 4, 4});
  ir::Value* weight = p.Weight("conv.weight", {1, 1, 1, 1}, {1});
  ir::Value* mean = p.Weight("mean", {1}, {0});
  ir::Value* variance = p.Weight("var", {1}, {3});
  const auto norm = [&](ir::Value* value) {
    return p.Op("aten::batch_norm",
                {value, ir::Arg(), ir::Arg(), mean, variance, false, 0.1, 1.0, true},
                {1, 1, 4, 4});
  };
  ir::Value* first = norm(p.Op("aten::conv2d", {x, weight, ir::Arg()}, {1, 1, 4, 4}));
  p.Output(norm(first));
  if (is_read) p.Output(p.Op("aten::sin", {first}, {1, 1, 4, 4}));
  return p.Take();
}

TEST_F(CaptureTest, BatchNormsInARowGoIntoTheConvolution) {
  ASSERT_TRUE(Finish(ConvolutionAndTwoNorms(false)).ok());
  const ir::Graph graph = Graph();
  EXPECT_EQ(graph.main.nodes.size(), 1u);
  EXPECT_THAT(Numbers(graph, "conv.weight.folded.folded"), ElementsAre(0.25f));
}

TEST_F(CaptureTest, BatchNormOfAFoldedOneThatOthersReadStays) {
  ASSERT_TRUE(Finish(ConvolutionAndTwoNorms(true)).ok());
  const ir::Graph graph = Graph();
  ASSERT_EQ(graph.main.nodes.size(), 3u);
  EXPECT_EQ(graph.main.nodes[1]->op, "aten::batch_norm");
  EXPECT_THAT(Numbers(graph, "conv.weight.folded"), ElementsAre(0.5f));
}

// Weight [in 2, out of a group 1] with 2 groups: row 0 belongs to channel 0, row 1 to channel 1.
TEST_F(CaptureTest, BatchNormGoesIntoTheTransposedConvolution) {
  TestProgram p;
  ir::Value* x = p.Input("x", {1, 2, 4});
  ir::Value* weight = p.Weight("up.weight", {2, 1, 2}, {1, 2, 3, 4});
  ir::Value* bias = p.Weight("up.bias", {2}, {1, 1});
  ir::Value* mean = p.Weight("mean", {2}, {0, 0});
  ir::Value* variance = p.Weight("var", {2}, {3, 0});
  ir::Value* conv =
      p.Op("aten::conv_transpose1d",
           {x, weight, bias, ir::Arg::Ints({1}), ir::Arg::Ints({0}), ir::Arg::Ints({0}), 2},
           {1, 2, 5});
  p.Output(p.Op("aten::batch_norm",
                {conv, ir::Arg(), ir::Arg(), mean, variance, false, 0.1, 1.0, true},
                {1, 2, 5}));
  ASSERT_TRUE(Finish(p.Take()).ok());
  const ir::Graph graph = Graph();
  EXPECT_THAT(Numbers(graph, "up.weight.folded"), ElementsAre(0.5f, 1.0f, 3.0f, 4.0f));
  EXPECT_THAT(Numbers(graph, "up.bias.folded"), ElementsAre(0.5f, 1.0f));
}

TEST_F(CaptureTest, MovedWeightsAreStoredAsTheyAreRead) {
  TestProgram p;
  ir::Value* x = p.Input("x", {1, 2});
  ir::Value* weight = p.Weight("w", {3, 2}, {1, 2, 3, 4, 5, 6});
  ir::Value* t = p.Op("aten::t", {weight}, {2, 3});
  ir::Value* cut = p.Op("aten::slice.Tensor", {t, 1, 1, ir::Arg(), 1}, {2, 2});
  p.Output(p.Op("aten::mm", {x, cut}, {1, 2}));
  ASSERT_TRUE(Finish(p.Take()).ok());
  const ir::Graph graph = Graph();
  ASSERT_EQ(graph.weights.size(), 1u);
  EXPECT_THAT(Numbers(graph, graph.weights[0].name), ElementsAre(3, 5, 4, 6));
}

TEST_F(CaptureTest, UnusedWeightsAreDroppedAfterTheyWereNamed) {
  TestProgram p;
  ir::Value* x = p.Input("x", {2});
  p.Weight("unused", {1}, {1});
  p.Output(p.Op("aten::add.Tensor", {x, p.Weight("used", {2}, {1, 2})}, {2}));
  ASSERT_TRUE(Finish(p.Take(), {.input_names = {"a", "b", "c"}}).ok());
  const ir::Graph graph = Graph();
  EXPECT_EQ(graph.main.params[0]->name, "a");
  EXPECT_THAT(Names(graph), ElementsAre("c"));
}

TEST_F(CaptureTest, TooManyNamesAreRefused) {
  TestProgram p;
  p.Output(p.Input("x", {2}));
  const absl::Status status = Finish(p.Take(), {.input_names = {"a", "b"}});
  EXPECT_THAT(std::string(status.message()), HasSubstr("gives 2 names"));
}

}  // namespace
}  // namespace rules_onnx::capture
