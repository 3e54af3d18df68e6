// Lists and tuples of known length, and constants.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/dynamic_list.h"
#include "exporter/lowering/loop.h"
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

// Whether two shapes are known to differ.
bool ShapesDiffer(Val x, Val y) {
  if (!x.has_shape() || !y.has_shape()) return true;
  if (x.rank() != y.rank()) return true;
  for (int i = 0; i < x.rank(); ++i) {
    const Dim &a = x.shape()[i], &b = y.shape()[i];
    if (a.is_number() && b.is_number() && a.value() != b.value()) return true;
  }
  return false;
}

// An element at a place that only the run tells.
Item ComputedElement(Op& op, const std::vector<Item>& items, Val index) {
  if (items.empty()) return op.Fail("an element of an empty list");
  if (items[0].is_list()) {
    std::vector<Item> fields;
    for (size_t field = 0; field < items[0].items.size(); ++field) {
      std::vector<Item> column;
      for (const Item& item : items) {
        if (!item.is_list() || item.items.size() != items[0].items.size()) {
          return op.Fail("an element of a list of lists of different lengths is taken at a "
                         "computed place");
        }
        column.push_back(item.items[field]);
      }
      fields.push_back(ComputedElement(op, column, index));
      if (fields.back().failed()) return {};
    }
    return Item::List(std::move(fields));
  }
  Vals elements;
  bool differ = false, same = true;
  for (const Item& item : items) {
    if (!item.is_val() || item.val.is_sequence() || item.is_quantized()) {
      return op.Fail("an element that no plain tensor carries is taken at a computed place");
    }
    elements.push_back(item.val);
    differ = differ || ShapesDiffer(elements[0], item.val);
    same = same && SameShape(elements[0], item.val);
  }
  if (differ || (!same && op.b.opset() >= kSequences)) return ElementOf(op.b, elements, index);
  for (Val& element : elements) element = op.b.Unsqueeze(element, {0});
  return op.b.Gather(op.b.Concat(elements, 0), index, 0);
}

// The numbers of a tensor: of one of rank 0 the number itself.
void ToList(Op& op) {
  const Val numbers = op.Tensor("arg0");
  if (!op.Require(op.Int("arg1") <= 1, "lists of lists of numbers")) return;
  const ir::Type& type = op.OutType();
  const ir::Type& number = type.is_list() ? type.elements.front() : type;
  op.Return(op.b.Cast(numbers, number.TensorDType()));
}

void GetItem(Op& op) {
  const Item list = First(op);
  const std::string& index_name = op.node.args[1].name;
  if (list.failed()) return;
  const auto items = ItemsOf(op, list);
  if (!items) return op.Return(ListAt(op.b, list, op.IntVal(index_name), op.OutType()));
  const auto index = op.KnownInt(index_name);
  if (!index) return op.Return(ComputedElement(op, *items, op.IntVal(index_name)));
  const auto place = KnownPosition(index, *items);
  if (op.Require(place.has_value(), absl::StrCat("index ", *index,
                                                 " is out of range for a list of ",
                                                 items->size()))) {
    op.Return((*items)[*place]);
  }
}

void Length(Op& op) {
  const Item list = First(op);
  if (list.failed()) return;
  if (list.is_list()) return op.Return(op.b.Int(static_cast<int64_t>(list.items.size())));
  if (list.kind == Item::Kind::kConstant) return op.Fail("this value has no length"), void();
  op.Return(ListLength(op.b, list));
}

// The list argument at that place in the form of the result.
Item Dynamic(Op& op, size_t i = 0) {
  return DynamicList(op, op.Arg(op.node.args[i].name), op.OutType());
}

// Bounds that only the run tells, or of a list whose length it tells.
void DynamicSlice(Op& op) {
  const Item list = Dynamic(op);
  const auto bound = [&](absl::string_view name, int64_t otherwise) {
    return op.Has(name) ? op.IntVal(name) : op.b.Int(otherwise);
  };
  const int64_t step = op.Int("step");
  const Val positions =
      op.b.Slice(Iota(op.b, ListLength(op.b, list)), 0, bound("start", step > 0 ? 0 : kEnd),
                 bound("end", step > 0 ? kEnd : -kEnd), op.b.Int(step));
  op.Return(ListPick(op.b, list, positions));
}

void Slice(Op& op) {
  const auto items = ItemsOf(op, First(op));
  const bool known = items && (!op.Has("start") || op.KnownInt("start")) &&
                     (!op.Has("end") || op.KnownInt("end"));
  const int64_t step = op.Int("step");
  if (!op.Require(step != 0, "the step of a list's slice is 0")) return;
  if (!known) return DynamicSlice(op);
  const int64_t size = static_cast<int64_t>(items->size());
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  const auto bound = [&](absl::string_view name, int64_t otherwise) {
    return op.Has(name) ? std::clamp<int64_t>(FromStart(op.Int(name), *items), low, high)
                        : otherwise;
  };
  std::vector<Item> part;
  const int64_t end = bound("end", step > 0 ? high : low);
  for (int64_t i = bound("start", step > 0 ? low : high); step > 0 ? i < end : i > end; i += step) {
    part.push_back((*items)[i]);
  }
  op.Return(Item::List(std::move(part)));
}

