#include "exporter/torch/script/program.h"

#include <torch/csrc/jit/api/object.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/inline_fork_wait.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/passes/lower_tuples.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "exporter/torch/script/source.h"
#include "exporter/torch/values/arguments.h"
#include "exporter/torch/values/tensors.h"

namespace rules_onnx::script {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace prim = c10::prim;

// (class, attribute) pairs that some node assigns.
using Assigned = std::set<std::pair<std::string, std::string>>;

void CollectAssigned(const Block* block, Assigned* assigned) {
  for (const Node* node : block->nodes()) {
    if (node->kind() == prim::SetAttr) {
      const auto name = node->input(0)->type()->expectRef<c10::ClassType>().name();
      assigned->emplace(name ? name->qualifiedName() : "", node->s(c10::attr::name));
    }
    for (const Block* inner : node->blocks()) CollectAssigned(inner, assigned);
  }
}

// Follows attribute chains from self: constants in place of attributes that hold numbers, strings
// or None, and the object's own class in place of an interface.
class AttributeResolver {
 public:
  AttributeResolver(Graph* graph, const c10::IValue& self) : graph_(graph) {
    objects_[graph->inputs()[0]] = self;
    CollectAssigned(graph->block(), &assigned_);
  }

  // True if some value's class became known, so that more calls can be inlined.
  bool Run() {
    Visit(graph_->block());
    return changed_;
  }

 private:
  void Visit(Block* block) {
    for (auto it = block->nodes().begin(); it != block->nodes().end();) {
      Node* node = *it++;
      if (node->kind() == prim::GetAttr) VisitGetAttr(node);
      for (Block* inner : node->blocks()) Visit(inner);
    }
  }

  void VisitGetAttr(Node* node) {
    const auto object = objects_.find(node->input(0));
    if (object == objects_.end()) return;
    const std::string& name = node->s(c10::attr::name);
    const auto& holder = object->second.toObjectRef();
    if (assigned_.count({holder.name(), name})) return;
    const c10::IValue value = holder.getAttr(name);
    if (value.isObject()) {
      objects_[node->output()] = value;
      if (node->output()->type()->kind() == c10::TypeKind::InterfaceType) {
        node->output()->setType(value.type());
        changed_ = true;
      }
    } else if (value.isNone() || value.isBool() || value.isInt() || value.isDouble() ||
               value.isString()) {
      const torch::jit::WithInsertPoint here(node);
      if (Value* constant = graph_->insertConstant(value)) {
        node->output()->replaceAllUsesWith(constant);
      }
    }
  }

  Graph* graph_;
  std::unordered_map<const Value*, c10::IValue> objects_;
  Assigned assigned_;
  bool changed_ = false;
};

// The number that an operand stands for, if it is a constant of rank 0.
std::optional<c10::IValue> NumberOf(const Value* operand) {
  const auto constant = torch::jit::constant_as<at::Tensor>(operand);
  if (!constant || constant->dim() != 0 || constant->scalar_type() == at::kBool) return {};
  return c10::IValue(constant->item());
}

// The tracer writes Python's numbers as tensors of rank 0, which promote in other ways. TorchScript
// takes them for numbers again where it runs these operators (its pass CanonicalizeOps).
void TakeNumbers(Block* block) {
  static constexpr const char* kOperators[] = {
      "aten::add(Tensor self, Tensor other, *, Scalar alpha) -> Tensor",
      "aten::sub(Tensor self, Tensor other, *, Scalar alpha) -> Tensor",
      "aten::mul(Tensor self, Tensor other) -> Tensor",
      "aten::div(Tensor self, Tensor other) -> Tensor",
  };
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) TakeNumbers(inner);
    if (std::none_of(std::begin(kOperators), std::end(kOperators),
                     [&](const char* schema) { return node->matches(schema); })) {
      continue;
    }
    const auto number = NumberOf(node->input(1));
    if (!number) continue;
    const torch::jit::WithInsertPoint here(node);
    std::vector<Value*> inputs = node->inputs().vec();
    inputs[1] = block->owningGraph()->insertConstant(*number);
    Node* with_number = block->owningGraph()->create(node->kind(), inputs)->insertBefore(node);
    with_number->copyMetadata(node);
    with_number->output()->copyMetadata(node->output());
    node->output()->replaceAllUsesWith(with_number->output());
  }
}

const Node* FindCall(const Block* block) {
  for (const Node* node : block->nodes()) {
    if (node->kind() == prim::CallMethod || node->kind() == prim::CallFunction) return node;
    for (const Block* inner : node->blocks()) {
      if (const Node* call = FindCall(inner)) return call;
    }
  }
  return nullptr;
}

