#include "exporter/torch/script/interpreter.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/api/object.h>
#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "exporter/torch/values/tensors.h"
#include "exporter/torch/script/meta_kernels.h"
#include "exporter/torch/script/operator_call.h"

namespace rules_onnx::script {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;
namespace prim = c10::prim;

int Contexts::Child(int parent, const Node* loop, int64_t iteration) {
  auto& iterations = children_[{parent, loop}];
  const auto [at, inserted] = iterations.emplace(std::min(iteration, kMaxIterations), next_);
  if (inserted) ++next_;
  return at->second;
}

int Contexts::Find(int parent, const Node* loop, int64_t iteration) const {
  const auto iterations = children_.find({parent, loop});
  if (iterations == children_.end()) return -1;
  const auto at = iterations->second.find(std::min(iteration, kMaxIterations));
  return at == iterations->second.end() ? -1 : at->second;
}

std::vector<int> Contexts::Children(int parent, const Node* loop) const {
  std::vector<int> all;
  if (const auto at = children_.find({parent, loop}); at != children_.end()) {
    for (const auto& [iteration, context] : at->second) all.push_back(context);
  }
  return all;
}

// What does not change between runs.
struct Interpreter::Plan {
  std::unordered_map<const Node*, torch::jit::Operation> operations;
  std::unordered_map<const Node*, std::vector<const Value*>> dies_after;
  std::unordered_map<const Block*, bool> writes;
  std::set<const Value*> written_attributes;

  explicit Plan(const std::shared_ptr<torch::jit::Graph>& graph) {
    Add(graph->block());
    const torch::jit::AliasDb aliases(graph);
    for (const Value* value : attributes) {
      if (aliases.hasWriters(value)) written_attributes.insert(value);
    }
  }

 private:
  std::vector<const Value*> attributes;

  void Add(const Block* block) {
    writes[block] = WritesAnything(block);
    for (const Value* param : block->inputs()) AddLastUse(param, block);
    for (const Node* node : block->nodes()) {
      for (const Value* output : node->outputs()) AddLastUse(output, block);
      if (node->maybeOperator() != nullptr) operations.emplace(node, node->getOperation());
      if (node->kind() == prim::GetAttr) attributes.push_back(node->output());
      for (const Block* inner : node->blocks()) Add(inner);
    }
  }

  void AddLastUse(const Value* value, const Block* block) {
    const Node* last = nullptr;
    for (const torch::jit::Use& use : value->uses()) {
      const Node* user = use.user;
      while (user->owningBlock() != block) user = user->owningBlock()->owningNode();
      if (user == block->return_node()) return;
      if (last == nullptr || user->isAfter(last)) last = user;
    }
    if (last != nullptr) dies_after[last].push_back(value);
  }
};

namespace {

// An operator that threw, with where.
struct NodeError {
  const Node* node;
  std::string message;
  bool needs_values;
};

constexpr int64_t kSmallTensorBytes = 1024;
constexpr int64_t kSmallAttributeBytes = 1 << 20;
// What is changed deliberately may keep a loop from its end: a condition is inverted this many times,
// and a loop given up after so many iterations.
constexpr int kMaxFlips = 128;
constexpr int64_t kMaxPerturbedIterations = 1 << 14;

// A copy as IValue::deepcopy makes it, which takes no tensor that is not defined: such a one stands
// for None in what operators give, and in tuples of it.
c10::IValue Copied(const c10::IValue& value, c10::IValue::HashIdentityIValueMap* copies) {
  if (value.isTensor() && !value.toTensor().defined()) return value;
  if (!value.isTuple()) return value.deepcopy(*copies);
  std::vector<c10::IValue> items;
  for (const c10::IValue& item : value.toTupleRef().elements()) {
    items.push_back(Copied(item, copies));
  }
  return c10::ivalue::Tuple::createNamed(std::move(items),
                                         value.toTupleRef().type()->expect<c10::TupleType>());
}

}  // namespace

class Interpreter::Execution {
 public:
  Execution(Interpreter* owner, const Options& options, RunRecord* record)
      : owner_(owner), plan_(*owner->plan_), options_(options), record_(record) {}

