#include "exporter/passes/containers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "exporter/passes/alias_classes.h"
#include "exporter/passes/rewrite.h"
#include "exporter/passes/views.h"

namespace rules_onnx::passes {
namespace {

using List = ir::Arg::List;
using Kind = ir::Type::Kind;

constexpr int64_t kMaxRepeat = 4096;  // items of a list that `[x] * n` may make

bool IsConstruct(absl::string_view op) {
  return op == "prim::ListConstruct" || op == "prim::TupleConstruct" ||
         op == "prim::DictConstruct";
}

std::optional<size_t> Position(const ir::Arg& index, size_t size) {
  if (!index.is_int()) return std::nullopt;
  const int64_t at = index.as_int() < 0 ? index.as_int() + static_cast<int64_t>(size)
                                        : index.as_int();
  if (at < 0 || at >= static_cast<int64_t>(size)) return std::nullopt;
  return static_cast<size_t>(at);
}

std::optional<List> Slice(const List& items, const ir::Node& node) {
  const ir::Arg& start = *node.Find("start");
  const ir::Arg& end = *node.Find("end");
  const ir::Arg& step = *node.Find("step");
  const int64_t size = static_cast<int64_t>(items.size());
  if (!step.is_int() || step.as_int() <= 0) return std::nullopt;
  const auto bound = [&](const ir::Arg& arg, int64_t otherwise) -> std::optional<int64_t> {
    if (arg.is_none()) return otherwise;
    if (!arg.is_int()) return std::nullopt;
    return std::clamp<int64_t>(arg.as_int() < 0 ? arg.as_int() + size : arg.as_int(), 0, size);
  };
  const auto from = bound(start, 0);
  const auto to = bound(end, size);
  if (!from || !to) return std::nullopt;
  List slice;
  for (int64_t i = *from; i < *to; i += step.as_int()) slice.push_back(items[i]);
  return slice;
}

class Resolver {
 public:
  explicit Resolver(Context* context)
      : context_(context), classes_(*context->graph, context->schemas) {}

  bool Run() {
    const bool rewritten = RewriteGraph(
        context_, [this](ir::Node* node, Emitter* emitter, Replacements* replacements) {
          return Visit(node, emitter, replacements);
        });
    return rewritten || changed_;
  }

 private:
  Action Visit(ir::Node* node, Emitter* emitter, Replacements* replacements) {
    for (const ir::Value* output : node->outputs) definitions_[output] = node;
    if (IsConstruct(node->op)) {
      Learn(node->output(), node->Find("items")->list());
      InlineItems(node);
      return Action::kKeep;
    }
    if (context_->schemas.Writes(*node)) return Action::kKeep;
    if (Read(*node, emitter, replacements)) return Action::kDrop;
    if (const auto items = NewItems(*node)) {
      replacements->Set(node->output(), Construct(*node, *items, emitter));
      return Action::kDrop;
    }
    if (node->op == "prim::ListPop" && Pop(*node, emitter, replacements)) return Action::kDrop;
    if (node->blocks.empty() && !absl::StartsWith(node->op, "prim::List")) InlineItems(node);
    return Action::kKeep;
  }

  void Learn(const ir::Value* list, List items) {
    if (!classes_.IsWritten(list)) items_[list] = std::move(items);
  }

  // A list of items becomes a value again, which later reads know.
  ir::Arg Construct(const ir::Node& node, const List& items, Emitter* emitter) {
    ir::Value* list =
        emitter->Emit("prim::ListConstruct", {{"items", items}}, node.output()->type);
    items_[list] = items;
    return list;
  }

  const List* Known(const ir::Arg& container) const {
    if (container.is_list()) return &container.list();
    if (!container.is_value()) return nullptr;
    const auto it = items_.find(container.value());
    return it == items_.end() ? nullptr : &it->second;
  }

  // List arguments hold their items themselves. Tuples and dicts are no lists.
  void InlineItems(ir::Node* node) {
    for (ir::NamedArg& arg : node->args) {
      if (!arg.value.is_value() || !arg.value.value()->type.is_list()) continue;
      if (const List* items = Known(arg.value)) {
        arg.value = ir::Arg(List(*items));
        changed_ = true;
      }
    }
  }

