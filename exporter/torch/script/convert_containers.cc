// Operators that are carried out at conversion: containers, questions about types and static
// sizes, arithmetic on constants.
#include <ATen/ATen.h>
#include <torch/csrc/jit/api/object.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exporter/torch/script/converter.h"
#include "exporter/torch/script/enums.h"
#include "exporter/torch/script/operator_call.h"
#include "exporter/torch/values/tensors.h"

namespace rules_onnx::script {
namespace {

namespace prim = c10::prim;

// `index` of a Python sequence of `size` items, from its end if negative.
std::optional<size_t> Position(int64_t index, size_t size) {
  if (index < 0) index += static_cast<int64_t>(size);
  if (index < 0 || index >= static_cast<int64_t>(size)) return std::nullopt;
  return static_cast<size_t>(index);
}

std::vector<ItemRef> Slice(const std::vector<ItemRef>& items, std::optional<int64_t> start,
                           std::optional<int64_t> end, int64_t step) {
  const auto size = static_cast<int64_t>(items.size());
  const bool forward = step > 0;
  const int64_t low = forward ? 0 : -1, high = forward ? size : size - 1;
  const auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + size : at, low, high);
  };
  const int64_t first = start ? clamp(*start) : forward ? low : high;
  const int64_t stop = end ? clamp(*end) : forward ? high : low;
  std::vector<ItemRef> part;
  for (int64_t i = first; forward ? i < stop : i > stop; i += step) {
    part.push_back(items[static_cast<size_t>(i)]);
  }
  return part;
}

std::optional<int64_t> IntOf(const ItemRef& item) {
  if (!item->is_constant() || !item->content.leaf.is_int()) return std::nullopt;
  return item->content.leaf.as_int();
}

bool AllConstant(const Item& item) {
  if (item.is_leaf()) return item.is_constant();
  if (item.kind() == Item::Kind::kObject || item.kind() == Item::Kind::kDict ||
      item.is_optional() || item.is_choice()) {
    return false;
  }
  return std::all_of(item.content.items.begin(), item.content.items.end(),
                     [](const ItemRef& each) { return AllConstant(*each); });
}

// Exact on every machine for 0-d tensors.
bool IsExactOnScalars(const std::string& op) {
  static const std::set<std::string> kOps = {
      "aten::add", "aten::sub", "aten::mul", "aten::div", "aten::floor_divide", "aten::remainder",
      "aten::neg", "aten::Int", "aten::Float", "aten::Bool", "aten::item", "aten::ScalarImplicit",
      "aten::IntImplicit", "aten::FloatImplicit", "aten::eq", "aten::ne", "aten::lt", "aten::le",
      "aten::gt", "aten::ge", "aten::sqrt", "aten::floor", "aten::ceil", "prim::NumToTensor",
      "aten::tensor", "aten::scalar_tensor", "aten::to", "aten::clone", "aten::rsub",
      "aten::logical_and", "aten::logical_or", "aten::logical_not", "aten::minimum",
      "aten::maximum", "aten::floor_divide", "aten::trunc", "aten::contiguous"};
  return kOps.count(op) > 0;
}

}  // namespace

