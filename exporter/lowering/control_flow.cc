// Branches and loops.
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/lowering.h"
#include "exporter/lowering/sequence.h"

namespace rules_onnx::lowering {
namespace {

using builder::Attr;
using builder::Graph;
using builder::OutputType;
using builder::ValueType;

// One Val for what a block gives or a loop carries: tensors and numbers as they are, lists as
// sequences. Null with a failure where ONNX has no form for it.
Val Carried(Builder& b, const Item& item, const ir::Type& type) {
  if (item.failed()) return {};
  if (item.is_val()) return item.val;
  if (item.is_list() && type.is_list()) return AsSequence(b, item, type);
  return b.Fail(absl::StrCat("a value of type ", type.ToString(),
                             " can't leave a branch or loop in ONNX"));
}

// ONNX's condition is a scalar bool; PyTorch takes any one number.
Val Condition(Op& op, Val condition) {
  const Val truth = op.b.Cast(condition, DType::kBool);
  return truth.rank() == 0 ? truth : op.b.Reshape(truth, std::vector<int64_t>{});
}

OutputType TypeOf(Val val, const ir::Type& captured) {
  OutputType type{val.dtype(), Lowering::TypeOf(captured).shape, val.get()->type.kind};
  if (val.is_sequence()) type.shape = std::nullopt;
  return type;
}

// ---------------------------------------------------------------- If

// A branch's results, lowered into a graph of their own.
struct Branch {
  std::shared_ptr<Graph> graph;
  Vals results;
};

Branch LowerBranch(Op& op, const ir::Block& block, const char* name) {
  Branch branch;
  branch.graph = op.b.Subgraph(name, nullptr, [&] {
    op.lowering.LowerNodes(block);
    const std::vector<Item> items = op.lowering.Results(block);
    for (size_t i = 0; i < items.size(); ++i) {
      branch.results.push_back(Carried(op.b, items[i], op.OutType(i)));
    }
    return branch.results;
  });
  return branch;
}

void If(Op& op) {
  const Val condition = Condition(op, op.Tensor("cond"));
  if (!condition) return;
  if (const auto known = condition.int_value()) {
    const ir::Block& block = *op.node.blocks[*known ? 0 : 1];
    op.lowering.LowerNodes(block);
    return op.Return(op.lowering.Results(block));
  }
  const Branch then_branch = LowerBranch(op, *op.node.blocks[0], "then_branch");
  const Branch else_branch = LowerBranch(op, *op.node.blocks[1], "else_branch");
  std::vector<OutputType> types;
  for (size_t i = 0; i < op.num_outputs(); ++i) {
    const Val a = then_branch.results[i], b = else_branch.results[i];
    if (!a || !b) return;
    if (!op.Require(a.dtype() == b.dtype() && a.is_sequence() == b.is_sequence(),
                    "the branches give values of different types")) {
      return;
    }
    types.push_back(TypeOf(a, op.OutType(i)));
  }
  if (types.empty()) return;
  op.Return(op.b.OpN("If", {condition},
                     {{"then_branch", then_branch.graph}, {"else_branch", else_branch.graph}},
                     types.size(), types));
}

// ---------------------------------------------------------------- Loop

// What a loop carries: Vals change from one iteration to the next; what is None stays so.
struct LoopState {
  std::vector<Item> initial;
  std::vector<size_t> indices;  // carried position → position in `initial`
  Vals vals;
};

LoopState InitialState(Op& op, const ir::Block& body) {
  LoopState state;
  const Item carried = op.Arg("carried");
  state.initial = carried.items;
  for (size_t i = 0; i < state.initial.size(); ++i) {
    if (state.initial[i].kind == Item::Kind::kConstant) continue;
    state.indices.push_back(i);
    state.vals.push_back(Carried(op.b, state.initial[i], body.params[i + 1]->type));
  }
  return state;
}

// The body's parameters: iteration, condition, carried values.
void AddBodyInputs(Op& op, const ir::Block& body, const LoopState& state, Graph* graph) {
  const auto add = [&](const char* name, ValueType type) {
    return op.b.SubgraphInput(graph, name, std::move(type));
  };
  op.lowering.Set(body.params[0],
                  add("iteration", ValueType{.dtype = DType::kInt64, .shape = Shape{}}));
  add("condition", ValueType{.dtype = DType::kBool, .shape = Shape{}});
  for (size_t i = 0; i < state.initial.size(); ++i) {
    op.lowering.Set(body.params[i + 1], state.initial[i]);
  }
  for (size_t n = 0; n < state.indices.size(); ++n) {
    const ir::Value* param = body.params[state.indices[n] + 1];
    const OutputType type = TypeOf(state.vals[n], param->type);
    op.lowering.Set(param, add("carried", ValueType{type.kind, type.dtype, type.shape}));
  }
}

Vals BodyResults(Op& op, const ir::Block& body, const LoopState& state) {
  op.lowering.LowerNodes(body);
  const std::vector<Item> items = op.lowering.Results(body);
  Vals results;
  if (items.empty() || items[0].failed()) return results;
  results.push_back(Condition(op, items[0].val));
  for (size_t n = 0; n < state.indices.size(); ++n) {
    const size_t i = state.indices[n];
    const Val next = Carried(op.b, items[i + 1], body.params[i + 1]->type);
    if (!next) return results;
    op.Require(next.dtype() == state.vals[n].dtype(),
               "the type of a value changes from one iteration of a loop to the next");
    results.push_back(next);
  }
  for (size_t i = 0; i < state.initial.size(); ++i) {
    if (state.initial[i].kind != Item::Kind::kConstant) continue;
    op.Require(items[i + 1].kind == Item::Kind::kConstant &&
                   items[i + 1].constant == state.initial[i].constant,
               "a value that is None before a loop is changed in it");
  }
  return results;
}

// TorchScript counts a `while` up to the largest integer: no count then.
Val TripCount(Op& op) {
  const Val count = op.IntVal("max_trip_count");
  const auto known = count.int_value();
  return known && *known == std::numeric_limits<int64_t>::max() ? Val() : count;
}

void Loop(Op& op) {
  const ir::Block& body = *op.node.blocks[0];
  const LoopState state = InitialState(op, body);
  const Val condition = Condition(op, op.Tensor("cond"));
  const Val count = TripCount(op);
  if (op.failed() || !condition) return;
  for (const Val val : state.vals) {
    if (!val) return;
    op.Require(!val.is_sequence() || op.b.opset() >= 13,
               "a list of unknown length that a loop carries needs opset 13");
  }
  bool complete = false;
  const auto graph = op.b.Subgraph(
      "body", [&](Graph* inner) { AddBodyInputs(op, body, state, inner); },
      [&] {
        const Vals results = BodyResults(op, body, state);
        complete = results.size() == state.vals.size() + 1;
        return results;
      });
  if (op.failed() || !complete) return;
  std::vector<OutputType> types;
  for (size_t n = 0; n < state.indices.size(); ++n) {
    types.push_back(TypeOf(state.vals[n], op.OutType(state.indices[n])));
  }
  Vals inputs = {count, condition};
  inputs.insert(inputs.end(), state.vals.begin(), state.vals.end());
  const Vals outputs = op.b.OpN("Loop", inputs, {{"body", graph}}, types.size(), types);
  std::vector<Item> results = state.initial;
  for (size_t n = 0; n < outputs.size(); ++n) results[state.indices[n]] = outputs[n];
  op.Return(std::move(results));
}

// ---------------------------------------------------------------- Scan

// The body's parameters, carried values and then slices of the scanned tensors, typed as captured.
void AddScanInputs(Op& op, const ir::Block& body, const Vals& inputs, Graph* graph) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const OutputType type = TypeOf(inputs[i], body.params[i]->type);
    op.lowering.Set(body.params[i],
                    op.b.SubgraphInput(graph, i < op.Arg("init").items.size() ? "carried" : "slice",
                                       ValueType{type.kind, type.dtype, type.shape}));
  }
}

