#include "exporter/torch/script/typing.h"

#include <algorithm>
#include <utility>

#include "exporter/torch/values/tensors.h"

namespace rules_onnx::script {

using Kind = ir::Type::Kind;

namespace {

// Where there is a value.
std::vector<Observed> Present(const std::vector<Observed>& seen) {
  std::vector<Observed> present;
  for (const Observed& o : seen) {
    if (o.kind == Kind::kNone) {
      present.emplace_back();
    } else {
      present.push_back(o.kind == Kind::kOptional ? o.elements[0] : o);
    }
  }
  return present;
}

c10::TypePtr ElementOf(const c10::TypePtr& list) {
  const auto type = list ? list->cast<c10::ListType>() : nullptr;
  return type ? type->getElementType() : nullptr;
}

// Without sizes, but for numbers where a tensor has few elements.
ir::Type WithoutSizes(ir::Type type) {
  constexpr int64_t kMaxElements = 256;
  for (ir::Type& element : type.elements) element = WithoutSizes(std::move(element));
  if (!type.shape) return type;
  const ir::Dim elements = ir::NumElements(*type.shape);
  if (elements.is_number() && elements.value() <= kMaxElements) return type;
  type.shape->assign(type.shape->size(), ir::Dim::Unknown());
  return type;
}

ir::Type DeclaredItem(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::OptionalType:
      return ir::Type::Tuple({ir::Type::Scalar(Kind::kBool),
                              DeclaredItem(type->expectRef<c10::OptionalType>().getElementType())});
    case c10::TypeKind::StringType: return ir::Type::Scalar(Kind::kInt);
    case c10::TypeKind::TupleType: {
      ir::Type tuple = DeclaredType(type);
      for (size_t i = 0; i < tuple.elements.size(); ++i) {
        tuple.elements[i] = DeclaredItem(type->expectRef<c10::TupleType>().elements()[i]);
      }
      return tuple;
    }
    default: return DeclaredType(type);
  }
}

}  // namespace

Typing::Typing(const std::vector<Run>* runs) : runs_(runs) {
  for (const Run& run : *runs) bindings_.push_back(run.bindings);
}

std::vector<Observed> Typing::Seen(const torch::jit::Value* value,
                                   const std::vector<int>& contexts) const {
  std::vector<Observed> seen;
  for (const Run& run : *runs_) {
    Observed joined;
    for (const int context : contexts) {
      const auto at = run.record.values.find({context, value});
      if (at != run.record.values.end()) joined.Join(at->second);
    }
    seen.push_back(std::move(joined));
  }
  return seen;
}

ir::Type Typing::TypeOf(const torch::jit::Value* value, const std::vector<int>& contexts,
                        const Hints& hints, const std::vector<bool>& unknown) const {
  const std::vector<Observed> seen = Seen(value, contexts);
  const bool reached = std::any_of(seen.begin(), seen.end(),
                                   [](const Observed& o) { return o.kind != Kind::kUnknown; });
  return reached ? Build(seen, hints, unknown, value->type()) : DeclaredType(value->type());
}

ir::Type Typing::ItemType(const torch::jit::Value* value, const std::vector<int>& contexts,
                          const std::vector<bool>& unknown) const {
  return BuildItem(Seen(value, contexts), Hints(), unknown, value->type(), /*lengths=*/true);
}

std::vector<ir::Type> Typing::ItemTypes(const torch::jit::Value* list,
                                        const std::vector<int>& contexts,
                                        const std::vector<bool>& unknown) const {
  const std::vector<Observed> seen = Seen(list, contexts);
  std::vector<ir::Type> types;
  for (size_t i = 0; i < seen[0].elements.size(); ++i) {
    std::vector<Observed> item;
    for (const Observed& o : seen) {
      item.push_back(i < o.elements.size() ? o.elements[i] : Observed());
    }
    types.push_back(Build(item, Hints(), unknown, ElementOf(list->type())));
  }
  return types;
}

ir::Type Typing::BuildTensor(const std::vector<Observed>& seen, const Hints& hints,
                             const std::vector<bool>& unknown) const {
  const Observed* first = nullptr;
  bool same_rank = true, same_dtype = true, all_reached = true;
  for (const Observed& o : seen) {
    if (o.kind == Kind::kUnknown) {
      all_reached = false;
      continue;
    }
    if (first == nullptr) first = &o;
    same_dtype = same_dtype && o.dtype == first->dtype;
    same_rank = same_rank && o.sizes && first->sizes && o.sizes->size() == first->sizes->size();
  }
  const ir::DType dtype = same_dtype ? first->dtype : ir::DType::kUndefined;
  if (!same_rank) return ir::Type::Tensor(dtype, std::nullopt);
  ir::Shape shape;
  for (size_t axis = 0; axis < first->sizes->size(); ++axis) {
    if (!all_reached || (axis < unknown.size() && unknown[axis])) {
      shape.push_back(ir::Dim::Unknown());
      continue;
    }
    std::vector<int64_t> sizes;
    for (const Observed& o : seen) sizes.push_back((*o.sizes)[axis]);
    shape.push_back(FitDim(bindings_, sizes, hints ? hints(axis) : DimHints()));
  }
  return ir::Type::Tensor(dtype, std::move(shape));
}