bool Converter::ConvertStructure(const JitNode* node) {
  switch (node->kind()) {
    case prim::ListConstruct:
    case prim::TupleConstruct: {
      ItemRef whole = NewItem(node->kind() == prim::ListConstruct ? Item::Kind::kList
                                                                  : Item::Kind::kTuple);
      for (const JitValue* input : node->inputs()) whole->content.items.push_back(At(input));
      if (const auto type = node->output()->type()->cast<c10::TupleType>();
          type && type->schema()) {
        for (const auto& field : type->schema()->arguments()) {
          whole->field_names.push_back(field.name());
        }
      }
      Define(node->output(), whole);
      return true;
    }
    case prim::DictConstruct: {
      ItemRef dict = NewItem(Item::Kind::kDict);
      for (size_t i = 0; i + 1 < node->inputs().size(); i += 2) {
        const ItemRef& key = At(node->input(i));
        if (!key->is_constant()) Fail(node, "has a key that is not a constant");
        SetEntry(dict, key->content.leaf, At(node->input(i + 1)));
      }
      Define(node->output(), dict);
      return true;
    }
    case prim::TupleUnpack:
    case prim::ListUnpack: {
      const ItemRef whole = At(node->input(0));
      if (whole->is_leaf()) {  // a list of unknown length: the program asks for this many items
        if (!whole->is_value()) return false;
        const bool list = node->kind() == prim::ListUnpack;
        DefineOutputs(node, Emit(node, list ? "prim::ListUnpack" : "prim::TupleUnpack",
                                 {{"self", ToArg(*whole)}}));
        return true;
      }
      if (whole->content.items.size() != node->outputs().size()) {
        Fail(node, absl::StrCat("unpacks ", whole->content.items.size(), " values into ",
                                node->outputs().size()));
      }
      for (size_t i = 0; i < node->outputs().size(); ++i) {
        Define(node->outputs()[i], whole->content.items[i]);
      }
      return true;
    }
    case prim::TupleIndex: {
      const ItemRef tuple = At(node->input(0));
      const auto index = IntOf(At(node->input(1)));
      if (tuple->is_leaf() || !index) return false;
      const auto position = Position(*index, tuple->content.items.size());
      if (!position) FailAsProgram(node, "is out of range");
      Define(node->output(), tuple->content.items[*position]);
      return true;
    }
    case prim::TupleSlice: {
      const ItemRef tuple = At(node->input(0));
      if (tuple->is_leaf()) return false;
      ItemRef part = NewItem(Item::Kind::kTuple);
      part->content.items = Slice(tuple->content.items, node->i(c10::attr::beg),
                                  node->i(c10::attr::end), 1);
      Define(node->output(), part);
      return true;
    }
    case prim::CreateObject: {
      Define(node->output(), NewItem(Item::Kind::kObject));
      return true;
    }
    case prim::unchecked_cast:
    case prim::unchecked_unwrap_optional:
    case c10::aten::_unwrap_optional: {
      const ItemRef item = At(node->input(0));
      Define(node->output(), item->is_optional() ? item->content.items[1] : item);
      return true;
    }
    case prim::Uninitialized:
      Define(node->output(), Unset(ir::Arg()));
      return true;
    case prim::Enter:
    case prim::Exit:
      for (const JitValue* output : node->outputs()) Define(output, Leaf(ir::Arg()));
      return true;
    case prim::isinstance: {
      if (const auto seen = SeenTruth(node)) {
        Define(node->output(), Leaf(*seen));
        return true;
      }
      const auto& types = node->tys(c10::attr::types);
      const ItemRef& item = At(node->input(0));
      // What the value is stands in its item; TorchScript's types say what is asked.
      const auto matches = [&](const c10::TypePtr& type) {
        const ir::Type::Kind asked = DeclaredType(type).kind;
        return asked == TypeOfItem(*item).kind && asked != ir::Type::Kind::kUnknown;
      };
      Define(node->output(), Leaf(std::any_of(types.begin(), types.end(), matches)));
      return true;
    }
    default:
      return false;
  }
}