void Scan(Op& op) {
  const ir::Block& body = *op.node.blocks[0];
  const size_t num_carried = op.Arg("init").items.size();
  Vals inputs;
  for (const char* list : {"init", "xs"}) {
    for (const Item& item : op.Arg(list).items) {
      inputs.push_back(Carried(op.b, item, body.params[inputs.size()]->type));
      if (!inputs.back()) return;
    }
  }
  Vals results;
  const auto graph = op.b.Subgraph(
      "body", [&](Graph* inner) { AddScanInputs(op, body, inputs, inner); },
      [&] {
        op.lowering.LowerNodes(body);
        for (const Item& item : op.lowering.Results(body)) {
          results.push_back(Carried(op.b, item, op.OutType(results.size())));
        }
        return results;
      });
  if (op.failed()) return;
  std::vector<OutputType> types;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) return;
    if (!op.Require(i >= num_carried || results[i].dtype() == inputs[i].dtype(),
                    "the type of a value changes from one iteration of a scan to the next")) {
      return;
    }
    types.push_back(TypeOf(results[i], op.OutType(i)));
  }
  op.Return(op.b.OpN("Scan", inputs,
                     {{"body", graph},
                      {"num_scan_inputs", static_cast<int64_t>(inputs.size() - num_carried)}},
                     types.size(), types));
}

}  // namespace

extern const Family kControlFlow;
const Family kControlFlow = {"control_flow", {
    {"prim::If", If},
    {"prim::Loop", Loop},
    {"prim::Scan", Scan},
}};

}  // namespace rules_onnx::lowering
