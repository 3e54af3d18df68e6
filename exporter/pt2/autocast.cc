#include "exporter/pt2/autocast.h"

#include "absl/strings/match.h"

namespace rules_onnx::pt2 {
namespace {

bool IsFloatTensor(const ir::Value& value) {
  return value.type.is_tensor() && ir::IsFloat(value.type.dtype);
}

// 0-d tensors take part in promotion like numbers.
ir::DType PromotedDType(const ir::Node& node) {
  ir::DType promoted = ir::DType::kUndefined;
  node.ForEachInput([&](ir::Value* value) {
    if (IsFloatTensor(*value) && !(value->type.shape && value->type.shape->empty())) {
      promoted = ir::PromoteTypes(promoted, value->type.dtype);
    }
  });
  return promoted;
}

bool IsSubject(const ir::Schema& schema, const ir::Node& node) {
  if (schema.writes() || schema.is_view() || absl::StrContains(schema.op, "_norm")) return false;
  const ir::Arg* const dtype = node.Find("dtype");
  return dtype == nullptr || dtype->is_none();
}

ir::Value* Cast(ir::Value* value, ir::DType dtype, Emitter* emitter) {
  ir::Type type = ir::Type::Tensor(dtype, value->type.shape);
  return emitter->Emit("aten::to.dtype",
                       {{"self", value},
                        {"dtype", dtype},
                        {"non_blocking", false},
                        {"copy", false},
                        {"memory_format", ir::Arg()}},
                       std::move(type));
}

}  // namespace

ir::DType ResultDType(const NodeDef& node, const GraphDef& graph) {
  for (const Argument& output : node.outputs) {
    const Argument& first =
        output.kind == Argument::Kind::kList && !output.items.empty() ? output.items[0] : output;
    const auto info = graph.values.find(first.name);
    if (info != graph.values.end() && info->second.type.is_tensor()) return info->second.type.dtype;
  }
  return ir::DType::kUndefined;
}

void ApplyAutocast(const ir::Schema& schema, ir::DType result, ir::Node* node, Emitter* emitter) {
  if (!ir::IsFloat(result) || !IsSubject(schema, *node)) return;
  const ir::DType promoted = PromotedDType(*node);
  if (promoted == ir::DType::kUndefined || promoted == result) return;
  for (ir::NamedArg& arg : node->args) {
    arg.value.MapValues([&](ir::Value* value) {
      return IsFloatTensor(*value) && value->type.dtype != result ? Cast(value, result, emitter)
                                                                  : value;
    });
  }
}

}  // namespace rules_onnx::pt2
