#include "exporter/onnx/proto.h"

#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/onnx/dtypes.h"
#include "exporter/onnx/op_schemas.h"

namespace rules_onnx::onnx_format {
namespace {

using builder::Value;
using ir::DType;

// Overload set for std::visit.
template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

void SetTensorType(const builder::ValueType& type, onnx::TypeProto_Tensor* proto) {
  proto->set_elem_type(ToOnnxType(type.dtype));
  if (!type.shape.has_value()) return;
  onnx::TensorShapeProto* shape = proto->mutable_shape();
  for (const ir::Dim& dim : *type.shape) {
    onnx::TensorShapeProto_Dimension* d = shape->add_dim();
    if (dim.is_number()) {
      d->set_dim_value(dim.value());
    } else if (!dim.is_unknown()) {
      d->set_dim_param(dim.ToString());
    }
  }
}

void SetType(const builder::ValueType& type, onnx::TypeProto* proto) {
  switch (type.kind) {
    case builder::ValueType::Kind::kTensor: break;
    case builder::ValueType::Kind::kSequence:
      proto = proto->mutable_sequence_type()->mutable_elem_type();
      break;
    case builder::ValueType::Kind::kOptional:
      proto = proto->mutable_optional_type()->mutable_elem_type();
      break;
    case builder::ValueType::Kind::kOptionalSequence:
      proto = proto->mutable_optional_type()->mutable_elem_type();
      proto = proto->mutable_sequence_type()->mutable_elem_type();
      break;
  }
  SetTensorType(type, proto->mutable_tensor_type());
}

absl::Status SetLiteral(const ir::TensorLiteral& literal, onnx::TensorProto* proto) {
  if (literal.dtype == DType::kString || ir::IsComplex(literal.dtype)) {
    return absl::UnimplementedError(absl::StrCat("a constant of type ",
                                                 ir::DTypeName(literal.dtype),
                                                 " has no place in an ONNX model"));
  }
  proto->set_data_type(ToOnnxType(literal.dtype));
  for (const int64_t size : literal.shape) proto->add_dims(size);
  if (!literal.bytes.empty()) proto->set_raw_data(literal.bytes);
  return absl::OkStatus();
}

class SkeletonBuilder {
 public:
  SkeletonBuilder(const builder::Model& model, const std::vector<ir::Weight>& weights,
                  const SkeletonOptions& options)
      : model_(model), weights_(weights), options_(options) {}

  absl::StatusOr<Skeleton> Build();

 private:
  void SetHeader();
  absl::Status AddInitializers(onnx::GraphProto* graph);
  absl::Status AddWeight(const Value& value, onnx::TensorProto* tensor);
  bool IsTied(const Value& value);
  absl::Status AddGraph(const builder::Graph& from, onnx::GraphProto* to);
  absl::Status AddNode(const builder::Node& from, onnx::GraphProto* graph);
  absl::Status AddAttribute(const builder::Attr& from, onnx::AttributeProto* to);
  absl::Status AddValue(const Value& value, onnx::ValueInfoProto* to);
  const std::string& Name(const Value* value) const;

