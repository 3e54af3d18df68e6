#include "exporter/onnx/merge_types.h"

#include <functional>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "exporter/ir/dim.h"

namespace rules_onnx::onnx_format {
namespace {

using onnx::GraphProto;
using onnx::TypeProto;

// The tensor type inside a sequence or optional type; nullptr if there is none.
const onnx::TypeProto_Tensor* TensorType(const TypeProto& type) {
  switch (type.value_case()) {
    case TypeProto::kTensorType: return &type.tensor_type();
    case TypeProto::kSequenceType: return TensorType(type.sequence_type().elem_type());
    case TypeProto::kOptionalType: return TensorType(type.optional_type().elem_type());
    default: return nullptr;
  }
}

onnx::TypeProto_Tensor* MutableTensorType(TypeProto* type) {
  return const_cast<onnx::TypeProto_Tensor*>(TensorType(*type));
}

// Types of a graph's own values.
std::map<std::string, const TypeProto*> TypesOf(const GraphProto& graph) {
  std::map<std::string, const TypeProto*> types;
  for (const auto* infos : {&graph.value_info(), &graph.output(), &graph.input()}) {
    for (const auto& info : *infos) {
      if (info.has_type()) types[info.name()] = &info.type();
    }
  }
  return types;
}

// Pairs of equal subgraphs, in order.
void ForEachSubgraph(const GraphProto& a, const GraphProto& b,
                     const std::function<void(const GraphProto&, const GraphProto&)>& visit) {
  for (int i = 0; i < a.node_size(); ++i) {
    for (int j = 0; j < a.node(i).attribute_size(); ++j) {
      if (a.node(i).attribute(j).has_g()) {
        visit(a.node(i).attribute(j).g(), b.node(i).attribute(j).g());
      }
    }
  }
}

void CollectSymbols(const TypeProto& type, std::set<std::string>* symbols) {
  const onnx::TypeProto_Tensor* tensor = TensorType(type);
  if (tensor == nullptr) return;
  for (const auto& dim : tensor->shape().dim()) {
    if (dim.has_dim_param()) symbols->insert(dim.dim_param());
  }
}

void CollectSymbols(const GraphProto& graph, std::set<std::string>* symbols) {
  for (const auto& [name, type] : TypesOf(graph)) CollectSymbols(*type, symbols);
  ForEachSubgraph(graph, graph, [&](const GraphProto& inner, const GraphProto&) {
    CollectSymbols(inner, symbols);
  });
}

void FillDims(const onnx::TensorShapeProto& from, const std::set<std::string>& symbols,
              onnx::TensorShapeProto* to) {
  if (from.dim_size() != to->dim_size()) return;
  for (int i = 0; i < to->dim_size(); ++i) {
    auto* dim = to->mutable_dim(i);
    if (dim->has_dim_value() || dim->has_dim_param()) continue;
    if (from.dim(i).has_dim_value()) dim->set_dim_value(from.dim(i).dim_value());
    if (symbols.count(from.dim(i).dim_param()) != 0) dim->set_dim_param(from.dim(i).dim_param());
  }
}

void FillType(const TypeProto& inferred, const std::set<std::string>& symbols, TypeProto* type) {
  if (type->value_case() == TypeProto::VALUE_NOT_SET) {
    *type = inferred;
    if (auto* tensor = MutableTensorType(type); tensor != nullptr && tensor->has_shape()) {
      for (auto& dim : *tensor->mutable_shape()->mutable_dim()) {
        if (dim.has_dim_param() && symbols.count(dim.dim_param()) == 0) dim.Clear();
      }
    }
    return;
  }
  const auto* from = TensorType(inferred);
  auto* to = MutableTensorType(type);
  if (from == nullptr || to == nullptr || !from->has_shape()) return;
  if (!to->has_shape()) {
    for (int i = 0; i < from->shape().dim_size(); ++i) to->mutable_shape()->add_dim();
  }
  FillDims(from->shape(), symbols, to->mutable_shape());
}

void FillGraph(const GraphProto& inferred, const std::set<std::string>& symbols,
               GraphProto* graph) {
  const std::map<std::string, const TypeProto*> known = TypesOf(inferred);
  std::map<std::string, TypeProto> own;
  for (const auto& info : graph->value_info()) own[info.name()] = info.type();
  std::set<std::string> outputs;
  for (auto& output : *graph->mutable_output()) {
    outputs.insert(output.name());
    const auto type = known.find(output.name());
    if (type != known.end()) FillType(*type->second, symbols, output.mutable_type());
  }
  graph->clear_value_info();
  for (const auto& node : graph->node()) {
    for (const std::string& name : node.output()) {
      if (name.empty() || outputs.count(name) != 0) continue;
      TypeProto type = own[name];
      const auto found = known.find(name);
      if (found != known.end()) FillType(*found->second, symbols, &type);
      if (type.value_case() == TypeProto::VALUE_NOT_SET) continue;
      auto* info = graph->add_value_info();
      info->set_name(name);
      *info->mutable_type() = type;
    }
  }
  ForEachSubgraph(*graph, inferred, [&](const GraphProto& inner, const GraphProto& from) {
    FillGraph(from, symbols, const_cast<GraphProto*>(&inner));
  });
}

// Whether a size may be that number for every size that the program takes: floordiv(N, floordiv(N, 4))
// is 4 where N is a multiple of 4. Of what the program takes, multiples of many numbers are tried.
bool MayBe(const std::string& size, int64_t number) {
  const auto dim = ir::Dim::Parse(size);
  if (!dim.ok()) return false;
  std::set<std::string> symbols;
  dim->CollectSymbols(&symbols);
  for (const int64_t multiple : {1, 2, 3}) {
    std::map<std::string, int64_t> bindings;
    for (const std::string& symbol : symbols) {
      bindings[symbol] = 5040 * (multiple + static_cast<int64_t>(bindings.size()));
    }
    if (dim->Evaluate(bindings) != number) return false;
  }
  return true;
}

void FindConflicts(const GraphProto& model, const GraphProto& inferred,
                   std::vector<TypeConflict>* conflicts) {
  std::map<std::string, std::string> makers;
  for (const auto& node : model.node()) {
    for (const std::string& output : node.output()) makers[output] = node.name();
  }
  const std::map<std::string, const TypeProto*> known = TypesOf(inferred);
  for (const auto& [name, type] : TypesOf(model)) {
    const auto* ours = TensorType(*type);
    const auto found = known.find(name);
    const auto* theirs = found == known.end() ? nullptr : TensorType(*found->second);
    if (ours == nullptr || theirs == nullptr) continue;
    if (ours->shape().dim_size() != theirs->shape().dim_size()) continue;
    for (int i = 0; i < ours->shape().dim_size(); ++i) {
      const auto& dim = ours->shape().dim(i);
      if (!dim.has_dim_param() || !theirs->shape().dim(i).has_dim_value()) continue;
      if (MayBe(dim.dim_param(), theirs->shape().dim(i).dim_value())) continue;
      conflicts->push_back({name, makers[name],
                            absl::StrCat("axis ", i, " is ", dim.dim_param(),
                                         ", but ONNX infers ",
                                         theirs->shape().dim(i).dim_value())});
    }
  }
  ForEachSubgraph(model, inferred, [&](const GraphProto& a, const GraphProto& b) {
    FindConflicts(a, b, conflicts);
  });
}

}  // namespace

std::vector<TypeConflict> FindConflicts(const GraphProto& model, const GraphProto& inferred) {
  std::vector<TypeConflict> conflicts;
  FindConflicts(model, inferred, &conflicts);
  return conflicts;
}

void FillTypes(const GraphProto& inferred, GraphProto* model) {
  std::set<std::string> symbols;
  CollectSymbols(*model, &symbols);
  FillGraph(inferred, symbols, model);
}

}  // namespace rules_onnx::onnx_format
