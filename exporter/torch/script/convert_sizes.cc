// What sizes and numbers follow from. A size that was the same in all runs is a number only where
// nothing that went into it could have been another one: numbers among the inputs, and those that
// data gives, move in the runs where they can, and yet what follows from them may not (`n // 100`,
// `x[:n]`). Such results are moved by themselves in further runs; what cannot be moved is untrusted.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "exporter/ir/schema.h"
#include "exporter/torch/script/converter.h"

namespace rules_onnx::script {
namespace {

using Kind = ir::Type::Kind;

size_t MaxRank(const Observed& seen) {
  size_t rank = seen.sizes ? seen.sizes->size() : 0;
  for (const Observed& element : seen.elements) rank = std::max(rank, MaxRank(element));
  return rank;
}

size_t MaxRank(const std::vector<Observed>& seen) {
  size_t rank = 0;
  for (const Observed& each : seen) rank = std::max(rank, MaxRank(each));
  return rank;
}

// Whether all tensors in both are of one size along the axis.
bool SameAlong(const Observed& a, const Observed& b, size_t axis) {
  if (a.kind == Kind::kUnknown || b.kind == Kind::kUnknown) return true;  // not reached
  if (a.elements.size() != b.elements.size()) return false;
  if (a.sizes && b.sizes && axis < std::min(a.sizes->size(), b.sizes->size()) &&
      ((*a.sizes)[axis] != (*b.sizes)[axis] || (*a.sizes)[axis] == Observed::kVaries)) {
    return false;
  }
  for (size_t i = 0; i < a.elements.size(); ++i) {
    if (!SameAlong(a.elements[i], b.elements[i], axis)) return false;
  }
  return true;
}

bool NeverMoves(const std::vector<Observed>& seen, size_t axis) {
  const auto first = std::find_if(seen.begin(), seen.end(),
                                  [](const Observed& o) { return o.kind != Kind::kUnknown; });
  return first != seen.end() && std::all_of(seen.begin(), seen.end(), [&](const Observed& o) {
           return SameAlong(*first, o, axis);
         });
}

// One number in all runs that came there.
bool IsOneNumber(const std::vector<Observed>& seen) {
  std::optional<int64_t> number;
  for (const Observed& o : seen) {
    if (o.kind == Kind::kUnknown) continue;
    if (!o.number || (number && *number != *o.number)) return false;
    number = o.number;
  }
  return number.has_value();
}

bool AllSizesKnown(const ir::Type& type) {
  return type.is_tensor() && type.shape &&
         std::none_of(type.shape->begin(), type.shape->end(),
                      [](const ir::Dim& dim) { return dim.is_unknown(); });
}

}  // namespace

bool Converter::IsFree(const ir::Value& value) const {
  const bool numbers = IsNumber(value.type) ||
                       (value.type.is_list() && IsNumber(value.type.elements[0]));
  if (!numbers) return false;
  const auto origin = origins_.find(&value);
  return origin == origins_.end() || !origin->second.axes_alone;
}

bool Converter::HasFreeSizes(const ir::Value& value) const {
  const auto origin = origins_.find(&value);
  return origin != origins_.end() && origin->second.free_sizes;
}

bool Converter::IsUntrusted(const ir::Value& value) const {
  const auto origin = origins_.find(&value);
  return origin != origins_.end() && origin->second.untrusted;
}

bool Converter::AnyUntrusted(const ItemRef& item) const {
  if (item->is_value()) return IsUntrusted(*item->value());
  const auto untrusted = [this](const ItemRef& part) { return AnyUntrusted(part); };
  return std::any_of(item->content.items.begin(), item->content.items.end(), untrusted) ||
         std::any_of(item->content.flags.begin(), item->content.flags.end(), untrusted);
}

DecidedSizes Converter::DoubtedSizes(const JitNode* node, const ir::Node& emitted,
                                     const JitValue* output) const {
  const size_t rank = MaxRank(typing_.Seen(output, contexts_));
  const bool unmoved = input_.untrusted.count(node) > 0;
  const DecidedSizes decided = SizesDecidedBy(emitted, rank, [&](const ir::Value& v) {
    return IsUntrusted(v) || (unmoved && IsFree(v));
  });
  if (unseen_form_ || (unmoved && !decided.any())) return {std::vector<bool>(rank, true), true};
  return decided;
}

void Converter::FindUnmoved(const JitNode* node, const ir::Node& emitted, const JitValue* output,
                            const DecidedSizes& doubted) {
  if (input_.untrusted.count(node)) return;
  if (output->type()->kind() == c10::TypeKind::IntType) {
    if (!IsUnmovedNumber(node, emitted, output)) return;
    return AddPoint(node, DynamicPoint::Kind::kNumber, std::nullopt, FollowsAxes(node, emitted));
  }
  const std::vector<Observed> seen = typing_.Seen(output, contexts_);
  const DecidedSizes decided = SizesDecidedBy(
      emitted, doubted.axes.size(), [this](const ir::Value& v) { return IsFree(v); });
  for (size_t axis = 0; axis < decided.axes.size(); ++axis) {
    if (!decided.axes[axis] || doubted.axes[axis] || !NeverMoves(seen, axis)) continue;
    if (TakesWindow(node)) return;
    AddPoint(node, DynamicPoint::Kind::kSize, static_cast<int64_t>(axis));
  }
}

// An integer that was the same in all runs although what it is computed from moved: `n // 100`.
// Where axes alone go into it, two of them may make up for each other: `x.numel() // x.size(0)`.
bool Converter::IsUnmovedNumber(const JitNode* node, const ir::Node& emitted,
                                const JitValue* output) {
  if (!IsOneNumber(typing_.Seen(output, contexts_))) return false;
  int numbers = 0;
  bool free = false, moved = false, usable = true;
  emitted.ForEachInput([&](const ir::Value* value) {
    usable = usable && !value->type.is_tensor() && !IsUntrusted(*value);
    ++numbers;
    free = free || IsFree(*value) || !IsNumber(value->type);
  });
  if (!usable || numbers == 0) return false;
  for (const JitValue* input : node->inputs()) {
    if (AllConstant(*At(input))) continue;
    const c10::TypeKind kind = input->type()->kind();
    const bool integer = kind == c10::TypeKind::IntType || kind == c10::TypeKind::BoolType;
    moved = moved || !integer || !IsOneNumber(typing_.Seen(input, contexts_));
  }
  return moved && (free || numbers == 1);
}

// A slice between two places that move together (`x[i:i + 4]`).
bool Converter::TakesWindow(const JitNode* node) {
  if (node->kind() != c10::aten::slice || node->inputs().size() != 5) return false;
  const JitValue *start = node->input(2), *end = node->input(3);
  if (AllConstant(*At(start)) || AllConstant(*At(end)) || IntOf(At(node->input(4))) != 1) {
    return false;
  }
  std::optional<int64_t> width;
  for (const int context : contexts_) {
    const auto from = typing_.Seen(start, {context}), to = typing_.Seen(end, {context});
    for (size_t r = 0; r < from.size(); ++r) {
      if (from[r].kind == Kind::kUnknown || to[r].kind == Kind::kUnknown) continue;
      if (!from[r].number || !to[r].number) return false;
      const int64_t here = *to[r].number - *from[r].number;
      if (width && *width != here) return false;
      width = here;
    }
  }
  return width.has_value();
}

bool Converter::HasFixedLength(const JitNode* node, const ir::Node& emitted,
                               const JitValue* output) {
  const std::vector<Observed> seen = typing_.Seen(output, contexts_);
  const bool same = std::all_of(seen.begin(), seen.end(), [&](const Observed& o) {
    return o.kind == Kind::kList && !o.length_varies &&
           o.elements.size() == seen[0].elements.size();
  });
  if (!same || TakesDynamicList(node) || input_.untrusted.count(node)) return false;
  const auto decides = [this](const ir::Value& v) { return IsFree(v) || IsUntrusted(v); };
  return !LengthFollowsSize(emitted) && !unseen_form_ &&
         !SizesDecidedBy(emitted, MaxRank(seen), decides).length;
}

bool Converter::AddSymbol(const JitNode* node, std::optional<int64_t> axis,
                          const std::vector<int64_t>& sizes) {
  const auto key = std::make_tuple(node, contexts_, axis);
  if (symbols_.count(key)) return true;
  std::string name = absl::StrCat("u", symbols_.size());
  while (typing_.bindings().front().count(name)) absl::StrAppend(&name, "_");
  if (!typing_.AddSymbol(name, sizes)) return false;
  symbols_[key] = name;
  graph_.symbols[name] = ir::SymbolInfo{.example = sizes[0], .data_dependent = true};
  return true;
}

void Converter::AddMovedSymbols(const JitNode* node, const ir::Node& emitted) {
  if (node->outputs().empty()) return;
  const std::vector<Observed> seen = typing_.Seen(node->output(0), contexts_);
  std::vector<int64_t> sizes;
  if (input_.moved_numbers.count(node) && !ReadsNumber(node)) {
    for (const Observed& o : seen) sizes.push_back(o.number.value_or(-1));
    AddSymbol(node, std::nullopt, sizes);
  }
  const auto axes = input_.moved_axes.find(node);
  if (axes == input_.moved_axes.end()) return;
  for (const int64_t axis : axes->second) {
    sizes.clear();
    for (const Observed& o : seen) {
      const Observed& one = o.kind == Kind::kList && !o.elements.empty() ? o.elements[0] : o;
      const auto at = static_cast<size_t>(axis);
      sizes.push_back(one.sizes && at < one.sizes->size() ? (*one.sizes)[at] : -1);
    }
    const DecidedSizes decided = SizesDecidedBy(
        emitted, MaxRank(seen), [this](const ir::Value& v) { return IsFree(v); });
    if (AddSymbol(node, axis, sizes) && decided.vague) {
      vague_symbols_.insert(symbols_.at(std::make_tuple(node, contexts_, std::optional(axis))));
    }
  }
}

void Converter::DropVagueSymbols() {
  if (vague_symbols_.empty()) return;
  const std::function<void(ir::Type*)> drop = [&](ir::Type* type) {
    for (ir::Type& element : type->elements) drop(&element);
    if (!type->shape) return;
    for (ir::Dim& dim : *type->shape) {
      std::set<std::string> symbols;
      dim.CollectSymbols(&symbols);
      const bool vague = std::any_of(symbols.begin(), symbols.end(), [&](const std::string& each) {
        return vague_symbols_.count(each) > 0;
      });
      if (vague) dim = ir::Dim::Unknown();
    }
  };
  ir::ForEachNode(graph_.main, [&](const ir::Node& node) {
    for (ir::Value* output : node.outputs) drop(&output->type);
    for (const auto& block : node.blocks) {
      for (ir::Value* param : block->params) drop(&param->type);
    }
  });
  for (const std::string& symbol : vague_symbols_) graph_.symbols.erase(symbol);
}

void Converter::AddSymbolHints(const JitNode* node, size_t axis, DimHints* hints) const {
  for (const std::optional<int64_t> at :
       {std::optional<int64_t>(), std::optional<int64_t>(static_cast<int64_t>(axis))}) {
    const auto symbol = symbols_.find(std::make_tuple(node, contexts_, at));
    if (symbol == symbols_.end()) continue;
    hints->derived.insert(hints->derived.begin(), ir::Dim::Symbol(symbol->second));
  }
}

void Converter::NoteOrigins(const JitNode* node, size_t first) {
  for (size_t i = first; i < block_->nodes.size(); ++i) NoteOrigin(node, *block_->nodes[i]);
}

bool Converter::FollowsAxes(const JitNode* node, const ir::Node& emitted) const {
  if (emitted.op == "prim::Constant") return true;
  if (ReadsNumber(node) && !IsDerived(node->input(0))) return false;
  static const std::set<std::string> kSizes = {"aten::size", "aten::len", "aten::numel",
                                               "prim::shape"};
  const ir::Arg* of = emitted.args.empty() ? nullptr : &emitted.args[0].value;
  if (kSizes.count(std::string(emitted.base_op())) && of->is_value()) {
    return of->value()->type.is_tensor() && !HasFreeSizes(*of->value());
  }
  bool any = false, all = true;
  emitted.ForEachInput([&](const ir::Value* value) {
    const auto origin = origins_.find(value);
    any = true;
    all = all && origin != origins_.end() && origin->second.axes_alone;
  });
  return any && all;
}

void Converter::NoteOrigin(const JitNode* node, const ir::Node& emitted) {
  const auto asked = [this](const ir::Value& value) { return IsUntrusted(value); };
  if (!emitted.blocks.empty()) return NoteInnerOrigin(node, emitted);
  const bool unmoved = input_.untrusted.count(node) > 0;
  const bool axes_alone = !unmoved && FollowsAxes(node, emitted);
  const auto free = [this](const ir::Value& value) { return IsFree(value); };
  bool any = false;
  bool free_sizes = std::any_of(input_.runs->begin(), input_.runs->end(), [&](const auto& run) {
    return run.record.data_axes.contains(node);
  });
  for (const ir::NamedArg& arg : emitted.args) {
    any = any || AnyValue(arg.value, asked);
    free_sizes = free_sizes || AnyValue(arg.value, [this](const ir::Value& value) {
                   return HasFreeSizes(value);
                 });
  }
  for (const ir::Value* output : emitted.outputs) {
    bool untrusted = unmoved || any;
    const size_t rank =
        output->type.is_tensor() && output->type.shape ? output->type.shape->size() : 1;
    if (any && !unmoved && !IsNumber(output->type)) {
      const DecidedSizes decided = SizesDecidedBy(emitted, rank, asked);
      const auto axes = std::count(decided.axes.begin(), decided.axes.end(), true);
      untrusted = output->type.is_tensor() ? axes > 0 : decided.any();
    }
    origins_[output] = {untrusted, axes_alone,
                        free_sizes || SizesDecidedBy(emitted, rank, free).any()};
  }
  const ir::Schema* schema = any ? ir::FindSchema(emitted.op) : nullptr;
  if (schema == nullptr) return;
  for (const ir::NamedArg& arg : emitted.args) {  // a list that takes it in
    const ir::SchemaArg* declared = schema->Find(arg.name);
    if (declared == nullptr || !declared->is_write || !arg.value.is_value()) continue;
    if (arg.value.value()->type.is_list()) origins_[arg.value.value()].untrusted = true;
  }
}

// A branch or loop. Where it is not seen to go the other way, a result is known only if that is of
// one size whatever happens.
void Converter::NoteInnerOrigin(const JitNode* node, const ir::Node& emitted) {
  const auto asked = [this](const ir::Value& value) { return IsUntrusted(value); };
  for (const auto& block : emitted.blocks) {
    for (const auto& inner : block->nodes) {
      const bool noted = inner->outputs.empty() || origins_.count(inner->output());
      if (!noted) NoteOrigin(node, *inner);
    }
  }
  const bool loop = emitted.op == "prim::Loop";
  const auto free = [this](const ir::Value& value) { return IsFree(value); };
  const auto free_sizes = [this](const ir::Value& value) { return HasFreeSizes(value); };
  bool course = input_.untrusted.count(node) > 0;
  bool free_course = loop && AnyValue(emitted.blocks[0]->results[0], free);
  for (const ir::NamedArg& arg : emitted.args) {
    if (arg.name == "carried") continue;
    course = course || AnyValue(arg.value, asked);
    free_course = free_course || AnyValue(arg.value, free);
  }
  for (size_t i = 0; i < emitted.outputs.size(); ++i) {
    const bool known = AllSizesKnown(emitted.outputs[i]->type);
    bool untrusted = course && !known;
    Origin origin = {.axes_alone = !loop && !free_course, .free_sizes = free_course && !known};
    for (const auto& block : emitted.blocks) {
      const ir::Arg& result = block->results[i + (loop ? 1 : 0)];
      untrusted = untrusted || AnyValue(result, asked);
      origin.axes_alone = origin.axes_alone && !AnyValue(result, free);
      origin.free_sizes = origin.free_sizes || AnyValue(result, free_sizes);
    }
    const ir::Arg* carried = emitted.Find("carried");
    if (carried != nullptr && carried->is_list() && i < carried->list().size()) {
      untrusted = untrusted || AnyValue(carried->list()[i], asked);
    }
    origin.untrusted = untrusted;
    origins_[emitted.outputs[i]] = origin;
  }
}

void Converter::NoteParams(const JitNode* node, const LoopAttempt& attempt) {
  const auto asked = [this](const ir::Value& value) { return IsUntrusted(value); };
  const std::vector<ir::Value*>& params = attempt.head.params;
  origins_[params[0]] = {.axes_alone = true};  // moves with each iteration
  for (size_t i = 0; i + 1 < params.size() && i < attempt.carried.size(); ++i) {
    ir::Value* param = params[i + 1];
    origins_[param].free_sizes = !AllSizesKnown(param->type) && !IsNumber(param->type);
    if (!doubted_loops_.count(node) && !AnyValue(attempt.carried[i], asked)) continue;
    origins_[param].untrusted = true;
    if (param->type.shape) param->type.shape->assign(param->type.shape->size(), ir::Dim::Unknown());
  }
}

bool Converter::DoubtsMore(const JitNode* node, const LoopPlan& plan, const LoopAttempt& attempt) {
  if (doubted_loops_.count(node)) return false;
  bool more = false;
  for (size_t i = 0; i < plan.state.size(); ++i) {
    more = more || (AnyUntrusted(attempt.branch.outputs[i + 1]) && !AnyUntrusted(plan.state[i]));
  }
  for (size_t s = 0; s < attempt.slot_results.size(); ++s) {
    const ItemRef& result = attempt.slot_results[s];
    more = more || (result != nullptr && AnyUntrusted(result) &&
                    !AnyUntrusted(attempt.slot_initials[s]));
  }
  if (more) doubted_loops_.insert(node);
  return more;
}

}  // namespace rules_onnx::script
