// From a run's values to what is kept of them.
#include <ATen/ATen.h>
#include <torch/csrc/jit/api/object.h>

#include "absl/strings/str_cat.h"
#include "exporter/torch/script/enums.h"
#include "exporter/torch/script/interpreter.h"
#include "exporter/torch/values/tensors.h"

namespace rules_onnx::script {
namespace {

using Kind = ir::Type::Kind;

// Longer lists are kept as one joined element.
constexpr size_t kMaxListItems = 4096;

Observed ObserveItems(Kind kind, const std::vector<c10::IValue>& items) {
  Observed seen{.kind = kind};
  for (const c10::IValue& item : items) seen.elements.push_back(Observe(item));
  return seen;
}

Observed ObserveList(const c10::IValue& value) {
  const std::vector<c10::IValue> items = value.toListRef().vec();
  if (items.size() <= kMaxListItems) return ObserveItems(Kind::kList, items);
  Observed joined = Observe(items[0]);
  for (const c10::IValue& item : items) joined.Join(Observe(item));
  return Observed{.kind = Kind::kList, .elements = {std::move(joined)}, .length_varies = true};
}

Observed ObserveDict(const c10::IValue& value) {
  Observed key, mapped;
  for (const auto& entry : value.toGenericDict()) {
    key.Join(Observe(entry.key()));
    mapped.Join(Observe(entry.value()));
  }
  Observed dict{.kind = Kind::kDict, .elements = {std::move(key), std::move(mapped)}};
  for (const auto& entry : value.toGenericDict()) {
    if (!entry.key().isString() && !entry.key().isInt()) continue;
    dict.field_names.push_back(entry.key().isString() ? entry.key().toStringRef()
                                                      : absl::StrCat(entry.key().toInt()));
    dict.fields.push_back(Observe(entry.value()));
  }
  return dict;
}

Observed ObserveTuple(const c10::IValue& value) {
  Observed seen = ObserveItems(Kind::kTuple, value.toTupleRef().elements().vec());
  const auto& type = value.toTupleRef().type()->castRaw<c10::TupleType>();
  if (type != nullptr && type->schema()) {
    for (const auto& field : type->schema()->arguments()) {
      seen.field_names.push_back(field.name());
    }
  }
  return seen;
}

}  // namespace

Observed Observe(const c10::IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return Observed{.kind = Kind::kNone};
    return Observed{.kind = Kind::kTensor,
                    .dtype = torch_values::DTypeOf(tensor.scalar_type()),
                    .sizes = tensor.sizes().vec()};
  }
  if (value.isNone()) return Observed{.kind = Kind::kNone};
  if (value.isBool()) return Observed{.kind = Kind::kBool, .number = value.toBool()};
  if (value.isInt()) return Observed{.kind = Kind::kInt, .number = value.toInt()};
  if (value.isEnum()) return Observed{.kind = Kind::kInt, .number = PlaceOfMember(value)};
  if (value.isDouble()) return Observed{.kind = Kind::kFloat};
  if (value.isComplexDouble()) return Observed{.kind = Kind::kComplex};
  if (value.isString() || value.isDevice()) return Observed{.kind = Kind::kString};
  if (value.isTuple()) return ObserveTuple(value);
  if (value.isList()) return ObserveList(value);
  if (value.isGenericDict()) return ObserveDict(value);
  Observed object{.kind = Kind::kObject};
  if (value.isObject()) object.class_name = value.toObjectRef().name();
  return object;
}

}  // namespace rules_onnx::script