bool Converter::ConvertListOperator(const JitNode* node) {
  if (node->inputs().empty()) return false;
  const ItemRef list = At(node->input(0));
  if (!list->is_list() && list->kind() != Item::Kind::kTuple) return false;
  const std::string op = node->kind().toQualString();
  const std::vector<ItemRef>& items = list->content.items;
  const auto input = [&](size_t i) -> const ItemRef& { return At(node->input(i)); };
  const auto done = [&](ItemRef item) {
    if (!node->outputs().empty()) Define(node->output(), std::move(item));
    return true;
  };
  const auto changed = [&]() -> std::vector<ItemRef>& {
    Mutate(list);
    return list->content.items;
  };
  if (op == "aten::len") return done(Leaf(static_cast<int64_t>(items.size())));
  if (op == "aten::__getitem__") {
    const auto index = IntOf(input(1));
    if (!index) {
      MakeReadable(node, list);
      return true;
    }
    const auto position = Position(*index, items.size());
    if (!position) FailAsProgram(node, absl::StrCat("takes item ", *index, " of ", items.size()));
    return done(items[*position]);
  }
  if (op == "aten::slice" && list->is_list()) {
    const auto start = IntOf(input(1)), end = IntOf(input(2)), step = IntOf(input(3));
    if ((!start && !input(1)->is_none()) || (!end && !input(2)->is_none()) || !step) return false;
    if (*step == 0) Fail(node, "has step 0");
    return done(ListOf(Slice(items, start, end, *step)));
  }
  if (op == "aten::append") {
    changed().push_back(input(1));
    return done(list);
  }
  if ((op == "aten::extend" || op == "aten::add_") && input(1)->is_list()) {
    const std::vector<ItemRef> more = input(1)->content.items;
    auto& all = changed();
    all.insert(all.end(), more.begin(), more.end());
    return done(list);
  }
  if (op == "aten::add" && input(1)->is_list()) {
    std::vector<ItemRef> both = items;
    both.insert(both.end(), input(1)->content.items.begin(), input(1)->content.items.end());
    return done(ListOf(std::move(both)));
  }
  if (op == "aten::mul" && IntOf(input(1))) {
    std::vector<ItemRef> repeated;
    for (int64_t i = 0; i < *IntOf(input(1)); ++i) {
      repeated.insert(repeated.end(), items.begin(), items.end());
    }
    return done(ListOf(std::move(repeated)));
  }
  if (op == "aten::list" || op == "aten::copy") return done(ListOf(items));
  if (op == "aten::reverse") {
    auto& all = changed();
    std::reverse(all.begin(), all.end());
    return done(list);
  }
  if (op == "aten::clear") {
    changed().clear();
    return done(list);
  }
  if (op == "aten::remove" && input(1)->is_constant() && AllConstant(*list)) {
    const auto equal = [&](const ItemRef& item) { return SameContent(*item, *input(1)); };
    auto& all = changed();
    const auto at = std::find_if(all.begin(), all.end(), equal);
    if (at == all.end()) Fail(node, "takes an item away that the list does not hold");
    all.erase(at);
    return done(list);
  }
  if (op == "aten::_set_item" && SetsSameItem(node, list)) return done(list);
  const bool by_index = op == "aten::pop" || op == "aten::Delete" || op == "aten::_set_item";
  if (by_index && IntOf(input(1))) {
    const auto position = Position(*IntOf(input(1)), items.size());
    if (!position) FailAsProgram(node, "is out of range");
    const ItemRef at = items[*position];
    if (op == "aten::_set_item") {
      changed()[*position] = input(2);
      return done(list);
    }
    auto& all = changed();
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(*position));
    return done(at);
  }
  if (op == "aten::_set_item" && SetAtUnknown(node, list)) return done(list);
  if (op == "aten::insert" && IntOf(input(1))) {
    const auto size = static_cast<int64_t>(items.size());
    int64_t at = *IntOf(input(1));
    at = std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
    auto& all = changed();
    all.insert(all.begin() + at, input(2));
    return done(list);
  }
  return false;
}

// `list[i]` with an index that is known at run time only.
void Converter::MakeReadable(const JitNode* node, const ItemRef& list) {
  if (const ItemRef item = PickShared(node, list, At(node->input(1)))) {
    Define(node->output(), item);
    return;
  }
  ir::Node* emitted =
      Emit(node, absl::StrCat("aten::__getitem__.", node->schema().overload_name()),
           {{node->schema().arguments()[0].name(), ir::Arg(ListValue(node, list))},
            {node->schema().arguments()[1].name(), ToArg(*At(node->input(1)))}});
  DefineOutputs(node, emitted);
  const ItemRef& item = At(node->output());
  if (item->is_value() && list->is_list()) {
    picked_[item->value()] = {list, ToArg(*At(node->input(1))), list->content.items};
  }
}

// `list[i] += x`: the tensor is written to, and then set to where it stands already.
bool Converter::SetsSameItem(const JitNode* node, const ItemRef& list) {
  ItemRef item = At(node->input(2));
  const std::string type = TypeOfItem(*item).ToString();
  while (item->is_value() && written_.count(item->value())) item = written_[item->value()];
  if (TypeOfItem(*item).ToString() != type) return false;
  const auto& items = list->content.items;
  if (const auto index = IntOf(At(node->input(1)))) {
    const auto position = Position(*index, items.size());
    return position && item->is_value() && SameContent(*items[*position], *item);
  }
  const auto picked = item->is_value() ? picked_.find(item->value()) : picked_.end();
  return picked != picked_.end() && picked->second.list == list && picked->second.items == items &&
         picked->second.index == ToArg(*At(node->input(1)));
}

ir::Arg Converter::SizeOf(const JitNode* origin, const ItemRef& tensor, int64_t axis) {
  const ir::Type type = TypeOfItem(*tensor);
  const ir::Dim& dim = (*type.shape)[static_cast<size_t>(axis)];
  if (dim.is_number()) return dim.value();
  return EmitScalar(origin, "aten::size.int", {{"self", ToArg(*tensor)}, {"dim", axis}},
                    ir::Type::Kind::kInt);
}