bool Forks(const Block* block) {
  return std::any_of(block->nodes().begin(), block->nodes().end(), [](const Node* node) {
    const auto inner = node->blocks();
    return node->kind() == prim::fork || std::any_of(inner.begin(), inner.end(), Forks);
  });
}

// The type with what futures give in place of futures.
c10::TypePtr WithoutFutures(const c10::TypePtr& type) {
  if (const auto future = type->cast<c10::FutureType>()) {
    return WithoutFutures(future->getElementType());
  }
  if (type->kind() == c10::TypeKind::ClassType) return type;  // which may contain itself
  std::vector<c10::TypePtr> parts = type->containedTypes().vec();
  bool changed = false;
  for (c10::TypePtr& part : parts) {
    const c10::TypePtr without = WithoutFutures(part);
    changed = changed || without != part;
    part = without;
  }
  return changed ? type->withContained(std::move(parts)) : type;
}

// Where no fork is left: futures are what they give, and waiting does nothing.
void DropFutures(Block* block) {
  for (Value* input : block->inputs()) input->setType(WithoutFutures(input->type()));
  for (auto it = block->nodes().begin(); it != block->nodes().end();) {
    Node* node = *it++;
    for (Value* output : node->outputs()) output->setType(WithoutFutures(output->type()));
    for (Block* inner : node->blocks()) DropFutures(inner);
    if (node->kind() != c10::aten::wait) continue;
    node->output()->replaceAllUsesWith(node->input());
    node->destroy();
  }
}

absl::StatusOr<std::shared_ptr<Graph>> InlinedForward(const torch::jit::Module& module) {
  std::shared_ptr<Graph> graph = module.get_method("forward").graph()->copy();
  // What a fork runs may call, and fork, once more.
  do {
    torch::jit::InlineForkWait(graph);
    do {
      torch::jit::Inline(*graph);
    } while (AttributeResolver(graph.get(), module._ivalue()).Run());
  } while (Forks(graph->block()));
  DropFutures(graph->block());
  TakeNumbers(graph->block());
  torch::jit::ConstantPropagationImmutableTypes(graph);
  torch::jit::EliminateDeadCode(graph);
  torch::jit::LowerSimpleTuples(graph);
  torch::jit::EliminateDeadCode(graph);
  if (const Node* call = FindCall(graph->block())) {
    return absl::UnimplementedError(
        absl::StrCat(LocationText(LocationOf(call)),
                     ": a call that is only known at run time (of ",
                     call->hasAttribute(c10::attr::name) ? call->s(c10::attr::name) : "a function",
                     ") cannot be exported"));
  }
  return graph;
}

bool ReadsMode(const Block* block) {
  return std::any_of(block->nodes().begin(), block->nodes().end(), [](const Node* node) {
    if (node->kind() == prim::GetAttr && node->s(c10::attr::name) == "training") return true;
    const auto inner = node->blocks();
    return std::any_of(inner.begin(), inner.end(), ReadsMode);
  });
}

// True if forward gives something else in evaluation mode, or may.
bool DependsOnTraining(const torch::jit::Module& module) {
  bool training = false;
  for (const torch::jit::Module& part : module.modules()) training = training || part.is_training();
  if (!training) return false;
  const std::shared_ptr<Graph> graph = module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  return ReadsMode(graph->block());
}

}  // namespace

const c10::FunctionSchema& ScriptProgram::schema() const {
  return module.get_method("forward").function().getSchema();
}

std::vector<std::string> ScriptProgram::parameter_names() const {
  std::vector<std::string> names;
  for (const auto& parameter : torch_values::Parameters(schema())) names.push_back(parameter.name());
  return names;
}

absl::StatusOr<ScriptProgram> PrepareProgram(torch::jit::Module module,
                                             capture::Training training) {
  try {
    if (!module.find_method("forward")) {
      return absl::InvalidArgumentError("the saved program has no method forward");
    }
    const bool eval = training == capture::Training::kEval;
    const bool left_training = eval && DependsOnTraining(module);
    if (eval) module.eval();
    if (training == capture::Training::kTrain) module.train();
    auto graph = InlinedForward(module);
    if (!graph.ok()) return graph.status();
    const auto name = module.type()->name();
    std::string class_name = name ? ClassName(name->qualifiedName()) : "";
    // What a saved function is wrapped in.
    if (class_name == "PlaceholderModule") class_name.clear();
    return ScriptProgram{module, *std::move(graph), std::move(class_name), left_training};
  } catch (const std::exception& exception) {
    return absl::InvalidArgumentError(
        absl::StrCat("the program cannot be read: ", torch_values::ExceptionText(exception)));
  }
}

}  // namespace rules_onnx::script
