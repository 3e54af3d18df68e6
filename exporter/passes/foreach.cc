#include "exporter/passes/foreach.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "exporter/ir/overloads.h"
#include "exporter/ir/schema.h"
#include "exporter/passes/rewrite.h"

namespace rules_onnx::passes {
namespace {

constexpr absl::string_view kPrefix = "aten::_foreach_";

bool IsListType(absl::string_view type) { return absl::EndsWith(type, "[]"); }

// The operator on one tensor: PyTorch computes maximum and minimum as clamps.
std::string ItemBase(const ir::Node& node) {
  std::string name(absl::StripSuffix(absl::StripPrefix(node.base_op(), kPrefix), "_"));
  if (name == "maximum") name = "clamp_min";
  if (name == "minimum") name = "clamp_max";
  return "aten::" + name;
}

class ForeachExpander {
 public:
  explicit ForeachExpander(Context* context) : context_(context) {
    ir::ForEachNode(context->graph->main, [&](const ir::Node& node) { NoteLists(node); });
  }

  void Run() {
    RewriteGraph(context_, [&](ir::Node* node, Emitter* emitter, Replacements* replacements) {
      return absl::StartsWith(node->base_op(), kPrefix) ? Expand(*node, emitter, replacements)
                                                        : Action::kKeep;
    });
  }

 private:
  using Items = std::vector<std::vector<ir::Arg>>;  // by argument

  // Lists that are made of stated items and stay as they are made.
  void NoteLists(const ir::Node& node) {
    if (node.op == "prim::ListConstruct") made_[node.output()] = &node.Find("items")->list();
    if (node.op == "prim::ListUnpack" && node.args[0].value.is_value()) {
      unpacked_[node.args[0].value.value()] = &node;
    }
    const bool only_reads = node.op == "aten::__getitem__.t" || node.op == "prim::ListUnpack" ||
                            node.op == "aten::len.t" || absl::StartsWith(node.op, kPrefix);
    if (!only_reads) node.ForEachInput([&](ir::Value* value) { open_.insert(value); });
    for (const auto& block : node.blocks) {
      for (const ir::Arg& result : block->results) {
        result.ForEachValue([&](ir::Value* value) { open_.insert(value); });
      }
    }
  }

  std::optional<ir::Arg::List> ItemsOf(const ir::Arg& list) const {
    if (list.is_list()) return list.list();
    if (!list.is_value() || open_.contains(list.value())) return std::nullopt;
    const auto it = made_.find(list.value());
    return it == made_.end() ? std::nullopt : std::optional(*it->second);
  }

  Action Expand(const ir::Node& node, Emitter* emitter, Replacements* replacements) {
    const ir::Schema* schema = context_->schemas.Find(node.op);
    if (schema == nullptr || node.Find("out") != nullptr) return Action::kKeep;
    const ir::Schema* item = ItemSchema(node, *schema);
    size_t count = 0;
    const auto calls = item == nullptr ? std::nullopt : Calls(node, *schema, &count);
    if (!calls) return Action::kKeep;
    ir::Arg::List results;
    for (size_t i = 0; i < count; ++i) {
      std::vector<ir::NamedArg> args;
      for (size_t k = 0; k < calls->size(); ++k)
        args.push_back({item->args[k].name, (*calls)[k][i]});
      results.push_back(emitter->Emit(item->op, args, ResultType(node, args, i)));
    }
    if (node.outputs.empty()) return Action::kDrop;
    ir::Node* list = emitter->EmitNode("prim::ListConstruct", {{"items", std::move(results)}},
                                       {node.output()->type});
    replacements->Set(node.output(), list->output());
    return Action::kDrop;
  }

  // The overload that takes an item for each list, and has defaults for the rest.
  const ir::Schema* ItemSchema(const ir::Node& node, const ir::Schema& schema) const {
    const std::string base = ItemBase(node);
    const std::string suffix = schema.writes() ? "_" : "";
    for (const std::string& overload : ir::OverloadsOf(base)) {
      const std::string op = absl::StrCat(base, suffix, overload.empty() ? "" : ".", overload);
      const ir::Schema* item = context_->schemas.Find(op);
      if (item != nullptr && Fits(node, schema, *item)) return item;
    }
    const ir::Schema* plain = context_->schemas.Find(base + suffix);
    return plain != nullptr && Fits(node, schema, *plain) ? plain : nullptr;
  }

  static bool Fits(const ir::Node& node, const ir::Schema& schema, const ir::Schema& item) {
    if (item.writes() != schema.writes() || item.returns.size() != 1) return false;
    for (size_t k = 0; k < std::max(schema.args.size(), item.args.size()); ++k) {
      if (k >= schema.args.size()) {
        if (!item.args[k].default_value) return false;
      } else if (k >= item.args.size()) {
        if (!node.args[k].value.is_none()) return false;
      } else if (absl::StripSuffix(schema.args[k].type, "[]") != item.args[k].type) {
        return false;
      }
    }
    return true;
  }

  // The arguments of each call. nullopt where a list's items are not stated, or lists differ in
  // length.
  std::optional<Items> Calls(const ir::Node& node, const ir::Schema& schema, size_t* count) const {
    std::vector<std::optional<ir::Arg::List>> lists(schema.args.size());
    std::optional<size_t> length;
    for (size_t k = 0; k < lists.size(); ++k) {
      if (!IsListType(schema.args[k].type)) continue;
      lists[k] = ItemsOf(node.args[k].value);
      if (!lists[k] || length.value_or(lists[k]->size()) != lists[k]->size()) return std::nullopt;
      const bool can_write = std::all_of(lists[k]->begin(), lists[k]->end(),
                                         [](const ir::Arg& item) { return item.is_value(); });
      if (schema.args[k].is_write && !can_write) return std::nullopt;
      length = lists[k]->size();
    }
    if (!length) return std::nullopt;
    Items calls;
    for (size_t k = 0; k < lists.size(); ++k) {
      const ir::Arg& arg = node.args[k].value;
      if (lists[k]) {
        calls.push_back(*std::move(lists[k]));
      } else if (!arg.is_none()) {
        calls.emplace_back(*length, arg);
      }
    }
    *count = *length;
    return calls;
  }

  // As the program takes the result apart, or what all items of it are.
  ir::Type ResultType(const ir::Node& node, const std::vector<ir::NamedArg>& args,
                      size_t index) const {
    if (node.outputs.empty()) return args[0].value.value()->type;
    const auto unpacked = unpacked_.find(node.output());
    if (unpacked != unpacked_.end() && index < unpacked->second->outputs.size()) {
      return unpacked->second->outputs[index]->type;
    }
    return node.output()->type.elements[0];
  }

  Context* context_;
  std::unordered_map<const ir::Value*, const ir::Arg::List*> made_;
  std::unordered_map<const ir::Value*, const ir::Node*> unpacked_;
  std::unordered_set<const ir::Value*> open_;
};

}  // namespace

void ExpandForeach(Context* context) { ForeachExpander(context).Run(); }

}  // namespace rules_onnx::passes