  // Outputs that are items, or numbers that the items tell.
  bool Read(const ir::Node& node, Emitter* emitter, Replacements* replacements) {
    if (node.args.empty()) return false;
    const ir::Arg& self = node.args[0].value;
    if (node.op == "prim::ListUnpack" || node.op == "prim::TupleUnpack") {
      return Unpack(node, emitter, replacements);
    }
    if (node.op == "prim::TupleIndex" || node.op == "aten::__getitem__.t") {
      const auto item = Item(self, node.args[1].value, node.output()->type, emitter);
      if (item) replacements->Set(node.output(), *item);
      return item.has_value();
    }
    if (node.op == "aten::len.t" || node.op == "aten::len.any") {
      const auto length = Length(self);
      if (length) replacements->Set(node.output(), *length);
      return length.has_value();
    }
    return ReadDict(node, replacements) || Contains(node, replacements);
  }

  std::optional<int64_t> Length(const ir::Arg& self) const {
    if (const List* items = Known(self)) return static_cast<int64_t>(items->size());
    const ir::Type* sized = SizedTensor(self);
    if (sized == nullptr || !sized->shape) return std::nullopt;
    return static_cast<int64_t>(sized->shape->size());
  }

  // The type of x where the list is aten::size(x).
  const ir::Type* SizedTensor(const ir::Arg& list) const {
    const ir::Node* node = Definition(list);
    if (node == nullptr || (node->op != "aten::size" && node->op != "aten::sym_size")) {
      return nullptr;
    }
    const ir::Arg& self = node->args[0].value;
    return self.is_value() ? &self.value()->type : nullptr;
  }

  const ir::Node* Definition(const ir::Arg& arg) const {
    if (!arg.is_value()) return nullptr;
    const auto it = definitions_.find(arg.value());
    return it == definitions_.end() ? nullptr : it->second;
  }

  std::optional<ir::Arg> Item(const ir::Arg& list, const ir::Arg& index, const ir::Type& type,
                              Emitter* emitter) {
    if (const List* items = Known(list)) {
      const auto at = Position(index, items->size());
      return at ? std::optional<ir::Arg>((*items)[*at]) : std::nullopt;
    }
    if (const ir::Type* sized = SizedTensor(list)) {
      // A negative index counts from the rank, in both forms.
      if (!index.is_int() && !index.is_value()) return std::nullopt;
      if (index.is_value() && !sized->shape) return std::nullopt;
      return emitter->Emit("aten::size.int",
                           {{"self", Definition(list)->args[0].value}, {"dim", index}}, type);
    }
    const ir::Node* views = Definition(list);
    if (views == nullptr || !GivesListOfViews(*views) || !index.is_int() ||
        classes_.IsWritten(list.value())) {
      return std::nullopt;
    }
    auto view = ItemOfListOfViews(*views, index.as_int(), emitter);
    if (view == nullptr) return std::nullopt;
    return emitter->Emit(view->op, view->args, type);
  }

  bool Unpack(const ir::Node& node, Emitter* emitter, Replacements* replacements) {
    const ir::Arg& self = node.args[0].value;
    if (Length(self) != static_cast<int64_t>(node.outputs.size())) return false;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const auto item = Item(self, static_cast<int64_t>(i), node.outputs[i]->type, emitter);
      replacements->Set(node.outputs[i], *item);
    }
    return true;
  }

  bool ReadDict(const ir::Node& node, Replacements* replacements) {
    const ir::Arg& self = node.args[0].value;
    if (!self.is_value() || self.value()->type.kind != Kind::kDict) return false;
    const List* items = Known(self);
    if (items == nullptr) return false;
    const absl::string_view base = node.base_op();
    if (base == "aten::len") {
      replacements->Set(node.output(), static_cast<int64_t>(items->size() / 2));
      return true;
    }
    List keys, values;
    for (size_t i = 0; i + 1 < items->size(); i += 2) {
      if ((*items)[i].is_value()) return false;
      keys.push_back((*items)[i]);
      values.push_back((*items)[i + 1]);
    }
    if (base == "aten::keys" || base == "aten::values") {
      replacements->Set(node.output(), ir::Arg(base == "aten::keys" ? keys : values));
      return true;
    }
    if (node.args.size() < 2 || node.args[1].value.is_value()) return false;
    const auto key = std::find(keys.begin(), keys.end(), node.args[1].value);
    if (base == "aten::__contains__") {
      replacements->Set(node.output(), key != keys.end());
      return true;
    }
    if (base != "aten::__getitem__" || key == keys.end()) return false;
    replacements->Set(node.output(), values[key - keys.begin()]);
    return true;
  }

