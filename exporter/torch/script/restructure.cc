#include "exporter/torch/script/restructure.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace rules_onnx::script {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace prim = c10::prim;

using Values = std::set<const Value*>;
using Renaming = std::unordered_map<Value*, Value*>;

bool ReadsAny(const Node* node, const Values& values) {
  const auto is_one = [&](const Value* value) { return values.count(value) > 0; };
  if (std::any_of(node->inputs().begin(), node->inputs().end(), is_one)) return true;
  for (const Block* block : node->blocks()) {
    if (std::any_of(block->outputs().begin(), block->outputs().end(), is_one)) return true;
    for (const Node* inner : block->nodes()) {
      if (ReadsAny(inner, values)) return true;
    }
  }
  return false;
}

bool HoldsTensors(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::NoneType:
      return false;
    default:
      return true;
  }
}

// What may be of another type where `values` are. What is written to counts as well.
void AddDependents(const Node* node, Values* values) {
  for (const Value* output : node->outputs()) {
    if (HoldsTensors(output->type())) values->insert(output);
  }
  const auto* schema = node->maybeSchema();
  if (node->kind() != prim::SetAttr && (schema == nullptr || !schema->is_mutable())) return;
  values->insert(node->inputs().begin(), node->inputs().end());
}

void AddWritten(const Block* block, Values* values) {
  for (const Node* node : block->nodes()) {
    AddDependents(node, values);
    for (const Block* inner : node->blocks()) AddWritten(inner, values);
  }
}

// The last node of the block that depends on the branch's results, or on what it writes to; null if
// there is none.
Node* LastDependent(Node* branch) {
  Values values(branch->outputs().begin(), branch->outputs().end());
  for (const Block* block : branch->blocks()) AddWritten(block, &values);
  Node* last = nullptr;
  Node* const end = branch->owningBlock()->return_node();
  for (Node* node = branch->next(); node != end; node = node->next()) {
    if (!ReadsAny(node, values)) continue;
    AddDependents(node, &values);
    last = node;
  }
  return last;
}

Value* Renamed(const Renaming& names, Value* value) {
  const auto at = names.find(value);
  return at == names.end() ? value : at->second;
}

// A copy of each node at the end of the block.
void AppendCopies(const std::vector<Node*>& nodes, Block* block, Renaming* names) {
  for (Node* node : nodes) {
    Node* copy = block->owningGraph()->createClone(
        node, [&](Value* value) { return Renamed(*names, value); });
    block->appendNode(copy);
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      (*names)[node->outputs()[i]] = copy->outputs()[i];
    }
  }
}

// Whether something outside of the nodes, which stand in `block`, reads the value.
bool Escapes(const Value* value, const std::set<const Node*>& nodes, const Block* block) {
  return std::any_of(value->uses().begin(), value->uses().end(), [&](const torch::jit::Use& use) {
    const Node* user = use.user;
    while (user->owningBlock() != block) user = user->owningBlock()->owningNode();
    return nodes.count(user) == 0;
  });
}

Value* AddOutputLike(Node* node, Value* like) {
  Value* output = node->addOutput();
  output->copyMetadata(like);
  return output;
}

void EraseUnreadOutputs(Node* branch) {
  for (size_t i = branch->outputs().size(); i-- > 0;) {
    if (branch->outputs()[i]->hasUses()) continue;
    branch->eraseOutput(i);
    for (Block* block : branch->blocks()) block->eraseOutput(i);
  }
}

void MoveIn(Node* branch, Node* last) {
  std::vector<Node*> rest;
  for (Node* node = branch->next(); node != last; node = node->next()) rest.push_back(node);
  rest.push_back(last);
  const std::set<const Node*> nodes(rest.begin(), rest.end());
  std::vector<Value*> results;
  for (Node* node : rest) {
    for (Value* output : node->outputs()) {
      if (Escapes(output, nodes, branch->owningBlock())) results.push_back(output);
    }
  }
  for (Block* block : branch->blocks()) {
    Renaming names;
    for (size_t i = 0; i < branch->outputs().size(); ++i) {
      names[branch->outputs()[i]] = block->outputs()[i];
    }
    AppendCopies(rest, block, &names);
    for (Value* result : results) block->registerOutput(Renamed(names, result));
  }
  for (Value* result : results) result->replaceAllUsesWith(AddOutputLike(branch, result));
  for (auto node = rest.rbegin(); node != rest.rend(); ++node) (*node)->destroy();
  EraseUnreadOutputs(branch);
}

// Appends the iterations after the first, whose results `names` has, to the block.
Node* AppendFurther(Node* loop, Value* trips, Block* block, const Renaming& names) {
  Graph* graph = loop->owningGraph();
  Block* body = loop->blocks()[0];
  Node* further = graph->createClone(loop, [](Value* value) { return value; });
  block->appendNode(further);
  const torch::jit::WithInsertPoint before(further);
  Value* one = graph->insertConstant(int64_t{1});
  further->replaceInput(0, graph->insert(c10::aten::sub, {trips, one}));
  for (size_t i = 0; i < body->outputs().size(); ++i) {
    further->replaceInput(i + 1, Renamed(names, body->outputs()[i]));
  }
  Block* rest = further->blocks()[0];
  Value* index = rest->inputs()[0];
  const torch::jit::WithInsertPoint inside(*rest->nodes().begin());
  Value* next = graph->insert(c10::aten::add, {index, one});
  index->replaceAllUsesAfterNodeWith(next->node(), next);
  return further;
}

