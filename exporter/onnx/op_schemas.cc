#include "exporter/onnx/op_schemas.h"

#include "absl/strings/strip.h"
#include "exporter/onnx/dtypes.h"
#include "onnx/defs/data_type_utils.h"
#include "onnx/defs/schema.h"

namespace rules_onnx::onnx_format {
namespace {

// Element type of "tensor(float)", "seq(tensor(float))", "optional(seq(tensor(float)))".
ir::DType ElementType(const onnx::TypeProto& type) {
  switch (type.value_case()) {
    case onnx::TypeProto::kTensorType: return FromOnnxType(type.tensor_type().elem_type());
    case onnx::TypeProto::kSequenceType: return ElementType(type.sequence_type().elem_type());
    case onnx::TypeProto::kOptionalType: return ElementType(type.optional_type().elem_type());
    default: return ir::DType::kUndefined;
  }
}

builder::FormalParameter Convert(const onnx::OpSchema::FormalParameter& parameter) {
  builder::FormalParameter result;
  result.type_variable = parameter.GetTypeStr();
  result.optional = parameter.GetOption() == onnx::OpSchema::Optional;
  result.variadic = parameter.GetOption() == onnx::OpSchema::Variadic;
  result.homogeneous = parameter.GetIsHomogeneous();
  for (const onnx::DataType type : parameter.GetTypes()) {
    const ir::DType dtype = ElementType(onnx::Utils::DataTypeUtils::ToTypeProto(type));
    if (dtype != ir::DType::kUndefined) result.dtypes.insert(dtype);
  }
  return result;
}

std::unique_ptr<builder::OpSchema> Convert(const onnx::OpSchema& schema) {
  auto result = std::make_unique<builder::OpSchema>();
  result->since_version = schema.SinceVersion();
  for (const auto& input : schema.inputs()) result->inputs.push_back(Convert(input));
  for (const auto& output : schema.outputs()) result->outputs.push_back(Convert(output));
  return result;
}

const onnx::OpSchema* Lookup(const std::string& op_type, int opset) {
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(op_type, opset, onnx::ONNX_DOMAIN);
  return schema == nullptr || schema->Deprecated() ? nullptr : schema;
}

}  // namespace

const builder::OpSchema* OnnxOpSchemas::Find(absl::string_view op_type, int opset) const {
  const auto [entry, inserted] = cache_.try_emplace({std::string(op_type), opset});
  if (inserted) {
    const onnx::OpSchema* schema = Lookup(entry->first.first, opset);
    if (schema != nullptr) entry->second = Convert(*schema);
  }
  return entry->second.get();
}

int OnnxOpSchemas::FirstOpset(absl::string_view op_type) const {
  const std::string name(op_type);
  for (int opset = 1; opset <= kMaxOpset; ++opset) {
    if (Lookup(name, opset) != nullptr) return opset;
  }
  return 0;
}

}  // namespace rules_onnx::onnx_format
