#include "exporter/torch/script/typing.h"

#include <algorithm>
#include <utility>

#include "exporter/torch/values/tensors.h"

namespace rules_onnx::script {

using Kind = ir::Type::Kind;

namespace {

// Lists of one length, which stand in a list of unknown length, in the type that says their length.
ir::Type WithLengths(ir::Type type, const Observed& seen) {
  if (type.kind != seen.kind) return type;
  if (type.kind == Kind::kTuple) {
    for (size_t i = 0; i < std::min(type.elements.size(), seen.elements.size()); ++i) {
      type.elements[i] = WithLengths(std::move(type.elements[i]), seen.elements[i]);
    }
  }
  if (type.kind != Kind::kList || seen.length_varies || seen.elements.empty()) return type;
  std::vector<ir::Type> elements;
  for (const Observed& item : seen.elements) {
    elements.push_back(WithLengths(type.elements[0], item));
  }
  return ir::Type::Tuple(std::move(elements));
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
                        const Hints& hints, bool untrusted) const {
  const std::vector<Observed> seen = Seen(value, contexts);
  const bool reached = std::any_of(seen.begin(), seen.end(),
                                   [](const Observed& o) { return o.kind != Kind::kUnknown; });
  return reached ? Build(seen, hints, untrusted) : DeclaredType(value->type());
}

std::vector<ir::Type> Typing::ItemTypes(const torch::jit::Value* list,
                                        const std::vector<int>& contexts) const {
  const std::vector<Observed> seen = Seen(list, contexts);
  std::vector<ir::Type> types;
  for (size_t i = 0; i < seen[0].elements.size(); ++i) {
    std::vector<Observed> item;
    for (const Observed& o : seen) {
      item.push_back(i < o.elements.size() ? o.elements[i] : Observed());
    }
    types.push_back(Build(item, Hints(), false));
  }
  return types;
}

ir::Type Typing::BuildTensor(const std::vector<Observed>& seen, const Hints& hints,
                             bool untrusted) const {
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
    if (untrusted || !all_reached) {
      shape.push_back(ir::Dim::Unknown());
      continue;
    }
    std::vector<int64_t> sizes;
    for (const Observed& o : seen) sizes.push_back((*o.sizes)[axis]);
    shape.push_back(FitDim(bindings_, sizes, hints ? hints(axis) : DimHints()));
  }
  return ir::Type::Tensor(dtype, std::move(shape));
}

ir::Type Typing::Build(const std::vector<Observed>& seen, const Hints& hints,
                       bool untrusted) const {
  Observed joined;
  for (const Observed& o : seen) joined.Join(o);
  if (joined.kind == Kind::kTensor) return BuildTensor(seen, hints, untrusted);
  ir::Type type{.kind = joined.kind};
  type.field_names = joined.field_names;
  type.class_name = joined.class_name;
  if (joined.kind == Kind::kOptional) {
    std::vector<Observed> present;
    for (const Observed& o : seen) {
      if (o.kind == Kind::kNone) {
        present.emplace_back();
      } else {
        present.push_back(o.kind == Kind::kOptional ? o.elements[0] : o);
      }
    }
    type.elements.push_back(Build(present, hints, untrusted));
    return type;
  }
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
    type.elements.push_back(Build(element, hints, untrusted));
  }
  if (joined.kind == Kind::kList) {
    ir::Type element;
    for (const ir::Type& each : type.elements) element = JoinTypes(element, each);
    if (joined.length_varies && !joined.elements.empty()) {
      element = WithLengths(std::move(element), joined.elements[0]);
    }
    type.elements = {element};
  }
  return type;
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
      return ir::Type::List(DeclaredType(type->expectRef<c10::ListType>().getElementType()));
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
