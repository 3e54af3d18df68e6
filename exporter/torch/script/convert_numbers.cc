// Numbers that are ints or floats, as the run decides (Item::Kind::kNumber): what they are as both, and
// which of them holds. A node that takes one is converted for each (convert_choices.cc).
#include <ATen/ATen.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <cstdlib>

#include "exporter/torch/script/converter.h"
#include "exporter/torch/script/operator_call.h"
#include "exporter/torch/values/tensors.h"

namespace rules_onnx::script {
namespace {

using Kind = ir::Type::Kind;

bool IsKindOfNumber(Kind kind) { return kind == Kind::kInt || kind == Kind::kFloat; }

// A constant that says what the operator gives: a dtype's number or an axis, but no size.
bool IsSelector(const Item& item) {
  constexpr int64_t kLargest = 64;
  if (!item.is_leaf() || !item.content.leaf.is_int()) return false;
  return std::abs(item.content.leaf.as_int()) <= kLargest;
}

// A value of the item's type, of no matter which size.
std::optional<c10::IValue> SampleOf(const Item& item) {
  const ir::Type type = TypeOfItem(item);
  if (IsSelector(item)) return c10::IValue(item.content.leaf.as_int());
  if (item.is_leaf() && item.content.leaf.is_bool()) return item.content.leaf.as_bool();
  if (item.is_list() && type.elements[0].kind == Kind::kInt) {
    return c10::IValue(std::vector<int64_t>(item.content.items.size(), 1));
  }
  switch (type.kind) {
    case Kind::kInt: return c10::IValue(int64_t{1});
    case Kind::kFloat: return c10::IValue(1.0);
    case Kind::kBool: return c10::IValue(true);
    case Kind::kNone: return c10::IValue();
    case Kind::kTensor: break;
    default: return std::nullopt;
  }
  const auto dtype = torch_values::ScalarTypeOf(type.dtype);
  if (!dtype || !type.shape || ir::IsQuantized(type.dtype)) return std::nullopt;
  return c10::IValue(at::ones(std::vector<int64_t>(type.shape->size(), 1), *dtype));
}

// Whether TorchScript leaves open which number it is.
bool IsOpen(const c10::TypePtr& type) {
  return type->kind() == c10::TypeKind::NumberType || type->kind() == c10::TypeKind::UnionType;
}

}  // namespace

bool Converter::IsIntOrFloat(const Item& item) {
  return item.is_number() || (item.is_leaf() && IsKindOfNumber(TypeOfItem(item).kind));
}

bool Converter::AreMixed(const Item& a, const Item& b) {
  if (!IsIntOrFloat(a) || !IsIntOrFloat(b)) return false;
  if (a.is_number() || b.is_number()) return a.is_number() != b.is_number();
  return !a.content.unset && !b.content.unset && TypeOfItem(a).kind != TypeOfItem(b).kind;
}

ItemRef Converter::AsNumber(const ItemRef& item) {
  if (item->is_number()) return item;
  const bool is_float = TypeOfItem(*item).kind == Kind::kFloat;
  ItemRef number = NewItem(Item::Kind::kNumber);
  number->content.items = {item->content.unset ? Unset(is_float) : Leaf(is_float),
                           is_float ? Unset(int64_t{0}) : item, is_float ? item : Unset(0.0)};
  return number;
}

// Runs may have seen numbers of other types: what the operator gives for these is asked of it.
void Converter::TypeByArguments(const JitNode* node, const JitValue* output, ir::Type* type) {
  const torch::jit::Operator* op = node->maybeOperator();
  const auto open = [](const JitValue* value) { return IsOpen(value->type()); };
  const bool follows =
      open(output) || (type->is_tensor() &&
                       (type->dtype == ir::DType::kUndefined ||
                        std::any_of(node->inputs().begin(), node->inputs().end(), open)));
  if (op == nullptr || node->outputs().size() != 1 || !follows) return;
  std::vector<c10::IValue> samples;
  for (const JitValue* input : node->inputs()) {
    const auto sample = SampleOf(*At(input));
    if (!sample) return;
    samples.push_back(*sample);
  }
  try {
    const c10::IValue result =
        CallOperator(node, op->getOperation(node), samples, /*meta=*/false)[0];
    if (result.isTensor() && type->is_tensor()) {
      type->dtype = torch_values::DTypeOf(result.toTensor().scalar_type());
    }
    if (result.isInt()) *type = ir::Type::Scalar(Kind::kInt);
    if (result.isDouble()) *type = ir::Type::Scalar(Kind::kFloat);
    if (result.isBool()) *type = ir::Type::Scalar(Kind::kBool);
  } catch (const std::exception&) {  // of these sizes it takes none: the runs' types stay
  }
}

}  // namespace rules_onnx::script