  c10::IValue Run(const std::vector<c10::IValue>& inputs) {
    const Block* block = owner_->graph_->block();
    env_[block->inputs()[0]] = owner_->self_;
    for (size_t i = 0; i < inputs.size(); ++i) Define(block->inputs()[i + 1], inputs[i], 0);
    RunBlock(block, 0);
    return At(block->outputs()[0]);
  }

 private:
  using Env = std::unordered_map<const Value*, c10::IValue>;
  using Attributes = std::map<std::pair<const void*, std::string>, c10::IValue>;

  const c10::IValue& At(const Value* value) const { return env_.at(value); }

  // A condition of a branch or loop. Where an outcome is changed deliberately it may be one that the
  // program leaves unset.
  bool Truth(const Node* node, const Value* value) const {
    const c10::IValue& truth = At(value);
    if (!truth.isBool()) throw NodeError{node, "asks for a condition that is not set", false};
    return truth.toBool();
  }

  void Define(const Value* value, c10::IValue what, int context) {
    // None where the type has no None is what nothing reads: prim::Uninitialized.
    const bool unset = what.isNone() && !c10::NoneType::get()->isSubtypeOf(*value->type());
    if (!unset) record_->values[{context, value}].Join(Observe(what));
    env_[value] = std::move(what);
  }

  void RunBlock(const Block* block, int context) {
    for (const Node* node : block->nodes()) {
      RunNode(node, context);
      if (speculating_ > 0) continue;
      const auto dead = plan_.dies_after.find(node);
      if (dead == plan_.dies_after.end()) continue;
      for (const Value* value : dead->second) env_.erase(value);
    }
  }

  void RunNode(const Node* node, int context) {
    if (node->kind() == prim::If) return RunIf(node, context);
    if (node->kind() == prim::Loop) return RunLoop(node, context);
    try {
      RunPlain(node, context);
    } catch (const NeedsValues& needs) {
      throw NodeError{node, needs.message, true};
    } catch (const NodeError&) {
      throw;
    } catch (const c10::NotImplementedError& error) {
      throw NodeError{node, torch_values::ExceptionText(error), options_.meta};
    } catch (const std::exception& exception) {
      throw NodeError{node, torch_values::ExceptionText(exception), false};
    }
  }

  // Runs `run` on copies of all that `block` could change; what it throws is not an error.
  template <typename Function>
  void Speculate(const Block* block, Function run) {
    Env kept_env;
    const Attributes kept_attributes = attributes_;
    if (plan_.writes.at(block)) {
      c10::IValue::HashIdentityIValueMap copies;
      CopyCaptured(block, &kept_env, &copies);
      for (auto& [name, value] : attributes_) {
        const bool container = value.isList() || value.isTuple() || value.isGenericDict();
        if (container) value = Copied(value, &copies);
      }
    }
    ++speculating_;
    try {
      run();
    } catch (const NodeError& error) {
      if (error.needs_values) {
        --speculating_;
        throw;
      }
    }
    --speculating_;
    attributes_ = kept_attributes;
    for (auto& [value, what] : kept_env) env_[value] = std::move(what);
  }

  void CopyCaptured(const Block* block, Env* kept, c10::IValue::HashIdentityIValueMap* copies) {
    const auto copy = [&](const Value* value) {
      const auto at = env_.find(value);
      if (at == env_.end() || kept->count(value) || at->second.isObject()) return;
      kept->emplace(value, at->second);
      at->second = Copied(at->second, copies);
    };
    for (const Node* node : block->nodes()) {
      for (const Value* input : node->inputs()) copy(input);
      for (const Block* inner : node->blocks()) CopyCaptured(inner, kept, copies);
    }
    for (const Value* output : block->outputs()) copy(output);
  }

