#include "exporter/onnx/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "exporter/files/atomic_file.h"
#include "exporter/onnx/model_test_util.h"
#include "exporter/onnx/proto.h"

namespace rules_onnx::onnx_format {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ir::DType;

std::string Entry(const onnx::TensorProto& tensor, const std::string& key) {
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == key) return entry.value();
  }
  return "";
}

// The bytes that an external tensor of a model in `folder` points at.
std::string ExternalBytes(TestModel* test, const onnx::TensorProto& tensor) {
  return test->Bytes(Entry(tensor, "location"))
      .substr(std::stoull(Entry(tensor, "offset")), std::stoull(Entry(tensor, "length")));
}

TEST(WriterTest, StreamsWhatProtobufWouldWrite) {
  TestModel test;
  AddLinear(&test);
  ASSERT_TRUE(test.Write({.metadata = {{"b", "2"}, {"a", "1"}}}).ok());
  const onnx::ModelProto model = test.Read();
  EXPECT_EQ(model.SerializeAsString(), test.Bytes("m.onnx"));
  ASSERT_EQ(model.graph().initializer_size(), 2);
  EXPECT_EQ(model.graph().initializer(0).raw_data(), std::string(1024, '\1'));
  EXPECT_EQ(model.graph().initializer(1).raw_data(), std::string(256, '\2'));
  EXPECT_EQ(model.ir_version(), 8);
  EXPECT_EQ(model.producer_name(), "rules_onnx");
  EXPECT_EQ(model.opset_import(0).version(), 18);
  EXPECT_EQ(model.metadata_props(0).key(), "a");
  EXPECT_EQ(model.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "N");
  EXPECT_THAT(test.folder.List(), ElementsAre("m.onnx"));
}

TEST(WriterTest, SingleHoldsEachExternalTensorOnce) {
  TestModel test;
  AddLinear(&test);
  auto* tied = test.TiedWeight("tied", *test.model.initializers[0]);
  auto* big = test.Weight("big", DType::kFloat32, {64, 512}, std::string(131072, '\3'));
  auto* a = test.NewValue("a", DType::kFloat32, ir::Shape{ir::Dim::Symbol("N"), 64});
  auto* b = test.NewValue("b", DType::kFloat32, ir::Shape{ir::Dim::Symbol("N"), 512});
  test.Node("MatMul", {test.model.graph.inputs[0], tied}, a);
  test.Node("MatMul", {a, big}, b);
  test.Output(b);
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(test.Write({.external_data = ExternalData::kSingle}).ok());
    const onnx::ModelProto model = test.Read();
    ASSERT_EQ(model.graph().initializer_size(), 3);
    EXPECT_EQ(model.graph().node(2).input(1), "fc.weight");
    EXPECT_EQ(ExternalBytes(&test, model.graph().initializer(0)), std::string(1024, '\1'));
    EXPECT_EQ(model.graph().initializer(1).raw_data().size(), 256u);
    EXPECT_EQ(ExternalBytes(&test, model.graph().initializer(2)), std::string(131072, '\3'));
    EXPECT_EQ(Entry(model.graph().initializer(2), "offset"), "4096");
    EXPECT_EQ(test.Bytes("m.onnx.data").size(), 4096u + 131072u);
    EXPECT_THAT(test.folder.List(), ElementsAre("m.onnx", "m.onnx.data"));
  }
}

