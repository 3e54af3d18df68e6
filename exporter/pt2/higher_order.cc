#include "exporter/pt2/higher_order.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "exporter/pt2/importer.h"

namespace rules_onnx::pt2 {
namespace {

using ir::Arg;
using ir::Type;
using Args = std::vector<Arg>;
using Results = absl::StatusOr<Args>;

absl::Status Malformed() {
  return absl::InvalidArgumentError("its arguments are not those of this operator");
}

Args Joined(Args a, const Args& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// A condition as a bool: programs give a tensor of one element.
Arg ToBool(const Arg& arg, Emitter* emitter) {
  if (!TypeOf(arg).is_tensor()) return arg;
  return emitter->Emit("aten::Bool.Tensor", {{"a", arg}}, Type::Scalar(Type::Kind::kBool));
}

// Makes the node's outputs and returns them.
Args DefineResults(const HigherOrderCall& call, ir::Node* node, Importer* importer) {
  for (size_t i = 0; i < call.types.size(); ++i) {
    node->outputs.push_back(importer->emitter().graph().NewValue(call.types[i], call.names[i]));
  }
  return Args(node->outputs.begin(), node->outputs.end());
}

// Values for the first `count` inputs of a graph, from input `begin` on.
Args NewParams(const GraphDef& graph, size_t begin, size_t count, const Args& initial,
               ir::Block* block, Importer* importer) {
  Args params;
  for (size_t i = 0; i < count; ++i) {
    const Argument& input = graph.inputs[begin + i];
    const auto info = graph.values.find(input.name);
    Type type = info != graph.values.end() ? info->second.type : TypeOf(initial[i]);
    ir::Value* const param = importer->emitter().graph().NewValue(std::move(type), input.name);
    block->params.push_back(param);
    params.push_back(param);
  }
  return params;
}

Results ImportCond(const HigherOrderCall& call, Importer* importer) {
  if (call.graphs.size() != 2 || call.args.size() != 4 || !call.args[3].is_list()) {
    return Malformed();
  }
  const Args& operands = call.args[3].list();
  Emitter& emitter = importer->emitter();
  if (call.args[0].is_bool()) {
    return importer->ImportGraph(*call.graphs[call.args[0].as_bool() ? 0 : 1], operands);
  }
  const Arg condition = ToBool(call.args[0], &emitter);
  ir::Node* const node = emitter.Append("prim::If", {{"cond", condition}});
  for (const auto& graph : call.graphs) {
    auto block = std::make_unique<ir::Block>();
    auto results =
        emitter.InBlock(block.get(), [&] { return importer->ImportGraph(*graph, operands); });
    if (!results.ok()) return results.status();
    if (results->size() != call.types.size()) return Malformed();
    block->results = *std::move(results);
    node->blocks.push_back(std::move(block));
  }
  return DefineResults(call, node, importer);
}

// The loop's condition on the given carried values.
absl::StatusOr<Arg> ImportCondition(const GraphDef& graph, Args inputs, Importer* importer) {
  auto results = importer->ImportGraph(graph, std::move(inputs));
  if (!results.ok()) return results.status();
  if (results->size() != 1) return Malformed();
  return ToBool(results->front(), &importer->emitter());
}

Results ImportLoopBody(const HigherOrderCall& call, const Args& params, Importer* importer) {
  const Args& extra = call.args[3].list();
  auto carried = importer->ImportGraph(*call.graphs[1], Joined(params, extra));
  if (!carried.ok()) return carried.status();
  if (carried->size() != params.size()) return Malformed();
  auto condition = ImportCondition(*call.graphs[0], Joined(*carried, extra), importer);
  if (!condition.ok()) return condition.status();
  return Joined({*std::move(condition)}, *carried);
}

Results ImportWhileLoop(const HigherOrderCall& call, Importer* importer) {
  if (call.graphs.size() != 2 || call.args.size() != 4 || !call.args[2].is_list() ||
      !call.args[3].is_list()) {
    return Malformed();
  }
  const Args& initial = call.args[2].list();
  const GraphDef& body = *call.graphs[1];
  if (body.inputs.size() < initial.size() || call.types.size() != initial.size()) {
    return Malformed();
  }
  auto condition = ImportCondition(*call.graphs[0], Joined(initial, call.args[3].list()), importer);
  if (!condition.ok()) return condition.status();

  Emitter& emitter = importer->emitter();
  ir::Node* const node =
      emitter.Append("prim::Loop", {{"max_trip_count", std::numeric_limits<int64_t>::max()},
                                    {"cond", *std::move(condition)},
                                    {"carried", call.args[2]}});
  auto block = std::make_unique<ir::Block>();
  block->params.push_back(emitter.graph().NewValue(Type::Scalar(Type::Kind::kInt)));
  const Args params = NewParams(body, 0, initial.size(), initial, block.get(), importer);
  auto results =
      emitter.InBlock(block.get(), [&] { return ImportLoopBody(call, params, importer); });
  if (!results.ok()) return results.status();
  block->results = *std::move(results);
  node->blocks.push_back(std::move(block));
  return DefineResults(call, node, importer);
}

Results ImportScan(const HigherOrderCall& call, const Arg& init, const Arg& xs, const Arg& extra,
                   Importer* importer) {
  if (call.graphs.size() != 1 || !init.is_list() || !xs.is_list() || !extra.is_list()) {
    return Malformed();
  }
  const GraphDef& graph = *call.graphs[0];
  const size_t num_carried = init.list().size();
  if (graph.inputs.size() != num_carried + xs.list().size() + extra.list().size()) {
    return Malformed();
  }
  Emitter& emitter = importer->emitter();
  ir::Node* const node = emitter.Append("prim::Scan", {{"init", init}, {"xs", xs}});
  auto block = std::make_unique<ir::Block>();
  const Args carried = NewParams(graph, 0, num_carried, init.list(), block.get(), importer);
  const Args slices =
      NewParams(graph, num_carried, xs.list().size(), xs.list(), block.get(), importer);
  auto results = emitter.InBlock(block.get(), [&] {
    return importer->ImportGraph(graph, Joined(Joined(carried, slices), extra.list()));
  });
  if (!results.ok()) return results.status();
  if (results->size() != call.types.size() || results->size() < num_carried) return Malformed();
  block->results = *std::move(results);
  node->blocks.push_back(std::move(block));
  return DefineResults(call, node, importer);
}

// A graph that is only called: what follows it are its operands, in lists or one by one.
Results Inline(const HigherOrderCall& call, size_t graph_position, Importer* importer) {
  if (call.graphs.size() != 1) return Malformed();
  Args operands;
  for (size_t i = graph_position + 1; i < call.args.size(); ++i) {
    const Arg& arg = call.args[i];
    if (arg.is_list()) {
      operands = Joined(std::move(operands), arg.list());
    } else if (!arg.is_string()) {
      operands.push_back(arg);
    }
  }
  operands.resize(std::min(operands.size(), call.graphs[0]->inputs.size()));
  return importer->ImportGraph(*call.graphs[0], std::move(operands));
}

// wrap_with_autocast(device, dtype, enabled, cache_enabled, graph, operands…)
Results InlineAutocast(const HigherOrderCall& call, Importer* importer) {
  if (call.args.size() < 5 || !call.args[2].is_bool()) return Malformed();
  std::optional<ir::DType> dtype;
  if (call.args[2].as_bool()) {
    if (!call.args[1].is_dtype()) {
      return absl::UnimplementedError("autocast without an explicit dtype is not supported");
    }
    dtype = call.args[1].as_dtype();
  }
  const auto outer = std::exchange(importer->autocast, dtype);
  Results results = Inline(call, 4, importer);
  importer->autocast = outer;
  return results;
}

}  // namespace

Results ImportHigherOrderCall(absl::string_view op, const HigherOrderCall& call,
                              Importer* importer) {
  const Args& args = call.args;
  if (op == "cond") return ImportCond(call, importer);
  if (op == "while_loop") return ImportWhileLoop(call, importer);
  if (op == "scan" && args.size() == 4)
    return ImportScan(call, args[1], args[2], args[3], importer);
  if (op == "map_impl" && args.size() == 3) {
    return ImportScan(call, Arg(Arg::List{}), args[1], args[2], importer);
  }
  if (op == "wrap_with_set_grad_enabled") return Inline(call, 1, importer);
  if (op == "wrap_with_autocast") return InlineAutocast(call, importer);
  if (op == "strict_mode" || op == "invoke_subgraph" || op == "wrap" ||
      op == "tag_activation_checkpoint") {
    return Inline(call, 0, importer);
  }
  if (absl::StartsWith(op, "auto_functionalized")) {
    return absl::UnimplementedError(
        "a custom operator that writes to its arguments is not supported");
  }
  return absl::UnimplementedError(
      "this higher-order operator is not supported; "
      "exported_program.run_decompositions() before torch.export.save may replace it");
}

}  // namespace rules_onnx::pt2