  void RunIf(const Node* node, int context) {
    const Value* condition = node->input(0);
    const bool flipped =
        options_.perturbation.flipped.count(node) > 0 && flips_[node]++ < kMaxFlips;
    const size_t taken = (Truth(node, condition) != flipped) ? 0 : 1;
    const Block* other = node->blocks()[1 - taken];
    if (condition->node()->kind() != prim::Constant) {
      Speculate(other, [&] { RunBlock(other, context); });
    }
    const Block* block = node->blocks()[taken];
    RunBlock(block, context);
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      Define(node->outputs()[i], At(block->outputs()[i]), context);
    }
  }

  void RunLoop(const Node* node, int context) {
    const Block* body = node->blocks()[0];
    const int64_t trips = At(node->input(0)).toInt();
    bool condition = Truth(node, node->input(1));
    std::vector<c10::IValue> carried;
    for (size_t i = 2; i < node->inputs().size(); ++i) carried.push_back(At(node->input(i)));
    int64_t iteration = 0;
    const auto step = [&](std::vector<c10::IValue>* state) {
      const int inside = owner_->contexts_->Child(context, node, iteration);
      Define(body->inputs()[0], iteration, inside);
      for (size_t i = 0; i < state->size(); ++i) Define(body->inputs()[i + 1], (*state)[i], inside);
      RunBlock(body, inside);
      for (size_t i = 0; i < state->size(); ++i) (*state)[i] = At(body->outputs()[i + 1]);
      return Truth(node, body->outputs()[0]);
    };
    int64_t extra = 0;
    if (const auto delta = options_.perturbation.deltas.find(node);
        delta != options_.perturbation.deltas.end()) {
      extra = delta->second;
    }
    while (true) {
      const bool goes_on = condition && iteration < trips;
      if (!goes_on && extra-- <= 0) break;
      condition = step(&carried);
      ++iteration;
      if (iteration > kMaxPerturbedIterations && !options_.perturbation.empty()) {
        throw NodeError{node, "does not come to an end", false};
      }
    }
    Speculate(body, [&] {
      std::vector<c10::IValue> state;
      c10::IValue::HashIdentityIValueMap copies;
      for (const c10::IValue& value : carried) {
        state.push_back(value.isObject() ? value : Copied(value, &copies));
      }
      step(&state);
    });
    for (size_t i = 0; i < carried.size(); ++i) Define(node->outputs()[i], carried[i], context);
  }

