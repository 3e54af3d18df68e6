#include "exporter/passes/alias_classes.h"

#include <algorithm>
#include <iterator>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "exporter/passes/views.h"

namespace rules_onnx::passes {
namespace {

using Kind = ir::Type::Kind;
using Names = absl::flat_hash_set<absl::string_view>;

// Outputs hold, or may be, arguments although the schema does not say so.
bool SharesUnsaid(absl::string_view base) {
  static const auto* const kSharing = new Names{
      "aten::dropout",        "aten::feature_dropout", "aten::alpha_dropout",
      "aten::feature_alpha_dropout", "aten::native_dropout", "aten::type_as",
      "aten::atleast_1d",     "aten::atleast_2d",      "aten::atleast_3d",
      "aten::meshgrid",       "aten::broadcast_tensors", "aten::unsafe_split",
      "aten::unsafe_split_with_sizes", "aten::unsafe_chunk", "aten::_unsafe_view",
      "aten::cpu",            "aten::cuda",            "aten::conj",
      "prim::ListConstruct",  "prim::ListUnpack",      "prim::TupleConstruct",
      "prim::TupleUnpack",    "prim::TupleIndex",      "prim::DictConstruct",
      "prim::unchecked_cast", "prim::unchecked_unwrap_optional", "prim::data",
      "prim::IfThenElse",     "aten::__getitem__",     "aten::values",
      "aten::items",          "aten::list",            "aten::copy",
      "aten::dict",           "aten::pop",             "aten::popitem",
      "aten::setdefault",     "aten::get",             "aten::append",
      "aten::insert",         "aten::extend",          "aten::_set_item",
      "aten::update",         "aten::sorted",          "aten::conj_physical",
      "aten::sum_to_size",    "aten::dequantize"};
  return kSharing->contains(base);
}

bool IsListOperator(const ir::Node& node) {
  return node.op == "aten::add.t" || node.op == "aten::add_.t" || node.op == "aten::slice.t" ||
         node.op == "aten::mul.left_t" || node.op == "aten::mul_.t";
}

const ir::Node* InPlaceSelf(const ir::Node& node, const Schemas& schemas) {
  static const auto* const kSame = new Names{"aten::alias", "aten::detach",
                                             "aten::requires_grad_", "prim::unchecked_cast"};
  if (kSame->contains(node.base_op())) return &node;
  const ir::Schema* schema = schemas.Find(node.op);
  if (schema == nullptr || schema->args.empty() || schema->returns.size() != 1) return nullptr;
  const ir::SchemaArg& self = schema->args[0];
  return self.is_write && schema->returns[0].alias == self.alias ? &node : nullptr;
}

}  // namespace

bool IsMutable(const ir::Type& type) {
  switch (type.kind) {
    case Kind::kTensor:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kOptional:
    case Kind::kObject:
    case Kind::kUnknown: return true;
    default: return false;
  }
}

bool ChangesContainer(const ir::Node& node) {
  static const auto* const kChanging =
      new Names{"aten::append", "aten::insert",  "aten::_set_item", "aten::extend",
                "aten::pop",    "aten::popitem", "aten::Delete",    "aten::clear",
                "aten::remove", "aten::update",  "aten::setdefault"};
  const absl::string_view base = node.base_op();
  if (kChanging->contains(base)) return true;
  if (base == "aten::sort" || base == "aten::reverse") {
    return node.args[0].value.is_list() ||
           (node.args[0].value.is_value() && node.args[0].value.value()->type.is_list());
  }
  return node.op == "aten::add_.t" || node.op == "aten::mul_.t";
}

AliasClasses::AliasClasses(const ir::Graph& graph, const Schemas& schemas) : schemas_(schemas) {
  std::vector<const ir::Node*> owners;
  VisitBlock(graph.main, &owners);
  for (const auto& [value, by] : writes_seen_) {
    written_.insert(ClassOf(value));
    if (!ChangesContainer(*by)) contents_written_.insert(ClassOf(value));
  }
  for (const auto& [owner, writes] : written_in_blocks_) {
    Writes& found = writes_[owner];
    for (const auto& [value, by] : writes) {
      (ChangesContainer(*by) ? found.containers : found.tensors).insert(ClassOf(value));
      if (MovesItems(*by)) found.orders.insert(ClassOf(value));
    }
  }
}

int AliasClasses::Index(const ir::Value* value) {
  const auto [it, is_new] = indices_.try_emplace(value, static_cast<int>(parents_.size()));
  if (is_new) parents_.push_back(it->second);
  return it->second;
}

int AliasClasses::Root(int index) const {
  while (parents_[index] != index) {
    parents_[index] = parents_[parents_[index]];
    index = parents_[index];
  }
  return index;
}

int AliasClasses::ClassOf(const ir::Value* value) const {
  const auto it = indices_.find(value);
  return it == indices_.end() ? -1 : Root(it->second);
}

bool AliasClasses::IsWritten(const ir::Value* value) const {
  return IsMutable(value->type) && written_.contains(ClassOf(value));
}

bool AliasClasses::IsContentWritten(const ir::Value* value) const {
  return contents_written_.contains(ClassOf(value));
}

const ir::Node* AliasClasses::FirstWriter(const std::vector<const ir::Value*>& values) const {
  std::set<int> classes;
  for (const ir::Value* value : values) classes.insert(ClassOf(value));
  const auto write = std::find_if(writes_seen_.begin(), writes_seen_.end(), [&](const Write& seen) {
    return classes.contains(ClassOf(seen.value));
  });
  return write == writes_seen_.end() ? nullptr : write->by;
}

const AliasClasses::Writes& AliasClasses::WrittenIn(const ir::Node& node) const {
  static const auto* const kNone = new Writes();
  const auto it = writes_.find(&node);
  return it == writes_.end() ? *kNone : it->second;
}

void AliasClasses::Unite(const ir::Arg& a, const ir::Arg& b) {
  a.ForEachValue([&](ir::Value* x) {
    if (!IsMutable(x->type)) return;
    b.ForEachValue([&](ir::Value* y) {
      if (!IsMutable(y->type)) return;
      const int from = Root(Index(y));
      parents_[from] = Root(Index(x));
    });
  });
}

void AliasClasses::VisitBlock(const ir::Block& block, std::vector<const ir::Node*>* owners) {
  for (const auto& node : block.nodes) {
    NoteUses(*node, *owners);
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      definitions_[node->outputs[i]] = {node.get(), i};
      defined_at_[node->outputs[i]] = clock_;
    }
    if (node->op == "aten::__getitem__.t" || node->base_op() == "aten::_set_item") {
      moments_[node.get()] = {&block, container_changes_};
    }
    container_changes_ += ChangesContainer(*node);
    VisitNode(*node, *owners);
    owners->push_back(node.get());
    for (const auto& inner : node->blocks) VisitBlock(*inner, owners);
    owners->pop_back();
  }
  ++clock_;
  for (const ir::Arg& result : block.results) {
    result.ForEachValue([&](ir::Value* value) { uses_[value].push_back({clock_, nullptr, 0}); });
  }
}

