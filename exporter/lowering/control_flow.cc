// Branches and loops.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/dynamic_list.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/lowering.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

using builder::Attr;
using builder::Graph;
using builder::OutputType;
using builder::ValueType;

// What a block gives or a loop carries in a form that ONNX has for it: tensors and numbers as they
// are, lists as dynamic ones. A failure where there is none.
Item Carried(Op& op, const Item& item, const ir::Type& type) {
  if (item.failed() || op.failed()) return {};
  if (type.is_list()) return DynamicList(op, item, type);
  if (item.is_val()) return item;
  return op.Fail(
      absl::StrCat("a value of type ", type.ToString(), " can't leave a branch or loop in ONNX"));
}

// The Vals that make up an item which Carried gave.
void AppendVals(const Item& item, Vals* vals) {
  if (item.is_val()) vals->push_back(item.val);
  for (const Item& column : item.items) AppendVals(column, vals);
}

// An item like `like` made of the next Vals.
Item FromVals(const Item& like, Vals::const_iterator* next) {
  if (like.is_val()) return *(*next)++;
  Item item = like;
  for (Item& column : item.items) column = FromVals(column, next);
  return item;
}

// ONNX's condition is a scalar bool; PyTorch takes any one number.
Val Condition(Op& op, Val condition) {
  const Val truth = op.b.Cast(condition, DType::kBool);
  return truth.rank() == 0 ? truth : op.b.Reshape(truth, std::vector<int64_t>{});
}

// The type that a part of an item keeps from one iteration or branch to another; `type` is what
// capture saw.
ValueType TypeOf(Val val, const ir::Type& type) {
  ValueType result{val.get()->type.kind, val.dtype(), std::nullopt};
  if (!type.is_list()) {
    result.shape = Lowering::TypeOf(type).shape;
  } else if (!val.is_sequence()) {
    result.shape = StackedShape(type);
  }
  return result;
}

void AppendTypes(const Item& item, const ir::Type& type, std::vector<OutputType>* types) {
  if (item.is_val()) {
    const ValueType one = TypeOf(item.val, type);
    types->push_back({one.dtype, one.shape, one.kind});
  }
  for (size_t i = 0; i < item.items.size(); ++i) {
    AppendTypes(item.items[i], ColumnType(type, i), types);
  }
}

// Below opset 13 neither If nor Loop takes sequences.
bool HasForm(Op& op, const Vals& vals) {
  for (const Val val : vals) {
    if (!val) return false;
    if (!op.Require(!val.is_sequence() || op.b.opset() >= 13,
                    "a list of tensors that differ in size, and whose length depends on the "
                    "inputs, needs opset 13")) {
      return false;
    }
  }
  return true;
}

// ---------------------------------------------------------------- If

// A branch's results, lowered into a graph of their own.
struct Branch {
  std::shared_ptr<Graph> graph;
  std::vector<Item> results;
  Vals vals;
};

// A constant that stands in the place of a tensor of other sizes, and that nothing reads, in these
// sizes: runtimes take the result's for granted.
Item Filling(Op& op, const Item& item, const ir::Type& type) {
  if (!item.is_val() || !item.val.is_const() || !type.is_tensor() || !type.shape) return item;
  const Shape wanted = *Lowering::TypeOf(type).shape, &given = item.val.shape();
  if (given.size() != wanted.size()) return item;
  std::vector<int64_t> sizes;
  bool differ = false;
  for (size_t i = 0; i < given.size(); ++i) {
    sizes.push_back(wanted[i].is_number() ? wanted[i].value() : given[i].value());
    differ = differ || !given[i].Equals(sizes.back());
  }
  return differ ? Item(op.b.Expand(item.val, op.b.Ints(sizes))) : item;
}

Branch LowerBranch(Op& op, const ir::Block& block, const char* name) {
  Branch branch;
  branch.graph = op.b.Subgraph(name, nullptr, [&] {
    op.lowering.LowerNodes(block);
    const std::vector<Item> items = op.lowering.Results(block);
    for (size_t i = 0; i < items.size(); ++i) {
      branch.results.push_back(Filling(op, Carried(op, items[i], op.OutType(i)), op.OutType(i)));
      AppendVals(branch.results.back(), &branch.vals);
    }
    return branch.vals;
  });
  return branch;
}

bool SameForm(const Item& a, const Item& b) {
  if (a.is_val() && b.is_val()) {
    return a.val.dtype() == b.val.dtype() && a.val.is_sequence() == b.val.is_sequence();
  }
  return a.kind == b.kind && std::equal(a.items.begin(), a.items.end(), b.items.begin(),
                                        b.items.end(), SameForm);
}

// Whether one size is known not to be the other at all times.
bool Differ(const Dim& a, const Dim& b) {
  return (a.is_number() || b.is_number()) && !a.is_unknown() && !b.is_unknown() && !a.Equals(b);
}