TEST(WriterTest, PerTensorReplacesItsFolder) {
  TestModel test;
  AddLinear(&test);
  auto* odd = test.Weight("../FC..weight/1", DType::kFloat32, {4, 64}, std::string(1024, '\4'));
  auto* a = test.NewValue("a", DType::kFloat32, ir::Shape{ir::Dim::Symbol("N"), 64});
  test.Node("MatMul", {test.model.graph.inputs[0], odd}, a);
  test.Output(a);
  std::filesystem::create_directory(test.folder.File("m.onnx.data"));
  ASSERT_TRUE(files::WriteFile(test.folder.File("m.onnx.data/old"), "old").ok());
  ASSERT_TRUE(test.Write({.external_data = ExternalData::kPerTensor}).ok());
  const onnx::ModelProto model = test.Read();
  EXPECT_EQ(ExternalBytes(&test, model.graph().initializer(0)), std::string(1024, '\1'));
  EXPECT_EQ(ExternalBytes(&test, model.graph().initializer(2)), std::string(1024, '\4'));
  EXPECT_EQ(Entry(model.graph().initializer(0), "location"), "m.onnx.data/fc.weight");
  EXPECT_EQ(Entry(model.graph().initializer(2), "location"), "m.onnx.data/_._FC._weight_1");
  EXPECT_FALSE(std::filesystem::exists(test.folder.File("m.onnx.data/old")));
  EXPECT_THAT(test.folder.List(), ElementsAre("m.onnx", "m.onnx.data"));
}

TEST(WriterTest, PerTensorLeavesAForeignFolderAlone) {
  TestModel test;
  AddLinear(&test);
  std::filesystem::create_directories(test.folder.File("m.onnx.data/precious"));
  const absl::Status status = test.Write({.external_data = ExternalData::kPerTensor});
  EXPECT_THAT(std::string(status.message()), HasSubstr("precious"));
  EXPECT_THAT(test.folder.List(), ElementsAre("m.onnx.data"));
}

TEST(WriterTest, SharedPointsIntoTheWeightsFile) {
  TestModel test;
  AddLinear(&test);
  auto* empty = test.Weight("empty", DType::kFloat32, {0, 64}, "");
  auto* y = test.NewValue("z", DType::kFloat32, ir::Shape{ir::Dim::Symbol("N"), 64});
  test.Node("Concat", {test.model.graph.outputs[0], empty}, y, {{"axis", 0}});
  test.Output(y);
  WriteOptions options{.external_data = ExternalData::kShared, .weights_name = "x.weights"};
  ASSERT_TRUE(WriteModel(test.model, test.weights, options, test.folder.File("m.onnx")).ok());
  const onnx::ModelProto model = test.Read();
  EXPECT_THAT(test.folder.List(), ElementsAre("m.onnx"));
  EXPECT_EQ(Entry(model.graph().initializer(0), "location"), "x.weights");
  EXPECT_EQ(Entry(model.graph().initializer(1), "offset"), "1024");
  EXPECT_EQ(Entry(model.graph().initializer(1), "length"), "256");
  EXPECT_FALSE(model.graph().initializer(2).has_data_location());
  options.weights_name = "../x.weights";
  EXPECT_FALSE(WriteModel(test.model, test.weights, options, test.folder.File("n.onnx")).ok());
  EXPECT_THAT(test.folder.List(), ElementsAre("m.onnx"));
}