// The argument, which is not None.
Value* InsertGiven(Node* node, const UndecidedArgument& argument) {
  Value* given = node->input(argument.input);
  const auto optional = given->type()->cast<c10::OptionalType>();
  if (!optional) return given;
  return node->owningGraph()->insertUncheckedCast(given, optional->getElementType());
}

// The argument as it is where it is known to be `value`.
Value* InsertKnown(Node* node, const UndecidedArgument& argument, int64_t value) {
  Graph* graph = node->owningGraph();
  Value* known =
      argument.axes == 0 ? graph->insertConstant(value != 0) : graph->insertConstant(value);
  if (!argument.item) return known;
  Value* given = InsertGiven(node, argument);
  std::vector<Value*> items;
  for (size_t i = 0; i < argument.length; ++i) {
    Value* place = graph->insertConstant(static_cast<int64_t>(i));
    items.push_back(i == *argument.item
                        ? known
                        : graph->insert(c10::aten::__getitem__, {given, place}));
  }
  return graph->insertNode(graph->createList(c10::IntType::get(), items))->output();
}

// Whether the argument is `value`: an axis may be counted from the last one.
Value* InsertQuestion(Node* node, const UndecidedArgument& argument, int64_t value) {
  Graph* graph = node->owningGraph();
  Value* whole = InsertGiven(node, argument);
  if (argument.axes == 0) return value != 0 ? whole : graph->insert(c10::aten::__not__, {whole});
  Value* axis = whole;
  if (argument.item) {
    Value* place = graph->insertConstant(static_cast<int64_t>(*argument.item));
    axis = graph->insert(c10::aten::__getitem__, {whole, place});
  }
  Value* from_first = graph->insert(c10::aten::eq, {axis, graph->insertConstant(value)});
  Value* from_last =
      graph->insert(c10::aten::eq, {axis, graph->insertConstant(value - argument.axes)});
  return graph->insert(c10::aten::__or__, {from_first, from_last});
}

// The operator's results at the insertion point, where the argument is one of those from `first` on.
std::vector<Value*> InsertChoice(Node* node, const UndecidedArgument& argument, size_t first,
                                 size_t last) {
  Graph* graph = node->owningGraph();
  if (first == last) {
    Value* known = InsertKnown(node, argument, argument.possible[first]);
    Node* copy = graph->insertNode(graph->createClone(node, [](Value* value) { return value; }));
    copy->replaceInput(argument.input, known);
    return copy->outputs().vec();
  }
  Value* question = InsertQuestion(node, argument, argument.possible[first]);
  Node* branch = graph->insertNode(graph->create(prim::If, {question}, 0));
  branch->copyMetadata(node);
  for (const bool taken : {true, false}) {
    Block* block = branch->addBlock();
    const torch::jit::WithInsertPoint inside(block);
    const auto results =
        InsertChoice(node, argument, taken ? first : first + 1, taken ? first : last);
    for (Value* result : results) block->registerOutput(result);
  }
  std::vector<Value*> results;
  for (Value* output : node->outputs()) results.push_back(AddOutputLike(branch, output));
  return results;
}

}  // namespace

bool SinkRest(Node* branch) {
  while (branch != nullptr && branch->kind() == prim::If) {
    if (Node* last = LastDependent(branch)) {
      MoveIn(branch, last);
      return true;
    }
    branch = branch->owningBlock()->owningNode();
  }
  return false;
}

void PeelIteration(Node* loop) {
  Graph* graph = loop->owningGraph();
  Block* body = loop->blocks()[0];
  Value* trips = loop->input(0);
  const torch::jit::WithInsertPoint before(loop);
  Value* zero = graph->insertConstant(int64_t{0});
  Value* any = graph->insert(c10::aten::gt, {trips, zero});
  Value* reached = graph->insert(c10::aten::__and__, {any, loop->input(1)});
  Node* branch = graph->create(prim::If, {reached}, 0)->insertBefore(loop);
  branch->copyMetadata(loop);
  Block* taken = branch->addBlock();
  Block* other = branch->addBlock();
  Renaming names = {{body->inputs()[0], zero}};
  for (size_t i = 1; i < body->inputs().size(); ++i) names[body->inputs()[i]] = loop->input(i + 1);
  std::vector<Node*> nodes;
  for (Node* node : body->nodes()) nodes.push_back(node);
  AppendCopies(nodes, taken, &names);
  Node* further = AppendFurther(loop, trips, taken, names);
  for (size_t i = 0; i < loop->outputs().size(); ++i) {
    taken->registerOutput(further->outputs()[i]);
    other->registerOutput(loop->input(i + 2));
    loop->outputs()[i]->replaceAllUsesWith(AddOutputLike(branch, loop->outputs()[i]));
  }
  loop->destroy();
}

void ChooseArgument(Node* node, const UndecidedArgument& argument) {
  const torch::jit::WithInsertPoint before(node);
  const std::vector<Value*> results =
      InsertChoice(node, argument, 0, argument.possible.size() - 1);
  for (size_t i = 0; i < results.size(); ++i) {
    node->outputs()[i]->replaceAllUsesWith(results[i]);
  }
  node->destroy();
}

int64_t CountNodes(const Block* block) {
  int64_t count = 0;
  for (const Node* node : block->nodes()) {
    ++count;
    for (const Block* inner : node->blocks()) count += CountNodes(inner);
  }
  return count;
}

}  // namespace rules_onnx::script
