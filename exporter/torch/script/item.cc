#include "exporter/torch/script/item.h"

#include <stdexcept>

#include "exporter/torch/script/observed.h"

namespace rules_onnx::script {

using Kind = Item::Kind;

bool Item::has_identity() const {
  if (is_leaf()) {
    return is_value() &&
           (value()->type.is_list() || value()->type.kind == ir::Type::Kind::kDict);
  }
  return is_container() || is_choice() || content.kind == Kind::kObject;
}

std::vector<ItemRef> Parts(const Item::Content& content) {
  std::vector<ItemRef> parts = content.items;
  for (const auto& [name, part] : content.attributes) parts.push_back(part);
  return parts;
}

bool SameStructure(const Item& a, const Item& b) {
  if (a.kind() != b.kind()) return false;
  if (a.kind() == Kind::kLeaf) return true;
  if (a.kind() == Kind::kObject || a.is_choice()) return &a == &b;
  if (a.content.items.size() != b.content.items.size()) return false;
  if (a.content.entry != b.content.entry) return false;
  if (a.kind() == Kind::kDict && !(a.content.keys == b.content.keys)) return false;
  for (size_t i = 0; i < a.content.items.size(); ++i) {
    if (!SameStructure(*a.content.items[i], *b.content.items[i])) return false;
  }
  return true;
}

bool SameContent(const Item& a, const Item& b) {
  if (&a == &b) return true;
  if (!SameStructure(a, b)) return false;
  if (a.kind() == Kind::kLeaf) return a.content.leaf == b.content.leaf;
  for (size_t i = 0; i < a.content.items.size(); ++i) {
    if (!SameContent(*a.content.items[i], *b.content.items[i])) return false;
  }
  return true;
}

bool IsSame(const Item& a, const Item& b) {
  if (&a == &b) return true;
  if (a.is_choice() && b.is_choice()) {
    if (a.content.items != b.content.items) return false;
    for (size_t i = 0; i < a.content.flags.size(); ++i) {
      if (!SameContent(*a.content.flags[i], *b.content.flags[i])) return false;
    }
    return true;
  }
  if (a.has_identity() || b.has_identity()) return false;
  if (a.is_leaf()) return SameContent(a, b);
  if (!SameStructure(a, b)) return false;
  for (size_t i = 0; i < a.content.items.size(); ++i) {
    if (!IsSame(*a.content.items[i], *b.content.items[i])) return false;
  }
  return true;
}

ir::Arg ToArg(const Item& item) {
  switch (item.kind()) {
    case Kind::kLeaf:
      return item.content.leaf;
    case Kind::kTuple:
    case Kind::kList: {
      ir::Arg::List list;
      for (const ItemRef& each : item.content.items) list.push_back(ToArg(*each));
      return list;
    }
    case Kind::kOptional:
      throw std::invalid_argument("whether a value is None depends on the inputs, and an operator "
                                  "takes it without asking");
    case Kind::kChoice:
      throw std::invalid_argument("which list or dict is meant depends on the inputs");
    case Kind::kText:
      throw std::invalid_argument("which str is meant depends on the inputs, and an operator takes "
                                  "it in a list");
    case Kind::kNumber:
      throw std::invalid_argument("whether a number is an int or a float depends on the inputs, and "
                                  "an operator takes it in a list");
    default:
      return ir::Arg();
  }
}

ir::Type TypeOfArg(const ir::Arg& arg) {
  using TypeKind = ir::Type::Kind;
  if (arg.is_value()) return arg.value()->type;
  if (arg.is_none()) return ir::Type::Scalar(TypeKind::kNone);
  if (arg.is_bool()) return ir::Type::Scalar(TypeKind::kBool);
  if (arg.is_int() || arg.is_dtype()) return ir::Type::Scalar(TypeKind::kInt);
  if (arg.is_float()) return ir::Type::Scalar(TypeKind::kFloat);
  if (arg.is_complex()) return ir::Type::Scalar(TypeKind::kComplex);
  if (arg.is_string()) return ir::Type::Scalar(TypeKind::kString);
  if (arg.is_literal()) {
    const ir::TensorLiteral& literal = arg.literal();
    return ir::Type::Tensor(literal.dtype, ir::Shape(literal.shape.begin(), literal.shape.end()));
  }
  ir::Type element;
  for (const ir::Arg& item : arg.list()) element = JoinTypes(element, TypeOfArg(item));
  return ir::Type::List(element);
}

ir::Type TypeOfItem(const Item& item) {
  if (item.is_leaf()) return TypeOfArg(item.content.leaf);
  if (item.is_list()) {
    ir::Type element;
    for (const ItemRef& each : item.content.items) element = JoinTypes(element, TypeOfItem(*each));
    return ir::Type::List(element);
  }
  if (item.is_choice()) {
    ir::Type type = TypeOfItem(*item.content.items[0]);
    for (const ItemRef& each : item.content.items) type = JoinTypes(type, TypeOfItem(*each));
    return type;
  }
  if (item.is_optional()) {
    return ir::Type{.kind = ir::Type::Kind::kOptional,
                    .elements = {TypeOfItem(*item.content.items[1])}};
  }
  if (item.is_text()) return ir::Type::Scalar(ir::Type::Kind::kString);
  if (item.kind() != Kind::kTuple) return ir::Type();
  std::vector<ir::Type> elements;
  for (const ItemRef& each : item.content.items) elements.push_back(TypeOfItem(*each));
  ir::Type tuple = ir::Type::Tuple(std::move(elements));
  tuple.field_names = item.field_names;
  return tuple;
}

std::optional<bool> ConstantBool(const ItemRef& item) {
  if (!item->is_constant() || !item->content.leaf.is_bool()) return std::nullopt;
  return item->content.leaf.as_bool();
}

std::optional<int64_t> IntOf(const ItemRef& item) {
  if (!item->is_constant() || !item->content.leaf.is_int()) return std::nullopt;
  return item->content.leaf.as_int();
}

bool AllConstant(const Item& item) {
  if (item.is_leaf()) return item.is_constant();
  if (item.kind() == Item::Kind::kObject || item.kind() == Item::Kind::kDict ||
      item.is_optional() || item.is_choice() || item.is_text() || item.is_number()) {
    return false;
  }
  return std::all_of(item.content.items.begin(), item.content.items.end(),
                     [](const ItemRef& each) { return AllConstant(*each); });
}

std::optional<size_t> Position(int64_t index, size_t size) {
  if (index < 0) index += static_cast<int64_t>(size);
  if (index < 0 || index >= static_cast<int64_t>(size)) return std::nullopt;
  return static_cast<size_t>(index);
}

}  // namespace rules_onnx::script