void AliasClasses::NoteUses(const ir::Node& node, const std::vector<const ir::Node*>& owners) {
  ++clock_;
  const bool is_loop = node.op == "prim::Loop";
  const ir::Arg* carried = is_loop ? node.Find("carried") : nullptr;
  for (const ir::NamedArg& arg : node.args) {
    if (&arg.value == carried) continue;
    arg.value.ForEachValue(
        [&](ir::Value* value) { uses_[value].push_back({clock_, nullptr, 0}); });
  }
  if (node.blocks.empty()) return;
  for (const auto& block : node.blocks) {
    for (const ir::Value* param : block->params) defined_at_[param] = clock_;
  }
  if (!is_loop && node.op != "prim::Scan") return;
  Extent& extent = loops_[&node];
  extent.start = clock_;
  std::copy_if(owners.begin(), owners.end(), std::back_inserter(extent.around),
               [&](const ir::Node* owner) { return loops_.contains(owner); });
  if (!is_loop) return;
  for (size_t k = 0; k < carried->list().size(); ++k) {
    carried->list()[k].ForEachValue(
        [&](ir::Value* value) { uses_[value].push_back({clock_, &node, k}); });
  }
}

void AliasClasses::VisitNode(const ir::Node& node,
                             const std::vector<const ir::Node*>& owners) {
  if (!node.blocks.empty()) return UniteControlFlow(node);
  const ir::Schema* schema = schemas_.Find(node.op);
  if (SharesUnsaid(node.base_op()) || IsListOperator(node) || MayGiveItsTensor(node)) {
    UniteAll(node);
  } else if (schema != nullptr) {
    UniteBySchema(node, *schema);
  }
  if (schema == nullptr) return;
  for (size_t i = 0; i < schema->args.size() && i < node.args.size(); ++i) {
    if (!schema->args[i].is_write) continue;
    node.args[i].value.ForEachValue([&](ir::Value* value) {
      Index(value);
      writes_seen_.push_back({value, &node});
      for (const ir::Node* owner : owners) {
        written_in_blocks_[owner].push_back({value, &node});
      }
    });
  }
}