ItemRef Converter::Negated(const JitNode* origin, const ItemRef& truth) {
  if (truth->is_constant()) return Leaf(!truth->content.leaf.as_bool());
  return Leaf(
      EmitScalar(origin, "aten::__not__", {{"self", ToArg(*truth)}}, ir::Type::Kind::kBool));
}

// The truth value that a node gave in all runs that reached it.
std::optional<bool> Converter::SeenTruth(const JitNode* node) const {
  std::optional<int64_t> answer;
  for (const Observed& seen : typing_.Seen(node->output(), contexts_)) {
    if (seen.kind == ir::Type::Kind::kUnknown) continue;  // not reached
    if (!seen.number || (answer && *answer != *seen.number)) return std::nullopt;
    answer = seen.number;
  }
  return answer ? std::optional<bool>(*answer != 0) : std::nullopt;
}

// Whether the run decides which tensor this is: a branch or loop gives it, or what it may be of.
bool Converter::MayBeGiven(const JitValue* value) {
  if (At(value)->given) return true;
  const c10::FunctionSchema* schema = value->node()->maybeSchema();
  if (schema == nullptr || schema->returns().size() != 1 || value->node()->inputs().empty()) {
    return false;
  }
  const bool alias = schema->returns()[0].alias_info() != nullptr ||
                     absl::StrContains(schema->name(), "dropout");  // its input, in evaluation
  return alias && MayBeGiven(value->node()->input(0));
}

// Whether two values are one object. An operator may give its input back: as all runs say.
ItemRef Converter::Identity(const JitNode* node) {
  const ItemRef &a = At(node->input(0)), &b = At(node->input(1));
  const bool is = node->kind() == c10::Symbol::fromQualString("aten::__is__");
  if (a == b || (a->is_value() && b->is_value() && a->value() == b->value())) {
    return Leaf(is);
  }
  const auto fail = [&] { Fail(node, "asks whether two values are one, which only the run tells"); };
  // Lists that nothing changes may be copies.
  for (size_t i = 0; i < 2; ++i) {
    const ItemRef& item = At(node->input(i));
    if (!item->is_value() || !item->value()->type.is_tensor()) fail();
    if (MayBeGiven(node->input(i))) fail();
  }
  const auto seen = SeenTruth(node);
  if (!seen) fail();
  return Leaf(*seen);
}

