// What lists of unknown length hold. ONNX has such lists of tensors and numbers, and tuples of
// these as a list for each field; all else that TorchScript puts into a list is written as a tuple:
// - Optional[T]: whether it is there, and the value, which nothing reads where it is None;
// - a dict: its values, in the order of its keys, which all dicts of the list share;
// - an object: its attributes, in the order of its class;
// - a str: its number (convert_texts.cc);
// - lists of numbers that differ in length: tensors.
// The list holds copies, so nothing may write to what several names stand for (RequireUnshared),
// nor to what is read from the list (Item::held).
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "exporter/torch/script/converter.h"

namespace rules_onnx::script {
namespace {

std::string KeyText(const ir::Arg& key) {
  return key.is_string() ? key.as_string() : absl::StrCat(key.as_int());
}

// The type of a part of what a list holds; unknown where nothing was put in so far.
ir::Type Part(const ir::Type& form, size_t i) {
  if (form.is_list()) return form.elements[0];
  return form.kind == ir::Type::Kind::kTuple && i < form.elements.size() ? form.elements[i]
                                                                         : ir::Type();
}

// What the list takes and gives, whatever that is.
bool MovesItems(const std::string& op) {
  static const std::set<std::string> kOps = {
      "aten::append",  "aten::insert", "aten::_set_item",   "aten::pop",
      "aten::Delete",  "aten::extend", "aten::add",         "aten::add_",
      "aten::slice",   "aten::copy",   "aten::list",        "aten::len",
      "aten::reverse", "aten::clear",  "aten::__getitem__", "aten::mul"};
  return kOps.count(op) > 0;
}

// What asks which items are equal.
bool ComparesItems(const std::string& op) {
  static const std::set<std::string> kOps = {"aten::eq",    "aten::ne",    "aten::__contains__",
                                             "aten::count", "aten::index", "aten::remove"};
  return kOps.count(op) > 0;
}

// What the list gave away is no copy of what it holds.
void Release(const ItemRef& item) {
  item->held = false;
  for (const ItemRef& part : Parts(item->content)) Release(part);
}

}  // namespace

// The parts that make it up, as tuples of leaves. `form`: the type of what the list holds so far.
ItemRef Converter::PackItem(const JitNode* node, const ItemRef& item, const c10::TypePtr& type,
                            const ir::Type& form) {
  if (item->is_choice()) return PackItem(node, Resolved(node, item), type, form);
  ItemRef packed = NewItem(Item::Kind::kTuple);
  auto& parts = packed->content.items;
  switch (type->kind()) {
    case c10::TypeKind::OptionalType: {
      const c10::TypePtr inner = type->expectRef<c10::OptionalType>().getElementType();
      ir::Type inside = Part(form, 1);
      if (inside.kind == ir::Type::Kind::kUnknown) {
        inside = DeclaredType(c10::ListType::create(inner)).elements[0];
      }
      const bool known = inside.kind != ir::Type::Kind::kUnknown &&
                         !(inside.is_tensor() && inside.dtype == ir::DType::kUndefined);
      if (item->is_none() && !known) {
        Fail(node,
             "puts None into a list before anything else, and so of a type that is not known");
      }
      if (item->is_none()) {
        parts = {Leaf(false), FillerOf(node, inside)};
      } else if (item->is_optional()) {
        parts = {item->content.items[0], PackItem(node, item->content.items[1], inner, inside)};
      } else {
        parts = {Leaf(true), PackItem(node, item, inner, inside)};
      }
      return packed;
    }
    case c10::TypeKind::StringType: return IsText(*item) ? AsText(item)->content.items[0] : item;
    case c10::TypeKind::DictType: {
      if (item->kind() != Item::Kind::kDict)
        Fail(node, "puts a dict that is not known into a list");
      const Item::Content& dict = item->content;
      for (const ir::Arg& key : dict.keys) {
        if (!key.is_string() && !key.is_int())
          Fail(node, "puts a dict into a list whose keys are neither str nor int");
        packed->field_names.push_back(KeyText(key));
      }
      const bool alike =
          form.kind != ir::Type::Kind::kTuple || form.field_names == packed->field_names;
      if (!alike || dict.unordered) {
        Fail(node,
             "puts a dict into a list whose length only the run tells, and whose dicts have other "
             "keys, or these in another order");
      }
      for (size_t i = 0; i < dict.items.size(); ++i) {
        if (dict.items[i]->is_entry()) {
          Fail(node,
               "puts a dict whose keys depend on the inputs into a list whose length only the "
               "run tells");
        }
        parts.push_back(PackItem(node, dict.items[i],
                                 type->expectRef<c10::DictType>().getValueType(), Part(form, i)));
      }
      return packed;
    }
    case c10::TypeKind::ClassType: {
      const auto& object = type->expectRef<c10::ClassType>();
      if (item->kind() != Item::Kind::kObject)
        Fail(node, "puts an object that is not known into a list");
      for (size_t i = 0; i < object.numAttributes(); ++i) {
        parts.push_back(PackItem(node, Attribute(item, object.getAttributeName(i)),
                                 object.getAttribute(i), Part(form, i)));
      }
      return packed;
    }
    case c10::TypeKind::TupleType: {
      if (item->kind() != Item::Kind::kTuple) return item;
      packed->field_names = item->field_names;
      const auto elements = type->expectRef<c10::TupleType>().elements();
      for (size_t i = 0; i < elements.size(); ++i) {
        parts.push_back(PackItem(node, item->content.items[i], elements[i], Part(form, i)));
      }
      return packed;
    }
    case c10::TypeKind::ListType: {
      const bool varies =
          form.is_tensor() || (form.kind == ir::Type::Kind::kUnknown && !item->is_list());
      if (HoldsNumbers(type) && varies) return NumbersAsTensor(node, item, type);
      if (!item->is_list()) return item;
      return PackedList(node, item, type->expectRef<c10::ListType>().getElementType(), form);
    }
    default: return item;
  }
}

ItemRef Converter::NumbersAsTensor(const JitNode* node, const ItemRef& list,
                                   const c10::TypePtr& type) {
  const ir::DType dtype =
      DeclaredType(type->expectRef<c10::ListType>().getElementType()).TensorDType();
  ir::Node* tensor = Emit(
      node, "aten::tensor",
      {{"data", ToArg(*list)}, {"dtype", dtype}, {"device", ir::Arg()}, {"requires_grad", false}});
  tensor->outputs.push_back(
      graph_.NewValue(ir::Type::Tensor(dtype, ir::Shape{ir::Dim::Unknown()})));
  return Leaf(tensor->output());
}

ItemRef Converter::PackedList(const JitNode* node, const ItemRef& list, const c10::TypePtr& element,
                              const ir::Type& form) {
  const std::vector<ItemRef>& items = list->content.items;
  ItemRef packed = ListOf(items);
  ir::Type holds = form.is_list() ? form.elements[0] : ir::Type();
  // What None stands for the others say.
  for (const bool none : {false, true}) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (items[i]->is_none() != none) continue;
      ItemRef& item = packed->content.items[i];
      item = PackItem(node, items[i], element,
                      form.is_list() ? holds : JoinTypes(holds, Part(form, i)));
      holds = JoinTypes(holds, TypeOfItem(*item));
    }
  }
  return packed;
}