void AliasClasses::UniteBySchema(const ir::Node& node, const ir::Schema& schema) {
  for (size_t o = 0; o < node.outputs.size() && o < schema.returns.size(); ++o) {
    const std::string& alias = schema.returns[o].alias;
    if (alias.empty()) continue;
    for (size_t i = 0; i < schema.args.size() && i < node.args.size(); ++i) {
      const std::string& other = schema.args[i].alias;
      const bool shares = alias == "*" || (!other.empty() && (absl::StrContains(alias, other) ||
                                                              absl::StrContains(other, alias)));
      if (shares) Unite(node.outputs[o], node.args[i].value);
    }
  }
}

void AliasClasses::UniteAll(const ir::Node& node) {
  std::vector<ir::Arg> all;
  for (const ir::NamedArg& arg : node.args) all.push_back(arg.value);
  for (ir::Value* output : node.outputs) all.push_back(output);
  ir::Value* first = nullptr;
  for (const ir::Arg& arg : all) {
    arg.ForEachValue([&](ir::Value* value) {
      if (!IsMutable(value->type)) return;
      if (first == nullptr) first = value;
      Unite(first, value);
    });
  }
}

void AliasClasses::UniteControlFlow(const ir::Node& node) {
  const bool is_loop = node.op == "prim::Loop";
  const ir::Arg* carried = is_loop ? node.Find("carried") : nullptr;
  const size_t skip = is_loop ? 1 : 0;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    for (const auto& block : node.blocks) {
      if (k + skip < block->results.size()) Unite(node.outputs[k], block->results[k + skip]);
      if (!is_loop) continue;
      Unite(node.outputs[k], block->params[k + 1]);
      Unite(node.outputs[k], carried->list()[k]);
    }
  }
  if (node.op != "prim::Scan") return;
  std::vector<ir::Arg> given = node.Find("init")->list();
  for (const ir::Arg& x : node.Find("xs")->list()) given.push_back(x);
  for (const auto& block : node.blocks) {
    for (size_t i = 0; i < block->params.size() && i < given.size(); ++i) {
      Unite(block->params[i], given[i]);
    }
  }
}

std::vector<AliasClasses::Source> AliasClasses::Sources(
    const ir::Arg& value, const std::function<bool(const ir::Value*)>& is_source) const {
  std::vector<Source> sources;
  std::set<std::pair<const ir::Value*, bool>> visited;
  std::vector<std::pair<ir::Arg, bool>> open = {{value, false}};
  while (!open.empty()) {
    const auto [arg, is_part] = std::move(open.back());
    open.pop_back();
    if (!arg.is_value()) {
      sources.push_back({nullptr, is_part});
      continue;
    }
    if (!visited.emplace(arg.value(), is_part).second) continue;
    const auto it = definitions_.find(arg.value());
    if (it == definitions_.end() || is_source(arg.value())) {
      sources.push_back({arg.value(), is_part});
      continue;
    }
    const auto& [node, index] = it->second;
    if (node->op == "prim::If") {
      for (const auto& block : node->blocks) open.emplace_back(block->results[index], is_part);
    } else if (node->op == "prim::Loop") {
      open.emplace_back(node->Find("carried")->list()[index], is_part);
      open.emplace_back(node->blocks[0]->results[index + 1], is_part);
    } else if (InPlaceSelf(*node, schemas_) != nullptr) {
      open.emplace_back(node->args[0].value, is_part);
    } else if (const ir::Arg::List* items = ItemsTakenFrom(*node)) {
      for (const ir::Arg& item : *items) open.emplace_back(item, is_part);
      sources.push_back({arg.value(), is_part});  // the list may hold others since
    } else {
      const ir::Arg viewed = Viewed(*node);
      sources.push_back({arg.value(), is_part, !viewed.is_none() && !MayCopy(*node)});
      if (!viewed.is_none()) open.emplace_back(viewed, true);
    }
  }
  return sources;
}

