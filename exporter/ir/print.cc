#include "exporter/ir/print.h"

#include <charconv>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace rules_onnx::ir {
namespace {

constexpr size_t kMaxElements = 16;

bool IsIdentifier(absl::string_view name) {
  if (name.empty() || absl::ascii_isdigit(name.front())) return false;
  for (const char c : name) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '.') return false;
  }
  return true;
}

// The fewest digits that give the same number back, and always a sign of its being no integer.
template <typename Float>
std::string FloatText(Float value) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, result.ptr);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

template <typename T>
T ReadElement(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

// One element of a literal; types without a C++ form as their bits.
std::string ElementText(DType dtype, const char* bytes) {
  switch (dtype) {
    case DType::kFloat32: return FloatText(ReadElement<float>(bytes));
    case DType::kFloat64: return FloatText(ReadElement<double>(bytes));
    case DType::kBool: return *bytes != 0 ? "True" : "False";
    case DType::kInt8:
    case DType::kQInt8: return absl::StrCat(int{ReadElement<int8_t>(bytes)});
    case DType::kUInt8:
    case DType::kQUInt8: return absl::StrCat(int{ReadElement<uint8_t>(bytes)});
    case DType::kInt16: return absl::StrCat(ReadElement<int16_t>(bytes));
    case DType::kUInt16: return absl::StrCat(ReadElement<uint16_t>(bytes));
    case DType::kInt32:
    case DType::kQInt32: return absl::StrCat(ReadElement<int32_t>(bytes));
    case DType::kUInt32: return absl::StrCat(ReadElement<uint32_t>(bytes));
    case DType::kInt64: return absl::StrCat(ReadElement<int64_t>(bytes));
    case DType::kUInt64: return absl::StrCat(ReadElement<uint64_t>(bytes));
    default: return absl::StrCat("0x", absl::BytesToHexString(absl::string_view(
                                           bytes, ElementSize(dtype))));
  }
}

}  // namespace

std::string PrintLiteral(const TensorLiteral& literal) {
  std::string text(DTypeName(literal.dtype));
  text += ShapeToString(Shape(literal.shape.begin(), literal.shape.end()));
  text += "{";
  const size_t size = ElementSize(literal.dtype);
  const size_t count = size == 0 ? 0 : literal.bytes.size() / size;
  for (size_t i = 0; i < count && i < kMaxElements; ++i) {
    if (i > 0) text += ", ";
    text += ElementText(literal.dtype, literal.bytes.data() + i * size);
  }
  if (count > kMaxElements) text += ", …";
  return text + "}";
}

namespace {

// Value names: without a graph, as if every name were unique.
class Names {
 public:
  Names() = default;
  explicit Names(const Graph& graph) {
    for (const Weight& weight : graph.weights) Count(weight.value);
    CountBlock(graph.main);
  }

  std::string Of(const Value* value) const {
    if (value == nullptr) return "%null";
    const auto it = counts_.find(value->name);
    const bool unique = it == counts_.end() || it->second == 1;
    if (unique && IsIdentifier(value->name)) return absl::StrCat("%", value->name);
    return absl::StrCat("%", value->id);
  }

 private:
  void Count(const Value* value) {
    if (value != nullptr) ++counts_[value->name];
  }
  void CountBlock(const Block& block) {
    for (const Value* param : block.params) Count(param);
    for (const auto& node : block.nodes) {
      for (const Value* output : node->outputs) Count(output);
      for (const auto& inner : node->blocks) CountBlock(*inner);
    }
  }

  std::map<std::string, int> counts_;
};

class Printer {
 public:
  Printer(const Names& names, const PrintOptions& options) : names_(names), options_(options) {}

  std::string Take() { return std::move(text_); }

  void PrintGraph(const Graph& graph) {
    for (const auto& [name, info] : graph.symbols) PrintSymbol(name, info);
    for (const Weight& weight : graph.weights) PrintWeight(weight);
    for (const Value* input : graph.main.params) {
      absl::StrAppend(&text_, "input ", Definition(input), "\n");
    }
    PrintNodes(graph.main, "");
    for (size_t i = 0; i < graph.main.results.size(); ++i) {
      const std::string name = i < graph.output_names.size() ? graph.output_names[i] : "";
      absl::StrAppend(&text_, "output ", name, " = ", ArgText(graph.main.results[i]), "\n");
    }
    for (const DroppedOutput& output : graph.dropped_outputs) {
      absl::StrAppend(&text_, "dropped output ", output.path, ": ", output.reason, "\n");
    }
    for (const auto& [op, schema] : graph.custom_schemas) {
      absl::StrAppend(&text_, "schema ", schema, "\n");
    }
  }

