#include "exporter/passes/dissolve_scans.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "exporter/ir/elementwise.h"
#include "exporter/passes/rewrite.h"

namespace rules_onnx::passes {
namespace {

using ir::Arg;
using ir::Type;

// The arguments that name axes of the first argument; operators do to each slice along the other
// axes the same.
const std::vector<absl::string_view>* AxisArgs(absl::string_view base) {
  using Names = std::vector<absl::string_view>;
  static const auto* const kArgs = new absl::flat_hash_map<absl::string_view, Names>{
      {"aten::all", {"dim"}},
      {"aten::amax", {"dim"}},
      {"aten::amin", {"dim"}},
      {"aten::any", {"dim"}},
      {"aten::cumsum", {"dim"}},
      {"aten::flip", {"dims"}},
      {"aten::log_softmax", {"dim"}},
      {"aten::mean", {"dim"}},
      {"aten::movedim", {"source", "destination"}},
      {"aten::select", {"dim"}},
      {"aten::slice", {"dim"}},
      {"aten::softmax", {"dim"}},
      {"aten::sum", {"dim"}},
      {"aten::transpose", {"dim0", "dim1"}}};
  const auto it = kArgs->find(base);
  return it == kArgs->end() ? nullptr : &it->second;
}

bool IsCreation(absl::string_view base) {
  return base == "aten::new_ones" || base == "aten::new_zeros" || base == "aten::new_full" ||
         base == "aten::new_empty";
}

const Type* TensorType(const Arg& arg) {
  const bool tensor = arg.is_value() && arg.value()->type.is_tensor() && arg.value()->type.shape;
  return tensor ? &arg.value()->type : nullptr;
}

int64_t Rank(const Type& type) { return static_cast<int64_t>(type.shape->size()); }

// One scan: whether it can be dissolved, and then what it becomes.
class Scan {
 public:
  Scan(const ir::Node& node, Context* context) : node_(node), context_(context) {}

  bool CanDissolve();
  // What stands for the node's outputs.
  std::vector<Arg> Dissolve(Emitter* emitter);

 private:
  enum class Rule { kNone, kUnbatched, kElements, kAxes, kCreation, kIndex, kUnsqueeze, kExpand };

  bool IsBatched(const Arg& arg) const;
  Rule RuleOf(const ir::Node& node) const;
  bool IsElementwise(const ir::Node& node) const;
  bool NamesAxes(const ir::Node& node, const std::vector<absl::string_view>& names) const;
  bool ReadsByIndex(const ir::Node& node) const;

  Type Whole(const Type& slice) const;
  // The whole tensor that `arg` is a slice of, with axes after the first so that the slice has
  // `rank` axes. Any other argument as it is outside of the body.
  Arg Lift(const Arg& arg, int64_t rank);
  Arg LiftAsIs(const Arg& arg);
  void Emit(const ir::Node& node, Emitter* emitter);
  void Define(const ir::Node& node, std::vector<ir::NamedArg> args);
  Arg Stacked(const Arg& result);

