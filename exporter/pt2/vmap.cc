#include "exporter/pt2/vmap.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exporter/pt2/importer.h"

namespace rules_onnx::pt2 {
namespace {

using ir::Arg;
using ir::Type;

constexpr absl::string_view kFunctions = "torch._functorch.predispatch.";

bool IsFunction(const NodeDef& node, absl::string_view name) {
  return node.target == absl::StrCat(kFunctions, name);
}

bool EndsVmap(const NodeDef& node) { return IsFunction(node, "_vmap_decrement_nesting"); }

// The nodes of the region's own level, without its ends and without regions inside of it.
std::vector<const NodeDef*> OwnNodes(absl::Span<const NodeDef> region) {
  std::vector<const NodeDef*> own;
  for (size_t i = 1; i + 1 < region.size(); ++i) {
    if (BeginsVmap(region[i])) {
      i += VmapLength(region.subspan(i)) - 1;
    } else {
      own.push_back(&region[i]);
    }
  }
  return own;
}

// The axis that an argument names, of a tensor of this type.
std::optional<int64_t> Axis(const NodeDef& node, size_t position, const Type& type) {
  if (node.inputs.size() <= position || !type.is_tensor() || !type.shape) return std::nullopt;
  const Arg& dim = node.inputs[position].value.constant;
  const auto rank = static_cast<int64_t>(type.shape->size());
  if (!dim.is_int() || dim.as_int() < -rank || dim.as_int() >= rank) return std::nullopt;
  return dim.as_int() < 0 ? dim.as_int() + rank : dim.as_int();
}

Type WithAxisMoved(Type type, int64_t from, int64_t to) {
  const ir::Dim dim = (*type.shape)[from];
  type.shape->erase(type.shape->begin() + from);
  type.shape->insert(type.shape->begin() + to, dim);
  return type;
}

Arg MoveAxis(const Arg& x, int64_t from, int64_t to, Type type, std::string name,
             Emitter* emitter) {
  if (from == to) return x;
  return emitter->Emit("aten::movedim.int", {{"self", x}, {"source", from}, {"destination", to}},
                       std::move(type), std::move(name));
}

bool HasOneValue(const NodeDef& node) {
  return node.outputs.size() == 1 && node.outputs[0].kind == Argument::Kind::kValue;
}

}  // namespace

bool BeginsVmap(const NodeDef& node) { return IsFunction(node, "_vmap_increment_nesting"); }
bool IsVmapSlice(const NodeDef& node) { return IsFunction(node, "_add_batch_dim"); }
bool IsVmapResult(const NodeDef& node) { return IsFunction(node, "_remove_batch_dim"); }

size_t VmapLength(absl::Span<const NodeDef> nodes) {
  size_t depth = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (BeginsVmap(nodes[i])) ++depth;
    if (EndsVmap(nodes[i]) && --depth == 0) return i + 1;
  }
  return 0;
}

absl::Status Importer::ImportVmap(absl::Span<const NodeDef> region, Scope* scope) {
  const auto malformed = [&](const NodeDef& node) {
    return Error(node, absl::InvalidArgumentError("is not as torch.vmap calls it"));
  };
  const NodeDef& begin = region.front();
  if (begin.inputs.size() != 2 || !begin.inputs[1].value.constant.is_string()) {
    return malformed(begin);
  }
  if (begin.inputs[1].value.constant.as_string() == "same") {
    return Error(begin, absl::UnimplementedError("vmap with randomness='same' is not supported"));
  }
  auto block = std::make_unique<ir::Block>();
  const std::vector<const NodeDef*> own = OwnNodes(region);
  Arg::List sliced;
  for (const NodeDef* node : own) {
    if (!IsVmapSlice(*node)) continue;
    if (node->inputs.empty() || !HasOneValue(*node)) return malformed(*node);
    const auto x = Resolve(node->inputs[0].value, *scope);
    if (!x.ok()) return Error(*node, x.status());
    const auto axis = Axis(*node, 1, TypeOf(*x));
    const auto info = scope->graph->values.find(node->outputs[0].name);
    if (!axis || info == scope->graph->values.end()) return malformed(*node);
    sliced.push_back(MoveAxis(*x, *axis, 0, WithAxisMoved(TypeOf(*x), *axis, 0), "", emitter_));
    block->params.push_back(emitter_->graph().NewValue(info->second.type, node->outputs[0].name));
    scope->args[node->outputs[0].name] = block->params.back();
  }
  if (sliced.empty()) return malformed(begin);
  ir::Node* const scan =
      emitter_->Append("prim::Scan", {{"init", Arg(Arg::List{})}, {"xs", Arg(std::move(sliced))}});
  absl::Status status = emitter_->InBlock(
      block.get(), [&] { return ImportNodes(region.subspan(1, region.size() - 2), scope); });
  if (!status.ok()) return status;
  std::vector<std::pair<std::string, Arg>> results;
  for (const NodeDef* node : own) {
    if (!IsVmapResult(*node)) continue;
    if (node->outputs.size() != 1) return malformed(*node);
    const std::string& name = node->outputs[0].name;
    const auto info = scope->graph->values.find(name);
    if (info == scope->graph->values.end()) return malformed(*node);
    const Type& type = info->second.type;
    const auto axis = Axis(*node, 3, type);
    if (!axis) return malformed(*node);
    const auto made = scope->args.find(name);
    if (made == scope->args.end()) return malformed(*node);
    block->results.push_back(made->second);
    scan->outputs.push_back(
        emitter_->graph().NewValue(WithAxisMoved(type, *axis, 0), *axis == 0 ? name : ""));
    results.emplace_back(name, MoveAxis(scan->outputs.back(), 0, *axis, type, name, emitter_));
  }
  scan->blocks.push_back(std::move(block));
  // What lies inside is one slice's: nothing after the region sees it.
  for (const NodeDef& node : region) {
    for (const Argument& output : node.outputs) {
      scope->args.erase(output.name);
      for (const Argument& item : output.items) scope->args.erase(item.name);
    }
  }
  for (auto& [name, value] : results) scope->args[name] = std::move(value);
  return absl::OkStatus();
}

}  // namespace rules_onnx::pt2