  std::string NodeText(const Node& node) const {
    std::string text;
    for (const Value* output : node.outputs) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", Definition(output));
    }
    absl::StrAppend(&text, node.outputs.empty() ? "" : " = ", node.op, "(");
    const char* separator = "";
    for (const NamedArg& arg : node.args) {
      absl::StrAppend(&text, separator, arg.name, arg.name.empty() ? "" : "=", ArgText(arg.value));
      separator = ", ";
    }
    return text + ")";
  }

 private:
  std::string Definition(const Value* value) const {
    return absl::StrCat(names_.Of(value), ": ",
                        value == nullptr ? "unknown" : value->type.ToString());
  }

  std::string ArgText(const Arg& arg) const {
    if (arg.is_none()) return "None";
    if (arg.is_value()) return names_.Of(arg.value());
    if (arg.is_bool()) return arg.as_bool() ? "True" : "False";
    if (arg.is_int()) return absl::StrCat(arg.as_int());
    if (arg.is_float()) return FloatText(arg.as_float());
    if (arg.is_complex()) {
      return absl::StrCat("complex(", FloatText(arg.as_complex().real()), ", ",
                          FloatText(arg.as_complex().imag()), ")");
    }
    if (arg.is_string()) return absl::StrCat("'", absl::CEscape(arg.as_string()), "'");
    if (arg.is_dtype()) return std::string(DTypeName(arg.as_dtype()));
    if (arg.is_literal()) return PrintLiteral(arg.literal());
    return absl::StrCat("[", ArgsText(arg.list()), "]");
  }

  std::string ArgsText(const Arg::List& args) const {
    std::string text;
    const char* separator = "";
    for (const Arg& arg : args) {
      absl::StrAppend(&text, separator, ArgText(arg));
      separator = ", ";
    }
    return text;
  }

  void PrintSymbol(const std::string& name, const SymbolInfo& info) {
    absl::StrAppend(&text_, "symbol ", name, " = ", info.example);
    if (info.second != 0) absl::StrAppend(&text_, "|", info.second);
    absl::StrAppend(&text_, ", ", info.min, "..");
    if (info.max) absl::StrAppend(&text_, *info.max);
    absl::StrAppend(&text_, info.data_dependent ? ", data-dependent" : "", "\n");
  }

  void PrintWeight(const Weight& weight) {
    absl::StrAppend(&text_, "weight ", Definition(weight.value), " = '", weight.name, "' ",
                    weight.is_parameter ? "parameter" : "buffer", " at ", weight.offset, " + ",
                    weight.bytes, "\n");
  }

  void PrintNodes(const Block& block, const std::string& indent) {
    for (const auto& node : block.nodes) {
      absl::StrAppend(&text_, indent, NodeText(*node), Comment(*node), "\n");
      for (const auto& inner : node->blocks) PrintInnerBlock(*inner, indent + "  ");
    }
  }

  void PrintInnerBlock(const Block& block, const std::string& indent) {
    absl::StrAppend(&text_, indent, "block(");
    const char* separator = "";
    for (const Value* param : block.params) {
      absl::StrAppend(&text_, separator, Definition(param));
      separator = ", ";
    }
    absl::StrAppend(&text_, "):\n");
    PrintNodes(block, indent + "  ");
    absl::StrAppend(&text_, indent, "  return (", ArgsText(block.results), ")\n");
  }

  std::string Comment(const Node& node) const {
    std::string scope = options_.scopes ? node.scope : "";
    std::string source;
    if (options_.debug != nullptr) {
      const auto it = options_.debug->find(node.id);
      if (it != options_.debug->end()) {
        const SourceLocation& location = it->second;
        if (options_.scopes && !location.scope.empty()) scope = location.scope;
        source = LocationText(location);
      }
    }
    if (scope.empty() && source.empty()) return "";
    return absl::StrCat("  # ", scope, scope.empty() || source.empty() ? "" : "  ", source);
  }

  const Names& names_;
  const PrintOptions& options_;
  std::string text_;
};

}  // namespace

std::string PrintGraph(const Graph& graph, const PrintOptions& options) {
  const Names names(graph);
  Printer printer(names, options);
  printer.PrintGraph(graph);
  return printer.Take();
}

std::string PrintNode(const Node& node) {
  const Names names;
  const PrintOptions options;
  return Printer(names, options).NodeText(node);
}

}  // namespace rules_onnx::ir
