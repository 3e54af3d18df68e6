#include "exporter/pt2/decode_argument.h"

#include <complex>
#include <memory>

#include "absl/strings/str_cat.h"
#include "exporter/pt2/size_expression.h"

namespace rules_onnx::pt2 {
namespace {

using json::Json;
using ir::DType;
using ir::Type;

Argument Constant(ir::Arg value) {
  Argument argument;
  argument.constant = std::move(value);
  return argument;
}

Argument Named(Argument::Kind kind, std::string name) {
  Argument argument;
  argument.kind = kind;
  argument.name = std::move(name);
  return argument;
}

Argument List(std::vector<Argument> items) {
  Argument argument;
  argument.kind = Argument::Kind::kList;
  argument.items = std::move(items);
  return argument;
}

template <typename DecodeItem>
Argument DecodeList(const Json& json, DecodeItem decode_item) {
  std::vector<Argument> items;
  json.ForEachItem([&](const Json& item) { items.push_back(decode_item(item)); });
  return List(std::move(items));
}

Argument DecodeInt(const Json& json) { return Constant(json.Int()); }
Argument DecodeFloat(const Json& json) { return Constant(json.Double()); }
Argument DecodeBool(const Json& json) { return Constant(json.Bool()); }
Argument DecodeString(const Json& json) { return Constant(json.String()); }
Argument DecodeTensor(const Json& json) {
  return Named(Argument::Kind::kValue, json.Field("name").String());
}
Argument DecodeComplex(const Json& json) {
  return Constant(std::complex<double>(json.Field("real").Double(), json.Field("imag").Double()));
}

// Schema 1 writes the members that are not set as null.
template <typename Visit>
void VisitUnion(const Json& json, Visit visit) {
  int members = 0;
  json.ForEachMember([&](absl::string_view, const Json&) { ++members; });
  int count = 0;
  json.ForEachMember([&](absl::string_view key, const Json& value) {
    if (members > 1 && value.is_null()) return;
    if (++count == 1) visit(key, value);
  });
  if (count != 1) json.Fail("expected an object with one member");
}

}  // namespace

DType DecodeDType(const Json& json) {
  switch (json.Int()) {
    case 1: return DType::kUInt8;
    case 2: return DType::kInt8;
    case 3: return DType::kInt16;
    case 4: return DType::kInt32;
    case 5: return DType::kInt64;
    case 6: return DType::kFloat16;
    case 7: return DType::kFloat32;
    case 8: return DType::kFloat64;
    case 10: return DType::kComplex64;
    case 11: return DType::kComplex128;
    case 12: return DType::kBool;
    case 13: return DType::kBFloat16;
    case 28: return DType::kUInt16;
    case 29: return DType::kFloat8E4M3FN;
    case 30: return DType::kFloat8E5M2;
    case 31: return DType::kFloat8E4M3FNUZ;
    case 32: return DType::kFloat8E5M2FNUZ;
    case 34: return DType::kUInt32;
    case 35: return DType::kUInt64;
    case 9: json.Fail("tensors of dtype complex32 cannot be exported"); break;
    case 33: json.Fail("tensors of dtype float8_e8m0fnu cannot be exported"); break;
    default: json.Fail(absl::StrCat("unknown dtype ", json.Int()));
  }
  return DType::kUndefined;
}

Argument Decoder::DecodeArgument(const Json& json) {
  Argument argument;
  VisitUnion(json, [&](absl::string_view key, const Json& value) {
    const auto recurse = [this](const Json& item) { return DecodeArgument(item); };
    if (key == "as_none") {
      argument = Constant({});
    } else if (key == "as_tensor") {
      argument = DecodeTensor(value);
    } else if (key == "as_tensors") {
      argument = DecodeList(value, DecodeTensor);
    } else if (key == "as_nested_tensors") {
      argument = DecodeList(value, [](const Json& item) { return DecodeList(item, DecodeTensor); });
    } else if (key == "as_optional_tensors" || key == "as_sym_ints" || key == "as_sym_floats" ||
               key == "as_sym_bools") {
      argument = DecodeList(value, recurse);
    } else if (key == "as_optional_tensor" || key == "as_sym_int" || key == "as_sym_float" ||
               key == "as_sym_bool") {
      argument = DecodeArgument(value);
    } else if (key == "as_name") {
      argument = Named(Argument::Kind::kValue, value.String());
    } else if (key == "as_int" || key == "as_memory_format") {
      argument = DecodeInt(value);
    } else if (key == "as_ints") {
      argument = DecodeList(value, DecodeInt);
    } else if (key == "as_int_lists") {
      argument = DecodeList(value, [](const Json& item) { return DecodeList(item, DecodeInt); });
    } else if (key == "as_float") {
      argument = DecodeFloat(value);
    } else if (key == "as_floats") {
      argument = DecodeList(value, DecodeFloat);
    } else if (key == "as_float_lists") {
      argument = DecodeList(value, [](const Json& item) { return DecodeList(item, DecodeFloat); });
    } else if (key == "as_bool") {
      argument = DecodeBool(value);
    } else if (key == "as_bools") {
      argument = DecodeList(value, DecodeBool);
    } else if (key == "as_string" || key == "as_operator") {
      argument = DecodeString(value);
    } else if (key == "as_strings") {
      argument = DecodeList(value, DecodeString);
    } else if (key == "as_complex") {
      argument = DecodeComplex(value);
    } else if (key == "as_scalar_type") {
      argument = Constant(DecodeDType(value));
    } else if (key == "as_device" || key == "as_layout") {
      argument = Constant({});
    } else if (key == "as_graph") {
      argument = Named(Argument::Kind::kGraph, value.Field("name").String());
      argument.graph = std::make_shared<const GraphDef>(DecodeGraph(value.Field("graph")));
    } else if (key == "as_token") {
      argument = Named(Argument::Kind::kToken, value.Field("name").String());
    } else if (key == "as_custom_obj") {
      argument = Named(Argument::Kind::kCustomObject, value.Field("name").String());
      argument.detail = value.Field("class_fqn").String();
    } else {
      argument.kind = Argument::Kind::kOther;
      argument.detail = std::string(key);
    }
  });
  return argument;
}

std::vector<Argument> Decoder::DecodeArguments(const Json& json) {
  std::vector<Argument> arguments;
  json.ForEachItem([&](const Json& item) { arguments.push_back(DecodeArgument(item)); });
  return arguments;
}

ir::Dim Decoder::DecodeExpression(const Json& json) {
  const Json text = json.Field("expr_str");
  const auto [it, is_new] = expressions_.try_emplace(text.String());
  if (!is_new) return it->second;
  auto dim = ParseSizeExpression(it->first);
  if (!dim.ok()) {
    text.Fail(dim.status().message());
    return {};
  }
  it->second = *dim;
  const Json hint = json.Optional("hint");
  if (!hint.is_null()) {
    const Json value = hint.is_number() ? hint : hint.Optional("as_int");
    if (!value.is_null() && !dim->is_unknown()) hints_.emplace_back(*dim, value.Int());
  }
  return *std::move(dim);
}

ir::Dim Decoder::DecodeSize(const Json& json) {
  const Json known = json.Optional("as_int");
  if (!known.is_null()) return known.Int();
  return DecodeExpression(json.Field("as_expr"));
}

Type Decoder::DecodeTensorType(const Json& json) {
  constexpr int64_t kStrided = 7;
  const Json layout = json.Optional("layout");
  if (!layout.is_null() && layout.Int() != kStrided) {
    layout.Fail("only dense tensors can be exported, this one is sparse");
  }
  ir::Shape shape;
  json.Field("sizes").ForEachItem([&](const Json& size) { shape.push_back(DecodeSize(size)); });
  return Type::Tensor(DecodeDType(json.Field("dtype")), std::move(shape));
}

void Decoder::DecodeValues(const Json& graph, GraphDef* out) {
  graph.Field("tensor_values").ForEachMember([&](absl::string_view name, const Json& value) {
    const Json meta = value.Optional("meta");  // schema 1
    out->values[name] = {DecodeTensorType(meta.is_null() ? value : meta), {}};
  });
  const auto decode_scalars = [&](absl::string_view member, Type::Kind kind, auto decode_known) {
    const Json values = graph.Optional(member);
    if (values.is_null()) return;
    values.ForEachMember([&](absl::string_view name, const Json& value) {
      ValueInfo& info = out->values[name];
      info.type = Type::Scalar(kind);
      VisitUnion(value, [&](absl::string_view key, const Json& content) {
        if (key == "as_expr") {
          DecodeExpression(content);
        } else {
          info.known = decode_known(content).constant;
        }
      });
    });
  };
  decode_scalars("sym_int_values", Type::Kind::kInt, DecodeInt);
  decode_scalars("sym_float_values", Type::Kind::kFloat, DecodeFloat);
  decode_scalars("sym_bool_values", Type::Kind::kBool, DecodeBool);
}

NodeDef Decoder::DecodeNode(const Json& json) {
  NodeDef node;
  node.target = json.Field("target").String();
  json.Field("inputs").ForEachItem([&](const Json& input) {
    node.inputs.push_back({input.Field("name").String(), DecodeArgument(input.Field("arg"))});
  });
  node.outputs = DecodeArguments(json.Field("outputs"));
  const Json metadata = json.Optional("metadata");
  if (metadata.is_null()) return node;
  const Json stack = metadata.Optional("nn_module_stack");
  if (!stack.is_null()) node.module_stack = stack.String();
  const Json trace = metadata.Optional("stack_trace");
  if (!trace.is_null()) node.stack_trace = trace.String();
  return node;
}

GraphDef Decoder::DecodeGraph(const Json& json) {
  GraphDef graph;
  DecodeValues(json, &graph);
  graph.inputs = DecodeArguments(json.Field("inputs"));
  graph.outputs = DecodeArguments(json.Field("outputs"));
  json.Field("nodes").ForEachItem(
      [&](const Json& node) { graph.nodes.push_back(DecodeNode(node)); });
  return graph;
}

}  // namespace rules_onnx::pt2
