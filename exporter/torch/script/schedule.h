// Which runs of a program tell enough of its sizes.
//
// 1. at the example sizes;
// 2. for each dynamic axis, with that axis alone at another size: N+1, N+3, 2N, N+32, the first at
//    which the program runs, or the size that the user names; if it runs at none, together with the
//    axes of equal size, then with one other axis, both moved by the same amount or doubled;
// 3. with all axes moved at once by different odd amounts, a little and far;
// 4. with each axis alone at a smaller size, for what only a small axis moves (x[:4]): 2, N/2 or N-1,
//    the first at which the program runs and its values keep their ranks and lengths; if it is
//    neither of the first two, at twice its size as well, so that coarse steps are seen;
// 5. with each number among the inputs at others, larger and smaller; if the program takes none,
//    together with another number or an axis (the product of both is a size, or their sum);
// 6. for each node whose outcome values or numbers decide, with that outcome changed: a size or number
//    one larger and one smaller, a condition inverted, an iteration more.
// On meta tensors until an operator needs a value, then all over again on real ones.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_SCHEDULE_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_SCHEDULE_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exporter/diagnostics/diagnostics.h"
#include "exporter/inputs/coupled_sizes.h"
#include "exporter/inputs/input.h"
#include "exporter/torch/script/converter.h"
#include "exporter/torch/script/interpreter.h"
#include "exporter/torch/script/program.h"

namespace rules_onnx::script {

class Schedule {
 public:
  Schedule(const ScriptProgram* program, inputs::Inputs inputs, bool allow_frozen_shapes);

  // Runs 1 to 5. Errors: the program fails on the inputs; an axis is frozen, unless that is
  // allowed: then the axis is static from here on, with a warning.
  absl::Status RunSizes(diagnostics::Diagnostics* diagnostics);

  // Run 6 for points that it was not done for yet. False if there are none.
  bool RunPoints(const std::vector<DynamicPoint>& points);
  // Takes no size that follows from points that there were no runs for as known. False if there are
  // none.
  bool DistrustPoints(const std::vector<DynamicPoint>& points);

  const std::vector<Run>& runs() const { return runs_; }
  const Contexts& contexts() const { return contexts_; }
  // The inputs, frozen axes made static.
  const inputs::Inputs& inputs() const { return inputs_; }
  // The user's symbols, with the sizes they had.
  const std::map<std::string, inputs::SymbolSizes>& symbols() const { return symbols_; }
  const std::set<const torch::jit::Node*>& untrusted() const { return untrusted_; }
  const std::set<std::string>& untrusted_inputs() const { return untrusted_inputs_; }
  const std::set<const torch::jit::Node*>& moved_numbers() const { return moved_numbers_; }
  const std::map<const torch::jit::Node*, std::set<int64_t>>& moved_axes() const {
    return moved_axes_;
  }

 private:
  using Sizes = inputs::Sizes;

  // Added to numbers among the inputs, by path.
  using Deltas = std::map<std::string, double>;
  struct NumberInput {
    std::string path;
    double value;
    bool is_float;
  };

  std::optional<RunFailure> RunAt(const Sizes& sizes, const Perturbation& perturbation,
                                  const Deltas& number_deltas);
  absl::Status RunBase();
  absl::Status RunAxis(const std::string& symbol, diagnostics::Diagnostics* diagnostics);
  bool RunMoved(const std::string& symbol, const Sizes& sizes);
  bool RunCoupled(const std::string& symbol, const std::vector<int64_t>& candidates);
  std::optional<Sizes> Along(const std::string& symbol, int64_t size) const;
  Sizes AllMoved(int64_t first, bool by_steps) const;
  void Distrust(const std::string& symbol);
  void RunAllMoved();
  bool RunAlone(const std::string& symbol, int64_t size);
  void RunSmaller(const std::string& symbol);
  std::vector<NumberInput> NumberInputs() const;
  void RunNumberInputs();
  bool MoveAlone(const NumberInput& number);
  bool MoveCoupled(const NumberInput& number, const std::vector<NumberInput>& all);
  bool RunPoint(const DynamicPoint& point);
  void Freeze(const std::string& symbol);
  std::string Explain(const RunFailure& failure) const;
  Sizes ExampleSizes() const;

  const ScriptProgram* program_;
  inputs::Inputs inputs_;
  bool allow_frozen_shapes_;
  bool meta_;
  bool restart_ = false;  // a run on meta asked for a value
  Contexts contexts_;
  Interpreter interpreter_;
  std::map<std::string, inputs::SymbolSizes> symbols_;
  std::map<std::string, Sizes> directions_;  // axis → what its run added to it and to others
  std::vector<Run> runs_;
  Perturbation all_points_;
  Sizes all_moved_;
  std::set<std::pair<const torch::jit::Node*, std::optional<int64_t>>> seen_points_;
  std::set<const torch::jit::Node*> moved_numbers_;
  std::map<const torch::jit::Node*, std::set<int64_t>> moved_axes_;
  std::set<const torch::jit::Node*> untrusted_;
  std::set<std::string> untrusted_inputs_;
};

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_SCHEDULE_H_