ir::Type Typing::Build(const std::vector<Observed>& seen, const Hints& hints, const std::vector<bool>& unknown,
                       const c10::TypePtr& declared) const {
  Observed joined;
  for (const Observed& o : seen) joined.Join(o);
  if (joined.kind == Kind::kTensor) return BuildTensor(seen, hints, unknown);
  ir::Type type{.kind = joined.kind};
  if (joined.kind == Kind::kTuple) type.field_names = joined.field_names;
  type.class_name = joined.class_name;
  if (joined.kind == Kind::kOptional) {
    const auto optional = declared ? declared->cast<c10::OptionalType>() : nullptr;
    type.elements.push_back(
        Build(Present(seen), hints, unknown, optional ? optional->getElementType() : nullptr));
    return type;
  }
  const auto tuple = declared ? declared->cast<c10::TupleType>() : nullptr;
  const auto dict = declared ? declared->cast<c10::DictType>() : nullptr;
  const auto part = [&](size_t i) -> c10::TypePtr {
    if (dict) return i == 1 ? dict->getValueType() : dict->getKeyType();
    return tuple && i < tuple->elements().size() ? tuple->elements()[i] : nullptr;
  };
  for (size_t i = 0; i < joined.elements.size(); ++i) {
    std::vector<Observed> element;
    for (const Observed& o : seen) {
      element.emplace_back();
      if (joined.length_varies) {
        for (const Observed& item : o.elements) element.back().Join(item);
      } else if (i < o.elements.size()) {
        element.back() = o.elements[i];
      }
    }
    const c10::TypePtr item = ElementOf(declared);
    type.elements.push_back(joined.kind == Kind::kList && item
                                ? BuildItem(element, hints, unknown, item, joined.length_varies)
                                : Build(element, hints, unknown, part(i)));
  }
  if (joined.kind == Kind::kList) {
    ir::Type element;
    for (const ir::Type& each : type.elements) element = JoinTypes(element, each);
    type.elements = {element};
  }
  return type;
}

ir::Type Typing::BuildItem(const std::vector<Observed>& seen, const Hints& hints,
                           const std::vector<bool>& unknown, const c10::TypePtr& declared,
                           bool lengths) const {
  Observed joined;
  for (const Observed& o : seen) joined.Join(o);
  if (const auto optional = declared->cast<c10::OptionalType>()) {
    const c10::TypePtr inner = optional->getElementType();
    const std::vector<Observed> present = Present(seen);
    const bool any = std::any_of(present.begin(), present.end(),
                                 [](const Observed& o) { return o.kind != Kind::kUnknown; });
    if (!any) return DeclaredItem(declared);
    return FormOf(ir::Type::Tuple({ir::Type::Scalar(Kind::kBool),
                                   BuildItem(present, hints, unknown, inner, lengths)}),
                  declared);
  }
  // One of the parts of all.
  const auto part = [&](std::vector<Observed> Observed::*parts, size_t i,
                        const c10::TypePtr& type) {
    std::vector<Observed> column;
    for (const Observed& o : seen) {
      column.push_back(i < (o.*parts).size() ? (o.*parts)[i] : Observed());
    }
    return type ? BuildItem(column, hints, unknown, type, lengths)
                : Build(column, hints, unknown, nullptr);
  };
  std::vector<ir::Type> parts;
  switch (declared->kind()) {
    case c10::TypeKind::StringType: return ir::Type::Scalar(Kind::kInt);
    case c10::TypeKind::ClassType:  // runs keep the attributes elsewhere
      return ir::Type();
    case c10::TypeKind::DictType: {
      if (joined.fields.empty()) return ir::Type();
      for (size_t i = 0; i < joined.fields.size(); ++i) {
        parts.push_back(
            part(&Observed::fields, i, declared->expectRef<c10::DictType>().getValueType()));
      }
      ir::Type whole = ir::Type::Tuple(std::move(parts));
      whole.field_names = joined.field_names;
      return whole;
    }
    case c10::TypeKind::TupleType: {
      if (joined.kind != Kind::kTuple) return DeclaredItem(declared);
      const auto elements = declared->expectRef<c10::TupleType>().elements();
      for (size_t i = 0; i < elements.size(); ++i) {
        parts.push_back(part(&Observed::elements, i, elements[i]));
      }
      ir::Type whole = ir::Type::Tuple(std::move(parts));
      whole.field_names = joined.field_names;
      return whole;
    }
    case c10::TypeKind::ListType: {
      if (lengths && joined.length_varies && HoldsNumbers(declared)) {
        return ir::Type::Tensor(DeclaredType(ElementOf(declared)).TensorDType(),
                                ir::Shape{ir::Dim::Unknown()});
      }
      const bool fixed = joined.kind == Kind::kList && !joined.length_varies;
      if (!lengths || !fixed || joined.elements.empty()) break;
      for (size_t i = 0; i < joined.elements.size(); ++i) {
        parts.push_back(part(&Observed::elements, i, ElementOf(declared)));
      }
      return ir::Type::Tuple(std::move(parts));
    }
    default: break;
  }
  return Build(seen, hints, unknown, declared);
}

