#include "exporter/lowering/call.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "exporter/ir/schema.h"
#include "exporter/lowering/lowering.h"
#include "exporter/lowering/registry.h"

namespace rules_onnx::lowering {
namespace {

// A node outside of the captured graph, and the values that stand for its operands and results.
class Scratch {
 public:
  Scratch(Op& op, std::string name) : op_(op), node_(graph_.NewNode(std::move(name), {})) {
    node_->scope = op.node.scope;
  }
  ~Scratch() {
    for (const auto& value : graph_.values()) op_.lowering.Set(value.get(), Item());
  }

  ir::Node& node() { return *node_; }

  ir::Arg Value(const Item& item) {
    if (item.is_list()) {
      ir::Arg::List list;
      for (const Item& element : item.items) list.push_back(Value(element));
      return list;
    }
    if (item.kind == Item::Kind::kConstant) return item.constant;
    ir::Type type = ir::Type::Tensor(item.val.dtype(), std::nullopt);
    if (item.val.has_shape()) type.shape = item.val.shape();
    ir::Value* value = graph_.NewValue(std::move(type));
    op_.lowering.Set(value, item);
    return value;
  }

  std::vector<Item> Run(LoweringFunction function, std::vector<ir::Type> outputs) {
    for (ir::Type& type : outputs) node_->outputs.push_back(graph_.NewValue(std::move(type)));
    Op inner(op_.lowering, *node_);
    function(inner);
    std::vector<Item> results;
    for (const ir::Value* output : node_->outputs) results.push_back(op_.lowering.Get(output));
    return results;
  }

 private:
  Op& op_;
  ir::Graph graph_;
  std::unique_ptr<ir::Node> node_;
};

}  // namespace

std::vector<Item> Call(Op& op, absl::string_view name, std::vector<CallArg> args,
                       std::vector<ir::Type> outputs) {
  const std::vector<Item> nothing(outputs.size());
  const Row* row = FindRow(name);
  const ir::Schema* schema = ir::FindSchema(name);
  if (op.failed()) return nothing;
  if (row == nullptr || schema == nullptr) {
    op.Fail(absl::StrCat("operator ", name, ", on which it builds, is not supported"));
    return nothing;
  }
  Scratch scratch(op, std::string(name));
  for (CallArg& arg : args) {
    ir::Arg value = arg.item.failed() ? std::move(arg.constant) : scratch.Value(arg.item);
    scratch.node().args.push_back({std::move(arg.name), std::move(value)});
  }
  const absl::Status status = ir::BindToSchema(*schema, &scratch.node());
  if (!status.ok()) {
    op.Fail(status.message());
    return nothing;
  }
  return scratch.Run(row->function, std::move(outputs));
}

std::vector<Item> CallOn(Op& op, LoweringFunction function,
                         const std::function<Item(const Item&)>& map,
                         std::vector<ir::Type> outputs) {
  return CallOnTyped(
      op, function, [&](const Item& item, const ir::Type&) { return map(item); },
      std::move(outputs));
}

std::vector<Item> CallReplaced(
    Op& op, LoweringFunction function,
    const std::function<std::optional<Item>(const ir::NamedArg&)>& replace,
    std::vector<ir::Type> outputs) {
  Scratch scratch(op, op.node.op);
  for (const ir::NamedArg& arg : op.node.args) {
    const std::optional<Item> item = replace(arg);
    const bool replaced = item && !item->failed();
    scratch.node().args.push_back({arg.name, replaced ? scratch.Value(*item) : arg.value});
  }
  return scratch.Run(function, std::move(outputs));
}

std::vector<Item> CallOnTyped(Op& op, LoweringFunction function,
                              const std::function<Item(const Item&, const ir::Type&)>& map,
                              std::vector<ir::Type> outputs) {
  Scratch scratch(op, op.node.op);
  const std::function<ir::Arg(const ir::Arg&)> copy = [&](const ir::Arg& arg) -> ir::Arg {
    if (arg.is_list()) {
      ir::Arg::List list;
      for (const ir::Arg& element : arg.list()) list.push_back(copy(element));
      return list;
    }
    if (!arg.is_value()) return arg;
    const Item item = op.lowering.Get(arg.value());
    return item.failed() ? arg : scratch.Value(map(item, arg.value()->type));
  };
  for (const ir::NamedArg& arg : op.node.args) {
    scratch.node().args.push_back({arg.name, copy(arg.value)});
  }
  return scratch.Run(function, std::move(outputs));
}

}  // namespace rules_onnx::lowering
