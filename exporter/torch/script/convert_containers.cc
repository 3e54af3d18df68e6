// Containers, whose operators are carried out at conversion.
#include <torch/csrc/jit/api/object.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exporter/torch/script/converter.h"
#include "exporter/torch/values/tensors.h"

namespace rules_onnx::script {
namespace {

namespace prim = c10::prim;

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
      ItemRef item = At(node->input(0));
      if (item->is_optional()) item = item->content.items[1];
      const c10::TypeKind kind = node->output()->type()->kind();
      if (item->is_number() && kind == c10::TypeKind::IntType) item = item->content.items[1];
      if (item->is_number() && kind == c10::TypeKind::FloatType) item = item->content.items[2];
      Define(node->output(), item);
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
      const auto& types = node->tys(c10::attr::types);
      const ItemRef& item = At(node->input(0));
      const auto seen = IsIntOrFloat(*item) ? std::nullopt : SeenTruth(node);
      if (seen) {
        Define(node->output(), Leaf(*seen));
        return true;
      }
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

}  // namespace rules_onnx::script
