#include "exporter/ir/verify.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exporter/ir/print.h"
#include "exporter/ir/schema.h"

namespace rules_onnx::ir {
namespace {

// Bytes of a tensor of the given size; nullopt for what has no size in bytes.
std::optional<uint64_t> TensorBytes(DType dtype, const std::vector<int64_t>& shape) {
  uint64_t bytes = ElementSize(dtype);
  if (bytes == 0) return std::nullopt;
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

// The same for a type; nullopt unless its shape is all numbers.
std::optional<uint64_t> TensorBytes(const Type& type) {
  if (!type.shape) return std::nullopt;
  std::vector<int64_t> shape;
  for (const Dim& dim : *type.shape) {
    if (!dim.is_number()) return std::nullopt;
    shape.push_back(dim.value());
  }
  return TensorBytes(type.dtype, shape);
}

bool IsWellFormed(const Type& type) {
  size_t wanted = 0;
  switch (type.kind) {
    case Type::Kind::kList:
    case Type::Kind::kOptional: wanted = 1; break;
    case Type::Kind::kDict: wanted = 2; break;
    case Type::Kind::kTuple: wanted = type.elements.size(); break;
    default: break;
  }
  if (type.elements.size() != wanted) return false;
  if (!type.field_names.empty() && type.field_names.size() != wanted) return false;
  for (const Type& element : type.elements) {
    if (!IsWellFormed(element)) return false;
  }
  return true;
}

// What a message is about: a node, printed only if there is a message, or a text.
class Place {
 public:
  Place(std::string text) : text_(std::move(text)) {}  // NOLINT
  Place(const Node& node) : node_(&node) {}            // NOLINT

  std::string ToString() const {
    if (node_ == nullptr) return text_;
    return absl::StrCat("node ", node_->id, " (", PrintNode(*node_), ")",
                        node_->scope.empty() ? "" : " in ", node_->scope);
  }

 private:
  std::string text_;
  const Node* node_ = nullptr;
};

class Verifier {
 public:
  Verifier(const Graph& graph, const VerifyOptions& options) : graph_(graph), options_(options) {
    for (const auto& value : graph.values()) owned_.insert(value.get());
  }

  absl::Status Verify() {
    absl::Status status = ParseCustomSchemas();
    if (status.ok()) status = CheckWeights();
    if (status.ok()) status = CheckInputs();
    if (status.ok()) status = CheckBlock(graph_.main, std::string("the graph"));
    if (status.ok()) status = CheckOutputs();
    return status;
  }

 private:
  static absl::Status Error(const Place& where, absl::string_view what) {
    return absl::FailedPreconditionError(absl::StrCat(where.ToString(), ": ", what));
  }

  absl::Status ParseCustomSchemas() {
    for (const auto& [op, text] : graph_.custom_schemas) {
      absl::StatusOr<Schema> schema = ParseSchema(text);
      if (!schema.ok()) return schema.status();
      if (schema->op != op) return Error(text, absl::StrCat("is the schema of ", op));
      custom_schemas_.emplace(op, *std::move(schema));
    }
    return absl::OkStatus();
  }

  const Schema* SchemaOf(const std::string& op) const {
    if (const Schema* schema = FindSchema(op)) return schema;
    const auto it = custom_schemas_.find(op);
    return it == custom_schemas_.end() ? nullptr : &it->second;
  }

  absl::Status Define(const Value* value, const Place& where) {
    if (value == nullptr || !owned_.contains(value)) {
      return Error(where, "defines a value that is not the graph's");
    }
    if (!defined_.insert(value).second) {
      return Error(where, absl::StrCat("value ", value->id, " is defined a second time"));
    }
    if (!IsWellFormed(value->type)) {
      return Error(where, absl::StrCat("the type of value ", value->id, " is not complete"));
    }
    visible_.insert(value);
    local_.push_back(value);
    return absl::OkStatus();
  }

  absl::Status CheckName(const std::string& name, const Place& where) {
    if (name.empty()) return Error(where, "has no name");
    if (!names_.insert(name).second) return Error(where, "another input or weight has this name");
    return absl::OkStatus();
  }

  absl::Status CheckWeights() {
    for (const Weight& weight : graph_.weights) {
      const std::string where = absl::StrCat("weight '", weight.name, "'");
      if (absl::Status status = CheckName(weight.name, where); !status.ok()) return status;
      if (absl::Status status = Define(weight.value, where); !status.ok()) return status;
      const std::optional<uint64_t> bytes = TensorBytes(weight.value->type);
      if (!weight.value->type.is_tensor() || !bytes) {
        return Error(where, absl::StrCat("is no tensor of known size: ",
                                         weight.value->type.ToString()));
      }
      // Zero before the weights file is written.
      if (weight.bytes != 0 && weight.bytes != *bytes) {
        return Error(where, absl::StrCat("has ", weight.bytes, " bytes; ",
                                         weight.value->type.ToString(), " takes ", *bytes));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckInputs() {
    for (const Value* input : graph_.main.params) {
      if (input == nullptr) return Error(std::string("the graph"), "has a null input");
      const std::string where = absl::StrCat("input '", input->name, "'");
      if (absl::Status status = CheckName(input->name, where); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status CheckOutputs() {
    if (graph_.output_names.size() != graph_.main.results.size()) {
      return Error(std::string("the graph"), absl::StrCat("has ", graph_.main.results.size(), " outputs and ",
                                             graph_.output_names.size(), " names for them"));
    }
    std::set<std::string> names;
    for (const std::string& name : graph_.output_names) {
      const std::string where = absl::StrCat("output '", name, "'");
      if (name.empty()) return Error(where, "has no name");
      if (!names.insert(name).second) return Error(where, "another output has this name");
    }
    return absl::OkStatus();
  }

  // What the block defines goes out of scope at its end.
  absl::Status CheckBlock(const Block& block, const Place& where) {
    std::vector<const Value*> outer;
    std::swap(outer, local_);
    for (const Value* param : block.params) {
      if (absl::Status status = Define(param, where); !status.ok()) return status;
    }
    for (const auto& node : block.nodes) {
      if (absl::Status status = CheckNode(*node); !status.ok()) return status;
    }
    for (const Arg& result : block.results) {
      if (absl::Status status = CheckArg(result, where); !status.ok()) return status;
    }
    for (const Value* value : local_) visible_.erase(value);
    std::swap(outer, local_);
    return absl::OkStatus();
  }

  absl::Status CheckNode(const Node& node) {
    // Before anything prints the node.
    bool owns_all = true;
    const auto check_owned = [&](const Value* value) { owns_all &= owned_.contains(value); };
    node.ForEachInput(check_owned);
    for (const Value* output : node.outputs) check_owned(output);
    if (!owns_all) {
      return Error(absl::StrCat("node ", node.id, " (", node.op, ")"),
                   "has a value that is not the graph's");
    }
    const Place where(node);
    for (const NamedArg& arg : node.args) {
      if (absl::Status status = CheckArg(arg.value, where); !status.ok()) return status;
    }
    if (absl::Status status = CheckSchema(node, where); !status.ok()) return status;
    if (absl::Status status = CheckBlocks(node, where); !status.ok()) return status;
    for (const auto& block : node.blocks) {
      if (absl::Status status = CheckBlock(*block, where); !status.ok()) return status;
    }
    for (const Value* output : node.outputs) {
      if (absl::Status status = Define(output, where); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status CheckArg(const Arg& arg, const Place& where) const {
    if (arg.is_literal()) {
      const TensorLiteral& literal = arg.literal();
      if (TensorBytes(literal.dtype, literal.shape) != literal.bytes.size()) {
        return Error(where, "a literal's bytes are not those of its shape");
      }
    }
    if (arg.is_list()) {
      for (const Arg& item : arg.list()) {
        if (absl::Status status = CheckArg(item, where); !status.ok()) return status;
      }
    }
    if (arg.is_value() && !owned_.contains(arg.value())) {
      return Error(where, "has a value that is not the graph's");
    }
    if (!arg.is_value() || visible_.contains(arg.value())) return absl::OkStatus();
    return Error(where, absl::StrCat("value ", arg.value()->id, " is used outside its scope or before it is defined"));
  }

  absl::Status CheckSchema(const Node& node, const Place& where) const {
    const Schema* schema = SchemaOf(node.op);
    if (schema == nullptr) return absl::OkStatus();
    if (options_.functional && schema->writes()) return Error(where, "writes to an argument");
    if (node.args.size() < schema->args.size() ||
        (node.args.size() > schema->args.size() && !schema->has_vararg_args)) {
      return Error(where, absl::StrCat("has ", node.args.size(), " arguments; its schema has ",
                                       schema->args.size()));
    }
    for (size_t i = 0; i < schema->args.size(); ++i) {
      const SchemaArg& wanted = schema->args[i];
      if (node.args[i].name != wanted.name) {
        return Error(where, absl::StrCat("argument ", i, " is '", node.args[i].name,
                                         "'; its schema has '", wanted.name, "'"));
      }
      if (!ArgFits(wanted, node.args[i].value)) {
        return Error(where, absl::StrCat("argument '", wanted.name, "' does not fit ",
                                         wanted.type));
      }
    }
    if (!schema->has_vararg_returns && node.outputs.size() != schema->returns.size()) {
      return Error(where, absl::StrCat("has ", node.outputs.size(), " outputs; its schema has ",
                                       schema->returns.size()));
    }
    return absl::OkStatus();
  }

  static absl::Status CheckScan(const Node& node, const Place& where) {
    const Arg* const init = node.Find("init");
    const Arg* const xs = node.Find("xs");
    if (init == nullptr || !init->is_list() || xs == nullptr || !xs->is_list()) {
      return Error(where, "has no lists 'init' and 'xs'");
    }
    if (node.blocks.size() != 1) {
      return Error(where, absl::StrCat("has ", node.blocks.size(), " blocks instead of 1"));
    }
    const Block& block = *node.blocks.front();
    if (block.params.size() != init->list().size() + xs->list().size()) {
      return Error(where, absl::StrCat("its block has ", block.params.size(), " parameters"));
    }
    if (block.results.size() != node.outputs.size() || node.outputs.size() < init->list().size()) {
      return Error(where, absl::StrCat("its block has ", block.results.size(), " results"));
    }
    return absl::OkStatus();
  }

  static absl::Status CheckBlocks(const Node& node, const Place& where) {
    if (node.op == "prim::Scan") return CheckScan(node, where);
    const bool is_loop = node.op == "prim::Loop";
    const size_t blocks = node.op == "prim::If" ? 2 : is_loop ? 1 : 0;
    if (node.blocks.size() != blocks) {
      return Error(where, absl::StrCat("has ", node.blocks.size(), " blocks instead of ", blocks));
    }
    // A loop's blocks take the iteration and give the condition beside the carried values.
    const size_t outputs = node.outputs.size();
    for (const auto& block : node.blocks) {
      if (block->params.size() != (is_loop ? outputs + 1 : 0)) {
        return Error(where, absl::StrCat("a block has ", block->params.size(), " parameters"));
      }
      if (block->results.size() != (is_loop ? outputs + 1 : outputs)) {
        return Error(where, absl::StrCat("a block has ", block->results.size(), " results"));
      }
    }
    const Arg* const carried = is_loop ? node.Find("carried") : nullptr;
    if (is_loop && (carried == nullptr || !carried->is_list() || carried->list().size() != outputs)) {
      return Error(where, "does not carry one value for each output");
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const VerifyOptions& options_;
  std::map<std::string, Schema> custom_schemas_;
  std::unordered_set<const Value*> owned_, defined_, visible_;
  std::vector<const Value*> local_;  // defined in the block at hand
  std::set<std::string> names_;
};

}  // namespace

absl::Status VerifyGraph(const Graph& graph, const VerifyOptions& options) {
  return Verifier(graph, options).Verify();
}

}  // namespace rules_onnx::ir