bool IsPacked(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::DictType:
    case c10::TypeKind::ClassType: return true;
    case c10::TypeKind::TupleType: {
      const auto elements = type->expectRef<c10::TupleType>().elements();
      return std::any_of(elements.begin(), elements.end(), IsPacked);
    }
    case c10::TypeKind::ListType: return HoldsNumbers(type) || IsPacked(ElementOf(type));
    default: return false;
  }
}

bool HoldsPacked(const c10::TypePtr& type) {
  const c10::TypePtr element = ElementOf(type);
  return element && IsPacked(element);
}

bool HoldsNumbers(const c10::TypePtr& type) {
  const c10::TypePtr element = ElementOf(type);
  return element && DeclaredType(element).is_number();
}

ir::Type FormOf(ir::Type item, const c10::TypePtr& declared) {
  if (item.kind != Kind::kTuple) return item;
  if (declared->kind() == c10::TypeKind::OptionalType) return WithoutSizes(std::move(item));
  const auto tuple = declared->cast<c10::TupleType>();
  const auto dict = declared->cast<c10::DictType>();
  const auto object = declared->cast<c10::ClassType>();
  const c10::TypePtr element = ElementOf(declared);
  for (size_t i = 0; i < item.elements.size(); ++i) {
    const c10::TypePtr type = dict     ? dict->getValueType()
                              : object ? object->getAttribute(i)
                              : tuple  ? c10::TypePtr(tuple->elements()[i])
                                       : element;
    if (type) item.elements[i] = FormOf(std::move(item.elements[i]), type);
  }
  return item;
}

bool Typing::AddSymbol(const std::string& name, const std::vector<int64_t>& sizes) {
  const bool known = std::all_of(sizes.begin(), sizes.end(), [](int64_t s) { return s >= 0; });
  const bool moves = std::any_of(sizes.begin(), sizes.end(),
                                 [&](int64_t s) { return s != sizes.front(); });
  if (!known || !moves) return false;
  for (size_t r = 0; r < sizes.size(); ++r) bindings_[r][name] = sizes[r];
  return true;
}

ir::Type DeclaredType(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType: {
      const auto scalar = type->expectRef<c10::TensorType>().scalarType();
      return ir::Type::Tensor(scalar ? torch_values::DTypeOf(*scalar) : ir::DType::kUndefined,
                              std::nullopt);
    }
    case c10::TypeKind::IntType:
    case c10::TypeKind::EnumType:
      return ir::Type::Scalar(Kind::kInt);
    case c10::TypeKind::FloatType:
      return ir::Type::Scalar(Kind::kFloat);
    case c10::TypeKind::BoolType:
      return ir::Type::Scalar(Kind::kBool);
    case c10::TypeKind::ComplexType:
      return ir::Type::Scalar(Kind::kComplex);
    case c10::TypeKind::StringType:
      return ir::Type::Scalar(Kind::kString);
    case c10::TypeKind::NoneType:
      return ir::Type::Scalar(Kind::kNone);
    case c10::TypeKind::ListType:
      return ir::Type::List(DeclaredItem(type->expectRef<c10::ListType>().getElementType()));
    case c10::TypeKind::TupleType: {
      std::vector<ir::Type> elements;
      for (const auto& element : type->expectRef<c10::TupleType>().elements()) {
        elements.push_back(DeclaredType(element));
      }
      return ir::Type::Tuple(std::move(elements));
    }
    case c10::TypeKind::OptionalType:
      return ir::Type{
          .kind = Kind::kOptional,
          .elements = {DeclaredType(type->expectRef<c10::OptionalType>().getElementType())}};
    default:
      return ir::Type();
  }
}

}  // namespace rules_onnx::script
