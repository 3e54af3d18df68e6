#include "exporter/ir/graph.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

namespace rules_onnx::ir {

Arg Arg::Ints(const std::vector<int64_t>& values) {
  return Arg(List(values.begin(), values.end()));
}

std::optional<std::vector<int64_t>> Arg::ints() const {
  if (!is_list()) return std::nullopt;
  std::vector<int64_t> values;
  for (const Arg& item : list()) {
    if (!item.is_int()) return std::nullopt;
    values.push_back(item.as_int());
  }
  return values;
}

void Arg::ForEachValue(const std::function<void(Value*)>& visit) const {
  if (is_value()) {
    visit(value());
  } else if (is_list()) {
    for (const Arg& item : list()) item.ForEachValue(visit);
  }
}

void Arg::MapValues(const std::function<Value*(Value*)>& map) {
  if (is_value()) {
    data_ = map(value());
  } else if (is_list()) {
    for (Arg& item : list()) item.MapValues(map);
  }
}

bool operator==(const Arg& a, const Arg& b) {
  if (a.data_.index() != b.data_.index()) return false;
  const auto same_bits = [](const auto& x, const auto& y) {
    return std::memcmp(&x, &y, sizeof(x)) == 0;
  };
  if (a.is_float()) return same_bits(a.as_float(), b.as_float());
  if (a.is_complex()) return same_bits(a.as_complex(), b.as_complex());
  if (a.is_literal()) return a.literal() == b.literal();
  return a.data_ == b.data_;
}

const Arg* Node::Find(absl::string_view name) const {
  const auto it = std::find_if(args.begin(), args.end(),
                               [&](const NamedArg& arg) { return arg.name == name; });
  return it == args.end() ? nullptr : &it->value;
}

Arg* Node::Find(absl::string_view name) {
  return const_cast<Arg*>(static_cast<const Node*>(this)->Find(name));
}

void Node::Set(absl::string_view name, Arg value) {
  if (Arg* arg = Find(name)) {
    *arg = std::move(value);
  } else {
    args.push_back({std::string(name), std::move(value)});
  }
}

absl::string_view Node::base_op() const {
  const absl::string_view name = op;
  return name.substr(0, name.find('.'));
}

void Node::ForEachInput(const std::function<void(Value*)>& visit) const {
  for (const NamedArg& arg : args) arg.value.ForEachValue(visit);
}

Value* Graph::NewValue(Type type, std::string name) {
  return NewValueWithId(next_value_id_, std::move(type), std::move(name));
}

std::unique_ptr<Node> Graph::NewNode(std::string op, std::vector<NamedArg> args) {
  auto node = NewNodeWithId(next_node_id_, std::move(op));
  node->args = std::move(args);
  return node;
}

Value* Graph::NewValueWithId(int32_t id, Type type, std::string name) {
  values_.push_back(std::make_unique<Value>(Value{id, std::move(name), std::move(type)}));
  next_value_id_ = std::max(next_value_id_, id + 1);
  return values_.back().get();
}

std::unique_ptr<Node> Graph::NewNodeWithId(int32_t id, std::string op) {
  auto node = std::make_unique<Node>();
  node->op = std::move(op);
  node->id = id;
  next_node_id_ = std::max(next_node_id_, id + 1);
  return node;
}

namespace {

class Renumbering {
 public:
  void Visit(Value* value) {
    if (value != nullptr && seen_.insert(value).second) value->id = next_value_id_++;
  }
  void Visit(Block& block) {
    for (Value* param : block.params) Visit(param);
    for (const auto& node : block.nodes) {
      old_node_ids_.push_back(node->id);
      node->id = static_cast<int32_t>(old_node_ids_.size()) - 1;
      for (Value* output : node->outputs) Visit(output);
      for (const auto& inner : node->blocks) Visit(*inner);
    }
  }
  std::vector<int32_t> TakeOldNodeIds() { return std::move(old_node_ids_); }

 private:
  std::unordered_set<const Value*> seen_;
  int32_t next_value_id_ = 0;
  std::vector<int32_t> old_node_ids_;
};

}  // namespace

std::vector<int32_t> Graph::Renumber() {
  Renumbering renumbering;
  for (const Weight& weight : weights) renumbering.Visit(weight.value);
  renumbering.Visit(main);
  for (const auto& value : values_) renumbering.Visit(value.get());
  std::vector<int32_t> old_node_ids = renumbering.TakeOldNodeIds();
  next_value_id_ = static_cast<int32_t>(values_.size());
  next_node_id_ = static_cast<int32_t>(old_node_ids.size());
  return old_node_ids;
}

void ForEachNode(const Block& block, const std::function<void(const Node&)>& visit) {
  for (const auto& node : block.nodes) {
    visit(*node);
    for (const auto& inner : node->blocks) ForEachNode(*inner, visit);
  }
}

}  // namespace rules_onnx::ir
