// Inputs, outputs and weights of the captured graph.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exporter/torch/script/converter.h"
#include "exporter/torch/script/enums.h"

namespace rules_onnx::script {

using inputs::Value;
using ValueKind = inputs::Value::Kind;

namespace {

// A str, or a list of those whose length only the run tells.
bool HoldsText(const ir::Type& type) {
  return type.kind == ir::Type::Kind::kString || (type.is_list() && HoldsText(type.elements[0]));
}

c10::TypePtr WithoutOptional(c10::TypePtr type) {
  while (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  return type;
}

// What is declared of a part of a tuple, list or dict.
c10::TypePtr PartOf(const c10::TypePtr& type, size_t i) {
  if (const auto list = type->cast<c10::ListType>()) return list->getElementType();
  if (const auto dict = type->cast<c10::DictType>()) return dict->getValueType();
  const auto tuple = type->cast<c10::TupleType>();
  return tuple && i < tuple->elements().size() ? tuple->elements()[i]
                                               : c10::TypePtr(c10::AnyType::get());
}

// Whether outputs carry what a list of unknown length holds, one for each part of it. `form`: the type
// that it has there.
bool HasColumns(const c10::TypePtr& type, const ir::Type& form) {
  switch (type->kind()) {
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::ClassType: return false;
    case c10::TypeKind::ListType:
      if (HoldsNumbers(type) && form.is_tensor()) return false;  // as many numbers as they are long
      break;
    case c10::TypeKind::DictType:
    case c10::TypeKind::TupleType: break;
    default: return true;
  }
  for (size_t i = 0; i < form.elements.size(); ++i) {
    if (!HasColumns(PartOf(type, i), form.elements[i])) return false;
  }
  return true;
}

}  // namespace

void Converter::DefineInputs() {
  const auto params = program_.graph->block()->inputs();
  ItemRef self = NewItem(Item::Kind::kObject);
  self->object = program_.module._ivalue();
  objects_[self->object.get()] = self;
  Define(params[0], self);
  const auto parameters = torch_values::Parameters(program_.schema());
  for (size_t i = 0; i + 1 < params.size(); ++i) {
    const torch_values::BoundArgument& argument = (*input_.arguments)[i];
    if (argument.is_default) {
      Define(params[i + 1], FromIValue(*parameters[i].default_value()));
    } else {
      Define(params[i + 1], InputItem(argument.value, argument.name));
    }
  }
}

ItemRef Converter::InputItem(const Value& value, const std::string& path) {
  ir::Type type;
  switch (value.kind) {
    case ValueKind::kNone:
      return Leaf(ir::Arg());
    case ValueKind::kString:
      return Leaf(value.text);
    case ValueKind::kTuple:
    case ValueKind::kList: {
      ItemRef whole = NewItem(value.kind == ValueKind::kTuple ? Item::Kind::kTuple
                                                              : Item::Kind::kList);
      for (size_t i = 0; i < value.elements.size(); ++i) {
        whole->content.items.push_back(
            InputItem(value.elements[i], absl::StrCat(path, ".", i)));
      }
      return whole;
    }
    case ValueKind::kDict: {
      ItemRef dict = NewItem(Item::Kind::kDict);
      for (size_t i = 0; i < value.elements.size(); ++i) {
        const Value& key = value.keys[i];
        const bool text = key.kind == ValueKind::kString;
        dict->content.keys.push_back(text ? ir::Arg(key.text) : ir::Arg(key.integer));
        dict->content.items.push_back(InputItem(
            value.elements[i],
            absl::StrCat(path, ".", text ? key.text : absl::StrCat(key.integer))));
      }
      return dict;
    }
    case ValueKind::kTensor: {
      ir::Shape shape;
      for (const inputs::Axis& axis : value.tensor.axes) {
        shape.push_back(axis.symbol.empty() ? ir::Dim(axis.size) : ir::Dim::Symbol(axis.symbol));
      }
      type = ir::Type::Tensor(value.tensor.dtype, std::move(shape));
      break;
    }
    case ValueKind::kInt:
      type = ir::Type::Scalar(ir::Type::Kind::kInt);
      break;
    case ValueKind::kFloat:
      type = ir::Type::Scalar(ir::Type::Kind::kFloat);
      break;
    case ValueKind::kBool:
      type = ir::Type::Scalar(ir::Type::Kind::kBool);
      break;
  }
  ir::Value* param = graph_.NewValue(std::move(type), path);
  if (input_.untrusted_inputs.count(path)) origins_[param].untrusted = true;
  graph_.main.params.push_back(param);
  return Leaf(param);
}

void Converter::AddOutputs() {
  const bool taken = std::any_of(
      graph_.main.params.begin(), graph_.main.params.end(), [](const ir::Value* param) {
        return param->name == "out" || absl::StartsWith(param->name, "out.");
      });
  const JitValue* result = program_.graph->block()->outputs()[0];
  if (HoldsEnum(result->type())) {
    throw ConvertError{
        absl::UnimplementedError("the program gives a member of an enum, which no output holds")};
  }
  FlattenOutput(At(result), typing_.Seen(result, {0})[0], taken ? "output" : "out", nullptr,
                result->type());
  for (OptionalOutputs& outputs : optional_outputs_) {
    graph_.main.nodes.push_back(std::move(outputs.choice));
  }
}

// ONNX wants the rank of every output: where it is not the same in all runs, that of the example.
ir::Arg Converter::Ranked(const ir::Arg& result, const Observed& seen, const std::string& path) {
  if (!result.is_value() || !result.value()->type.is_tensor() || result.value()->type.shape ||
      !seen.sizes) {
    return result;
  }
  const size_t rank = seen.sizes->size();
  result_.warnings.push_back({.severity = diagnostics::Severity::kWarning,
                              .id = "varying-rank",
                              .message = absl::StrCat("the rank of ", path, " depends on the "
                                                      "inputs; the model states that of the "
                                                      "example, ", rank)});
  auto cast = graph_.NewNode("prim::unchecked_cast", {{"x", result}});
  cast->outputs.push_back(graph_.NewValue(
      ir::Type::Tensor(result.value()->type.dtype, ir::Shape(rank, ir::Dim::Unknown()))));
  graph_.main.nodes.push_back(std::move(cast));
  return graph_.main.nodes.back()->output();
}

// The result where `there` holds, None otherwise.
ir::Value* Converter::OptionalOutput(const ir::Arg& result, const ItemRef& there) {
  const ir::Arg condition = ToArg(*there);
  auto outputs = std::find_if(optional_outputs_.begin(), optional_outputs_.end(),
                              [&](const auto& each) { return each.condition == condition; });
  if (outputs == optional_outputs_.end()) {
    auto choice = graph_.NewNode("prim::If", {{"cond", condition}});
    for (int i = 0; i < 2; ++i) choice->blocks.push_back(std::make_unique<ir::Block>());
    outputs = optional_outputs_.insert(outputs, {condition, std::move(choice)});
  }
  ir::Node& choice = *outputs->choice;
  choice.blocks[0]->results.push_back(result);
  choice.blocks[1]->results.push_back(ir::Arg());
  choice.outputs.push_back(graph_.NewValue(
      ir::Type{.kind = ir::Type::Kind::kOptional, .elements = {TypeOfArg(result)}}));
  return choice.outputs.back();
}

ItemRef Converter::Both(const ItemRef& a, const ItemRef& b) {
  if (a == nullptr) return b;
  auto both = graph_.NewNode("aten::__and__.bool", {{"a", ToArg(*a)}, {"b", ToArg(*b)}});
  both->outputs.push_back(graph_.NewValue(ir::Type::Scalar(ir::Type::Kind::kBool)));
  graph_.main.nodes.push_back(std::move(both));
  return Leaf(graph_.main.nodes.back()->output());
}

// `seen`: the same in the run of the example. `there`: whether there is such an output; null:
// always.
void Converter::FlattenOutput(const ItemRef& item, const Observed& seen, const std::string& path,
                              const ItemRef& there, const c10::TypePtr& declared) {
  const c10::TypePtr type = WithoutOptional(declared);
  const auto part = [&](size_t i) {
    const bool each = item->kind() != Item::Kind::kDict && !seen.length_varies;
    return each && i < seen.elements.size() ? seen.elements[i] : Observed();
  };
  switch (item->kind()) {
    case Item::Kind::kLeaf: {
      const ir::Arg leaf = Ranked(item->content.leaf, seen, path);
      if (const ir::Type form = TypeOfArg(leaf); form.is_list()) {
        const c10::TypePtr element = PartOf(type, 0);
        const c10::TypeKind kind = element->kind();
        if (kind == c10::TypeKind::StringType || kind == c10::TypeKind::ClassType) {
          const bool text = kind == c10::TypeKind::StringType;
          graph_.dropped_outputs.push_back({path, text ? "str" : "objects"});
          return;
        }
        if (!HasColumns(element, form.elements[0])) {
          throw ConvertError{absl::UnimplementedError(
              absl::StrCat("output ", path, " is a list of ", element->repr_str(),
                           " whose length the inputs decide: no output of an ONNX model holds such a "
                           "list of what may be None, of strings, objects or lists that differ in "
                           "length"))};
        }
      }
      if (leaf.is_none() || HoldsText(TypeOfArg(leaf))) {
        graph_.dropped_outputs.push_back({path, leaf.is_none() ? "None" : "str"});
        return;
      }
      graph_.main.results.push_back(there ? OptionalOutput(leaf, there) : leaf);
      graph_.output_names.push_back(path);
      return;
    }
    case Item::Kind::kChoice:
      if (item->content.items[0]->kind() == Item::Kind::kObject) {
        graph_.dropped_outputs.push_back({path, "an object"});
        return;
      }
      return FlattenOutput(Resolved(program_.graph->return_node(), item), seen, path, there, type);
    case Item::Kind::kNumber:
      throw ConvertError{absl::UnimplementedError(absl::StrCat(
          "output ", path, " is an int or a float, as the inputs decide: an output of an ONNX model "
          "has one type; convert it, as float(…) does"))};
    case Item::Kind::kText:
      graph_.dropped_outputs.push_back({path, "str"});
      return;
    case Item::Kind::kObject:
      graph_.dropped_outputs.push_back({path, "an object"});
      return;
    case Item::Kind::kOptional: {
      const ItemRef &here = item->content.items[0], &value = item->content.items[1];
      const auto known = ConstantBool(here);
      if (known == false) return FlattenOutput(Leaf(ir::Arg()), seen, path, nullptr, type);
      const bool absent = seen.kind == ir::Type::Kind::kNone;
      return FlattenOutput(value, absent ? Observed() : seen, path,
                           known ? there : Both(there, here), type);
    }
    case Item::Kind::kDict:
      if (item->content.unordered && item->content.items.size() > 1) {
        throw ConvertError{absl::UnimplementedError(absl::StrCat(
            "output ", path, " is a dict whose order of keys the inputs decide: the outputs of an ONNX "
            "model have one order"))};
      }
      for (size_t i = 0; i < item->content.items.size(); ++i) {
        const ir::Arg& key = item->content.keys[i];
        FlattenOutput(
            item->content.items[i], part(i),
            absl::StrCat(path, ".", key.is_string() ? key.as_string() : absl::StrCat(key.as_int())),
            there, PartOf(type, i));
      }
      return;
    default:
      if (item->content.items.empty()) graph_.dropped_outputs.push_back({path, "empty"});
      for (size_t i = 0; i < item->content.items.size(); ++i) {
        const bool named = i < item->field_names.size();
        FlattenOutput(item->content.items[i], part(i),
                      absl::StrCat(path, ".", named ? item->field_names[i] : absl::StrCat(i)),
                      there, PartOf(type, i));
      }
  }
}

void Converter::FinishWeights() {
  weights_.Finish(&result_.program);
  // Blocks that were converted in vain leave nothing behind.
  std::set<int32_t> kept;
  ir::ForEachNode(graph_.main, [&](const ir::Node& node) { kept.insert(node.id); });
  for (auto it = result_.program.debug.begin(); it != result_.program.debug.end();) {
    it = kept.count(it->first) ? std::next(it) : result_.program.debug.erase(it);
  }
}

}  // namespace rules_onnx::script