  bool Contains(const ir::Node& node, Replacements* replacements) {
    if (node.base_op() != "aten::__contains__" || !absl::EndsWith(node.op, "_list")) return false;
    const List* items = Known(node.args[0].value);
    const ir::Arg& wanted = node.args[1].value;
    if (items == nullptr || wanted.is_value()) return false;
    if (std::any_of(items->begin(), items->end(),
                    [](const ir::Arg& item) { return item.is_value(); })) {
      return false;
    }
    replacements->Set(node.output(),
                      std::find(items->begin(), items->end(), wanted) != items->end());
    return true;
  }

  // The items of a list that the node makes of known lists.
  std::optional<List> NewItems(const ir::Node& node) const {
    if (node.args.empty() || node.outputs.size() != 1) return std::nullopt;
    const absl::string_view base = node.base_op();
    if (node.op == "prim::rangelist" && node.args[0].value.is_int()) {
      List range;
      if (node.args[0].value.as_int() > kMaxRepeat) return std::nullopt;
      for (int64_t i = 0; i < node.args[0].value.as_int(); ++i) range.emplace_back(i);
      return range;
    }
    const List* items = Known(node.args[0].value);
    if (items == nullptr || classes_.IsWritten(node.output())) return std::nullopt;
    const auto arg = [&](size_t i) -> const ir::Arg& { return node.args[i].value; };
    List made = *items;
    if (node.op == "aten::add.t" || node.op == "prim::ListExtend") {
      const List* more = Known(arg(1));
      if (more == nullptr) return std::nullopt;
      made.insert(made.end(), more->begin(), more->end());
      return made;
    }
    if (node.op == "aten::slice.t") return Slice(*items, node);
    if (node.op == "aten::list.t" || node.op == "aten::copy.t") return made;
    if (node.op == "aten::mul.left_t") return Repeat(*items, arg(1));
    if (node.op == "prim::ListReverse") {
      std::reverse(made.begin(), made.end());
      return made;
    }
    if (node.op == "prim::ListAppend") {
      made.push_back(arg(1));
      return made;
    }
    if (base != "prim::ListInsert" && base != "prim::ListSet" && base != "prim::ListDelete") {
      return std::nullopt;
    }
    if (base == "prim::ListInsert") {
      if (!arg(1).is_int()) return std::nullopt;
      const int64_t size = static_cast<int64_t>(made.size());
      const int64_t at = arg(1).as_int() < 0 ? arg(1).as_int() + size : arg(1).as_int();
      made.insert(made.begin() + std::clamp<int64_t>(at, 0, size), arg(2));
      return made;
    }
    const auto at = Position(arg(1), made.size());
    if (!at) return std::nullopt;
    if (base == "prim::ListSet") {
      made[*at] = arg(2);
    } else {
      made.erase(made.begin() + static_cast<std::ptrdiff_t>(*at));
    }
    return made;
  }

  static std::optional<List> Repeat(const List& items, const ir::Arg& times) {
    if (!times.is_int()) return std::nullopt;
    List repeated;
    for (int64_t i = 0; i < times.as_int(); ++i) {
      if (static_cast<int64_t>(repeated.size() + items.size()) > kMaxRepeat) return std::nullopt;
      repeated.insert(repeated.end(), items.begin(), items.end());
    }
    return repeated;
  }

  bool Pop(const ir::Node& node, Emitter* emitter, Replacements* replacements) {
    const List* items = Known(node.args[0].value);
    if (items == nullptr) return false;
    const auto at = Position(node.args[1].value, items->size());
    if (!at) return false;
    List rest = *items;
    replacements->Set(node.outputs[0], rest[*at]);
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(*at));
    ir::Value* list = emitter->Emit("prim::ListConstruct", {{"items", rest}},
                                    node.outputs[1]->type);
    items_[list] = std::move(rest);
    replacements->Set(node.outputs[1], list);
    return true;
  }

  Context* context_;
  AliasClasses classes_;
  std::unordered_map<const ir::Value*, List> items_;
  std::unordered_map<const ir::Value*, const ir::Node*> definitions_;
  bool changed_ = false;
};

}  // namespace

bool ResolveContainers(Context* context) { return Resolver(context).Run(); }

}  // namespace rules_onnx::passes