  void RunPlain(const Node* node, int context) {
    switch (node->kind()) {
      case prim::Constant:
        return Define(node->output(), Constant(node), context);
      case prim::GetAttr:
        return Define(node->output(), GetAttribute(node), context);
      case prim::SetAttr:
        attributes_[{At(node->input(0)).toObject().get(), node->s(c10::attr::name)}] =
            At(node->input(1));
        return;
      default:
        break;
    }
    std::vector<c10::IValue> inputs;
    for (const Value* input : node->inputs()) inputs.push_back(At(input));
    if (auto built = BuildContainer(node, inputs)) {
      for (size_t i = 0; i < built->size(); ++i) {
        Define(node->outputs()[i], std::move((*built)[i]), context);
      }
      return;
    }
    const auto operation = plan_.operations.find(node);
    if (operation == plan_.operations.end()) {
      throw NodeError{node, absl::StrCat(node->kind().toQualString(), " is not supported"), false};
    }
    std::vector<c10::IValue> outputs = CallOperator(node, operation->second, inputs, options_.meta);
    Perturb(node, inputs, &outputs);
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      Define(node->outputs()[i], std::move(outputs[i]), context);
    }
  }

  void Perturb(const Node* node, const std::vector<c10::IValue>& inputs,
               std::vector<c10::IValue>* outputs) {
    const auto axis = DataDependentAxis(node, inputs);
    if (axis) record_->data_axes[node] = *axis;
    if (const auto resized = options_.perturbation.resized.find(node);
        resized != options_.perturbation.resized.end()) {
      for (const auto& [at, change] : resized->second) ResizeResults(node, at, change, outputs);
    }
    const auto delta = options_.perturbation.deltas.find(node);
    if (delta == options_.perturbation.deltas.end()) return;
    if (axis) return ResizeResults(node, *axis, delta->second, outputs);
    for (c10::IValue& output : *outputs) {
      if (output.isInt()) output = output.toInt() + delta->second;
      if (!output.isIntList()) continue;
      c10::List<int64_t> numbers = output.toIntList();
      for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = numbers[i] + delta->second;
    }
  }

  c10::IValue Constant(const Node* node) {
    c10::IValue value = *torch::jit::toIValue(node->output());
    if (!value.isTensor()) return value;
    auto& copy = constants_[node];
    if (!copy.defined()) copy = Local(value.toTensor(), kSmallTensorBytes, true);
    return copy;
  }

  c10::IValue GetAttribute(const Node* node) {
    const auto object = At(node->input(0)).toObject();
    const std::string& name = node->s(c10::attr::name);
    const auto key = std::make_pair(static_cast<const void*>(object.get()), name);
    if (const auto at = attributes_.find(key); at != attributes_.end()) return at->second;
    const c10::IValue value = object->getAttr(name);
    if (value.isObject() && value.toObjectRef().type()->is_module()) return value;
    if (!value.isTensor()) return attributes_[key] = Localized(value);
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return value;
    auto& copy = locals_[tensor.unsafeGetTensorImpl()];
    if (!copy.defined()) {
      const bool small = static_cast<int64_t>(tensor.nbytes()) <= kSmallAttributeBytes;
      copy = Local(tensor, 0, small || plan_.written_attributes.count(node->output()) > 0);
    }
    return copy;
  }

  // A container attribute (or an object of LibTorch's own) with its tensors fit for this run, so that writes stay in the run.
  c10::IValue Localized(const c10::IValue& value) {
    if (value.isTensor()) return Local(value.toTensor(), 0, true);
    if (!value.isList() && !value.isTuple() && !value.isGenericDict()) return value;
    c10::IValue copy = value.deepcopy();
    return options_.meta ? ToMeta(copy) : copy;
  }

  // The tensor as this run works on it: on meta unless it is small, else a copy if it may change.
  at::Tensor Local(const at::Tensor& tensor, int64_t small, bool copy) {
    if (options_.meta && static_cast<int64_t>(tensor.nbytes()) > small) {
      return ToMeta(tensor).toTensor();
    }
    return copy ? tensor.detach().clone() : tensor.detach();
  }

  Interpreter* owner_;
  const Plan& plan_;
  const Options& options_;
  RunRecord* record_;
  Env env_;
  Attributes attributes_;
  std::unordered_map<const Node*, at::Tensor> constants_;
  std::unordered_map<const void*, at::Tensor> locals_;
  std::unordered_map<const Node*, int> flips_;
  int speculating_ = 0;
};

Interpreter::Interpreter(std::shared_ptr<torch::jit::Graph> graph, c10::IValue self,
                         Contexts* contexts)
    : graph_(std::move(graph)),
      self_(std::move(self)),
      contexts_(contexts),
      plan_(std::make_unique<Plan>(graph_)) {
  RegisterMetaKernels();
}

Interpreter::~Interpreter() = default;

std::optional<RunFailure> Interpreter::Run(const std::vector<c10::IValue>& inputs,
                                           const Options& options, RunRecord* record,
                                           c10::IValue* output) {
  const c10::AutoGradMode no_gradients(false);
  try {
    std::vector<c10::IValue> copies;
    for (const c10::IValue& input : inputs) {
      copies.push_back(options.meta ? ToMeta(input) : input.deepcopy());
    }
    *output = Execution(this, options, record).Run(copies);
    return std::nullopt;
  } catch (const NodeError& error) {
    return RunFailure{error.node, error.message, error.needs_values};
  } catch (const NeedsValues& needs) {
    return RunFailure{nullptr, needs.message, true};
  } catch (const std::exception& exception) {
    return RunFailure{nullptr, torch_values::ExceptionText(exception), options.meta};
  }
}

}  // namespace rules_onnx::script
