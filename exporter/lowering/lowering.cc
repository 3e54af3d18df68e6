#include "exporter/lowering/lowering.h"

#include "exporter/lowering/complex.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "exporter/builder/dce.h"
#include "exporter/builder/join_sizes.h"
#include "exporter/builder/literal.h"
#include "exporter/builder/order.h"
#include "exporter/ir/print.h"
#include "exporter/lowering/dynamic_list.h"
#include "exporter/lowering/lowered_values.h"
#include "exporter/lowering/op.h"
#include "exporter/lowering/quantized.h"
#include "exporter/lowering/registry.h"

namespace rules_onnx::lowering {
namespace {

using builder::ValueType;
using ir::DType;

// "AlexNet/Sequential[features]/Conv2d[0]" → "/features/0".
std::string NodePrefix(const std::string& scope) {
  std::string prefix;
  for (const absl::string_view part : absl::StrSplit(scope, '/')) {
    const size_t open = part.find('[');
    if (open == absl::string_view::npos || part.back() != ']') continue;
    absl::StrAppend(&prefix, "/", part.substr(open + 1, part.size() - open - 2));
  }
  return prefix;
}

bool IsAten(const ir::Node& node) { return absl::StartsWith(node.op, "aten::"); }

// The nearest remedy for an operator that has no lowering.
std::string Remedy(const ir::Node& node) {
  if (IsAten(node)) {
    return "a plugin (--plugins) can lower it; --operator-export-type aten_fallback writes it as an "
           "ATen node; `onnx-export ops` lists what is supported";
  }
  return "operators of one's own are lowered by a plugin (--plugins) or named in a mapping file "
         "(--op-mapping); --operator-export-type fallthrough writes them as they are";
}

}  // namespace

Lowering::Lowering(const ir::Graph& graph, const LowerOptions& options,
                   const builder::OpSchemas& schemas, builder::Model* model,
                   diagnostics::Diagnostics* diagnostics)
    : graph_(graph), options_(options), builder_(model, &schemas), diagnostics_(diagnostics) {}

Item Lowering::Get(const ir::Value* value) const {
  const auto it = items_.find(value);
  return it == items_.end() ? Item() : it->second;
}

void Lowering::Set(const ir::Value* value, Item item) { items_[value] = std::move(item); }

namespace {

// Complex elements are pairs in memory: the same bytes, with an axis more.
std::shared_ptr<const ir::TensorLiteral> Stored(std::shared_ptr<const ir::TensorLiteral> literal) {
  if (!IsComplex(literal->dtype)) return literal;
  auto pairs = std::make_shared<ir::TensorLiteral>(*literal);
  pairs->dtype = ir::RealOf(literal->dtype);
  pairs->shape.push_back(2);
  return pairs;
}

}  // namespace

Item Lowering::Lower(const ir::Arg& arg) {
  if (arg.is_value()) return Get(arg.value());
  if (arg.is_int()) return builder_.Int(arg.as_int());
  if (arg.is_bool()) return builder_.ScalarInt(arg.as_bool(), DType::kBool);
  if (arg.is_float()) return builder_.Scalar(arg.as_float(), DType::kFloat64);
  if (arg.is_literal()) return builder_.Constant(Stored(arg.shared_literal()));
  if (!arg.is_list()) return Item::Constant(arg);
  std::vector<Item> items;
  for (const ir::Arg& element : arg.list()) {
    items.push_back(Lower(element));
    if (items.back().failed()) return {};
  }
  return Item::List(std::move(items));
}

ValueType Lowering::TypeOf(const ir::Type& type) {
  if (type.is_list()) {
    ValueType element = TypeOf(type.elements.front());
    element.kind = ValueType::Kind::kSequence;
    return element;
  }
  if (type.kind == ir::Type::Kind::kOptional) {
    ValueType element = TypeOf(type.elements.front());
    element.kind = element.kind == ValueType::Kind::kSequence ? ValueType::Kind::kOptionalSequence
                                                              : ValueType::Kind::kOptional;
    return element;
  }
  DType dtype = type.TensorDType();
  std::optional<ir::Shape> shape = type.is_tensor() ? type.shape : ir::Shape{};
  if (IsComplex(dtype)) {
    dtype = ir::RealOf(dtype);
    if (shape) shape->push_back(2);
  }
  return ValueType{.dtype = dtype, .shape = std::move(shape)};
}

void Lowering::Refine(Val val, const ir::Type& type) {
  if (!type.is_tensor() || !type.shape) return;
  std::optional<ir::Shape>& shape = val.get()->type.shape;
  if (!shape) shape = ir::Shape(type.shape->size());
  for (size_t i = 0; i < shape->size(); ++i) {
    const ir::Dim& captured = (*type.shape)[i];
    if (!(*shape)[i].is_number() && !captured.is_unknown()) (*shape)[i] = captured;
  }
}

// ---------------------------------------------------------------- nodes

void Lowering::Report(const ir::Node& node, std::string id, std::string message,
                      std::string hint, diagnostics::Severity severity) {
  std::string location, scope = node.scope;
  if (options_.debug != nullptr) {
    const auto it = options_.debug->find(node.id);
    if (it != options_.debug->end()) {
      location = ir::LocationText(it->second);
      if (!it->second.scope.empty()) scope = it->second.scope;
    }
  }
  diagnostics_->Add({.severity = severity,
                     .id = std::move(id),
                     .message = std::move(message),
                     .op = node.op,
                     .scope = std::move(scope),
                     .location = std::move(location),
                     .hint = std::move(hint)});
}

bool Lowering::IsUsed(const ir::Value* value) {
  if (!used_) {
    used_.emplace();
    const auto note = [this](const ir::Value* used) { used_->insert(used); };
    const auto note_results = [&](const ir::Block& block) {
      for (const ir::Arg& result : block.results) result.ForEachValue(note);
    };
    note_results(graph_.main);
    ir::ForEachNode(graph_.main, [&](const ir::Node& node) {
      node.ForEachInput(note);
      for (const auto& block : node.blocks) note_results(*block);
    });
  }
  return used_->count(value) > 0;
}

void Lowering::Warn(const ir::Node& node, std::string id, std::string message) {
  Report(node, std::move(id), std::move(message), "", diagnostics::Severity::kWarning);
}

std::function<void(Op&)> Lowering::FindLowering(const ir::Node& node) const {
  const UserLowering* best = nullptr;
  for (const UserLowering& user : options_.user_lowerings) {
    const bool named = user.op == node.op || user.op == node.base_op();
    if (!named || user.since_opset > options_.opset) continue;
    if (best == nullptr || user.since_opset >= best->since_opset) best = &user;
  }
  if (best != nullptr) return best->function;
  const ExportType type = options_.export_type;
  if (type == ExportType::kRaw) return [](Op& op) { LowerForeign(op, OwnNode(op.node)); };
  const bool tensors = std::all_of(node.outputs.begin(), node.outputs.end(), [](ir::Value* value) {
    return value->type.is_tensor();
  });
  if (type == ExportType::kAten && IsAten(node) && tensors) {
    return [](Op& op) { LowerForeign(op, AtenNode(op.node)); };
  }
  if (HasComplex(node)) {
    if (const LoweringFunction function = FindComplexLowering(node.op)) return function;
  }
  const Row* row = FindRow(node.op);
  if (row == nullptr) return nullptr;
  return [row](Op& op) {
    if (!LowerOnQuantized(op, row->function)) row->function(op);
  };
}

absl::Status Lowering::Try(const ir::Node& node, const std::function<void(Op&)>& lowering) {
  current_ = &node;
  builder_.SetSource(NodePrefix(node.scope), node.id);
  Op op(*this, node);
  lowering(op);
  absl::Status status = builder_.TakeStatus();
  if (!status.ok()) {
    for (const ir::Value* output : node.outputs) Set(output, Item());
  }
  return status;
}

// A failure is reported where it occurs, not again at every node behind it that needs what is lost.
bool Lowering::DependsOnFailure(const ir::Node& node) const {
  bool depends = false;
  node.ForEachInput([&](const ir::Value* value) { depends |= Get(value).failed(); });
  return depends;
}

void Lowering::LowerNode(const ir::Node& node) {
  const std::function<void(Op&)> lowering = FindLowering(node);
  if (lowering && DependsOnFailure(node)) return;
  const absl::Status status = lowering ? Try(node, lowering) : absl::NotFoundError("");
  if (status.ok()) return;
  const ExportType type = options_.export_type;
  if (type == ExportType::kAtenFallback && IsAten(node)) {
    if (Try(node, [](Op& op) { LowerForeign(op, AtenNode(op.node)); }).ok()) return;
  }
  if (type == ExportType::kFallthrough) {
    if (Try(node, [](Op& op) { LowerForeign(op, OwnNode(op.node)); }).ok()) return;
  }
  StandIn(node);
  if (lowering) return Report(node, "unsupported-form", std::string(status.message()), "");
  Report(node, "unsupported-operator", "operator is not supported", Remedy(node));
}

// The model is lost; what follows is lowered all the same, so that one run reports every problem.
void Lowering::StandIn(const ir::Node& node) {
  for (const ir::Value* output : node.outputs) {
    const ir::Type& type = output->type;
    const bool known = type.is_tensor() && type.dtype != DType::kUndefined;
    if (!known || ir::IsQuantized(type.dtype)) continue;
    Set(output, builder_.Input("lost", TypeOf(type)));
  }
}

void Lowering::LowerNodes(const ir::Block& block) {
  const ir::Node* outer = current_;
  for (const auto& node : block.nodes) LowerNode(*node);
  current_ = outer;
  if (outer != nullptr) builder_.SetSource(NodePrefix(outer->scope), outer->id);
}

std::vector<Item> Lowering::Results(const ir::Block& block) {
  std::vector<Item> results;
  for (const ir::Arg& arg : block.results) results.push_back(Lower(arg));
  return results;
}

// ---------------------------------------------------------------- the whole graph

namespace {

// Scale and zero point of a quantized input are inputs beside it, as PyTorch's q_scale and
// q_zero_point give them: float64 and int64.
void AddQuantization(Builder* builder, const std::string& name, Item* item) {
  const auto number = [&](const char* part, DType dtype) {
    return builder->Input(absl::StrCat(name, ".", part),
                          ValueType{.dtype = dtype, .shape = ir::Shape{}});
  };
  item->scale = builder->Cast(number("scale", DType::kFloat64), DType::kFloat32);
  item->zero_point = builder->Cast(number("zero_point", DType::kInt64), item->val.dtype());
}

}  // namespace

void Lowering::AddInputs() {
  for (const ir::Value* param : graph_.main.params) {
    ValueType type = TypeOf(param->type);
    type.dtype = StorageType(type.dtype);
    Item item(builder_.Input(param->name, type));
    const bool quantized = param->type.is_tensor() && ir::IsQuantized(param->type.dtype);
    if (quantized) AddQuantization(&builder_, param->name, &item);
    Set(param, item);
  }
}

void Lowering::AddWeights() {
  for (size_t i = 0; i < graph_.weights.size(); ++i) {
    const ir::Weight& weight = graph_.weights[i];
    Set(weight.value,
        builder_.Weight(static_cast<int>(i), weight.name, TypeOf(weight.value->type)));
  }
}

namespace {

using NamedItems = std::vector<std::pair<std::string, Item>>;

// What outputs carry of an item: columns are `name.*.0`, `name.*.1`, …, or `name.*.key` of dicts, each
// with that part of all items.
void AppendLeaves(const std::string& name, const Item& item, const ir::Type& type,
                  NamedItems* leaves) {
  const bool columns = item.kind == Item::Kind::kColumns;
  if (!columns && !item.is_list()) {
    leaves->emplace_back(name, item);
    return;
  }
  const std::vector<std::string>& fields =
      columns ? type.elements.front().field_names : type.field_names;
  const char* joint = columns && !absl::StrContains(name, '*') ? ".*." : ".";
  for (size_t i = 0; i < item.items.size(); ++i) {
    const std::string part = i < fields.size() ? fields[i] : absl::StrCat(i);
    const ir::Type inner = columns           ? ColumnType(type, i)
                           : type.is_list()  ? type.elements.front()
                           : i < type.elements.size() ? type.elements[i]
                                                      : ir::Type();
    AppendLeaves(absl::StrCat(name, joint, part), item.items[i], inner, leaves);
  }
}

}  // namespace

void Lowering::AddOutput(std::string name, const Item& item) {
  if (item.failed() && !diagnostics_->has_errors()) {
    diagnostics_->Add({.id = "unsupported-value",
                       .message = absl::StrCat("output ", name, " depends on a result that ",
                                               "is not exported")});
  }
  if (!item.is_val()) return;
  const auto add = [&](Val val, std::string output) {
    builder_.model()->graph.outputs.push_back(builder_.Output(val, std::move(output)).get());
  };
  add(item.val, name);
  if (!item.is_quantized()) return;
  add(item.scale, absl::StrCat(name, ".scale"));
  add(item.zero_point, absl::StrCat(name, ".zero_point"));
}

void Lowering::AddOutputs() {
  builder_.SetSource("", -1);
  std::vector<Item> results = Results(graph_.main);
  for (size_t i = 0; i < results.size(); ++i) {
    const bool named = i < options_.output_names.size();
    const std::string& name = named ? options_.output_names[i] : graph_.output_names[i];
    const ir::Arg& arg = graph_.main.results[i];
    if (arg.is_value()) results[i] = OutputForm(builder_, results[i], arg.value()->type);
    if (const absl::Status status = builder_.TakeStatus(); !status.ok()) {
      diagnostics_->Add({.id = "unsupported-value",
                         .message = absl::StrCat("output ", name, ": ", status.message())});
    }
    NamedItems leaves;
    AppendLeaves(name, results[i], arg.is_value() ? arg.value()->type : ir::Type(), &leaves);
    for (auto& [output, leaf] : leaves) AddOutput(std::move(output), leaf);
  }
}

void Lowering::Run() {
  AddInputs();
  AddWeights();
  LowerNodes(graph_.main);
  AddOutputs();
}

namespace {

// Whether plain tensors carry the item; appends their values.
bool AppendParts(const Item& item, std::vector<const builder::Value*>* parts) {
  if (item.is_quantized()) return false;
  if (item.is_val()) {
    parts->push_back(item.val.get());
    return true;
  }
  return item.is_list() && std::all_of(item.items.begin(), item.items.end(), [&](const Item& one) {
           return AppendParts(one, parts);
         });
}

LoweredValues CollectValues(const Lowering& lowering) {
  LoweredValues values;
  for (const auto& value : lowering.graph().values()) {
    const Item item = lowering.Get(value.get());
    LoweredValue lowered{{}, IsDynamicList(item, value->type)};
    if (AppendParts(item, &lowered.parts)) values.emplace(value.get(), std::move(lowered));
  }
  return values;
}

}  // namespace

absl::StatusOr<builder::Model> LowerGraph(const ir::Graph& graph, const LowerOptions& options,
                                          const builder::OpSchemas& schemas,
                                          diagnostics::Diagnostics* diagnostics,
                                          LoweredValues* values) {
  if (options.opset < kMinOpset || options.opset > kMaxOpset) {
    return absl::InvalidArgumentError(absl::StrCat("--opset ", options.opset,
                                                   ": opsets ", kMinOpset, " to ", kMaxOpset,
                                                   " can be written"));
  }
  builder::Model model;
  model.opset = options.opset;
  Lowering lowering(graph, options, schemas, &model, diagnostics);
  lowering.Run();
  if (diagnostics->has_errors()) {
    return absl::UnimplementedError(
        absl::StrCat("the program can't be written at opset ", options.opset));
  }
  if (values != nullptr) *values = CollectValues(lowering);
  builder::JoinSizes(&model);
  builder::RemoveUnused(&model);
  builder::OrderAndName(&model);
  return model;
}

}  // namespace rules_onnx::lowering
