#include "exporter/builder/print.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exporter/ir/print.h"

namespace rules_onnx::builder {
namespace {

std::string TypeText(const ValueType& type) {
  const std::string tensor = absl::StrCat(ir::DTypeName(type.dtype).data(),
                                          type.shape ? ir::ShapeToString(*type.shape) : "[…]");
  switch (type.kind) {
    case ValueType::Kind::kTensor: return tensor;
    case ValueType::Kind::kSequence: return absl::StrCat("sequence(", tensor, ")");
    case ValueType::Kind::kOptional: return absl::StrCat("optional(", tensor, ")");
    case ValueType::Kind::kOptionalSequence:
      return absl::StrCat("optional(sequence(", tensor, "))");
  }
  return tensor;
}

std::string Name(const Value* value) { return value ? absl::StrCat("%", value->name) : "none"; }

std::string Definition(const Value* value) {
  return value ? absl::StrCat("%", value->name, ": ", TypeText(value->type)) : "none";
}

struct AttrText {
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  std::string operator()(float value) const { return absl::StrCat(value); }
  std::string operator()(DType value) const { return ir::DTypeName(value).data(); }
  std::string operator()(const std::string& value) const { return absl::StrCat("\"", value, "\""); }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const {
    return absl::StrCat("[", absl::StrJoin(values, ", "), "]");
  }
  std::string operator()(const std::shared_ptr<const TensorLiteral>& value) const {
    return ir::PrintLiteral(*value);
  }
  std::string operator()(const std::shared_ptr<Graph>& value) const { return value->name; }
  std::string operator()(const ValueType& value) const { return TypeText(value); }
};

class Printer {
 public:
  explicit Printer(const std::map<int32_t, std::string>& places) : places_(places) {}

  std::string Take() { return std::move(text_); }

  void Print(const Model& model) {
    absl::StrAppend(&text_, "opset ", model.opset, "\n");
    for (const auto& [domain, version] : model.custom_opsets) {
      absl::StrAppend(&text_, "opset ", domain, " ", version, "\n");
    }
    PrintInputs(model.graph, "");
    for (const Value* value : model.initializers) {
      absl::StrAppend(&text_, value->literal ? "constant %" : "weight %", value->name, ": ",
                      value->literal ? ir::PrintLiteral(*value->literal) : TypeText(value->type),
                      "\n");
    }
    PrintBody(model.graph, "");
  }

 private:
  void PrintInputs(const Graph& graph, const std::string& indent) {
    for (const Value* input : graph.inputs) {
      absl::StrAppend(&text_, indent, "input ", Definition(input), "\n");
    }
  }

  void PrintBody(const Graph& graph, const std::string& indent) {
    for (const auto& node : graph.nodes) PrintNode(*node, indent);
    for (const Value* output : graph.outputs) {
      absl::StrAppend(&text_, indent, "output ", Name(output), "\n");
    }
  }

  void PrintNode(const Node& node, const std::string& indent) {
    const auto list = [](const std::vector<Value*>& values, std::string (*text)(const Value*)) {
      return absl::StrJoin(values, ", ", [&](std::string* out, const Value* value) {
        out->append(text(value));
      });
    };
    absl::StrAppend(&text_, indent, list(node.outputs, Definition), " = ",
                    node.domain.empty() ? "" : absl::StrCat(node.domain, "::"), node.op_type, "(",
                    list(node.inputs, Name), ")");
    if (!node.attrs.empty()) {
      absl::StrAppend(&text_, " {",
                      absl::StrJoin(node.attrs, ", ",
                                    [](std::string* out, const Attr& attr) {
                                      absl::StrAppend(out, attr.name, "=",
                                                      std::visit(AttrText(), attr.data));
                                    }),
                      "}");
    }
    absl::StrAppend(&text_, "  # ", node.name);
    const auto place = places_.find(node.source);
    if (place != places_.end()) absl::StrAppend(&text_, "  ", place->second);
    absl::StrAppend(&text_, "\n");
    for (const Attr& attr : node.attrs) {
      const auto* inner = std::get_if<std::shared_ptr<Graph>>(&attr.data);
      if (inner == nullptr) continue;
      absl::StrAppend(&text_, indent, "  ", attr.name, ":\n");
      PrintInputs(**inner, indent + "    ");
      PrintBody(**inner, indent + "    ");
    }
  }

  const std::map<int32_t, std::string>& places_;
  std::string text_;
};

}  // namespace

std::string PrintModel(const Model& model, const std::map<int32_t, std::string>& places) {
  Printer printer(places);
  printer.Print(model);
  return printer.Take();
}

}  // namespace rules_onnx::builder
