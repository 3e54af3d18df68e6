#include "exporter/torch/values/arguments.h"

#include <ATen/ATen.h>
#include <ATen/core/class_type.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exporter/torch/values/flatten.h"
#include "exporter/torch/values/tensors.h"

namespace rules_onnx::torch_values {
namespace {

using inputs::Value;
using Kind = inputs::Value::Kind;

std::string Signature(const std::vector<c10::Argument>& parameters) {
  return absl::StrCat("(", absl::StrJoin(parameters, ", ", [](std::string* out, const auto& p) {
                        absl::StrAppend(out, p.name(), ": ", p.type()->annotation_str());
                      }), ")");
}

c10::TypePtr WithoutOptional(c10::TypePtr type) {
  if (const auto optional = type->cast<c10::OptionalType>()) return optional->getElementType();
  return type;
}

bool LastDictIsParameter(const std::vector<c10::Argument>& parameters,
                         const inputs::Inputs& inputs) {
  const size_t position = inputs.arguments.size() - 1;
  if (position >= parameters.size()) return false;
  return WithoutOptional(parameters[position].type())->kind() == c10::TypeKind::DictType;
}

absl::Status Mismatch(const std::string& path, const c10::TypePtr& type, const Value& value) {
  constexpr const char* kNames[] = {"None", "a tensor", "an int",  "a float", "a bool",
                                    "a str", "a tuple", "a list", "a dict"};
  return absl::InvalidArgumentError(absl::StrCat("input ", path, ": the program takes a ",
                                                 type->annotation_str(), ", not ",
                                                 kNames[static_cast<int>(value.kind)]));
}

// A tensor without values.
at::Tensor SizesOf(const inputs::Tensor& tensor) {
  return at::empty(tensor.shape(),
                   at::TensorOptions(*ScalarTypeOf(tensor.dtype)).device(c10::kMeta));
}

absl::StatusOr<c10::IValue> ToIValue(const Value& value, const c10::TypePtr& type,
                                     const std::string& path, c10::DeviceType device);

absl::StatusOr<c10::IValue> ToList(const Value& value, const c10::TypePtr& type,
                                   const std::string& path, c10::DeviceType device) {
  const auto list_type = type->cast<c10::ListType>();
  const c10::TypePtr element = list_type ? list_type->getElementType() : c10::AnyType::get();
  c10::impl::GenericList list(element);
  for (size_t i = 0; i < value.elements.size(); ++i) {
    auto item = ToIValue(value.elements[i], element, absl::StrCat(path, ".", i), device);
    if (!item.ok()) return item.status();
    list.push_back(*std::move(item));
  }
  return c10::IValue(list);
}

absl::StatusOr<c10::IValue> ToTuple(const Value& value, const c10::TypePtr& type,
                                    const std::string& path, c10::DeviceType device) {
  const auto tuple_type = type->cast<c10::TupleType>();
  if (tuple_type && tuple_type->elements().size() != value.elements.size()) {
    return Mismatch(path, type, value);
  }
  std::vector<c10::IValue> items;
  for (size_t i = 0; i < value.elements.size(); ++i) {
    auto item =
        ToIValue(value.elements[i],
                 tuple_type ? tuple_type->elements()[i] : c10::TypePtr(c10::AnyType::get()),
                 absl::StrCat(path, ".", i), device);
    if (!item.ok()) return item.status();
    items.push_back(*std::move(item));
  }
  if (tuple_type && tuple_type->schema()) {
    return c10::IValue(c10::ivalue::Tuple::createNamed(std::move(items), tuple_type));
  }
  return c10::IValue(c10::ivalue::Tuple::create(std::move(items)));
}

absl::StatusOr<c10::IValue> ToDict(const Value& value, const c10::TypePtr& type,
                                   const std::string& path, c10::DeviceType device) {
  const auto dict_type = type->cast<c10::DictType>();
  if (!dict_type) return Mismatch(path, type, value);
  c10::impl::GenericDict dict(dict_type->getKeyType(), dict_type->getValueType());
  for (size_t i = 0; i < value.elements.size(); ++i) {
    auto key = ToIValue(value.keys[i], dict_type->getKeyType(), path, device);
    if (!key.ok()) return key.status();
    auto mapped = ToIValue(value.elements[i], dict_type->getValueType(),
                           absl::StrCat(path, ".", value.keys[i].text), device);
    if (!mapped.ok()) return mapped.status();
    dict.insert(*std::move(key), *std::move(mapped));
  }
  return c10::IValue(dict);
}

// A list or tuple for one of several types: the one of its kind, or one that takes it as well.
absl::StatusOr<c10::IValue> ToUnion(const Value& value, const c10::TypePtr& type,
                                    const std::string& path, c10::DeviceType device) {
  const c10::TypeKind own =
      value.kind == Kind::kList ? c10::TypeKind::ListType : c10::TypeKind::TupleType;
  for (const bool same : {true, false}) {
    for (const c10::TypePtr& member : type->expectRef<c10::UnionType>().containedTypes()) {
      if ((member->kind() == own) != same) continue;
      auto taken = ToIValue(value, member, path, device);
      if (taken.ok()) return taken;
    }
  }
  return Mismatch(path, type, value);
}

absl::StatusOr<c10::IValue> ToIValue(const Value& value, const c10::TypePtr& type,
                                     const std::string& path, c10::DeviceType device) {
  if (value.kind == Kind::kNone) {
    if (c10::NoneType::get()->isSubtypeOf(*type)) return c10::IValue();
    return Mismatch(path, type, value);
  }
  const c10::TypePtr inner = WithoutOptional(type);
  switch (value.kind) {
    case Kind::kTensor: {
      if (!c10::TensorType::get()->isSubtypeOf(*inner) &&
          !inner->isSubtypeOf(*c10::TensorType::get())) {
        return Mismatch(path, type, value);
      }
      return c10::IValue(device == c10::kMeta ? SizesOf(value.tensor) : ToTorch(value.tensor));
    }
    case Kind::kList:
    case Kind::kTuple:
      if (inner->kind() == c10::TypeKind::UnionType) return ToUnion(value, inner, path, device);
      if (inner->kind() == c10::TypeKind::ListType ||
          (value.kind == Kind::kList && inner->kind() == c10::TypeKind::AnyType)) {
        return ToList(value, inner, path, device);
      }
      if (inner->kind() == c10::TypeKind::TupleType || inner->kind() == c10::TypeKind::AnyType) {
        return ToTuple(value, inner, path, device);
      }
      return Mismatch(path, type, value);
    case Kind::kDict:
      return ToDict(value, inner, path, device);
    default:
      break;
  }
  c10::IValue scalar;
  if (value.kind == Kind::kInt) scalar = value.integer;
  if (value.kind == Kind::kFloat) scalar = value.number;
  if (value.kind == Kind::kBool) scalar = value.boolean;
  if (value.kind == Kind::kString) scalar = value.text;
  if (value.kind == Kind::kInt && inner->kind() == c10::TypeKind::FloatType) {
    scalar = static_cast<double>(value.integer);
  }
  if (!scalar.type()->isSubtypeOf(*inner)) return Mismatch(path, type, value);
  return scalar;
}

}  // namespace

std::vector<c10::Argument> Parameters(const c10::FunctionSchema& schema) {
  std::vector<c10::Argument> parameters = schema.arguments();
  const auto is_module = [](const c10::Argument& argument) {
    const auto type = argument.type()->cast<c10::ClassType>();
    return type && type->is_module();
  };
  if (!parameters.empty() && is_module(parameters[0])) parameters.erase(parameters.begin());
  return parameters;
}

absl::StatusOr<std::vector<BoundArgument>> BindArguments(const c10::FunctionSchema& schema,
                                                         inputs::Inputs inputs) {
  const std::vector<c10::Argument> parameters = Parameters(schema);
  if (!inputs.arguments.empty() && !LastDictIsParameter(parameters, inputs)) {
    inputs::SplitLastDict(&inputs);
  }
  std::vector<BoundArgument> bound(parameters.size());
  std::vector<bool> given(parameters.size(), false);
  size_t next = 0;
  for (inputs::Argument& argument : inputs.arguments) {
    size_t position = next;
    if (argument.by_name) {
      position = static_cast<size_t>(
          std::find_if(parameters.begin(), parameters.end(),
                       [&](const auto& p) { return p.name() == argument.name; }) -
          parameters.begin());
      if (position == parameters.size()) {
        return absl::InvalidArgumentError(absl::StrCat("there is no input named ", argument.name,
                                                       ": the program takes ",
                                                       Signature(parameters)));
      }
    } else if (++next > parameters.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the program takes ", parameters.size(), " inputs, ", Signature(parameters),
                       "; more are given"));
    }
    if (given[position]) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", parameters[position].name(), " is given twice"));
    }
    given[position] = true;
    bound[position].name =
        argument.name.empty() ? parameters[position].name() : argument.name;
    bound[position].value = std::move(argument.value);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (given[i]) continue;
    if (!parameters[i].default_value()) {
      return absl::InvalidArgumentError(absl::StrCat("no value for input ", parameters[i].name(),
                                                     ": the program takes ",
                                                     Signature(parameters)));
    }
    bound[i].name = parameters[i].name();
    bound[i].is_default = true;
  }
  return bound;
}

absl::StatusOr<std::vector<c10::IValue>> ToIValues(const c10::FunctionSchema& schema,
                                                   const std::vector<BoundArgument>& arguments,
                                                   c10::DeviceType device) {
  const std::vector<c10::Argument> parameters = Parameters(schema);
  std::vector<c10::IValue> values;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (arguments[i].is_default) {
      values.push_back(*parameters[i].default_value());
      continue;
    }
    auto value = ToIValue(arguments[i].value, parameters[i].type(), arguments[i].name, device);
    if (!value.ok()) return value.status();
    values.push_back(*std::move(value));
  }
  return values;
}

}  // namespace rules_onnx::torch_values