// What a list gives.
ItemRef Converter::Taken(const JitNode* node, ir::Value* value, const c10::TypePtr& type) {
  const ItemRef item = FromPacked(node, value, type);
  if (node->kind() == c10::aten::pop) Release(item);
  NoteTaken(node, item, type);
  return item;
}

// A list of numbers is a copy, as the list holds another form of it.
ItemRef Converter::ListFromPacked(const JitNode* node, ir::Value* value, const c10::TypePtr& type) {
  if (!HoldsNumbers(type)) return Leaf(value);
  const bool tensor = value->type.is_tensor();
  ir::Node* list =
      tensor ? Emit(node, "prim::tolist",
                    {{"arg0", ir::Arg(value)}, {"arg1", int64_t{1}}, {"arg2", int64_t{0}}})
             : Emit(node, "aten::list.t", {{"l", ir::Arg(value)}});
  list->outputs.push_back(graph_.NewValue(tensor ? DeclaredType(type) : value->type));
  ItemRef copy = Leaf(list->output());
  copy->held = true;
  return copy;
}

ItemRef Converter::FromPacked(const JitNode* node, ir::Value* value, const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::ListType) return ListFromPacked(node, value, type);
  if (!IsPacked(type)) return Unpacked(node, value, 0, {});
  if (type->kind() == c10::TypeKind::StringType) {
    return value->type.kind == ir::Type::Kind::kInt ? NewText(Leaf(value), {}) : Leaf(value);
  }
  if (value->type.kind != ir::Type::Kind::kTuple) {
    Fail(node, "reads from a list into which no run put anything");
  }
  ir::Node* unpack = Emit(node, "prim::TupleUnpack", {{"self", ir::Arg(value)}});
  for (const ir::Type& part : value->type.elements) {
    unpack->outputs.push_back(graph_.NewValue(part));
  }
  const std::vector<ir::Value*> parts = unpack->outputs;
  ItemRef item;
  const auto add = [&](size_t i, const c10::TypePtr& part) {
    item->content.items.push_back(FromPacked(node, parts[i], part));
  };
  switch (type->kind()) {
    case c10::TypeKind::OptionalType:
      item = NewItem(Item::Kind::kOptional);
      item->content.items = {Leaf(parts[0])};
      add(1, type->expectRef<c10::OptionalType>().getElementType());
      return item;
    case c10::TypeKind::DictType: {
      const auto& dict = type->expectRef<c10::DictType>();
      const bool numbers = dict.getKeyType()->kind() == c10::TypeKind::IntType;
      item = NewItem(Item::Kind::kDict);
      item->held = true;
      for (size_t i = 0; i < parts.size(); ++i) {
        const std::string& key = value->type.field_names[i];
        item->content.keys.push_back(numbers ? ir::Arg(int64_t{std::stoll(key)}) : ir::Arg(key));
        add(i, dict.getValueType());
      }
      return item;
    }
    case c10::TypeKind::ClassType: {
      const auto& object = type->expectRef<c10::ClassType>();
      item = NewItem(Item::Kind::kObject);
      item->held = true;
      for (size_t i = 0; i < parts.size(); ++i) {
        item->content.attributes[object.getAttributeName(i)] =
            FromPacked(node, parts[i], object.getAttribute(i));
      }
      return item;
    }
    default: {
      item = NewItem(Item::Kind::kTuple);
      item->field_names = value->type.field_names;
      const auto elements = type->expectRef<c10::TupleType>().elements();
      for (size_t i = 0; i < parts.size(); ++i) add(i, elements[i]);
      return item;
    }
  }
}

