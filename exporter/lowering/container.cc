// Lists and tuples of known length, and constants.
#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/dynamic_list.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// The first argument, whatever the overload calls it.
Item First(Op& op) { return op.Arg(op.node.args.front().name); }
Item Second(Op& op) { return op.Arg(op.node.args[1].name); }

void Same(Op& op) { op.Return(First(op)); }
void Nothing(Op& op) { op.Return(std::vector<Item>{}); }

// The items of a list; of a 1-D tensor of numbers its elements.
std::optional<std::vector<Item>> ItemsOf(Op& op, const Item& list) {
  if (list.is_list()) return list.items;
  if (!list.is_val() || list.val.is_sequence() || list.val.rank() != 1) return std::nullopt;
  if (!list.val.numel()) return std::nullopt;
  const Vals elements = op.b.Elements(list.val);
  return std::vector<Item>(elements.begin(), elements.end());
}

// ---------------------------------------------------------------- taking apart

void Unpack(Op& op) {
  const Item list = First(op);
  if (list.failed()) return;
  if (const auto items = ItemsOf(op, list)) {
    if (!op.Require(items->size() == op.num_outputs(),
                    absl::StrCat("a list of ", items->size(), " is taken apart into ",
                                 op.num_outputs(), ": its length depends on a dynamic size"))) {
      return;
    }
    return op.Return(*items);
  }
  std::vector<Item> items;
  for (size_t i = 0; i < op.num_outputs(); ++i) {
    items.push_back(
        ListAt(op.b, list, op.b.Int(static_cast<int64_t>(i)), op.OutType(i)));
  }
  op.Return(std::move(items));
}

// An element at a place that only the run tells: of numbers, or of tensors of one shape.
Val ComputedElement(Op& op, const std::vector<Item>& items, Val index) {
  Vals elements;
  for (const Item& item : items) {
    if (!item.is_val() || item.val.is_sequence()) {
      return op.Fail("an element of a list of lists is taken at a computed place");
    }
    elements.push_back(op.b.Unsqueeze(item.val, {0}));
  }
  return op.b.Gather(op.b.Concat(elements, 0), index, 0);
}

void GetItem(Op& op) {
  const Item list = First(op);
  const std::string& index_name = op.node.args[1].name;
  if (list.failed()) return;
  const auto items = ItemsOf(op, list);
  if (!items) return op.Return(ListAt(op.b, list, op.IntVal(index_name), op.OutType()));
  const auto index = op.KnownInt(index_name);
  if (!index) return op.Return(ComputedElement(op, *items, op.IntVal(index_name)));
  const int64_t size = static_cast<int64_t>(items->size());
  const int64_t place = *index < 0 ? *index + size : *index;
  if (!op.Require(place >= 0 && place < size,
                  absl::StrCat("index ", *index, " is out of range for a list of ", size))) {
    return;
  }
  op.Return((*items)[place]);
}

void Length(Op& op) {
  const Item list = First(op);
  if (list.failed()) return;
  if (list.is_list()) return op.Return(op.b.Int(static_cast<int64_t>(list.items.size())));
  if (list.kind == Item::Kind::kConstant) return op.Fail("this value has no length"), void();
  op.Return(ListLength(op.b, list));
}

void Slice(Op& op) {
  const auto items = ItemsOf(op, First(op));
  if (!op.Require(items.has_value(), "a slice of a list of unknown length")) return;
  const int64_t size = static_cast<int64_t>(items->size());
  const int64_t step = op.Int("step");
  if (!op.Require(step > 0, "the step of a list's slice must be positive")) return;
  const auto bound = [&](absl::string_view name, int64_t otherwise) {
    const int64_t value = op.Has(name) ? op.Int(name) : otherwise;
    return std::clamp<int64_t>(value < 0 ? value + size : value, 0, size);
  };
  std::vector<Item> part;
  const int64_t end = bound("end", size);
  for (int64_t i = bound("start", 0); i < end; i += step) part.push_back((*items)[i]);
  op.Return(Item::List(std::move(part)));
}

// ---------------------------------------------------------------- putting together

void Joined(Op& op) {
  auto first = ItemsOf(op, First(op));
  const auto second = ItemsOf(op, Second(op));
  if (!op.Require(first && second, "a list of unknown length is added to another")) return;
  first->insert(first->end(), second->begin(), second->end());
  op.Return(Item::List(std::move(*first)));
}

void Repeated(Op& op) {
  const bool list_first = op.node.args.front().name == "l";
  const auto items = ItemsOf(op, list_first ? First(op) : Second(op));
  if (!op.Require(items.has_value(), "a list of unknown length is repeated")) return;
  std::vector<Item> result;
  for (int64_t i = 0; i < op.Int("n"); ++i) {
    result.insert(result.end(), items->begin(), items->end());
  }
  op.Return(Item::List(std::move(result)));
}

// ---------------------------------------------------------------- comparing

// Two numbers or constants; null where they can't be compared.
Val EqualItems(Op& op, const Item& x, const Item& y) {
  if (x.is_val() && y.is_val()) {
    const DType dtype = ir::PromoteTypes(x.val.dtype(), y.val.dtype());
    return op.b.Equal(op.b.Cast(x.val, dtype), op.b.Cast(y.val, dtype));
  }
  const bool constants = x.kind == Item::Kind::kConstant && y.kind == Item::Kind::kConstant;
  if (constants) return op.b.ScalarInt(x.constant == y.constant, DType::kBool);
  return op.failed() ? Val() : op.Fail("these values can't be compared");
}