// ---------------------------------------------------------------- putting together

void Joined(Op& op) {
  auto first = ItemsOf(op, First(op));
  const auto second = ItemsOf(op, Second(op));
  if (!first || !second) return op.Return(ListJoin(op.b, Dynamic(op, 0), Dynamic(op, 1)));
  first->insert(first->end(), second->begin(), second->end());
  op.Return(Item::List(std::move(*first)));
}

void Repeated(Op& op) {
  const bool list_first = op.node.args.front().name == "l";
  const auto items = ItemsOf(op, list_first ? First(op) : Second(op));
  if (!items || !op.KnownInt("n")) {
    const Item list = Dynamic(op, list_first ? 0 : 1);
    const Val length = ListLength(op.b, list);
    const Val positions = Iota(op.b, op.b.Mul(length, op.IntVal("n")));
    return op.Return(ListPick(op.b, list, op.b.Mod(positions, length, /*fmod=*/false)));
  }
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

// Two items of lists of known length: these may be tensors of one element as well.
Val SameItem(Op& op, const Item& x, const Item& y) {
  const Val equal = EqualItems(op, x, y);
  return !equal || equal.rank() == 0 ? equal : op.b.Reshape(equal, std::vector<int64_t>{});
}

// A list of numbers as a 1-D tensor.
Val Numbers(Op& op, size_t i) {
  const Item list = op.Arg(op.node.args[i].name);
  const ir::Arg& arg = op.node.args[i].value;
  const ir::Type& type =
      arg.is_value() ? arg.value()->type : op.node.args[1 - i].value.value()->type;
  return DynamicList(op, list, type).val;
}

// As far as the shorter one goes, and no list goes further.
Val EqualDynamicLists(Op& op) {
  const Val x = Numbers(op, 0), y = Numbers(op, 1);
  if (!x || !y) return {};
  Builder& b = op.b;
  const Val size_x = b.Size(x, 0), size_y = b.Size(y, 0), size = b.Min(size_x, size_y);
  const Val equal = b.Equal(b.Slice(x, 0, b.Int(0), size), b.Slice(y, 0, b.Int(0), size));
  return b.And(b.Equal(size_x, size_y), b.Not(Any(b, b.Not(equal))));
}

Val EqualLists(Op& op) {
  const auto first = ItemsOf(op, First(op)), second = ItemsOf(op, Second(op));
  if (!first || !second) return EqualDynamicLists(op);
  if (first->size() != second->size()) return op.b.ScalarInt(0, DType::kBool);
  Val equal = op.b.ScalarInt(1, DType::kBool);
  for (size_t i = 0; i < first->size(); ++i) {
    equal = op.b.And(equal, SameItem(op, (*first)[i], (*second)[i]));
  }
  return equal;
}

void ListsEqual(Op& op) { op.Return(EqualLists(op)); }
void ListsDiffer(Op& op) { op.Return(op.b.Not(EqualLists(op))); }
void ConstantsEqual(Op& op) { op.Return(EqualItems(op, First(op), Second(op))); }
void ConstantsDiffer(Op& op) { op.Return(op.b.Not(EqualItems(op, First(op), Second(op)))); }

void Contains(Op& op) {
  const Item list = First(op), wanted = Second(op);
  const auto items = ItemsOf(op, list);
  if (list.failed()) return;
  if (!items) return op.Return(Any(op.b, EqualItems(op, list, wanted)));
  Val found = op.b.ScalarInt(0, DType::kBool);
  for (const Item& item : *items) found = op.b.Or(found, EqualItems(op, item, wanted));
  op.Return(found);
}

// The first place of a value that the list must have.
void PlaceOf(Op& op) {
  Builder& b = op.b;
  const Item list = First(op), wanted = Second(op);
  const auto items = ItemsOf(op, list);
  if (list.failed()) return;
  if (!items) {
    const Val equal = b.Cast(EqualItems(op, list, wanted), DType::kInt64);
    return op.Return(b.ArgMax(equal, 0, /*keepdims=*/false));
  }
  Val place = b.Int(static_cast<int64_t>(items->size()));
  for (int64_t i = static_cast<int64_t>(items->size()) - 1; i >= 0; --i) {
    place = b.Where(SameItem(op, (*items)[i], wanted), b.Int(i), place);
  }
  op.Return(place);
}

void Count(Op& op) {
  const Item list = First(op), wanted = Second(op);
  const auto items = ItemsOf(op, list);
  if (list.failed()) return;
  if (!items) {
    const Val equal = op.b.Cast(EqualItems(op, list, wanted), DType::kInt64);
    return op.Return(op.b.Reduce("ReduceSum", equal, {}, /*keepdims=*/false));
  }
  Val count = op.b.Int(0);
  for (const Item& item : *items) {
    count = op.b.Add(count, op.b.Cast(EqualItems(op, item, wanted), DType::kInt64));
  }
  op.Return(count);
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

// The numbers of a list of unknown length, by an ONNX reduction.
void Reduced(Op& op, absl::string_view reduction) {
  const Val numbers = op.b.Cast(First(op).val, op.OutDType());
  op.Return(op.b.Reduce(reduction, numbers, {}, /*keepdims=*/false));
}

constexpr char kSum[] = "ReduceSum", kMin[] = "ReduceMin", kMax[] = "ReduceMax";

template <Val (Builder::*kFunction)(Val, Val), const char* kReduction>
void Combined(Op& op) {
  const auto items = ItemsOf(op, First(op));
  if (!items) return Reduced(op, kReduction);
  if (!op.Require(!items->empty(), "an empty list of numbers")) return;
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
  Combined<&Builder::Add, kSum>(op);
}

template <bool kAll>
void AllOrAny(Op& op) {
  Builder& b = op.b;
  if (const auto items = ItemsOf(op, First(op))) {
    Val result = b.ScalarInt(kAll, DType::kBool);
    for (const Item& item : *items) {
      const Val next = b.Cast(item.val, DType::kBool);
      result = kAll ? b.And(result, next) : b.Or(result, next);
    }
    return op.Return(result);
  }
  const Val numbers = b.Cast(First(op).val, DType::kBool);
  op.Return(kAll ? b.Not(Any(b, b.Not(numbers))) : Any(b, numbers));
}

// What lists whose length depends on the inputs need.
constexpr char kItems[] = "tensors that differ in size, of unknown number: opset 11";
constexpr char kParts[] = "tensors that differ in size, of unknown number: opset 13";
constexpr char kSliced[] =
    "of an unknown number, a negative step: opset 10, tensors that differ in size: 13";
constexpr char kRepeated[] = "an unknown number: opset 10, of tensors that differ in size 13";

}  // namespace

extern const Family kContainer;
const Family kContainer = {"container", {
    {"prim::Constant", Same},
    {"prim::ListConstruct", Same},
    {"prim::TupleConstruct", Same},
    {"prim::ListUnpack", Unpack, 9, kItems},
    {"prim::TupleUnpack", Unpack},
    {"prim::TupleIndex", GetItem},
    {"prim::unchecked_cast", Same},
    {"prim::unchecked_unwrap_optional", Same},
    {"prim::data", Same},
    {"aten::Size", Same},
    {"aten::list", Same},
    {"aten::copy.t", Same},
    {"aten::__getitem__.t", GetItem, 9, kItems},
    {"aten::select.t", GetItem, 9, kItems},
    {"prim::tolist", ToList},
    {"aten::len", Length},
    {"aten::slice.t", Slice, 9, kSliced},
    {"aten::add.t", Joined, 9, kParts},
    {"aten::mul.left_t", Repeated, 9, kRepeated},
    {"aten::mul.right_", Repeated, 9, kRepeated},
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
    {"aten::eq.Tensor_list", ListsEqual},
    {"aten::ne.Tensor_list", ListsDiffer},
    {"aten::index.list_int", PlaceOf},
    {"aten::index.list_float", PlaceOf},
    {"aten::index.list_bool", PlaceOf},
    {"aten::index.list_str", PlaceOf},
    {"aten::index.list_Tensor", PlaceOf},
    {"aten::count.int", Count},
    {"aten::count.float", Count},
    {"aten::count.bool", Count},
    {"aten::__is__", Is},
    {"aten::__isnot__", IsNot},
    {"aten::sum.int", Sum},
    {"aten::sum.float", Sum},
    {"aten::sum.bool", Sum},
    {"aten::all.int", AllOrAny<true>},
    {"aten::all.float", AllOrAny<true>},
    {"aten::all.bool", AllOrAny<true>},
    {"aten::any.int", AllOrAny<false>},
    {"aten::any.float", AllOrAny<false>},
    {"aten::any.bool", AllOrAny<false>},
    {"prim::min.self_int", Combined<&Builder::Min, kMin>},
    {"prim::min.self_float", Combined<&Builder::Min, kMin>},
    {"prim::max.self_int", Combined<&Builder::Max, kMax>},
    {"prim::max.self_float", Combined<&Builder::Max, kMax>},
    {"aten::warn", Nothing},
    {"prim::Print", Nothing},
}};

}  // namespace rules_onnx::lowering