  const ir::Node& node_;
  Context* context_;
  Emitter* emitter_ = nullptr;
  absl::flat_hash_map<const ir::Value*, ir::Value*> whole_;  // null before Dissolve
  Replacements outside_;  // of values that are the same for each slice
  ir::Dim count_;
};

bool Scan::IsBatched(const Arg& arg) const {
  bool batched = false;
  arg.ForEachValue([&](const ir::Value* value) { batched |= whole_.contains(value); });
  return batched;
}

// Tensors of no axes count for less in promotion: with an axis more they would not.
bool Scan::IsElementwise(const ir::Node& node) const {
  if (!ir::IsElementwise(node.base_op()) || node.op == "aten::to.other") return false;
  const Type* out = TensorType(node.outputs[0]);
  if (out == nullptr) return false;
  std::optional<ir::DType> dtype;
  bool mixed = false, scalar = false;
  for (const ir::NamedArg& arg : node.args) {
    if (arg.value.is_list()) return false;
    const bool is_tensor =
        arg.value.is_literal() || (arg.value.is_value() && arg.value.value()->type.is_tensor());
    if (!is_tensor) continue;
    const Type* type = TensorType(arg.value);
    if (type == nullptr && !arg.value.is_literal()) return false;
    const int64_t rank =
        type != nullptr ? Rank(*type) : static_cast<int64_t>(arg.value.literal().shape.size());
    if (rank > Rank(*out)) return false;
    if (arg.name == "condition") continue;
    const ir::DType own = type != nullptr ? type->dtype : arg.value.literal().dtype;
    mixed |= dtype && *dtype != own;
    dtype = own;
    scalar |= rank == 0;
  }
  return !mixed || !scalar;
}

bool Scan::NamesAxes(const ir::Node& node, const std::vector<absl::string_view>& names) const {
  const Type* self = TensorType(node.args[0].value);
  if (self == nullptr || Rank(*self) == 0) return false;
  for (size_t i = 1; i < node.args.size(); ++i) {
    if (IsBatched(node.args[i].value)) return false;
  }
  return std::all_of(names.begin(), names.end(), [&](absl::string_view name) {
    const Arg* dim = node.Find(name);
    if (dim == nullptr) return false;
    const auto dims = dim->ints();
    return dim->is_int() || (dims && !dims->empty());
  });
}

bool Scan::ReadsByIndex(const ir::Node& node) const {
  if (IsBatched(node.args[0].value) || !node.args[1].value.is_list()) return false;
  return std::all_of(node.args[1].value.list().begin(), node.args[1].value.list().end(),
                     [](const Arg& index) {
                       const Type* type = TensorType(index);
                       return type != nullptr && type->dtype != ir::DType::kBool &&
                              type->dtype != ir::DType::kUInt8;
                     });
}

Scan::Rule Scan::RuleOf(const ir::Node& node) const {
  const bool batched = std::any_of(node.args.begin(), node.args.end(),
                                   [&](const auto& arg) { return IsBatched(arg.value); });
  bool effects = context_->schemas.HasEffects(node) || Schemas::IsRandom(node);
  if (!node.blocks.empty() || effects) return Rule::kNone;
  if (!batched) return Rule::kUnbatched;
  if (node.outputs.size() != 1 || TensorType(node.outputs[0]) == nullptr) return Rule::kNone;
  const absl::string_view base = node.base_op();
  if (IsElementwise(node)) return Rule::kElements;
  if (base == "aten::index" && ReadsByIndex(node)) return Rule::kIndex;
  if (TensorType(node.args[0].value) == nullptr) return Rule::kNone;
  if (base == "aten::unsqueeze" && node.args[1].value.is_int()) return Rule::kUnsqueeze;
  const auto* axes = AxisArgs(base);
  if (axes != nullptr && NamesAxes(node, *axes)) return Rule::kAxes;
  if (IsBatched(node.args[1].value)) return Rule::kNone;
  if (IsCreation(base)) return Rule::kCreation;
  if (base == "aten::expand" && node.args[1].value.is_list()) return Rule::kExpand;
  return Rule::kNone;
}

bool Scan::CanDissolve() {
  const ir::Block& body = *node_.blocks[0];
  const Arg* xs = node_.Find("xs");
  if (!node_.Find("init")->list().empty() || xs->list().empty()) return false;
  for (size_t i = 0; i < body.params.size(); ++i) {
    const Type* whole = TensorType(xs->list()[i]);
    const bool known = whole != nullptr && body.params[i]->type.is_tensor() &&
                       body.params[i]->type.shape && Rank(body.params[i]->type) + 1 == Rank(*whole);
    if (!known) return false;
    whole_[body.params[i]] = nullptr;
  }
  for (const auto& node : body.nodes) {
    const Rule rule = RuleOf(*node);
    if (rule == Rule::kNone) return false;
    if (rule != Rule::kUnbatched && rule != Rule::kCreation) whole_[node->output()] = nullptr;
  }
  return std::all_of(body.results.begin(), body.results.end(), [](const Arg& result) {
    return result.is_literal() || TensorType(result) != nullptr;
  });
}

Type Scan::Whole(const Type& slice) const {
  Type whole = slice;
  whole.shape->insert(whole.shape->begin(), count_);
  return whole;
}

Arg Scan::LiftAsIs(const Arg& arg) {
  Arg lifted = arg;
  lifted.MapValues([&](ir::Value* value) {
    const auto it = whole_.find(value);
    return it == whole_.end() ? value : it->second;
  });
  outside_.Apply(&lifted);
  return lifted;
}

Arg Scan::Lift(const Arg& arg, int64_t rank) {
  Arg lifted = LiftAsIs(arg);
  if (!IsBatched(arg)) return lifted;
  Type type = lifted.value()->type;
  for (int64_t missing = rank + 1 - Rank(type); missing > 0; --missing) {
    type.shape->insert(type.shape->begin() + 1, ir::Dim(1));
    lifted = emitter_->Emit("aten::unsqueeze", {{"self", lifted}, {"dim", 1}}, type);
  }
  return lifted;
}

void Scan::Define(const ir::Node& node, std::vector<ir::NamedArg> args) {
  whole_[node.output()] = emitter_->Emit(node.op, std::move(args), Whole(node.output()->type));
}

// An axis as the whole tensor counts it; one that counts from the end stays.
int64_t Behind(int64_t axis) { return axis < 0 ? axis : axis + 1; }

Arg Behind(const Arg& axes) {
  if (axes.is_int()) return Behind(axes.as_int());
  std::vector<int64_t> moved = *axes.ints();
  for (int64_t& axis : moved) axis = Behind(axis);
  return Arg::Ints(moved);
}

void Scan::Emit(const ir::Node& node, Emitter* emitter) {
  const Rule rule = RuleOf(node);
  if (rule == Rule::kUnbatched) {
    emitter->EmitCopy(node, &outside_);
    return;
  }
  std::vector<ir::NamedArg> args = node.args;
  int64_t rank = 0;
  switch (rule) {
    case Rule::kElements:
      for (auto& arg : args) arg.value = Lift(arg.value, Rank(node.output()->type));
      break;
    case Rule::kIndex:
      for (const Arg& index : args[1].value.list()) rank = std::max(rank, Rank(*TensorType(index)));
      for (Arg& index : args[1].value.list()) index = Lift(index, rank);
      args[0].value = LiftAsIs(args[0].value);
      break;
    case Rule::kExpand:
      rank = static_cast<int64_t>(args[1].value.list().size());
      args[0].value = Lift(args[0].value, rank);
      args[1].value = LiftAsIs(args[1].value);
      args[1].value.list().insert(args[1].value.list().begin(), Arg(-1));
      break;
    case Rule::kUnsqueeze:
      args[1].value = Behind(args[1].value);
      args[0].value = LiftAsIs(args[0].value);
      break;
    default:
      for (auto& arg : args) arg.value = LiftAsIs(arg.value);
      if (rule == Rule::kAxes) {
        for (auto& arg : args) {
          const auto& names = *AxisArgs(node.base_op());
          const bool is_axis = std::find(names.begin(), names.end(), arg.name) != names.end();
          if (is_axis) arg.value = Behind(arg.value);
        }
      }
  }
  if (rule == Rule::kCreation) {
    outside_.Set(node.output(), emitter->Emit(node.op, std::move(args), node.output()->type));
  } else {
    Define(node, std::move(args));
  }
}

// A result that is the same for each slice is repeated.
Arg Scan::Stacked(const Arg& result) {
  const Arg lifted = LiftAsIs(result);
  if (IsBatched(result)) return lifted;
  Type type = result.is_literal()
                  ? Type::Tensor(result.literal().dtype, ir::Shape(result.literal().shape.begin(),
                                                                   result.literal().shape.end()))
                  : result.value()->type;
  Arg::List sizes(Rank(type) + 1, Arg(-1));
  if (count_.is_number()) {
    sizes[0] = count_.value();
  } else {
    const Arg first = LiftAsIs(node_.Find("xs")->list()[0]);
    sizes[0] = emitter_->Emit("aten::size.int", {{"self", first}, {"dim", 0}},
                              Type::Scalar(Type::Kind::kInt));
  }
  type.shape->insert(type.shape->begin(), ir::Dim(1));
  const Arg one = emitter_->Emit("aten::unsqueeze", {{"self", lifted}, {"dim", 0}}, type);
  (*type.shape)[0] = count_;
  return emitter_->Emit("aten::expand", {{"self", one}, {"size", Arg(std::move(sizes))}}, type);
}

std::vector<Arg> Scan::Dissolve(Emitter* emitter) {
  emitter_ = emitter;
  const ir::Block& body = *node_.blocks[0];
  const Arg::List& xs = node_.Find("xs")->list();
  count_ = (*xs[0].value()->type.shape)[0];
  for (size_t i = 0; i < body.params.size(); ++i) whole_[body.params[i]] = xs[i].value();
  for (const auto& node : body.nodes) Emit(*node, emitter);
  std::vector<Arg> stacked;
  for (const Arg& result : body.results) stacked.push_back(Stacked(result));
  return stacked;
}

}  // namespace

bool DissolveScans(Context* context) {
  return RewriteGraph(context, [&](ir::Node* node, Emitter* emitter, Replacements* replacements) {
    if (node->op != "prim::Scan") return Action::kKeep;
    Scan scan(*node, context);
    if (!scan.CanDissolve()) return Action::kKeep;
    const std::vector<Arg> stacked = scan.Dissolve(emitter);
    for (size_t i = 0; i < stacked.size(); ++i) replacements->Set(node->outputs[i], stacked[i]);
    return Action::kDrop;
  });
}

}  // namespace rules_onnx::passes
