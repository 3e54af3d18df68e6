#include "exporter/lowering/foreign.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/lowering.h"

namespace rules_onnx::lowering {
namespace {

using builder::Attr;
using builder::Graph;
using builder::ValueType;

template <typename T>
Attr::Data List(const ir::Arg::List& list, T (*get)(const ir::Arg&)) {
  std::vector<T> values;
  for (const ir::Arg& item : list) values.push_back(get(item));
  return values;
}

bool All(const ir::Arg::List& list, bool (ir::Arg::*is)() const) {
  return std::all_of(list.begin(), list.end(), [&](const ir::Arg& arg) { return (arg.*is)(); });
}

bool HoldsTensor(const ir::Arg& arg) {
  bool holds = arg.is_literal();
  arg.ForEachValue([&](ir::Value*) { holds = true; });
  if (arg.is_list()) {
    for (const ir::Arg& item : arg.list()) holds = holds || HoldsTensor(item);
  }
  return holds;
}

// Collects a node's inputs and attributes.
struct Arguments {
  Vals inputs;
  std::vector<std::string> input_names;
  Attrs attrs;
};

void AddInput(Op& op, const std::string& name, const Item& item, Arguments* to) {
  if (item.is_list()) {
    for (const Item& element : item.items) AddInput(op, name, element, to);
  } else if (item.is_quantized()) {
    op.Fail(absl::StrCat("argument ", name, " is quantized"));
  } else if (item.is_val()) {
    to->inputs.push_back(item.val);
    to->input_names.push_back(name);
  } else if (item.kind == Item::Kind::kConstant && !item.is_none()) {
    if (const auto attr = AttributeOf(name, item.constant)) to->attrs.push_back(*attr);
  }
}

std::shared_ptr<Graph> LowerBlock(Op& op, const ir::Block& block, const std::string& name) {
  return op.b.Subgraph(
      name,
      [&](Graph* graph) {
        for (const ir::Value* param : block.params) {
          op.lowering.Set(param, op.b.SubgraphInput(graph, "param", Lowering::TypeOf(param->type)));
        }
      },
      [&] {
        op.lowering.LowerNodes(block);
        Vals results;
        for (const Item& item : op.lowering.Results(block)) {
          if (!op.Require(item.is_val() || item.failed(),
                          "a block gives a value that is no tensor"))
            break;
          results.push_back(item.val);
        }
        return results;
      });
}

}  // namespace

std::optional<ExportType> ParseExportType(absl::string_view name) {
  constexpr std::pair<absl::string_view, ExportType> kTypes[] = {
      {"onnx", ExportType::kOnnx},
      {"aten", ExportType::kAten},
      {"aten_fallback", ExportType::kAtenFallback},
      {"raw", ExportType::kRaw},
      {"fallthrough", ExportType::kFallthrough}};
  for (const auto& [text, type] : kTypes) {
    if (text == name) return type;
  }
  return std::nullopt;
}

std::optional<Attr> AttributeOf(const std::string& name, const ir::Arg& arg) {
  if (arg.is_int()) return Attr(name, arg.as_int());
  if (arg.is_bool()) return Attr(name, arg.as_bool());
  if (arg.is_float()) return Attr(name, arg.as_float());
  if (arg.is_string()) return Attr(name, Attr::Data(arg.as_string()));
  if (arg.is_literal()) return Attr(name, Attr::Data(arg.shared_literal()));
  if (arg.is_dtype()) {
    const auto code = ir::ScalarTypeCode(arg.as_dtype());
    return code ? std::optional(Attr(name, int64_t{*code})) : std::nullopt;
  }
  if (!arg.is_list()) return std::nullopt;
  const ir::Arg::List& list = arg.list();
  if (All(list, &ir::Arg::is_int)) {
    return Attr(name, List<int64_t>(list, [](const ir::Arg& a) { return a.as_int(); }));
  }
  if (All(list, &ir::Arg::is_bool)) {
    return Attr(name, List<int64_t>(list, [](const ir::Arg& a) { return int64_t{a.as_bool()}; }));
  }
  if (All(list, &ir::Arg::is_float)) {
    return Attr(
        name, List<float>(list, [](const ir::Arg& a) { return static_cast<float>(a.as_float()); }));
  }
  if (All(list, &ir::Arg::is_string)) {
    return Attr(name, List<std::string>(list, [](const ir::Arg& a) { return a.as_string(); }));
  }
  return std::nullopt;
}

std::optional<std::vector<ValueType>> ForeignTypes(Op& op) {
  std::vector<ValueType> types;
  for (size_t i = 0; i < op.num_outputs(); ++i) {
    const ir::Type& type = op.OutType(i);
    const bool list =
        type.is_list() && (type.elements[0].is_tensor() || type.elements[0].is_number());
    if (type.is_tensor() || type.is_number() || list) types.push_back(Lowering::TypeOf(type));
    if (types.size() <= i || types[i].dtype == DType::kUndefined) {
      op.Fail(absl::StrCat("its result of type ", type.ToString(), " is no ONNX type"));
      return std::nullopt;
    }
  }
  return types;
}

int DomainVersion(Op& op, const std::string& domain) {
  const auto& versions = op.lowering.options().custom_opsets;
  const auto it = versions.find(domain);
  return it == versions.end() ? 1 : it->second;
}

ForeignNode AtenNode(const ir::Node& node) {
  const std::string base(node.base_op().substr(sizeof("aten::") - 1));
  const size_t dot = node.op.find('.');
  const std::string overload = dot == std::string::npos ? "" : node.op.substr(dot + 1);
  return {"org.pytorch.aten",
          "ATen",
          {{"operator", Attr::Data(base)}, {"overload_name", Attr::Data(overload)}}};
}

ForeignNode OwnNode(const ir::Node& node) {
  const std::string base(node.base_op());
  const size_t colons = base.find("::");
  ForeignNode own{base.substr(0, colons), base.substr(colons + 2), {}};
  const size_t dot = node.op.find('.');
  if (dot != std::string::npos) {
    own.prefix.emplace_back("overload_name", Attr::Data(node.op.substr(dot + 1)));
  }
  return own;
}

void LowerForeign(Op& op, ForeignNode node) {
  const auto types = ForeignTypes(op);
  if (!types) return;
  Arguments arguments;
  arguments.attrs = std::move(node.prefix);
  for (const ir::NamedArg& arg : op.node.args) {
    if (HoldsTensor(arg.value)) {
      const Item item = op.lowering.Lower(arg.value);
      if (item.failed()) return;
      AddInput(op, arg.name, item, &arguments);
    } else if (const auto attr = AttributeOf(arg.name, arg.value)) {
      arguments.attrs.push_back(*attr);
    }
  }
  for (size_t i = 0; i < op.node.blocks.size(); ++i) {
    const std::string name = absl::StrCat("block_", i);
    arguments.attrs.emplace_back(name, Attr::Data(LowerBlock(op, *op.node.blocks[i], name)));
  }
  if (!arguments.input_names.empty()) {
    arguments.attrs.emplace_back("input_names", Attr::Data(arguments.input_names));
  }
  op.Return(op.b.CustomOp(node.domain, DomainVersion(op, node.domain), node.op_type,
                          arguments.inputs, std::move(arguments.attrs), *types));
}

}  // namespace rules_onnx::lowering
