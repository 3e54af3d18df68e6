// Runs an inlined TorchScript graph node by node and records what every value was.
//
// In meta mode tensors that depend on inputs or large weights carry no values, so that a run takes
// milliseconds; tensors that the program makes of numbers stay real. An operator that asks a meta
// tensor for a value fails the run with `needs_values`: run again with meta off.
//
// Untaken branches and one more iteration of every loop are run speculatively on copies, so that
// types are known for what the inputs at hand did not reach; what throws there is not recorded.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_INTERPRETER_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_INTERPRETER_H_

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exporter/torch/script/observed.h"

namespace rules_onnx::script {

// Names the iterations of loops: 0 is outside of all loops. Shared by the runs of one program.
class Contexts {
 public:
  // Iterations from kMaxIterations on share one context.
  static constexpr int64_t kMaxIterations = 128;
  int Child(int parent, const torch::jit::Node* loop, int64_t iteration);
  // The same, but -1 where no run got there.
  int Find(int parent, const torch::jit::Node* loop, int64_t iteration) const;
  // All contexts that `loop` made under `parent` so far, by iteration.
  std::vector<int> Children(int parent, const torch::jit::Node* loop) const;

 private:
  std::map<std::pair<int, const torch::jit::Node*>, std::map<int64_t, int>> children_;
  int next_ = 1;
};

// Deliberate changes of what a program computes from values, so that sizes which follow from them
// are seen to move.
struct Perturbation {
  std::map<const torch::jit::Node*, int64_t> deltas;  // added to a size or an integer
  std::set<const torch::jit::Node*> flipped;          // conditions inverted
  // Added to sizes of a node's results, by axis.
  std::map<const torch::jit::Node*, std::map<int64_t, int64_t>> resized;

  bool empty() const { return deltas.empty() && flipped.empty() && resized.empty(); }
};

struct RunRecord {
  absl::flat_hash_map<std::pair<int, const torch::jit::Value*>, Observed> values;
  // Operators met whose result's size depends on values, and that axis.
  absl::flat_hash_map<const torch::jit::Node*, int64_t> data_axes;
};

// `needs_values` is certain where it is set; a run on meta can fail for want of values without it.
struct RunFailure {
  const torch::jit::Node* node = nullptr;
  std::string message;
  bool needs_values = false;
};

class Interpreter {
 public:
  Interpreter(std::shared_ptr<torch::jit::Graph> graph, c10::IValue self, Contexts* contexts);
  ~Interpreter();

  struct Options {
    bool meta = false;
    Perturbation perturbation;
  };
  // `inputs` without self. The module is left as it was. Sets *output where the run succeeds.
  std::optional<RunFailure> Run(const std::vector<c10::IValue>& inputs, const Options& options,
                                RunRecord* record, c10::IValue* output);

 private:
  class Execution;
  struct Plan;

  std::shared_ptr<torch::jit::Graph> graph_;
  c10::IValue self_;
  Contexts* contexts_;
  std::unique_ptr<Plan> plan_;
};

// The axis of its results whose size depends on values (`nonzero` 0), for an operator of that
// kind called with these inputs; nullopt for all others.
std::optional<int64_t> DataDependentAxis(const torch::jit::Node* node,
                                         const std::vector<c10::IValue>& inputs);
// True for operators that read numbers out of a tensor (`aten::item`, `aten::Int.Tensor`, `tolist`).
bool ReadsNumber(const torch::jit::Node* node);
bool WritesAnything(const torch::jit::Block* block);

Observed Observe(const c10::IValue& value);

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_INTERPRETER_H_