  const builder::Model& model_;
  const std::vector<ir::Weight>& weights_;
  const SkeletonOptions& options_;
  Skeleton skeleton_;
  std::set<const Value*> fixed_;  // inputs and outputs of the model keep their names
  std::map<const Value*, const Value*> tied_;
  // Place, element type and shape of a weight → the initializer that has them.
  std::map<std::tuple<uint64_t, uint64_t, int32_t, std::vector<int64_t>>, const Value*> places_;
};

absl::StatusOr<Skeleton> SkeletonBuilder::Build() {
  SetHeader();
  fixed_.insert(model_.graph.inputs.begin(), model_.graph.inputs.end());
  fixed_.insert(model_.graph.outputs.begin(), model_.graph.outputs.end());
  onnx::GraphProto* graph = skeleton_.model.mutable_graph();
  if (auto status = AddInitializers(graph); !status.ok()) return status;
  if (auto status = AddGraph(model_.graph, graph); !status.ok()) return status;
  return std::move(skeleton_);
}

void SkeletonBuilder::SetHeader() {
  onnx::ModelProto& model = skeleton_.model;
  model.set_ir_version(IrVersion(model_.opset));
  model.set_producer_name("rules_onnx");
  model.set_producer_version("0.1");
  onnx::OperatorSetIdProto* opset = model.add_opset_import();
  opset->set_domain("");
  opset->set_version(model_.opset);
  for (const auto& [domain, version] : model_.custom_opsets) {
    onnx::OperatorSetIdProto* custom = model.add_opset_import();
    custom->set_domain(domain);
    custom->set_version(version);
  }
  for (const auto& [key, value] : options_.metadata) {
    onnx::StringStringEntryProto* entry = model.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
}

absl::Status SkeletonBuilder::AddInitializers(onnx::GraphProto* graph) {
  for (const Value* value : model_.initializers) {
    if (value->weight >= 0 && IsTied(*value)) continue;
    onnx::TensorProto* tensor = graph->add_initializer();
    tensor->set_name(value->name);
    skeleton_.weights.push_back(value->weight);
    const absl::Status status =
        value->weight >= 0 ? AddWeight(*value, tensor) : SetLiteral(*value->literal, tensor);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// The static sizes of a weight; nullopt where its type has none.
std::optional<std::vector<int64_t>> Sizes(const Value& value) {
  if (!value.type.shape.has_value()) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const ir::Dim& dim : *value.type.shape) {
    if (!dim.is_number()) return std::nullopt;
    sizes.push_back(dim.value());
  }
  return sizes;
}

bool SkeletonBuilder::IsTied(const Value& value) {
  const ir::Weight& weight = weights_.at(value.weight);
  const auto sizes = Sizes(value);
  if (weight.bytes == 0 || !sizes.has_value() || fixed_.count(&value) != 0) return false;
  const auto [entry, inserted] = places_.try_emplace(
      {weight.offset, weight.bytes, ToOnnxType(value.type.dtype), *sizes}, &value);
  if (!inserted) tied_[&value] = entry->second;
  return !inserted;
}

absl::Status SkeletonBuilder::AddWeight(const Value& value, onnx::TensorProto* tensor) {
  const ir::Weight& weight = weights_.at(value.weight);
  const auto sizes = Sizes(value);
  if (!sizes.has_value()) {
    return absl::InternalError(absl::StrCat("weight ", weight.name, " has no static shape"));
  }
  uint64_t bytes = ir::ElementSize(value.type.dtype);
  for (const int64_t size : *sizes) {
    tensor->add_dims(size);
    bytes *= static_cast<uint64_t>(size);
  }
  tensor->set_data_type(ToOnnxType(value.type.dtype));
  if (ir::IsComplex(value.type.dtype) || bytes != weight.bytes) {
    return absl::InternalError(absl::StrCat(
        "weight ", weight.name, " has ", weight.bytes, " bytes, which does not fit its type ",
        ir::DTypeName(value.type.dtype), ir::ShapeToString(*value.type.shape)));
  }
  return absl::OkStatus();
}

absl::Status SkeletonBuilder::AddGraph(const builder::Graph& from, onnx::GraphProto* to) {
  to->set_name(from.name.empty() ? "main" : from.name);
  for (const Value* input : from.inputs) {
    if (auto status = AddValue(*input, to->add_input()); !status.ok()) return status;
  }
  std::set<const Value*> outputs;
  for (const Value* output : from.outputs) {
    outputs.insert(output);
    if (auto status = AddValue(*output, to->add_output()); !status.ok()) return status;
  }
  for (const auto& node : from.nodes) {
    if (auto status = AddNode(*node, to); !status.ok()) return status;
    for (const Value* output : node->outputs) {
      if (output == nullptr || output->type.dtype == DType::kUndefined) continue;
      if (outputs.count(output) != 0) continue;
      if (auto status = AddValue(*output, to->add_value_info()); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

absl::Status SkeletonBuilder::AddValue(const Value& value, onnx::ValueInfoProto* to) {
  if (ir::IsComplex(value.type.dtype)) {
    return absl::InternalError(absl::StrCat("value ", value.name, " is complex"));
  }
  to->set_name(Name(&value));
  if (value.type.dtype != DType::kUndefined) SetType(value.type, to->mutable_type());
  return absl::OkStatus();
}

absl::Status SkeletonBuilder::AddNode(const builder::Node& from, onnx::GraphProto* graph) {
  onnx::NodeProto* to = graph->add_node();
  to->set_op_type(from.op_type);
  to->set_name(from.name);
  if (!from.domain.empty()) to->set_domain(from.domain);
  const auto doc = options_.doc_strings.find(from.source);
  if (doc != options_.doc_strings.end()) to->set_doc_string(doc->second);
  const auto add_names = [&](const std::vector<Value*>& values, auto* names) {
    size_t count = values.size();
    while (count > 0 && values[count - 1] == nullptr) --count;
    for (size_t i = 0; i < count; ++i) *names->Add() = values[i] ? Name(values[i]) : "";
  };
  add_names(from.inputs, to->mutable_input());
  add_names(from.outputs, to->mutable_output());
  for (const builder::Attr& attr : from.attrs) {
    if (auto status = AddAttribute(attr, to->add_attribute()); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status SkeletonBuilder::AddAttribute(const builder::Attr& from, onnx::AttributeProto* to) {
  using onnx::AttributeProto;
  to->set_name(from.name);
  absl::Status status;
  const auto add_all = [](const auto& values, auto* out) {
    for (const auto& value : values) *out->Add() = value;
  };
  std::visit(
      Overloaded{
          [&](int64_t value) {
            to->set_type(AttributeProto::INT);
            to->set_i(value);
          },
          [&](float value) {
            to->set_type(AttributeProto::FLOAT);
            to->set_f(value);
          },
          [&](DType value) {
            to->set_type(AttributeProto::INT);
            to->set_i(ToOnnxType(value));
          },
          [&](const std::string& value) {
            to->set_type(AttributeProto::STRING);
            to->set_s(value);
          },
          [&](const std::vector<int64_t>& values) {
            to->set_type(AttributeProto::INTS);
            add_all(values, to->mutable_ints());
          },
          [&](const std::vector<float>& values) {
            to->set_type(AttributeProto::FLOATS);
            add_all(values, to->mutable_floats());
          },
          [&](const std::vector<std::string>& values) {
            to->set_type(AttributeProto::STRINGS);
            add_all(values, to->mutable_strings());
          },
          [&](const std::shared_ptr<const ir::TensorLiteral>& literal) {
            to->set_type(AttributeProto::TENSOR);
            status = SetLiteral(*literal, to->mutable_t());
          },
          [&](const std::shared_ptr<builder::Graph>& graph) {
            to->set_type(AttributeProto::GRAPH);
            status = AddGraph(*graph, to->mutable_g());
          },
          [&](const builder::ValueType& type) {
            to->set_type(AttributeProto::TYPE_PROTO);
            SetType(type, to->mutable_tp());
          }},
      from.data);
  return status;
}

const std::string& SkeletonBuilder::Name(const Value* value) const {
  const auto entry = tied_.find(value);
  return entry == tied_.end() ? value->name : entry->second->name;
}

}  // namespace

int IrVersion(int opset) {
  if (opset < kMinOpset || opset > kMaxOpset) return 0;
  if (opset <= 11) return opset - 5;
  if (opset <= 14) return 7;
  if (opset <= 18) return 8;
  if (opset <= 20) return 9;
  if (opset <= 22) return 10;
  if (opset <= 24) return opset - 12;
  return opset <= 27 ? 13 : 14;
}

absl::StatusOr<Skeleton> BuildSkeleton(const builder::Model& model,
                                       const std::vector<ir::Weight>& weights,
                                       const SkeletonOptions& options) {
  return SkeletonBuilder(model, weights, options).Build();
}

}  // namespace rules_onnx::onnx_format
