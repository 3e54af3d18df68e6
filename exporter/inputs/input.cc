#include "exporter/inputs/input.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace rules_onnx::inputs {
namespace {

constexpr uint64_t kMostBytes = uint64_t{16} << 30;

std::string KeyText(const Value& key) {
  return key.kind == Value::Kind::kInt ? absl::StrCat(key.integer) : key.text;
}

void Collect(std::string path, const Value& value, std::vector<Leaf>* leaves) {
  if (!value.is_container()) {
    leaves->push_back({std::move(path), &value});
    return;
  }
  for (size_t i = 0; i < value.elements.size(); ++i) {
    const std::string step =
        value.kind == Value::Kind::kDict ? KeyText(value.keys[i]) : absl::StrCat(i);
    Collect(absl::StrCat(path, ".", step), value.elements[i], leaves);
  }
}

Value OfKind(Value::Kind kind) {
  Value value;
  value.kind = kind;
  return value;
}

bool HasStringKeys(const Value& dict) {
  for (const Value& key : dict.keys) {
    if (key.kind != Value::Kind::kString) return false;
  }
  return true;
}

}  // namespace

std::vector<int64_t> Tensor::shape() const {
  std::vector<int64_t> shape;
  for (const Axis& axis : axes) shape.push_back(axis.size);
  return shape;
}

Value Value::OfTensor(Tensor tensor) {
  Value value = OfKind(Kind::kTensor);
  value.tensor = std::move(tensor);
  return value;
}
Value Value::Int(int64_t integer) {
  Value value = OfKind(Kind::kInt);
  value.integer = integer;
  return value;
}
Value Value::Float(double number) {
  Value value = OfKind(Kind::kFloat);
  value.number = number;
  return value;
}
Value Value::Bool(bool boolean) {
  Value value = OfKind(Kind::kBool);
  value.boolean = boolean;
  return value;
}
Value Value::String(std::string text) {
  Value value = OfKind(Kind::kString);
  value.text = std::move(text);
  return value;
}
Value Value::Tuple(std::vector<Value> elements) {
  Value value = OfKind(Kind::kTuple);
  value.elements = std::move(elements);
  return value;
}
Value Value::List(std::vector<Value> elements) {
  Value value = OfKind(Kind::kList);
  value.elements = std::move(elements);
  return value;
}

std::vector<Leaf> Leaves(const Inputs& inputs) {
  std::vector<Leaf> leaves;
  for (size_t i = 0; i < inputs.arguments.size(); ++i) {
    const Argument& argument = inputs.arguments[i];
    Collect(argument.name.empty() ? absl::StrCat(i) : argument.name, argument.value, &leaves);
  }
  return leaves;
}

std::vector<Leaf> TensorLeaves(const Inputs& inputs) {
  std::vector<Leaf> tensors;
  for (Leaf& leaf : Leaves(inputs)) {
    if (leaf.value->kind == Value::Kind::kTensor) tensors.push_back(std::move(leaf));
  }
  return tensors;
}

std::vector<Tensor*> MutableTensors(Inputs* inputs) {
  std::vector<Tensor*> tensors;
  for (const Leaf& leaf : TensorLeaves(*inputs)) {
    // *inputs is not const.
    tensors.push_back(const_cast<Tensor*>(&leaf.value->tensor));
  }
  return tensors;
}

Inputs FromArguments(Value arguments) {
  Inputs inputs;
  if (arguments.kind != Value::Kind::kTuple) {
    inputs.arguments.push_back({.value = std::move(arguments)});
    return inputs;
  }
  for (Value& value : arguments.elements) inputs.arguments.push_back({.value = std::move(value)});
  return inputs;
}

void SplitLastDict(Inputs* inputs) {
  if (inputs->arguments.empty()) return;
  const Argument& last = inputs->arguments.back();
  if (last.by_name || last.value.kind != Value::Kind::kDict || !HasStringKeys(last.value)) return;
  Value dict = std::move(inputs->arguments.back().value);
  inputs->arguments.pop_back();
  for (size_t i = 0; i < dict.elements.size(); ++i) {
    inputs->arguments.push_back({dict.keys[i].text, true, std::move(dict.elements[i])});
  }
}

absl::StatusOr<uint64_t> TensorBytes(ir::DType dtype, absl::Span<const int64_t> shape) {
  uint64_t bytes = ir::ElementSize(dtype);
  bool fits = true, empty = false;
  for (const int64_t size : shape) {
    if (size < 0) return absl::InvalidArgumentError(absl::StrCat("size ", size, " is negative"));
    empty |= size == 0;
    fits &= !__builtin_mul_overflow(bytes, size, &bytes);
  }
  if (empty) return 0;
  if (fits && bytes <= kMostBytes) return bytes;
  return absl::InvalidArgumentError(
      absl::StrCat("a tensor of shape [", absl::StrJoin(shape, ", "), "] has more than 16 GiB"));
}

}  // namespace rules_onnx::inputs
