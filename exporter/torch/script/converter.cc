#include "exporter/torch/script/converter.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/object.h>
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exporter/ir/schema_coerce.h"
#include "exporter/torch/script/enums.h"
#include "exporter/torch/script/quantized.h"
#include "exporter/torch/script/shape_rules.h"
#include "exporter/torch/script/source.h"
#include "exporter/torch/values/tensors.h"

namespace rules_onnx::script {
namespace {

namespace prim = c10::prim;

std::string OpName(const torch::jit::Node* node) {
  const auto* schema = node->maybeSchema();
  if (schema == nullptr) return node->kind().toQualString();
  const std::string& overload = schema->overload_name();
  return overload.empty() ? schema->name() : absl::StrCat(schema->name(), ".", overload);
}

c10::TypeKind ScalarKind(const c10::Argument& argument) {
  const auto optional = argument.real_type()->cast<c10::OptionalType>();
  return optional ? optional->getElementType()->kind() : argument.real_type()->kind();
}

// Where tensors live and how they are laid out means nothing to ONNX. (For memory formats see
// BindArgument.)
bool IsPlacement(const c10::Argument& argument) {
  switch (ScalarKind(argument)) {
    case c10::TypeKind::DeviceObjType:
    case c10::TypeKind::LayoutType:
    case c10::TypeKind::GeneratorType:
    case c10::TypeKind::StreamObjType:
      return true;
    default: {
      const std::string& name = argument.name();
      return name == "device" || name == "layout" || name == "pin_memory" || name == "generator";
    }
  }
}

bool IsDType(const c10::Argument& argument) {
  return ScalarKind(argument) == c10::TypeKind::ScalarTypeType || argument.name() == "dtype";
}

// The type of the list of unknown length that is a node's first argument; null where there is none.
const ir::Type* FirstList(const ir::Node& node) {
  if (node.args.empty() || !node.args[0].value.is_value()) return nullptr;
  const ir::Type& type = node.args[0].value.value()->type;
  return type.is_list() ? &type : nullptr;
}

// Whether the node takes its result out of a list.
bool TakesItem(const torch::jit::Node* node) {
  return node->kind() == prim::ListUnpack || node->kind() == c10::aten::__getitem__ ||
         node->kind() == c10::aten::pop;
}

// "x" of `x.2`; "" for a value without a name.
std::string NameOf(const torch::jit::Value* value) {
  return value->hasDebugName() ? value->debugNameBase() : "";
}

}  // namespace

absl::StatusOr<Conversion> Convert(const ConvertInput& input) {
  try {
    return Converter(input).Run();
  } catch (const ConvertError& error) {
    return error.status;
  } catch (const std::exception& exception) {
    return absl::InternalError(absl::StrCat("the program cannot be converted: ",
                                            torch_values::ExceptionText(exception)));
  }
}

Converter::Converter(const ConvertInput& input)
    : input_(input),
      program_(*input.program),
      typing_(input.runs),
      weights_(program_.module),
      graph_(result_.program.graph) {
  for (const auto& [symbol, unused] : typing_.bindings().front()) {
    std::set<std::string> equals;
    for (const auto& [other, also_unused] : typing_.bindings().front()) {
      const bool equal = std::all_of(
          typing_.bindings().begin(), typing_.bindings().end(), [&](const Bindings& run) {
            const auto a = run.find(symbol), b = run.find(other);
            return a != run.end() && b != run.end() && a->second == b->second;
          });
      if (equal) equals.insert(other);
    }
    if (equals.size() > 1) equal_axes_[symbol] = std::move(equals);
  }
  if (WritesAnything(program_.graph->block())) {
    aliases_ = std::make_unique<torch::jit::AliasDb>(program_.graph);
  }
}

Conversion Converter::Run() {
  Conversion none;
  try {
    ConvertProgram();
  } catch (const NeedsRestructuring& needs) {
    none.changes = {needs.change};
  } catch (const ConvertError&) {
    if (result_.changes.empty()) throw;  // else it may be for want of them
  }
  if (!result_.changes.empty()) none.changes = std::move(result_.changes);
  if (!none.changes.empty()) return none;
  DropVagueSymbols();
  graph_.main.nodes.insert(graph_.main.nodes.begin(), std::make_move_iterator(prologue_.begin()),
                           std::make_move_iterator(prologue_.end()));
  FinishWeights();
  return std::move(result_);
}

void Converter::ConvertProgram() {
  block_ = &graph_.main;
  DefineInputs();
  if (ConvertBlock(program_.graph->block())) {
    throw ConvertError{absl::InvalidArgumentError("the program raises an error on every path")};
  }
  AddOutputs();
}

bool Converter::ConvertBlock(const JitBlock* block) {
  for (const JitNode* node : block->nodes()) {
    const size_t first = block_->nodes.size();
    written_takings_.clear();  // of attempts that were void
    if (ConvertNode(node)) return true;
    PutBackWritten(node);
    NoteOrigins(node, first);
  }
  return false;
}

// True if the program raises here.
bool Converter::ConvertNode(const JitNode* node) {
  bool raises = false;
  current_ = node;
  if (ConvertText(node)) return false;
  if (ConvertChosen(node, &raises)) return raises;
  switch (node->kind()) {
    case prim::RaiseException:
      return true;
    case prim::If:
      return ConvertIf(node);
    case prim::Loop:
      return ConvertLoop(node);
    case prim::Print:
    case c10::aten::warn:
      return false;
    case prim::Constant:
      Define(node->output(), FromIValue(*torch::jit::toIValue(node->output())));
      return false;
    case prim::GetAttr:
      ConvertGetAttr(node);
      return false;
    case prim::SetAttr: {
      const ItemRef object = At(node->input(0));
      if (object->object != nullptr) {
        Warn(node, "state-change",
             absl::StrCat("the module's attribute ", node->s(c10::attr::name),
                          " is assigned: later reads see it, but it is no output"));
      }
      Mutate(object);
      object->content.attributes[node->s(c10::attr::name)] = At(node->input(1));
      return false;
    }
    default:
      break;
  }
  NoteDerived(node);
  if (!ConvertStructure(node) && !ConvertListOperator(node) && !ConvertDictOperator(node) &&
      !ConvertEnum(node) && !ConvertQuery(node) && !FoldConstants(node) &&
      !ConvertMaybeNone(node, &raises)) {
    NoteUndecided(node);
    EmitOperator(node);
  }
  return raises;
}

bool Converter::IsDerived(const JitValue* value) const {
  switch (value->type()->kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::NoneType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::DeviceObjType:
      return true;
    default:
      return value->node()->kind() == prim::Constant || derived_.count(value) > 0;
  }
}

void Converter::NoteDerived(const JitNode* node) {
  if (node->isNondeterministic() || node->kind() == prim::CreateObject) return;
  const bool derived =
      std::all_of(node->inputs().begin(), node->inputs().end(), [&](const JitValue* input) {
        const auto list = input->type()->cast<c10::ListType>();
        return IsDerived(input) ||
               (list && (list->getElementType()->kind() == c10::TypeKind::IntType ||
                         list->getElementType()->kind() == c10::TypeKind::FloatType));
      });
  if (!derived) return;
  for (const JitValue* output : node->outputs()) {
    if (aliases_ == nullptr || !aliases_->hasWriters(output)) derived_.insert(output);
  }
}

void Converter::ConvertGetAttr(const JitNode* node) {
  const ItemRef object = At(node->input(0));
  if (object->kind() != Item::Kind::kObject) Fail(node, "reads an attribute of no object");
  Define(node->output(), Attribute(object, node->s(c10::attr::name)));
}

ItemRef Converter::Attribute(const ItemRef& object, const std::string& name) {
  const auto at = object->content.attributes.find(name);
  if (at != object->content.attributes.end()) return at->second;
  if (object->object == nullptr) {
    throw ConvertError{absl::InvalidArgumentError(
        absl::StrCat("attribute ", name, " is read before it is assigned"))};
  }
  const c10::IValue value = object->object->getAttr(name);
  const std::string path =
      object->path.empty() ? name : absl::StrCat(object->path, ".", name);
  ItemRef item;
  if (value.isObject() && IsPackedParams(value)) {
    item = FromPackedParams(value, object->path);
  } else if (value.isObject()) {
    ItemRef& known = objects_[value.toObject().get()];
    if (known == nullptr) {
      known = NewItem(Item::Kind::kObject);
      known->depth = 0;
      known->object = value.toObject();
      known->path = path;
    }
    item = known;
  } else if (value.isTensor() && value.toTensor().defined()) {
    item = FromTensor(value.toTensor(), path);
  } else {
    item = FromIValue(value);
  }
  item->depth = 0;
  object->content.attributes[name] = item;
  return item;
}

ir::Node* Converter::Emit(const JitNode* origin, std::string op,
                          std::vector<ir::NamedArg> args) {
  auto node = graph_.NewNode(std::move(op), std::move(args));
  auto [place, is_new] = places_.try_emplace(origin);
  if (is_new) place->second = {ScopeOf(origin, program_.class_name), LocationOf(origin)};
  node->scope = place->second.first;
  if (!place->second.second.file.empty()) result_.program.debug[node->id] = place->second.second;
  block_->nodes.push_back(std::move(node));
  return block_->nodes.back().get();
}

ir::Arg Converter::MemoryFormat(const JitNode* node, size_t index) const {
  const auto constant = torch::jit::toIValue(node->input(index));
  if (!constant) Fail(node, "takes a memory format that the run decides");
  const ir::Arg format = constant->isInt() ? ir::Arg(constant->toInt()) : ir::Arg();
  return ir::IsChannelsLast(format) ? format : ir::Arg();
}

ir::Arg Converter::BindArgument(const JitNode* node, size_t index,
                                const c10::Argument& argument) {
  if (argument.name() == "memory_format") return MemoryFormat(node, index);
  if (IsPlacement(argument)) return ir::Arg();
  const ItemRef item = Resolved(node, At(node->input(index)));
  const bool writes = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
  const bool listed = index > 0 && TakesDynamicList(node) && IsPacked(node->input(index)->type());
  if (!listed && (item->kind() == Item::Kind::kObject || item->kind() == Item::Kind::kDict)) {
    Fail(node, absl::StrCat("takes ", item->kind() == Item::Kind::kDict ? "a dict" : "an object",
                            " as ", argument.name(), ", which the graph cannot hold"));
  }
  if (!listed && item->is_optional()) {
    Fail(node, "takes a value that is None or not, as the inputs decide");
  }
  if (item->is_leaf() && item->content.leaf.is_literal() && argument.alias_info() != nullptr) {
    MakeValue(node, item);
  }
  if (item->is_list() && writes) MakeValue(node, item);
  if (writes && At(node->input(index))->held) NoteHeldWrite(node, *At(node->input(index)));
  if (index > 0 && At(node->input(0))->has_identity() && node->schema().is_mutable()) {
    const bool takes_parts = node->input(index)->type()->isSubtypeOf(*node->input(0)->type());
    RequireUnshared(node, takes_parts ? item->content.items : std::vector<ItemRef>{item}, {item});
  }
  const ir::Arg arg = ToArg(*ForList(node, index, item));
  if (IsDType(argument) && arg.is_int()) {
    return torch_values::DTypeOf(static_cast<at::ScalarType>(arg.as_int()));
  }
  if (ScalarKind(argument) == c10::TypeKind::FloatType && arg.is_int()) {
    return static_cast<double>(arg.as_int());
  }
  return arg;
}

void Converter::EmitOperator(const JitNode* node) {
  const auto* schema = node->maybeSchema();
  if (schema == nullptr) Fail(node, "cannot be exported");
  std::vector<ir::NamedArg> args;
  for (size_t i = 0; i < node->inputs().size(); ++i) {
    if (i < schema->arguments().size()) {
      const c10::Argument& argument = schema->arguments()[i];
      args.push_back({argument.name(), BindArgument(node, i, argument)});
    } else {
      args.push_back({absl::StrCat("arg", i), ToArg(*Resolved(node, At(node->input(i))))});
    }
  }
  const std::string op = ListOperator(node, OpName(node));
  if (schema->is_mutable() && HoldsPacked(node->input(0)->type())) ++list_changes_;
  if (!absl::StartsWith(op, "aten::") && !absl::StartsWith(op, "prim::")) {
    graph_.custom_schemas[op] = toString(*schema);
  }
  if (ReadsNumber(node)) {
    const auto list = node->output()->type()->cast<c10::ListType>();
    const c10::TypeKind kind =
        (list ? list->getElementType() : c10::TypePtr(node->output()->type()))->kind();
    const bool is_int = kind == c10::TypeKind::IntType || kind == c10::TypeKind::NumberType;
    if (is_int && !IsDerived(node->input(0))) AddPoint(node, DynamicPoint::Kind::kNumber);
  }
  AddDataSymbols(node);
  ir::Node* emitted = Emit(node, op, std::move(args));
  DefineOutputs(node, emitted);
  if (op == "aten::insert.t" && !HoldsPacked(node->input(0)->type())) {
    JoinItem(At(node->input(0)), At(node->input(2)));
  }
  if (!schema->returns().empty() && schema->returns()[0].alias_info() != nullptr &&
      schema->returns()[0].alias_info()->isWrite() && !schema->arguments().empty() &&
      schema->arguments()[0].alias_info() != nullptr &&
      schema->arguments()[0].alias_info()->isWrite() && At(node->output(0))->is_value()) {
    written_[At(node->output(0))->value()] = At(node->input(0));
  }
  if (op == "prim::NumToTensor.Scalar" && At(node->output())->is_value()) {
    numbers_[At(node->output())->value()] = At(node->input(0));
  }
}

// A list that was empty has the type of what is inserted.
void Converter::JoinItem(const ItemRef& list, const ItemRef& item) const {
  if (!list->is_value() || !list->value()->type.is_list()) return;
  ir::Type& type = list->value()->type;
  type = JoinTypes(type, ir::Type::List(TypeOfItem(*item)));
}

// Names the sizes (or the number) that this node takes from values.
void Converter::AddDataSymbols(const JitNode* node) {
  std::vector<int64_t> sizes;
  const bool number = points_.count({node, std::nullopt}) > 0 && ReadsNumber(node);
  bool data_dependent = number;
  if (node->outputs().empty()) return;
  const std::vector<Observed> seen = typing_.Seen(node->output(0), contexts_);
  for (size_t r = 0; r < seen.size(); ++r) {
    Observed one = seen[r];
    const auto axis = (*input_.runs)[r].record.data_axes.find(node);
    int64_t size = -1;
    if (axis != (*input_.runs)[r].record.data_axes.end()) {
      data_dependent = true;
      if (one.kind == ir::Type::Kind::kList && !one.elements.empty()) {
        const Observed item = one.elements[0];
        one = item;
      }
      if (one.sizes && !one.sizes->empty()) {
        const auto rank = static_cast<int64_t>(one.sizes->size());
        const int64_t at = axis->second < 0 ? axis->second + rank : axis->second;
        if (at < rank) size = (*one.sizes)[static_cast<size_t>(at)];
      }
    } else if (number) {
      size = one.number.value_or(-1);
    }
    sizes.push_back(size);
  }
  if (!data_dependent) return;
  if (!number) AddPoint(node, DynamicPoint::Kind::kSize);
  AddSymbol(node, std::nullopt, sizes);
}

// Axes that had equal sizes in every run, as the program may want them, but have two names: a size of
// a result is that of the arguments that has it, and not known where both have.
void Converter::TellEqualAxesApart(const ir::Node& node, ir::Type* type) const {
  for (ir::Type& element : type->elements) TellEqualAxesApart(node, &element);
  if (equal_axes_.empty() || !type->shape) return;
  std::set<std::string> given;
  for (const ir::NamedArg& arg : node.args) {
    arg.value.ForEachValue([&](const ir::Value* value) {
      for (const ir::Dim& dim : value->type.shape.value_or(ir::Shape())) dim.CollectSymbols(&given);
    });
  }
  for (ir::Dim& dim : *type->shape) {
    std::set<std::string> symbols, possible;
    dim.CollectSymbols(&symbols);
    for (const std::string& symbol : symbols) {
      const auto equals = equal_axes_.find(symbol);
      if (equals == equal_axes_.end()) continue;
      std::set_intersection(equals->second.begin(), equals->second.end(), given.begin(), given.end(),
                            std::inserter(possible, possible.end()));
    }
    if (possible.empty() || possible == symbols) continue;
    const bool plain = symbols.size() == 1 && dim.Equals(ir::Dim::Symbol(*symbols.begin()));
    dim = plain && possible.size() == 1 ? ir::Dim::Symbol(*possible.begin()) : ir::Dim::Unknown();
  }
}

void Converter::DefineOutputs(const JitNode* node, ir::Node* emitted) {
  AddMovedSymbols(node, *emitted);
  const auto* schema = node->maybeSchema();
  std::vector<std::pair<const JitValue*, ir::Value*>> made;
  for (const JitValue* output : node->outputs()) {
    std::vector<DimHints> hints;
    const Typing::Hints hints_of = [&](size_t axis) {
      // The rank is known only now; all results of a node share its hints.
      if (hints.size() <= axis) hints = HintsFor(*emitted, std::max(axis + 1, hints.size()));
      DimHints own = hints[axis];
      AddSymbolHints(node, axis, &own);
      return own;
    };
    size_t rank = 0;
    for (const Observed& o : typing_.Seen(output, contexts_)) {
      rank = std::max(rank, o.sizes ? o.sizes->size() : 0);
    }
    if (rank > 0 && input_.runs->size() > 1) hints = HintsFor(*emitted, rank);
    const DecidedSizes doubted = DoubtedSizes(node, *emitted, output);
    FindUnmoved(node, *emitted, output, doubted);
    ir::Type type =
        typing_.TypeOf(output, contexts_, input_.runs->size() > 1 ? hints_of : Typing::Hints(),
                       doubted.axes);
    TypeByArguments(node, output, &type);
    TellEqualAxesApart(*emitted, &type);
    if (const ir::Type* list = FirstList(*emitted); list && HoldsPacked(node->input(0)->type())) {
      if (*output->type() == *node->input(0)->type()) type = JoinTypes(type, *list);
      if (TakesItem(node)) type = TakenType(output, *list, doubted.axes, std::move(type));
    }
    made.emplace_back(output, graph_.NewValue(std::move(type), NameOf(output)));
    emitted->outputs.push_back(made.back().second);
  }
  for (size_t i = 0; i < made.size(); ++i) {
    const auto& [output, value] = made[i];
    if (value->type.kind == ir::Type::Kind::kNone) {  // a tensor that is not defined
      Define(output, Leaf(ir::Arg()));
      continue;
    }
    // A list operator that returns the list it wrote.
    if (value->type.is_list() && schema != nullptr && schema->is_mutable() && i == 0 &&
        At(node->input(0))->is_value()) {
      Define(output, At(node->input(0)));
      ir::Type& list = At(node->input(0))->value()->type;
      if (list.is_list()) list = JoinTypes(list, value->type);
      continue;
    }
    if (FirstList(*emitted) && TakesItem(node) && HoldsPacked(node->input(0)->type())) {
      Define(output, Taken(node, value, output->type()));
      continue;
    }
    const std::vector<Observed> seen = typing_.Seen(output, contexts_);
    const bool fixed = value->type.is_list() && HasFixedLength(node, *emitted, output);
    Define(output, Unpacked(node, value, fixed ? seen[0].elements.size() : 0,
                            DoubtedSizes(node, *emitted, output).axes));
  }
}

// The value, taken apart where it is a tuple or a list of tensors of a fixed length.
ItemRef Converter::Unpacked(const JitNode* origin, ir::Value* value, size_t fixed_length,
                            const std::vector<bool>& unknown) {
  const bool tuple = value->type.kind == ir::Type::Kind::kTuple;
  const bool list = value->type.is_list() && value->type.elements[0].is_tensor() &&
                    fixed_length > 0;
  if (!tuple && !list) return Leaf(value);
  ir::Node* unpack = Emit(origin, tuple ? "prim::TupleUnpack" : "prim::ListUnpack",
                          {{"self", ir::Arg(value)}});
  const size_t count = tuple ? value->type.elements.size() : fixed_length;
  ItemRef whole = NewItem(tuple ? Item::Kind::kTuple : Item::Kind::kList);
  whole->field_names = value->type.field_names;
  for (size_t i = 0; i < count; ++i) {
    ir::Value* part = graph_.NewValue(value->type.elements[tuple ? i : 0]);
    unpack->outputs.push_back(part);
  }
  if (list && origin->outputs().size() == 1) {
    const std::vector<ir::Type> types = typing_.ItemTypes(origin->output(0), contexts_, unknown);
    for (size_t i = 0; i < types.size() && i < count; ++i) unpack->outputs[i]->type = types[i];
  }
  for (ir::Value* part : unpack->outputs) whole->content.items.push_back(Leaf(part));
  return whole;
}

// Whether an argument is a list whose length only the run tells: so is then that of a list made of
// it, whatever the runs saw.
bool Converter::TakesDynamicList(const JitNode* node) {
  return std::any_of(node->inputs().begin(), node->inputs().end(), [&](const JitValue* input) {
    const ItemRef& item = At(input);
    return item->is_value() && item->value()->type.is_list();
  });
}

void Converter::AddPoint(const JitNode* node, DynamicPoint::Kind kind,
                         std::optional<int64_t> axis, bool axes_alone) {
  if (!points_.insert({node, axis}).second) return;
  result_.points.push_back({node, kind, axis, axes_alone});
}

absl::Status Converter::Error(const JitNode* node, const std::string& message) const {
  const std::string place = LocationText(LocationOf(node));
  return absl::UnimplementedError(absl::StrCat(place, place.empty() ? "" : ": ",
                                               node->kind().toQualString(), " ", message));
}

void Converter::Fail(const JitNode* node, const std::string& message) const {
  throw ConvertError{Error(node, message)};
}

void Converter::FailAsProgram(const JitNode* node, const std::string& message) const {
  throw RaisedError{{Error(node, message)}};
}

void Converter::Warn(const JitNode* node, const std::string& id, const std::string& message) {
  if (!warned_.emplace(node, id).second) return;
  result_.warnings.push_back({.severity = diagnostics::Severity::kWarning,
                              .id = id,
                              .message = message,
                              .op = node->kind().toQualString(),
                              .scope = ScopeOf(node, program_.class_name),
                              .location = LocationText(LocationOf(node))});
}

ItemRef Converter::NewItem(Item::Kind kind) {
  auto item = std::make_shared<Item>();
  item->content.kind = kind;
  item->depth = static_cast<int>(journals_.size());
  return item;
}

ItemRef Converter::NewLike(const Item& form) {
  ItemRef item = NewItem(form.kind());
  item->field_names = form.field_names;
  item->content.keys = form.content.keys;
  item->content.entry = form.content.entry;
  item->content.unordered = form.content.unordered;
  item->held = form.held;
  return item;
}

ItemRef Converter::Leaf(ir::Arg arg) {
  ItemRef item = NewItem(Item::Kind::kLeaf);
  item->content.leaf = std::move(arg);
  return item;
}

ItemRef Converter::Given(ir::Value* value) {
  ItemRef item = Leaf(value);
  item->given = true;
  return item;
}

ItemRef Converter::Unset(ir::Arg arg) {
  ItemRef item = Leaf(std::move(arg));
  item->content.unset = true;
  return item;
}

ItemRef Converter::ListOf(std::vector<ItemRef> items) {
  ItemRef list = NewItem(Item::Kind::kList);
  list->content.items = std::move(items);
  return list;
}

ItemRef& Converter::At(const JitValue* value) { return env_.at(value); }

void Converter::Define(const JitValue* value, ItemRef item) {
  if (const auto list = value->type()->cast<c10::ListType>(); list && item->is_list()) {
    item->element = list->getElementType();
  }
  env_[value] = std::move(item);
}

void Converter::Mutate(const ItemRef& item) {
  if (item->held) NoteHeldWrite(current_, *item);
  if (journals_.empty() || item->depth >= static_cast<int>(journals_.size())) return;
  auto& before = journals_.back().before;
  const bool known = std::any_of(before.begin(), before.end(),
                                 [&](const auto& entry) { return entry.first == item; });
  if (!known) before.emplace_back(item, item->content);
}

ir::Value* Converter::EmitScalar(const JitNode* origin, std::string op,
                                 std::vector<ir::NamedArg> args, ir::Type::Kind kind) {
  ir::Node* node = Emit(origin, std::move(op), std::move(args));
  node->outputs.push_back(graph_.NewValue(ir::Type::Scalar(kind)));
  return node->output();
}

ir::Value* Converter::ListValue(const JitNode* origin, const ItemRef& item, const ir::Type& form) {
  if (item->is_value()) return item->value();
  RequireUnshared(origin, item->content.items, {});
  ItemRef list = item;
  if (item->element && IsPacked(item->element)) {
    list = PackedList(origin, item, item->element, form);
  }
  ir::Type type = TypeOfItem(*list);
  if (list != item) type.elements[0] = FormOf(std::move(type.elements[0]), item->element);
  ir::Node* node = Emit(origin, "prim::ListConstruct", {{"items", ToArg(*Resolved(origin, list))}});
  node->outputs.push_back(graph_.NewValue(std::move(type)));
  return node->output();
}

void Converter::MakeValue(const JitNode* origin, const ItemRef& item, const ir::Type& form) {
  if (item->is_value()) return;
  if (item->depth < static_cast<int>(journals_.size())) throw NeedsValue{item};
  ir::Value* value = nullptr;
  if (item->is_list()) {
    value = ListValue(origin, item, form);
  } else {
    ir::Node* node = Emit(origin, "prim::Constant", {{"value", item->content.leaf}});
    node->outputs.push_back(graph_.NewValue(TypeOfItem(*item)));
    value = node->output();
  }
  item->content = Item::Content{.leaf = ir::Arg(value)};
}

ItemRef Converter::FromTensor(const at::Tensor& tensor, const std::string& path) {
  constexpr size_t kMaxLiteralBytes = 1024;
  if (tensor.is_quantized()) return FromQuantized(tensor, path);
  if (path.empty() && tensor.nbytes() <= kMaxLiteralBytes) {
    return Leaf(torch_values::LiteralOf(tensor));
  }
  return Leaf(weights_.ValueOf(tensor, path, &graph_));
}

ItemRef Converter::FromIValue(const c10::IValue& value) {
  if (value.isTensor()) {
    return value.toTensor().defined() ? FromTensor(value.toTensor(), "") : Leaf(ir::Arg());
  }
  if (value.isBool()) return Leaf(value.toBool());
  if (value.isInt()) return Leaf(value.toInt());
  if (value.isEnum()) return Leaf(PlaceOfMember(value));
  if (value.isDouble()) return Leaf(value.toDouble());
  if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    return Leaf(std::complex<double>(number.real(), number.imag()));
  }
  if (value.isString()) return Leaf(value.toStringRef());
  if (value.isTuple() || value.isList()) {
    ItemRef whole = NewItem(value.isTuple() ? Item::Kind::kTuple : Item::Kind::kList);
    const auto items = value.isTuple() ? value.toTupleRef().elements().vec()
                                       : value.toListRef().vec();
    for (const c10::IValue& each : items) whole->content.items.push_back(FromIValue(each));
    return whole;
  }
  if (value.isGenericDict()) {
    ItemRef dict = NewItem(Item::Kind::kDict);
    for (const auto& entry : value.toGenericDict()) {
      dict->content.keys.push_back(ToArg(*FromIValue(entry.key())));
      dict->content.items.push_back(FromIValue(entry.value()));
    }
    return dict;
  }
  return Leaf(ir::Arg());
}

}  // namespace rules_onnx::script
