#include "exporter/pt2/importer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "exporter/ir/schema.h"
#include "exporter/pt2/autocast.h"
#include "exporter/pt2/higher_order.h"
#include "exporter/pt2/scalar_functions.h"
#include "exporter/pt2/vmap.h"

namespace rules_onnx::pt2 {
namespace {

using ir::Arg;
using ir::Type;

constexpr absl::string_view kOperators = "torch.ops.";
constexpr absl::string_view kHigherOrder = "torch.ops.higher_order.";
// What torch.vmap calls first; it means nothing to a program.
constexpr absl::string_view kLoadDecompositions =
    "torch._functorch.predispatch.lazy_load_decompositions";

// Operators that only check or state something.
bool IsCheck(absl::string_view op) {
  static constexpr absl::string_view kChecks[] = {
      "aten::_assert_scalar",
      "aten::_assert_async",
      "aten::_assert_async.msg",
      "aten::_functional_assert_scalar",
      "aten::_functional_assert_async.msg",
      "aten::_assert_tensor_metadata",
      "aten::sym_constrain_range",
      "aten::sym_constrain_range_for_size",
      "aten::_functional_sym_constrain_range",
      "aten::_functional_sym_constrain_range_for_size",
      "aten::_print",
  };
  return std::find(std::begin(kChecks), std::end(kChecks), op) != std::end(kChecks);
}

// "torch.ops.aten.add.Tensor" → "aten::add.Tensor", "torch.ops.aten.relu.default" → "aten::relu".
// Whatever is no such name stays as it is, to be reported as unsupported.
std::string OperatorName(absl::string_view target) {
  absl::string_view name = target;
  if (!absl::ConsumePrefix(&name, kOperators)) return std::string(target);
  const size_t dot = name.find('.');
  if (dot == absl::string_view::npos) return std::string(target);
  const absl::string_view space = name.substr(0, dot);
  name.remove_prefix(dot + 1);
  absl::ConsumeSuffix(&name, ".default");
  return absl::StrCat(space, "::", name);
}

// The operators on sizes that TorchScript has under another name.
std::string ScalarOperatorName(std::string op) {
  static constexpr std::pair<absl::string_view, absl::string_view> kNames[] = {
      {"aten::sym_size.int", "aten::size.int"},
      {"aten::sym_stride.int", "aten::stride.int"},
      {"aten::sym_numel", "aten::numel"},
      {"aten::sym_storage_offset", "aten::storage_offset"},
      {"aten::_local_scalar_dense", "aten::item"},
  };
  for (const auto& [from, to] : kNames) {
    if (op == from) return std::string(to);
  }
  return op;
}

// The type that all items have; sizes that differ are unknown.
Type CommonType(const std::vector<ir::Value*>& items) {
  if (items.empty()) return Type{};
  Type common = items.front()->type;
  for (const ir::Value* item : items) {
    if (!common.shape || !item->type.shape || common.shape->size() != item->type.shape->size()) {
      common.shape.reset();
      break;
    }
    for (size_t i = 0; i < common.shape->size(); ++i) {
      if (!(*common.shape)[i].Equals((*item->type.shape)[i]))
        (*common.shape)[i] = ir::Dim::Unknown();
    }
  }
  return common;
}

}  // namespace

absl::Status Importer::Error(const NodeDef& node, const absl::Status& status) const {
  // What is wrong inside a nested graph is told already.
  if (absl::StartsWith(status.message(), absl::StrCat(file_, ": "))) return status;
  const auto& location = emitter_->source().location;
  return absl::Status(
      status.code(),
      absl::StrCat(file_, ": ",
                   location ? absl::StrCat(location->file, ":", location->line, ": ") : "",
                   node.target, ": ", status.message()));
}

absl::StatusOr<Arg> Importer::Resolve(const Argument& argument, const Scope& scope) const {
  switch (argument.kind) {
    case Argument::Kind::kConstant: return argument.constant;
    case Argument::Kind::kToken: return Arg();
    case Argument::Kind::kValue: {
      const auto it = scope.args.find(argument.name);
      if (it != scope.args.end()) return it->second;
      return absl::InvalidArgumentError(
          absl::StrCat("uses '", argument.name, "' before it is defined"));
    }
    case Argument::Kind::kList: {
      auto items = ResolveAll(argument.items, scope);
      if (!items.ok()) return items.status();
      return Arg(Arg::List(*std::move(items)));
    }
    case Argument::Kind::kCustomObject:
      return absl::UnimplementedError(absl::StrCat("uses the custom object '", argument.name, "' (",
                                                   argument.detail, "), which cannot be exported"));
    case Argument::Kind::kGraph:
      return absl::UnimplementedError(absl::StrCat("the graph argument '", argument.name,
                                                   "' is not supported for this operator"));
    case Argument::Kind::kOther:
      return absl::UnimplementedError(
          absl::StrCat("has an argument of unsupported kind '", argument.detail, "'"));
  }
  return absl::InternalError("argument of no kind");
}

absl::StatusOr<std::vector<Arg>> Importer::ResolveAll(const std::vector<Argument>& arguments,
                                                      const Scope& scope) const {
  std::vector<Arg> args;
  args.reserve(arguments.size());
  for (const Argument& argument : arguments) {
    auto arg = Resolve(argument, scope);
    if (!arg.ok()) return arg.status();
    args.push_back(*std::move(arg));
  }
  return args;
}

absl::StatusOr<std::vector<Arg>> Importer::ImportGraph(const GraphDef& graph,
                                                       std::vector<Arg> inputs) {
  if (inputs.size() != graph.inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a graph of ", graph.inputs.size(), " inputs is called with ", inputs.size()));
  }
  Scope scope{&graph, {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (graph.inputs[i].kind == Argument::Kind::kValue) {
      scope.args[graph.inputs[i].name] = std::move(inputs[i]);
    }
  }
  if (absl::Status status = ImportNodes(graph.nodes, &scope); !status.ok()) return status;
  auto outputs = ResolveAll(graph.outputs, scope);
  if (outputs.ok()) return outputs;
  return absl::Status(
      outputs.status().code(),
      absl::StrCat(file_, ": the outputs of a graph: ", outputs.status().message()));
}

absl::Status Importer::ImportNodes(absl::Span<const NodeDef> nodes, Scope* scope) {
  const Emitter::Source caller = emitter_->source();
  for (size_t i = 0; i < nodes.size(); ++i) {
    emitter_->SetSource(nodes[i], caller);
    absl::Status status;
    if (BeginsVmap(nodes[i])) {
      const size_t length = VmapLength(nodes.subspan(i));
      if (length == 0) {
        return Error(nodes[i], absl::InvalidArgumentError("a vmap that does not end"));
      }
      status = ImportVmap(nodes.subspan(i, length), scope);
      i += length - 1;
    } else {
      status = ImportNode(nodes[i], scope);
    }
    if (!status.ok()) return status;
  }
  emitter_->SetSource(caller);
  return absl::OkStatus();
}

absl::Status Importer::ImportNode(const NodeDef& node, Scope* scope) {
  if (DefineKnown(node, scope)) return absl::OkStatus();
  if (node.target == kLoadDecompositions || IsVmapSlice(node)) return absl::OkStatus();
  if (IsVmapResult(node)) return PassOn(node, scope);
  if (IsScalarFunction(node.target)) return ImportScalarFunction(node, scope);
  if (absl::StartsWith(node.target, kHigherOrder)) return ImportHigherOrder(node, scope);
  std::string op = ScalarOperatorName(OperatorName(node.target));
  if (IsCheck(op)) return absl::OkStatus();
  return ImportOperator(node, std::move(op), scope);
}

// Defines the node's output as its first argument.
absl::Status Importer::PassOn(const NodeDef& node, Scope* scope) const {
  if (node.inputs.empty() || node.outputs.size() != 1) {
    return Error(node, absl::InvalidArgumentError("does not have an argument and one output"));
  }
  auto arg = Resolve(node.inputs[0].value, *scope);
  if (!arg.ok()) return Error(node, arg.status());
  scope->args[node.outputs[0].name] = *std::move(arg);
  return absl::OkStatus();
}

absl::StatusOr<ir::Value*> Importer::NewOutput(const std::string& name, Scope* scope) {
  const auto info = scope->graph->values.find(name);
  if (info == scope->graph->values.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the type of its output '", name, "' is missing"));
  }
  ir::Value* const value = emitter_->graph().NewValue(info->second.type, name);
  const Arg& known = info->second.known;
  scope->args[name] = known.is_none() ? Arg(value) : known;
  return value;
}

absl::Status Importer::DefineOutputs(const NodeDef& def, ir::Node* node, Scope* scope) {
  struct Unpack {
    ir::Value* list;
    std::vector<ir::Value*> items;
  };
  std::vector<Unpack> lists;
  for (const Argument& output : def.outputs) {
    if (output.kind == Argument::Kind::kValue) {
      auto value = NewOutput(output.name, scope);
      if (!value.ok()) return value.status();
      node->outputs.push_back(*value);
    } else if (output.kind == Argument::Kind::kConstant && output.constant.is_none()) {
      node->outputs.push_back(emitter_->graph().NewValue(Type::Scalar(Type::Kind::kNone)));
    } else if (output.kind == Argument::Kind::kList) {
      Unpack list;
      for (const Argument& item : output.items) {
        auto value = NewOutput(item.name, scope);
        if (!value.ok()) return value.status();
        list.items.push_back(*value);
      }
      list.list = emitter_->graph().NewValue(Type::List(CommonType(list.items)));
      node->outputs.push_back(list.list);
      lists.push_back(std::move(list));
    } else if (output.kind != Argument::Kind::kToken) {
      return absl::UnimplementedError("has an output of an unsupported kind");
    }
  }
  for (Unpack& list : lists) {
    emitter_->Append("prim::ListUnpack", {{"self", list.list}})->outputs = std::move(list.items);
  }
  return absl::OkStatus();
}

absl::Status Importer::ImportScalarFunction(const NodeDef& node, Scope* scope) {
  std::vector<Arg> args;
  for (const NamedArgument& input : node.inputs) {
    auto arg = Resolve(input.value, *scope);
    if (!arg.ok()) return Error(node, arg.status());
    args.push_back(*std::move(arg));
  }
  if (node.outputs.size() != 1 || node.outputs[0].kind != Argument::Kind::kValue) {
    return Error(node, absl::InvalidArgumentError("does not have one output"));
  }
  const std::string& name = node.outputs[0].name;
  const auto info = scope->graph->values.find(name);
  if (info == scope->graph->values.end()) {
    return Error(node, absl::InvalidArgumentError("the type of its output is missing"));
  }
  auto result = EmitScalarFunction(node.target, args, info->second.type, name, emitter_);
  if (!result.ok()) return Error(node, result.status());
  scope->args[name] = *std::move(result);
  return absl::OkStatus();
}

absl::Status Importer::ImportHigherOrder(const NodeDef& node, Scope* scope) {
  HigherOrderCall call;
  for (const NamedArgument& input : node.inputs) {
    if (input.value.kind == Argument::Kind::kGraph) {
      call.graphs.push_back(input.value.graph);
      call.args.push_back(Arg());
      continue;
    }
    auto arg = Resolve(input.value, *scope);
    if (!arg.ok()) return Error(node, arg.status());
    call.args.push_back(*std::move(arg));
  }
  for (const Argument& output : node.outputs) {
    const std::vector<Argument> one = {output};
    for (const Argument& item : output.kind == Argument::Kind::kList ? output.items : one) {
      const auto info = scope->graph->values.find(item.name);
      call.names.push_back(item.name);
      call.types.push_back(info == scope->graph->values.end() ? Type::Scalar(Type::Kind::kNone)
                                                              : info->second.type);
    }
  }
  auto results = ImportHigherOrderCall(node.target.substr(kHigherOrder.size()), call, this);
  if (!results.ok()) return Error(node, results.status());
  if (results->size() != call.names.size()) {
    return Error(node, absl::InvalidArgumentError(absl::StrCat(
                           "has ", call.names.size(), " outputs, its graph ", results->size())));
  }
  for (size_t i = 0; i < call.names.size(); ++i) scope->args[call.names[i]] = (*results)[i];
  return absl::OkStatus();
}

// Defines the outputs of a node of which the program knows all results, such as a size that the
// export fixed. False where some must be computed.
bool Importer::DefineKnown(const NodeDef& node, Scope* scope) const {
  std::vector<std::pair<std::string, Arg>> known;
  for (const Argument& output : node.outputs) {
    const auto info = scope->graph->values.find(output.name);
    if (info == scope->graph->values.end() || info->second.known.is_none()) return false;
    known.emplace_back(output.name, info->second.known);
  }
  if (known.empty()) return false;
  for (auto& [name, arg] : known) scope->args[name] = std::move(arg);
  return true;
}

absl::Status Importer::ImportOperator(const NodeDef& def, std::string op, Scope* scope) {
  auto node = emitter_->graph().NewNode(std::move(op), {});
  for (const NamedArgument& input : def.inputs) {
    auto arg = Resolve(input.value, *scope);
    if (!arg.ok()) return Error(def, arg.status());
    node->args.push_back({input.name, *std::move(arg)});
  }
  const ir::Schema* const schema = ir::FindSchema(node->op);
  if (schema != nullptr) {
    if (absl::Status status = ir::BindToSchema(*schema, node.get()); !status.ok()) {
      return Error(def, status);
    }
    if (autocast) ApplyAutocast(*schema, ResultDType(def, *scope->graph), node.get(), emitter_);
  } else if (def.outputs.empty()) {
    return Error(def,
                 absl::UnimplementedError("an operator without results writes to its arguments, "
                                          "and the file does not tell which; give it a "
                                          "functional form"));
  }
  if (absl::Status status = DefineOutputs(def, emitter_->Append(std::move(node)), scope);
      !status.ok()) {
    return Error(def, status);
  }
  return absl::OkStatus();
}

}  // namespace rules_onnx::pt2
