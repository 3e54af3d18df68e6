// Hand-built models for the tests of this folder.
#ifndef RULES_ONNX_EXPORTER_ONNX_MODEL_TEST_UTIL_H_
#define RULES_ONNX_EXPORTER_ONNX_MODEL_TEST_UTIL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exporter/builder/model.h"
#include "exporter/files/test_folder.h"
#include "exporter/onnx/writer.h"
#include "onnx/onnx_pb.h"

namespace rules_onnx::onnx_format {

class TestModel {
 public:
  explicit TestModel(int opset = 18) { model.opset = opset; }

  builder::Value* NewValue(std::string name, ir::DType dtype, std::optional<ir::Shape> shape);
  builder::Value* Input(std::string name, ir::DType dtype, ir::Shape shape);
  builder::Value* Constant(std::string name, ir::DType dtype, std::vector<int64_t> shape,
                           std::string bytes);
  // A weight whose bytes are appended to the weights file.
  builder::Value* Weight(std::string name, ir::DType dtype, std::vector<int64_t> shape,
                         const std::string& bytes);
  // A weight with the place of an earlier one.
  builder::Value* TiedWeight(std::string name, const builder::Value& to);
  // A node of the main graph, or of `graph`, with one output.
  builder::Value* Node(std::string op_type, std::vector<builder::Value*> inputs,
                       builder::Value* output, builder::Attrs attrs = {},
                       builder::Graph* graph = nullptr);
  void Output(builder::Value* value) { model.graph.outputs.push_back(value); }

  // Writes the weights file and then the model as `name` into `folder`.
  absl::Status Write(WriteOptions options, const std::string& name = "m.onnx");
  // The written model.
  onnx::ModelProto Read(const std::string& name = "m.onnx");
  std::string Bytes(const std::string& name);

  builder::Model model;
  std::vector<ir::Weight> weights;
  std::string weights_bytes;
  files::TestFolder folder, weights_folder;
};

// x[N, 4] · w[4, 64] + b[64], both weights: w is external, b is small.
void AddLinear(TestModel* test);

}  // namespace rules_onnx::onnx_format

#endif  // RULES_ONNX_EXPORTER_ONNX_MODEL_TEST_UTIL_H_