Val EqualLists(Op& op) {
  const auto first = ItemsOf(op, First(op)), second = ItemsOf(op, Second(op));
  if (!op.Require(first && second, "a list of unknown length is compared")) return {};
  if (first->size() != second->size()) return op.b.ScalarInt(0, DType::kBool);
  Val equal = op.b.ScalarInt(1, DType::kBool);
  for (size_t i = 0; i < first->size(); ++i) {
    equal = op.b.And(equal, EqualItems(op, (*first)[i], (*second)[i]));
  }
  return equal;
}

void ListsEqual(Op& op) { op.Return(EqualLists(op)); }
void ListsDiffer(Op& op) { op.Return(op.b.Not(EqualLists(op))); }
void ConstantsEqual(Op& op) { op.Return(EqualItems(op, First(op), Second(op))); }
void ConstantsDiffer(Op& op) { op.Return(op.b.Not(EqualItems(op, First(op), Second(op)))); }

void Contains(Op& op) {
  const auto items = ItemsOf(op, First(op));
  if (!op.Require(items.has_value(), "a list of unknown length is searched")) return;
  const Item wanted = Second(op);
  Val found = op.b.ScalarInt(0, DType::kBool);
  for (const Item& item : *items) found = op.b.Or(found, EqualItems(op, item, wanted));
  op.Return(found);
}

// None is the only value that others are compared with by identity.
std::optional<bool> IsSame(Op& op) {
  const Item first = First(op), second = Second(op);
  if (first.failed() || second.failed()) return std::nullopt;
  if (first.is_none() || second.is_none()) return first.is_none() && second.is_none();
  op.Fail("`is` is supported with None only");
  return std::nullopt;
}

void Is(Op& op) {
  if (const auto same = IsSame(op)) op.Return(op.b.ScalarInt(*same, DType::kBool));
}
void IsNot(Op& op) {
  if (const auto same = IsSame(op)) op.Return(op.b.ScalarInt(!*same, DType::kBool));
}

// ---------------------------------------------------------------- of all numbers

template <Val (Builder::*kFunction)(Val, Val)>
void Combined(Op& op) {
  const auto items = ItemsOf(op, First(op));
  if (!op.Require(items.has_value() && !items->empty(), "an empty or unknown list of numbers")) {
    return;
  }
  Val result = op.b.Cast((*items)[0].val, op.OutDType());
  for (size_t i = 1; i < items->size(); ++i) {
    result = (op.b.*kFunction)(result, op.b.Cast((*items)[i].val, op.OutDType()));
  }
  op.Return(result);
}

void Sum(Op& op) {
  if (const auto items = ItemsOf(op, First(op)); items && items->empty()) {
    return op.Return(op.b.ScalarInt(0, op.OutDType()));
  }
  Combined<&Builder::Add>(op);
}

template <bool kEmpty, Val (Builder::*kFunction)(Val, Val)>
void AllOrAny(Op& op) {
  if (const auto items = ItemsOf(op, First(op)); items && items->empty()) {
    return op.Return(op.b.ScalarInt(kEmpty, DType::kBool));
  }
  Combined<kFunction>(op);
}

}  // namespace

extern const Family kContainer;
const Family kContainer = {"container", {
    {"prim::Constant", Same},
    {"prim::ListConstruct", Same},
    {"prim::TupleConstruct", Same},
    {"prim::ListUnpack", Unpack},
    {"prim::TupleUnpack", Unpack},
    {"prim::TupleIndex", GetItem},
    {"prim::unchecked_cast", Same},
    {"prim::unchecked_unwrap_optional", Same},
    {"prim::data", Same},
    {"aten::Size", Same},
    {"aten::list", Same},
    {"aten::copy.t", Same},
    {"aten::__getitem__.t", GetItem},
    {"aten::select.t", GetItem},
    {"aten::len", Length},
    {"aten::slice.t", Slice},
    {"aten::add.t", Joined},
    {"aten::mul.left_t", Repeated},
    {"aten::mul.right_", Repeated},
    {"aten::eq.int_list", ListsEqual},
    {"aten::eq.float_list", ListsEqual},
    {"aten::eq.bool_list", ListsEqual},
    {"aten::eq.str_list", ListsEqual},
    {"aten::ne.int_list", ListsDiffer},
    {"aten::ne.float_list", ListsDiffer},
    {"aten::ne.bool_list", ListsDiffer},
    {"aten::ne.str_list", ListsDiffer},
    {"aten::eq.str", ConstantsEqual},
    {"aten::ne.str", ConstantsDiffer},
    {"aten::eq.device", ConstantsEqual},
    {"aten::ne.device", ConstantsDiffer},
    {"aten::__contains__.int_list", Contains},
    {"aten::__contains__.float_list", Contains},
    {"aten::__contains__.str_list", Contains},
    {"aten::__is__", Is},
    {"aten::__isnot__", IsNot},
    {"aten::sum.int", Sum},
    {"aten::sum.float", Sum},
    {"aten::sum.bool", Sum},
    {"aten::all.int", AllOrAny<true, &Builder::And>},
    {"aten::all.float", AllOrAny<true, &Builder::And>},
    {"aten::all.bool", AllOrAny<true, &Builder::And>},
    {"aten::any.int", AllOrAny<false, &Builder::Or>},
    {"aten::any.float", AllOrAny<false, &Builder::Or>},
    {"aten::any.bool", AllOrAny<false, &Builder::Or>},
    {"prim::min.self_int", Combined<&Builder::Min>},
    {"prim::min.self_float", Combined<&Builder::Min>},
    {"prim::max.self_int", Combined<&Builder::Max>},
    {"prim::max.self_float", Combined<&Builder::Max>},
    {"aten::warn", Nothing},
    {"prim::Print", Nothing},
}};

}  // namespace rules_onnx::lowering