// Below opset 11 both branches give a result of one size, and ONNX takes one that a branch knows for
// that of the result.
bool FitsBelow11(Op& op, const Vals& branch, const Vals& other, const std::vector<OutputType>& types) {
  for (size_t i = 0; i < types.size() && op.b.opset() < 11; ++i) {
    if (!branch[i].has_shape() || !other[i].has_shape()) continue;
    if (!op.Require(branch[i].rank() == other[i].rank(),
                    "a branch that gives a tensor of another rank needs opset 11")) {
      return false;
    }
    if (!types[i].shape) continue;
    const int rank = std::min({branch[i].rank(), other[i].rank(),
                               static_cast<int>(types[i].shape->size())});
    for (int axis = 0; axis < rank; ++axis) {
      const Dim &a = branch[i].shape()[axis], &b = other[i].shape()[axis];
      const Dim& result = (*types[i].shape)[axis];
      if (!op.Require(!Differ(a, b) && !(a.is_number() && Differ(a, result)) &&
                          !(b.is_number() && Differ(b, result)),
                      "a branch that gives a tensor of another size needs opset 11")) {
        return false;
      }
    }
  }
  return true;
}

// ---------------------------------------------------------------- If that gives values or None

// The values that the first block gives, as optional values of a graph of their own.
Branch LowerPresent(Op& op, const ir::Block& block) {
  Branch branch;
  branch.graph = op.b.Subgraph("then_branch", nullptr, [&] {
    op.lowering.LowerNodes(block);
    const std::vector<Item> items = op.lowering.Results(block);
    for (size_t i = 0; i < items.size(); ++i) {
      const ir::Type& type = op.OutType(i).elements[0];
      op.Require(!items[i].is_quantized(), "a quantized tensor that may be None");
      branch.results.push_back(OutputForm(op.b, Carried(op, items[i], type), type));
      AppendVals(branch.results.back(), &branch.vals);
    }
    Vals optionals;
    for (const Val val : branch.vals) optionals.push_back(op.b.Optional(val));
    return optionals;
  });
  return branch;
}

// Optional values of the same types that are empty.
std::shared_ptr<Graph> LowerAbsent(Op& op, const Vals& present) {
  return op.b.Subgraph("else_branch", nullptr, [&] {
    Vals optionals;
    for (const Val val : present) optionals.push_back(op.b.EmptyOptional(val.get()->type));
    return optionals;
  });
}

void OptionalIf(Op& op, Val condition) {
  if (!op.Require(op.b.opset() >= 16,
                  "a result that is None or not, as the inputs decide, needs opset 16, the first "
                  "whose If gives optional values")) {
    return;
  }
  const Branch present = LowerPresent(op, *op.node.blocks[0]);
  if (op.failed()) return;
  const auto absent = LowerAbsent(op, present.vals);
  if (op.failed()) return;
  std::vector<OutputType> types;
  for (const builder::Value* output : present.graph->outputs) {
    types.push_back({output->type.dtype, output->type.shape, output->type.kind});
  }
  const Vals outputs =
      op.b.OpN("If", {condition}, {{"then_branch", present.graph}, {"else_branch", absent}},
               types.size(), types);
  auto next = outputs.begin();
  std::vector<Item> results;
  for (const Item& like : present.results) results.push_back(FromVals(like, &next));
  op.Return(std::move(results));
}

bool GivesOptionals(const Op& op) {
  return op.num_outputs() > 0 && op.OutType().kind == ir::Type::Kind::kOptional;
}

void If(Op& op) {
  const Val condition = Condition(op, op.Tensor("cond"));
  if (!condition) return;
  if (const auto known = condition.int_value()) {
    const ir::Block& block = *op.node.blocks[*known ? 0 : 1];
    op.lowering.LowerNodes(block);
    return op.Return(op.lowering.Results(block));
  }
  if (GivesOptionals(op)) return OptionalIf(op, condition);
  const Branch then_branch = LowerBranch(op, *op.node.blocks[0], "then_branch");
  const Branch else_branch = LowerBranch(op, *op.node.blocks[1], "else_branch");
  std::vector<OutputType> types;
  for (size_t i = 0; i < op.num_outputs(); ++i) {
    const Item &a = then_branch.results[i], &b = else_branch.results[i];
    if (a.failed() || b.failed()) return;
    if (!op.Require(SameForm(a, b), "the branches give values of different types") ||
        !op.Require(!op.OutType(i).is_list() || op.b.opset() >= 11,
                    "a list whose length a branch decides needs opset 11")) {
      return;
    }
    AppendTypes(a, op.OutType(i), &types);
  }
  if (types.empty() || !HasForm(op, then_branch.vals)) return;
  if (!FitsBelow11(op, then_branch.vals, else_branch.vals, types)) return;
  const Vals outputs = op.b.OpN(
      "If", {condition}, {{"then_branch", then_branch.graph}, {"else_branch", else_branch.graph}},
      types.size(), types);
  auto next = outputs.begin();
  std::vector<Item> results;
  for (const Item& like : then_branch.results) results.push_back(FromVals(like, &next));
  op.Return(std::move(results));
}

// ---------------------------------------------------------------- Loop

// What a loop carries. What is None stays so: it is no part of the ONNX loop.
struct LoopState {
  std::vector<Item> initial;
  std::vector<OutputType> types;  // of the Vals that make up the rest
  Vals vals;
};

