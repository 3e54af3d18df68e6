#include "exporter/torch/reference/list_operators.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace rules_onnx::reference {
namespace {

using c10::IValue;
using Values = std::vector<IValue>;

Values Items(const IValue& value) {
  return value.isTuple() ? value.toTupleRef().elements().vec() : value.toListRef().vec();
}

// A list of the given items, typed as `like` if that has a type of its own.
IValue ListOf(const Values& items, const IValue& like) {
  c10::impl::GenericList list(items.empty() ? like.toList().elementType() : items[0].type());
  for (const IValue& item : items) list.push_back(item);
  return list;
}

// `index` counts from the end if negative; `end`: one past the last item is a place too.
Values::iterator Place(Values* items, const IValue& index, bool end) {
  int64_t at = index.toInt();
  const auto size = static_cast<int64_t>(items->size());
  if (at < 0) at += size;
  if (at < 0 || at > size || (at == size && !end)) throw std::out_of_range("list index");
  return items->begin() + at;
}

}  // namespace

std::optional<Values> RunListOperator(const std::string& op, const Values& inputs) {
  if (op == "prim::TupleConstruct") {
    return Values{c10::ivalue::Tuple::create(Items(inputs[0]))};
  }
  if (op == "prim::ListUnpack" || op == "prim::TupleUnpack") return Items(inputs[0]);
  if (op == "prim::TupleIndex") {
    Values items = Items(inputs[0]);
    return Values{*Place(&items, inputs[1], false)};
  }
  if (op == "prim::ListAppend") {
    Values items = Items(inputs[0]);
    items.push_back(inputs[1]);
    return Values{ListOf(items, inputs[0])};
  }
  if (op == "prim::ListExtend") {
    Values items = Items(inputs[0]);
    for (const IValue& more : Items(inputs[1])) items.push_back(more);
    return Values{ListOf(items, inputs[0])};
  }
  if (op == "prim::ListReverse") {
    Values items = Items(inputs[0]);
    std::reverse(items.begin(), items.end());
    return Values{ListOf(items, inputs[0])};
  }
  if (op == "prim::ListInsert") {
    Values items = Items(inputs[0]);
    items.insert(Place(&items, inputs[1], true), inputs[2]);
    return Values{ListOf(items, inputs[0])};
  }
  if (op == "prim::ListSet") {
    Values items = Items(inputs[0]);
    *Place(&items, inputs[1], false) = inputs[2];
    return Values{ListOf(items, inputs[0])};
  }
  if (op == "prim::ListDelete" || op == "prim::ListPop") {
    Values items = Items(inputs[0]);
    const auto place = Place(&items, inputs[1], false);
    const IValue item = *place;
    items.erase(place);
    const IValue rest = ListOf(items, inputs[0]);
    return op == "prim::ListPop" ? Values{item, rest} : Values{rest};
  }
  return std::nullopt;
}

}  // namespace rules_onnx::reference
