#include "exporter/onnx/model_test_util.h"

#include <gtest/gtest.h>

#include <utility>

#include "exporter/files/atomic_file.h"
#include "exporter/files/input_file.h"

namespace rules_onnx::onnx_format {

using builder::Value;

Value* TestModel::NewValue(std::string name, ir::DType dtype, std::optional<ir::Shape> shape) {
  auto value = std::make_unique<Value>();
  value->id = static_cast<int32_t>(model.values.size());
  value->name = std::move(name);
  value->type.dtype = dtype;
  value->type.shape = std::move(shape);
  model.values.push_back(std::move(value));
  return model.values.back().get();
}

Value* TestModel::Input(std::string name, ir::DType dtype, ir::Shape shape) {
  Value* value = NewValue(std::move(name), dtype, std::move(shape));
  model.graph.inputs.push_back(value);
  return value;
}

Value* TestModel::Constant(std::string name, ir::DType dtype, std::vector<int64_t> shape,
                           std::string bytes) {
  Value* value = NewValue(std::move(name), dtype, ir::Shape(shape.begin(), shape.end()));
  auto literal = std::make_shared<ir::TensorLiteral>();
  literal->dtype = dtype;
  literal->shape = std::move(shape);
  literal->bytes = std::move(bytes);
  value->literal = std::move(literal);
  model.initializers.push_back(value);
  return value;
}

Value* TestModel::Weight(std::string name, ir::DType dtype, std::vector<int64_t> shape,
                         const std::string& bytes) {
  Value* value = NewValue(name, dtype, ir::Shape(shape.begin(), shape.end()));
  value->weight = static_cast<int>(weights.size());
  model.initializers.push_back(value);
  weights_bytes.resize((weights_bytes.size() + 63) / 64 * 64);
  ir::Weight weight;
  weight.name = std::move(name);
  weight.offset = weights_bytes.size();
  weight.bytes = bytes.size();
  weights.push_back(std::move(weight));
  weights_bytes += bytes;
  return value;
}

Value* TestModel::TiedWeight(std::string name, const Value& to) {
  Value* value = NewValue(name, to.type.dtype, to.type.shape);
  value->weight = static_cast<int>(weights.size());
  model.initializers.push_back(value);
  ir::Weight weight;
  weight.name = std::move(name);
  weight.offset = weights[to.weight].offset;
  weight.bytes = weights[to.weight].bytes;
  weights.push_back(std::move(weight));
  return value;
}

Value* TestModel::Node(std::string op_type, std::vector<Value*> inputs, Value* output,
                       builder::Attrs attrs, builder::Graph* graph) {
  auto node = std::make_unique<builder::Node>();
  node->op_type = std::move(op_type);
  node->name = "/node/" + output->name;
  node->inputs = std::move(inputs);
  node->outputs = {output};
  node->attrs = std::move(attrs);
  node->source = output->id;
  (graph != nullptr ? graph : &model.graph)->nodes.push_back(std::move(node));
  return output;
}

absl::Status TestModel::Write(WriteOptions options, const std::string& name) {
  options.weights_path = weights_folder.File("x.weights");
  if (auto status = files::WriteFile(options.weights_path, weights_bytes); !status.ok()) {
    return status;
  }
  return WriteModel(model, weights, options, folder.File(name));
}

std::string TestModel::Bytes(const std::string& name) {
  const absl::StatusOr<std::string> bytes = files::ReadFile(folder.File(name));
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.ok() ? *bytes : "";
}

onnx::ModelProto TestModel::Read(const std::string& name) {
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(Bytes(name)));
  return proto;
}

void AddLinear(TestModel* test) {
  using ir::DType;
  const ir::Dim n = ir::Dim::Symbol("N");
  Value* x = test->Input("x", DType::kFloat32, {n, 4});
  Value* w = test->Weight("fc.weight", DType::kFloat32, {4, 64}, std::string(1024, '\1'));
  Value* b = test->Weight("fc.bias", DType::kFloat32, {64}, std::string(256, '\2'));
  Value* product = test->NewValue("product", DType::kFloat32, ir::Shape{n, 64});
  Value* y = test->NewValue("y", DType::kFloat32, ir::Shape{n, 64});
  test->Node("MatMul", {x, w}, product);
  test->Node("Add", {product, b}, y);
  test->Output(y);
}

}  // namespace rules_onnx::onnx_format