// Questions whose answers the types hold.
bool Converter::ConvertQuery(const JitNode* node) {
  const std::string op = node->kind().toQualString();
  if (op == "aten::__is__" || op == "aten::__isnot__") {
    const ItemRef &a = At(node->input(0)), &b = At(node->input(1));
    if ((a->is_optional() && b->is_none()) || (b->is_optional() && a->is_none())) {
      const ItemRef there = (a->is_optional() ? a : b)->content.items[0];
      Define(node->output(), op == "aten::__isnot__" ? there : Negated(node, there));
      return true;
    }
    const auto maybe = [](const Item& item) {
      const ir::Type::Kind kind = TypeOfItem(item).kind;
      return item.is_value() && (kind == ir::Type::Kind::kOptional || kind == ir::Type::Kind::kUnknown);
    };
    if (maybe(*a) || maybe(*b)) return false;
    if (a->is_constant() && b->is_constant() && !a->is_none() && !b->is_none()) return false;
    const bool both = a->is_none() && b->is_none(), neither = !a->is_none() && !b->is_none();
    Define(node->output(), neither ? Identity(node) : Leaf(both == (op == "aten::__is__")));
    return true;
  }
  if (op == "aten::Int" && node->input(0)->type()->kind() == c10::TypeKind::TensorType &&
      At(node->input(0))->is_value()) {
    const auto number = numbers_.find(At(node->input(0))->value());
    if (number != numbers_.end() &&
        TypeOfItem(*number->second).kind == ir::Type::Kind::kInt) {
      Define(node->output(), number->second);
      return true;
    }
  }
  if (op == "prim::device") {
    Define(node->output(), Leaf(ir::Arg()));
    return true;
  }
  if (op == "aten::str" && node->input(0)->type()->kind() == c10::TypeKind::DeviceObjType) {
    Define(node->output(), Leaf(std::string("cpu")));
    return true;
  }
  if (op == "prim::type" && node->output()->type()->kind() == c10::TypeKind::StringType) {
    Define(node->output(), Leaf(std::string("cpu")));  // of a device
    return true;
  }
  static const std::set<std::string> kFalse = {
      "prim::is_cuda", "prim::is_sparse", "prim::is_mkldnn", "prim::is_vulkan", "prim::is_ipu",
      "prim::is_mps", "prim::is_xla", "prim::is_sparse_csr",
      "prim::is_nested", "prim::is_ort", "prim::is_hpu", "prim::is_xpu", "prim::requires_grad",
      "aten::is_grad_enabled", "aten::is_autocast_enabled", "aten::is_autocast_cpu_enabled",
      "aten::is_scripting", "aten::is_inference", "aten::is_conj", "aten::is_neg"};
  static const std::set<std::string> kOnTensor = {
      "aten::size", "aten::dim", "aten::len", "aten::is_floating_point", "aten::is_complex",
      "prim::dtype", "prim::layout", "aten::numel", "aten::get_device", "prim::shape",
      "prim::ndim", "aten::is_contiguous", "prim::is_quantized"};
  if (kFalse.count(op)) {
    Define(node->output(), Leaf(false));
    return true;
  }
  if (!kOnTensor.count(op) || node->inputs().empty()) return false;
  const ItemRef tensor = At(node->input(0));
  const ir::Type type = TypeOfItem(*tensor);
  if (!type.is_tensor()) return false;
  const bool dtype_known = type.dtype != ir::DType::kUndefined;
  std::optional<ir::Arg> answer;
  if (op == "prim::layout") answer = static_cast<int64_t>(at::kStrided);
  if (op == "aten::is_floating_point" && dtype_known) answer = ir::IsFloat(type.dtype);
  if (op == "prim::is_quantized" && dtype_known) answer = ir::IsQuantized(type.dtype);
  if (op == "aten::is_complex" && dtype_known) answer = ir::IsComplex(type.dtype);
  if (op == "prim::dtype" && dtype_known) {
    const auto scalar_type = torch_values::ScalarTypeOf(type.dtype);
    if (scalar_type) answer = static_cast<int64_t>(*scalar_type);
  }
  if (type.shape) {
    const auto rank = static_cast<int64_t>(type.shape->size());
    if (op == "aten::dim" || op == "prim::ndim") answer = rank;
    if (op == "aten::len" && rank > 0) answer = SizeOf(node, tensor, 0);
    if (op == "aten::numel" && ir::NumElements(*type.shape).is_number()) {
      answer = ir::NumElements(*type.shape).value();
    }
    const bool sizes = op == "aten::size" || op == "prim::shape";
    if (sizes && node->inputs().size() > 1) {
      const auto index = IntOf(At(node->input(1)));
      const auto axis = index ? Position(*index, static_cast<size_t>(rank)) : std::nullopt;
      if (index && !axis) {
        Fail(node, absl::StrCat("asks for axis ", *index, " of a tensor of rank ", rank));
      }
      if (axis) answer = SizeOf(node, tensor, static_cast<int64_t>(*axis));
    } else if (sizes) {
      std::vector<ItemRef> all;
      for (int64_t axis = 0; axis < rank; ++axis) all.push_back(Leaf(SizeOf(node, tensor, axis)));
      Define(node->output(), ListOf(std::move(all)));
      return true;
    }
  }
  if (!answer) return false;
  Define(node->output(), Leaf(*answer));
  return true;
}

std::optional<c10::IValue> Converter::ToIValue(const ItemRef& item,
                                               const c10::TypePtr& type) const {
  if (item->is_leaf()) {
    const ir::Arg& leaf = item->content.leaf;
    if (leaf.is_none()) return c10::IValue();
    if (leaf.is_bool()) return c10::IValue(leaf.as_bool());
    const c10::EnumTypePtr members = leaf.is_int() ? EnumOf(type) : nullptr;
    if (members) return MemberAt(members, leaf.as_int());
    if (leaf.is_int()) return c10::IValue(leaf.as_int());
    if (leaf.is_float()) return c10::IValue(leaf.as_float());
    if (leaf.is_string()) return c10::IValue(leaf.as_string());
    if (leaf.is_literal()) {
      if (!leaf.literal().shape.empty()) return std::nullopt;
      return c10::IValue(torch_values::TensorOf(leaf.literal()));
    }
    return std::nullopt;
  }
  std::vector<c10::IValue> parts;
  const auto list_type = type->cast<c10::ListType>();
  const auto tuple_type = type->cast<c10::TupleType>();
  for (size_t i = 0; i < item->content.items.size(); ++i) {
    const c10::TypePtr part_type =
        list_type ? list_type->getElementType()
                  : (tuple_type && i < tuple_type->elements().size()
                         ? tuple_type->elements()[i]
                         : c10::TypePtr(c10::AnyType::get()));
    const auto part = ToIValue(item->content.items[i], part_type);
    if (!part || part->isTensor()) return std::nullopt;
    parts.push_back(*part);
  }
  if (item->kind() == Item::Kind::kTuple) return c10::ivalue::Tuple::create(std::move(parts));
  if (!list_type) return std::nullopt;
  c10::impl::GenericList list(list_type->getElementType());
  for (c10::IValue& part : parts) list.push_back(std::move(part));
  return c10::IValue(list);
}