ItemRef Converter::ForList(const JitNode* node, size_t index, const ItemRef& item) {
  const auto type = node->input(0)->type()->cast<c10::ListType>();
  const ItemRef& list = At(node->input(0));
  if (!type || index == 0 || !list->is_value() || !HoldsPacked(type)) return item;
  if (node->schema().arguments()[index].type()->kind() == c10::TypeKind::IntType)
    return item;  // a place
  const c10::TypePtr element = type->getElementType(), given = node->input(index)->type();
  ir::Type form =
      JoinTypes(list->value()->type, typing_.TypeOf(node->input(0), contexts_, {}, {}));
  if (node->outputs().size() == 1 && node->output()->type()->kind() == c10::TypeKind::ListType) {
    form = JoinTypes(form, typing_.TypeOf(node->output(), contexts_, {}, {}));
  }
  const ir::Type holds = form.is_list() ? form.elements[0] : ir::Type();
  ItemRef packed;
  ir::Type taken;
  const bool one = given->isSubtypeOf(*element);
  if (one || item->is_list()) {
    RequireUnshared(node, one ? std::vector<ItemRef>{item} : item->content.items, {item});
  }
  if (one) {
    packed = PackItem(node, item, element, holds);
    taken = TypeOfItem(*packed);
  } else if (item->is_list() && given->isSubtypeOf(*type)) {
    packed = PackedList(node, item, element, form);
    taken = TypeOfItem(*packed).elements[0];
  } else {
    return item;
  }
  // A list that was empty has the type of what it takes.
  ir::Type& known = list->value()->type;
  if (known.is_list()) known = JoinTypes(known, ir::Type::List(FormOf(std::move(taken), element)));
  return packed;
}

ir::Type Converter::TakenType(const JitValue* output, const ir::Type& list,
                              const std::vector<bool>& unknown, ir::Type seen) {
  ir::Type item = list.elements[0];
  if (item.kind == ir::Type::Kind::kUnknown) {
    item = typing_.ItemType(output, contexts_, unknown);
  }
  const bool list_as_it_is = output->type()->kind() == c10::TypeKind::ListType && !item.is_tensor();
  return list_as_it_is ? seen : item;
}

// The operator for what lists hold in place of strings.
std::string Converter::ListOperator(const JitNode* node, std::string op) const {
  for (const JitValue* input : node->inputs()) {
    const auto list = input->type()->cast<c10::ListType>();
    const auto known = env_.find(input);
    if (!list || known == env_.end() || !known->second->is_value() || !HoldsPacked(list)) continue;
    const std::string name = node->kind().toQualString();
    const bool gives_text =
        node->outputs().size() == 1 && node->output()->type()->kind() == c10::TypeKind::StringType;
    const bool lists = list->getElementType()->kind() == c10::TypeKind::ListType;
    if (MovesItems(name) || gives_text || lists) continue;  // no operator of ONNX takes a str
    if (list->getElementType()->kind() != c10::TypeKind::StringType || !ComparesItems(name)) {
      Fail(node, absl::StrCat("takes a list of ", list->getElementType()->repr_str(),
                              " whose length only the run tells"));
    }
    return absl::StrReplaceAll(op, {{".str", ".int"}});
  }
  return op;
}

}  // namespace rules_onnx::script