LoopState InitialState(Op& op, const ir::Block& body) {
  LoopState state;
  state.initial = op.Arg("carried").items;
  for (size_t i = 0; i < state.initial.size(); ++i) {
    Item& item = state.initial[i];
    if (item.kind == Item::Kind::kConstant) continue;
    const ir::Type& type = body.params[i + 1]->type;
    item = Carried(op, item, type);
    if (item.failed()) return state;
    AppendVals(item, &state.vals);
    AppendTypes(item, type, &state.types);
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
  Vals params;
  for (const OutputType& type : state.types) {
    params.push_back(add("carried", ValueType{type.kind, type.dtype, type.shape}));
  }
  auto next = params.cbegin();
  for (size_t i = 0; i < state.initial.size(); ++i) {
    op.lowering.Set(body.params[i + 1], FromVals(state.initial[i], &next));
  }
}

// The next condition and carried Vals; empty after a failure.
Vals BodyResults(Op& op, const ir::Block& body, const LoopState& state) {
  op.lowering.LowerNodes(body);
  const std::vector<Item> items = op.lowering.Results(body);
  if (items.empty() || items[0].failed()) return {};
  Vals results = {Condition(op, items[0].val)};
  for (size_t i = 0; i < state.initial.size(); ++i) {
    const Item &initial = state.initial[i], &item = items[i + 1];
    if (initial.kind == Item::Kind::kConstant) {
      op.Require(item.kind == Item::Kind::kConstant && item.constant == initial.constant,
                 "a value that is None before a loop is changed in it");
      continue;
    }
    const Item next = Carried(op, item, body.params[i + 1]->type);
    if (next.failed()) return {};
    op.Require(SameForm(initial, next),
               "the type of a value changes from one iteration of a loop to the next");
    AppendVals(next, &results);
  }
  return results;
}

// TorchScript counts a `while` up to the largest integer: no count then.
Val TripCount(Op& op) {
  const Val count = op.IntVal("max_trip_count");
  const auto known = count.int_value();
  return known && *known == kEnd ? Val() : count;
}

void Loop(Op& op) {
  const ir::Block& body = *op.node.blocks[0];
  const LoopState state = InitialState(op, body);
  const Val condition = Condition(op, op.Tensor("cond"));
  const Val count = TripCount(op);
  if (op.failed() || !condition || !HasForm(op, state.vals)) return;
  bool complete = false;
  const auto graph = op.b.Subgraph(
      "body", [&](Graph* inner) { AddBodyInputs(op, body, state, inner); },
      [&] {
        const Vals results = BodyResults(op, body, state);
        complete = results.size() == state.vals.size() + 1;
        return results;
      });
  if (op.failed() || !complete) return;
  Vals inputs = {count, condition};
  inputs.insert(inputs.end(), state.vals.begin(), state.vals.end());
  const Vals outputs =
      op.b.OpN("Loop", inputs, {{"body", graph}}, state.types.size(), state.types);
  auto next = outputs.begin();
  std::vector<Item> results;
  for (const Item& initial : state.initial) results.push_back(FromVals(initial, &next));
  op.Return(std::move(results));
}

// ---------------------------------------------------------------- Scan

// The body's parameters, carried values and then slices of the scanned tensors, typed as captured.
void AddScanInputs(Op& op, const ir::Block& body, const Vals& inputs, Graph* graph) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    op.lowering.Set(body.params[i],
                    op.b.SubgraphInput(graph, i < op.Arg("init").items.size() ? "carried" : "slice",
                                       TypeOf(inputs[i], body.params[i]->type)));
  }
}

// A scan carries and takes apart tensors only.
Val ScannedVal(Op& op, const Item& item) {
  if (item.failed() || item.is_val()) return item.val;
  return op.Fail("a scan carries a value that is no tensor");
}

void Scan(Op& op) {
  const ir::Block& body = *op.node.blocks[0];
  const size_t num_carried = op.Arg("init").items.size();
  Vals inputs;
  for (const char* list : {"init", "xs"}) {
    for (const Item& item : op.Arg(list).items) {
      inputs.push_back(ScannedVal(op, item));
      if (!inputs.back()) return;
    }
  }
  Vals results;
  const auto graph = op.b.Subgraph(
      "body", [&](Graph* inner) { AddScanInputs(op, body, inputs, inner); },
      [&] {
        op.lowering.LowerNodes(body);
        for (const Item& item : op.lowering.Results(body)) {
          results.push_back(ScannedVal(op, item));
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
    AppendTypes(results[i], op.OutType(i), &types);
  }
  op.Return(op.b.OpN("Scan", inputs,
                     {{"body", graph},
                      {"num_scan_inputs", static_cast<int64_t>(inputs.size() - num_carried)}},
                     types.size(), types));
}

}  // namespace

extern const Family kControlFlow;
const Family kControlFlow = {"control_flow", {
    {"prim::If", If, 9, "lists: opset 11, of tensors that differ in size 13; None or a value: 16"},
    {"prim::Loop", Loop, 9, "lists of tensors that differ in size: opset 13"},
    {"prim::Scan", Scan},
}};

}  // namespace rules_onnx::lowering