TEST(WriterTest, TooLargeForOneFileNamesTheOption) {
  TestModel test;
  const uint64_t bytes = uint64_t{3} << 30;
  auto* x = test.Input("x", DType::kFloat32, {2, 1 << 15});
  auto* w = test.Weight("w", DType::kFloat32, {1 << 15, 3 << 13}, "");
  test.weights[0].bytes = bytes;
  auto* y = test.NewValue("y", DType::kFloat32, ir::Shape{2, 3 << 13});
  test.Node("MatMul", {x, w}, y);
  test.Output(y);
  const std::string weights = test.weights_folder.File("big");
  ASSERT_TRUE(files::WriteFile(weights, "").ok());
  std::filesystem::resize_file(weights, bytes);
  WriteOptions options{.weights_path = weights};
  const absl::Status status =
      WriteModel(test.model, test.weights, options, test.folder.File("m.onnx"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--external-data"));
  EXPECT_TRUE(test.folder.List().empty());
}

TEST(WriterTest, WeightOutsideItsFileIsAnError) {
  TestModel test;
  AddLinear(&test);
  test.weights_bytes.resize(1100);
  for (const auto layout : {ExternalData::kNone, ExternalData::kSingle, ExternalData::kPerTensor,
                            ExternalData::kShared}) {
    const absl::Status status =
        test.Write({.external_data = layout, .weights_name = "x.weights"});
    EXPECT_THAT(std::string(status.message()), HasSubstr("fc.bias"));
    EXPECT_TRUE(test.folder.List().empty());
  }
}

TEST(WriterTest, ErrorsLeaveNoFile) {
  TestModel test;
  AddLinear(&test);
  EXPECT_THAT(std::string(test.Write({}, "missing/m.onnx").message()), HasSubstr("missing"));
  std::filesystem::create_directory(test.folder.File("m.onnx.data"));
  EXPECT_FALSE(test.Write({.external_data = ExternalData::kSingle}).ok());
  EXPECT_THAT(test.folder.List(), ElementsAre("m.onnx.data"));
}

TEST(WriterTest, ParametersAsInputs) {
  TestModel test;
  AddLinear(&test);
  for (auto* initializer : test.model.initializers) {
    test.model.graph.inputs.push_back(initializer);
  }
  ASSERT_TRUE(test.Write({}).ok());
  EXPECT_EQ(test.Read().graph().input_size(), 3);
  EXPECT_EQ(test.Read().graph().initializer_size(), 2);
  test.model.initializers.clear();
  ASSERT_TRUE(test.Write({}).ok());
  EXPECT_EQ(test.Read().graph().input(2).name(), "fc.bias");
  EXPECT_EQ(test.Read().graph().initializer_size(), 0);
}

TEST(WriterTest, DocStringsAndAttributes) {
  TestModel test;
  auto* x = test.Input("x", DType::kFloat32, {2, 3});
  auto* y = test.NewValue("y", DType::kInt64, ir::Shape{2, 1, 3});
  auto* axes = test.Constant("axes", DType::kInt64, {1}, std::string("\1\0\0\0\0\0\0\0", 8));
  auto* cast = test.NewValue("cast", DType::kInt64, ir::Shape{2, 3});
  test.Node("Cast", {x}, cast, {{"to", DType::kInt64}});
  test.Node("Unsqueeze", {cast, axes}, y);
  test.Output(y);
  ASSERT_TRUE(test.Write({.doc_strings = {{cast->id, "m.py:3"}}}).ok());
  const onnx::GraphProto graph = test.Read().graph();
  EXPECT_EQ(graph.node(0).doc_string(), "m.py:3");
  EXPECT_FALSE(graph.node(1).has_doc_string());
  EXPECT_EQ(graph.node(0).attribute(0).i(), onnx::TensorProto::INT64);
}

TEST(WriterTest, OptionalTypes) {
  using Kind = builder::ValueType::Kind;
  TestModel test;
  const builder::ValueType list{Kind::kSequence, DType::kInt64, ir::Shape{3}};
  auto* y = test.NewValue("y", DType::kInt64, ir::Shape{3});
  y->type.kind = Kind::kOptionalSequence;
  test.Node("Optional", {}, y, {{"type", list}});
  test.Output(y);
  ASSERT_TRUE(test.Write({}).ok());
  const onnx::GraphProto graph = test.Read().graph();
  const onnx::TypeProto& type = graph.node(0).attribute(0).tp();
  EXPECT_EQ(graph.node(0).attribute(0).type(), onnx::AttributeProto::TYPE_PROTO);
  EXPECT_EQ(type.sequence_type().elem_type().tensor_type().elem_type(), onnx::TensorProto::INT64);
  EXPECT_EQ(graph.output(0).type().optional_type().elem_type().SerializeAsString(),
            type.SerializeAsString());
}

TEST(IrVersionTest, IsTheLowestForEachOpset) {
  const int expected[] = {4, 5, 6, 7, 7, 7, 8, 8, 8, 8, 9, 9, 10, 10, 11, 12, 13, 13, 13, 14};
  for (int opset = 9; opset <= 28; ++opset) EXPECT_EQ(IrVersion(opset), expected[opset - 9]);
  EXPECT_EQ(IrVersion(8), 0);
  EXPECT_EQ(IrVersion(29), 0);
}

}  // namespace
}  // namespace rules_onnx::onnx_format