// Members of enums that the run decides. Those that are known are left to FoldConstants.
bool Converter::ConvertEnum(const JitNode* node) {
  const c10::EnumTypePtr type = node->inputs().empty() ? nullptr : EnumOf(node->input(0)->type());
  if (type == nullptr || node->outputs().size() != 1) return false;
  const std::string op = node->kind().toQualString();
  const ItemRef& member = At(node->input(0));
  if (member->is_none() || member->is_optional()) return false;
  if (node->kind() == prim::EnumValue || node->kind() == prim::EnumName) {
    if (member->is_constant()) return false;
    const auto part = [&](const c10::EnumNameValue& each) {
      return node->kind() == prim::EnumName ? Leaf(each.first) : FromIValue(each.second);
    };
    const auto members = type->enumNamesValues();
    ItemRef found = part(members.back());
    for (size_t i = members.size() - 1; i-- > 0;) {
      ir::Value* equal = EmitScalar(node, "aten::eq.int",
                                    {{"a", ToArg(*member)}, {"b", static_cast<int64_t>(i)}},
                                    ir::Type::Kind::kBool);
      found = Select(node, Leaf(equal), part(members[i]), found);
    }
    Define(node->output(), found);
    return true;
  }
  const bool same = op == "aten::eq" || op == "aten::__is__",
             differ = op == "aten::ne" || op == "aten::__isnot__";
  if (!same && !differ) return false;
  const ItemRef& other = At(node->input(1));
  if (other->is_none() || other->is_optional()) return false;
  if (member->is_constant() && other->is_constant()) {
    Define(node->output(), Leaf(SameContent(*member, *other) == same));
    return true;
  }
  Define(node->output(), Leaf(EmitScalar(node, same ? "aten::eq.int" : "aten::ne.int",
                                         {{"a", ToArg(*member)}, {"b", ToArg(*other)}},
                                         ir::Type::Kind::kBool)));
  return true;
}

bool Converter::FoldConstants(const JitNode* node) {
  const torch::jit::Operator* op = node->maybeOperator();
  if (op == nullptr || node->outputs().empty() || node->inputs().empty()) return false;
  if (node->schema().is_mutable() || node->hasSideEffects() || node->isNondeterministic()) {
    return false;
  }
  std::vector<c10::IValue> inputs;
  bool tensors = false;
  for (const JitValue* input : node->inputs()) {
    const ItemRef& item = At(input);
    if (!AllConstant(*item)) return false;
    // A device is kept as None: what it is asked for cannot be computed here.
    if (item->is_none() && input->type()->kind() == c10::TypeKind::DeviceObjType) return false;
    auto value = ToIValue(item, input->type());
    if (!value) return false;
    tensors = tensors || value->isTensor();
    inputs.push_back(*std::move(value));
  }
  for (const JitValue* output : node->outputs()) {
    tensors = tensors || output->type()->isSubtypeOf(*c10::TensorType::get());
  }
  if (tensors && !IsExactOnScalars(node->kind().toQualString())) return false;
  std::vector<c10::IValue> outputs;
  try {
    outputs = CallOperator(node, op->getOperation(node), inputs, /*meta=*/false);
  } catch (const std::exception& exception) {
    Fail(node, absl::StrCat("fails: ", torch_values::ExceptionText(exception)));
  }
  for (const c10::IValue& output : outputs) {
    if (output.isTensor() && output.toTensor().dim() != 0) return false;
    if (output.isList() && !output.toListRef().empty() && output.toListRef()[0].isTensor()) {
      return false;
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) Define(node->outputs()[i], FromIValue(outputs[i]));
  return true;
}

}  // namespace rules_onnx::script