const ir::Arg::List* AliasClasses::ItemsTakenFrom(const ir::Node& node) const {
  if (node.op != "aten::__getitem__.t") return nullptr;
  const ir::Arg& list = node.args[0].value;
  if (list.is_list()) return &list.list();
  const auto made = list.is_value() ? definitions_.find(list.value()) : definitions_.end();
  if (made == definitions_.end() || made->second.node->op != "prim::ListConstruct") return nullptr;
  return &made->second.node->Find("items")->list();
}

ir::Arg AliasClasses::Viewed(const ir::Node& node) const {
  if (node.args.empty() || !node.args[0].value.is_value()) return {};
  const ir::Node* view = &node;
  if (node.op == "aten::__getitem__.t" || node.op == "prim::ListUnpack") {
    const auto list = definitions_.find(node.args[0].value.value());
    if (list == definitions_.end() || !GivesListOfViews(*list->second.node)) return {};
    view = list->second.node;
  }
  const ir::Schema* schema = schemas_.Find(view->op);
  const ir::Arg& self = view->args[0].value;
  const bool is_view = schema != nullptr && schema->is_view() && self.is_value() &&
                       self.value()->type.is_tensor();
  return is_view ? self : ir::Arg();
}

bool AliasClasses::IsUsedFrom(const ir::Node& loop, const ir::Value* value, size_t slot) const {
  const auto uses = uses_.find(value);
  if (uses == uses_.end()) return false;
  const Extent& extent = loops_.at(&loop);
  return std::any_of(uses->second.begin(), uses->second.end(), [&](const Use& use) {
    const bool is_slot = use.loop == &loop && use.slot == slot;
    return (!is_slot && use.at >= extent.start) || ComesBackTo(extent, use, value);
  });
}

bool AliasClasses::ComesBackTo(const Extent& loop, const Use& use, const ir::Value* value) const {
  const auto definition = defined_at_.find(value);
  return std::any_of(loop.around.begin(), loop.around.end(), [&](const ir::Node* outer) {
    const int start = loops_.at(outer).start;
    return use.at >= start && (definition == defined_at_.end() || definition->second < start);
  });
}

bool AliasClasses::MovesItems(const ir::Node& node) const {
  const absl::string_view base = node.base_op();
  return ChangesContainer(node) && base != "aten::append" && base != "aten::extend" &&
         base != "aten::add_" && !SetsSameItem(node);
}

bool AliasClasses::SetsSameItem(const ir::Node& node) const {
  if (node.base_op() != "aten::_set_item") return false;
  const ir::Arg* item = &node.args[2].value;
  while (item->is_value()) {
    const auto it = definitions_.find(item->value());
    if (it == definitions_.end()) return false;
    const ir::Node* made_by = it->second.node;
    if (made_by->op == "aten::__getitem__.t") {
      return made_by->args[0].value == node.args[0].value &&
             made_by->args[1].value == node.args[1].value &&
             moments_.at(made_by) == moments_.at(&node);
    }
    if (InPlaceSelf(*made_by, schemas_) == nullptr) return false;
    item = &made_by->args[0].value;
  }
  return false;
}

bool AliasClasses::IsSameObject(const ir::Arg& result, const ir::Value* param) const {
  if (!result.is_value()) return false;
  if (result.value() == param) return true;
  const auto it = definitions_.find(result.value());
  if (it == definitions_.end()) return false;
  const auto& [node, index] = it->second;
  if (node->op == "prim::If") {
    return std::all_of(node->blocks.begin(), node->blocks.end(), [&, i = index](const auto& b) {
      return IsSameObject(b->results[i], param);
    });
  }
  if (node->op == "prim::Loop") {
    const ir::Block& body = *node->blocks[0];
    return IsSameObject(body.results[index + 1], body.params[index + 1]) &&
           IsSameObject(node->Find("carried")->list()[index], param);
  }
  return InPlaceSelf(*node, schemas_) != nullptr && IsSameObject(node->args[0].value, param);
}

}  // namespace rules_onnx::passes
