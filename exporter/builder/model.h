// The ONNX model in memory: what lowering builds and the writer turns into a ModelProto.
//
// Plain data, in SSA form. A Graph owns its nodes and values; inner graphs (If, Loop) may use
// values of outer ones. Weights are named here and never held: their bytes stay in x.weights.
#ifndef RULES_ONNX_EXPORTER_BUILDER_MODEL_H_
#define RULES_ONNX_EXPORTER_BUILDER_MODEL_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "exporter/ir/graph.h"

namespace rules_onnx::builder {

using ir::Dim;
using ir::DType;
using ir::Shape;
using ir::TensorLiteral;

struct Graph;

// A tensor, or a sequence, optional or optional sequence of tensors of this type.
struct ValueType {
  enum class Kind { kTensor, kSequence, kOptional, kOptionalSequence };
  Kind kind = Kind::kTensor;
  DType dtype = DType::kUndefined;
  std::optional<Shape> shape = std::nullopt;  // nullopt: rank unknown
};

struct Value {
  int32_t id = 0;       // unique in the model, in order of creation
  std::string name;     // unique in the model; empty until OrderAndName where the program gives none
  ValueType type;
  // An initializer: a small constant, or weight number `weight` of the ir graph.
  std::shared_ptr<const TensorLiteral> literal;
  int weight = -1;
};

struct Attr;
using Attrs = std::vector<Attr>;

struct Node {
  std::string domain;   // "" is ai.onnx
  std::string op_type;
  std::string scope;            // where the program has it: "/features/0"
  std::string name;             // given by OrderAndName
  std::vector<Value*> inputs;   // nullptr: an optional input left out
  std::vector<Value*> outputs;  // nullptr: an optional output left out
  Attrs attrs;
  int32_t source = -1;  // id of the ir node it comes from, for doc strings
};

struct Graph {
  std::string name;
  std::vector<Value*> inputs;
  std::vector<Value*> outputs;
  std::vector<std::unique_ptr<Node>> nodes;
};

struct Attr {
  using Data = std::variant<int64_t, float, std::string, DType, std::vector<int64_t>, std::vector<float>,
                            std::vector<std::string>, std::shared_ptr<const TensorLiteral>,
                            std::shared_ptr<Graph>, ValueType>;
  std::string name;
  Data data;

  Attr(std::string name, Data data) : name(std::move(name)), data(std::move(data)) {}
  Attr(std::string name, int value) : Attr(std::move(name), Data(int64_t{value})) {}
  Attr(std::string name, int64_t value) : Attr(std::move(name), Data(value)) {}
  Attr(std::string name, bool value) : Attr(std::move(name), Data(int64_t{value})) {}
  Attr(std::string name, double value) : Attr(std::move(name), Data(static_cast<float>(value))) {}
  Attr(std::string name, const char* value) : Attr(std::move(name), Data(std::string(value))) {}
};

struct Model {
  Graph graph;                     // inputs and outputs in the program's order
  int opset = 0;
  std::map<std::string, int> custom_opsets;  // domain → version
  std::deque<std::unique_ptr<Value>> values;
  std::vector<Value*> initializers;          // literals and weights, in order of first use
};

}  // namespace rules_onnx::builder

#endif  // RULES_ONNX_EXPORTER_BUILDER_MODEL_H_
