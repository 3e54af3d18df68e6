#include "exporter/torch/script/schedule.h"

#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/inputs/spec.h"
#include "exporter/torch/script/source.h"
#include "exporter/torch/values/arguments.h"

namespace rules_onnx::script {
namespace {

using inputs::Sizes;
using inputs::Value;

// Added to the example sizes where all axes move far, if no input gets more elements than this.
constexpr int64_t kFar = 67;
constexpr double kMaxElements = 1 << 26;

void ForEachNumber(Value* value, const std::string& path,
                   const std::function<void(Value*, const std::string&)>& visit) {
  if (value->kind == Value::Kind::kInt || value->kind == Value::Kind::kFloat) visit(value, path);
  for (size_t i = 0; i < value->elements.size(); ++i) {
    std::string part = absl::StrCat(i);
    if (value->kind == Value::Kind::kDict) {
      const Value& key = value->keys[i];
      part = key.kind == Value::Kind::kInt ? absl::StrCat(key.integer) : key.text;
    }
    ForEachNumber(&value->elements[i], absl::StrCat(path, ".", part), visit);
  }
}

// Elements of the largest tensor at these sizes.
double LargestInput(const inputs::Inputs& inputs, const Sizes& sizes) {
  double largest = 0;
  for (const inputs::Leaf& leaf : inputs::TensorLeaves(inputs)) {
    double elements = 1;
    for (const inputs::Axis& axis : leaf.value->tensor.axes) {
      const auto size = sizes.find(axis.symbol);
      elements *= static_cast<double>(size == sizes.end() ? axis.size : size->second);
    }
    largest = std::max(largest, elements);
  }
  return largest;
}

// True if the value is made of weights and constants alone.
bool IsFixed(const torch::jit::Value* value) {
  const torch::jit::Node* node = value->node();
  if (node->kind() == c10::prim::Constant || node->kind() == c10::prim::GetAttr) return true;
  if (node->kind() == c10::prim::Param || node->inputs().empty()) return false;
  return std::all_of(node->inputs().begin(), node->inputs().end(), IsFixed);
}

// True if weights alone make the value.
bool IsWeight(const torch::jit::Value* value) {
  const torch::jit::Node* node = value->node();
  if (node->kind() == c10::prim::GetAttr) return true;
  return node->kind() == c10::prim::ListConstruct && !node->inputs().empty() &&
         std::all_of(node->inputs().begin(), node->inputs().end(), IsWeight);
}

bool TakesWeights(const torch::jit::Node* node) {
  return std::any_of(node->inputs().begin(), node->inputs().end(), IsWeight);
}

// True if the tensors that go into the node are several inputs of the program, as they are given.
bool TakesInputsAlone(const torch::jit::Node* node) {
  int tensors = 0;
  for (const torch::jit::Value* input : node->inputs()) {
    if (!input->type()->isSubtypeOf(*c10::TensorType::get())) continue;
    if (input->node()->kind() != c10::prim::Param) return false;
    ++tensors;
  }
  return tensors > 1;
}

// True if a number other than 1 and -1, or a tensor that neither inputs nor weights decide, goes
// into the node, or if the node takes a list of one length apart.
bool HoldsConstant(const torch::jit::Node* node) {
  if (node->kind() == c10::prim::ListUnpack) return true;
  return std::any_of(
      node->inputs().begin(), node->inputs().end(), [](const torch::jit::Value* input) {
        if (IsWeight(input)) return false;
        if (input->type()->isSubtypeOf(*c10::TensorType::get())) return IsFixed(input);
        if (input->node()->kind() != c10::prim::ListConstruct) return false;
        const auto items = input->node()->inputs();
        return std::any_of(items.begin(), items.end(), [](const torch::jit::Value* item) {
          const auto constant = torch::jit::toIValue(item);
          if (!constant || constant->isTensor()) return IsFixed(item);
          return constant->isInt() && constant->toInt() != 1 && constant->toInt() != -1;
        });
      });
}

bool SameForm(const Observed& a, const Observed& b) {
  if (a.kind != b.kind || a.dtype != b.dtype) return false;
  if (a.elements.size() != b.elements.size()) return false;
  if (a.sizes.has_value() != b.sizes.has_value()) return false;
  if (a.sizes && a.sizes->size() != b.sizes->size()) return false;
  return std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), SameForm);
}

// True if ranks, dtypes and lengths of lists are those of the other run.
bool SameForms(const RunRecord& a, const RunRecord& b) {
  return std::all_of(a.values.begin(), a.values.end(), [&](const auto& entry) {
    const auto other = b.values.find(entry.first);
    return other == b.values.end() || SameForm(entry.second, other->second);
  });
}

// The number that the node gave, or the size of its result along the point's axis.
int64_t LargestSeen(const RunRecord& record, const DynamicPoint& point) {
  int64_t largest = 0;
  for (const auto& [at, seen] : record.values) {
    if (point.node->outputs().empty() || at.second != point.node->output(0)) continue;
    if (seen.number) largest = std::max(largest, *seen.number);
    const auto axis = static_cast<size_t>(point.axis.value_or(0));
    if (point.axis && seen.sizes && axis < seen.sizes->size()) {
      largest = std::max(largest, (*seen.sizes)[axis]);
    }
  }
  return largest;
}

bool AnyQuantized(const inputs::Inputs& inputs) {
  const auto tensors = inputs::TensorLeaves(inputs);
  return std::any_of(tensors.begin(), tensors.end(), [](const inputs::Leaf& leaf) {
    return leaf.value->tensor.quantization.has_value();
  });
}

}  // namespace

Schedule::Schedule(const ScriptProgram* program, inputs::Inputs inputs, bool allow_frozen_shapes)
    : program_(program),
      inputs_(std::move(inputs)),
      allow_frozen_shapes_(allow_frozen_shapes),
      meta_(!AnyQuantized(inputs_)),
      interpreter_(program->graph, program->module._ivalue(), &contexts_) {}

inputs::Sizes Schedule::ExampleSizes() const {
  Sizes sizes;
  for (const auto& [symbol, known] : symbols_) sizes[symbol] = known.example;
  return sizes;
}

// One run, kept if it succeeds. Number inputs are raised by `number_deltas` and bound under their
// path.
std::optional<RunFailure> Schedule::RunAt(const Sizes& sizes, const Perturbation& perturbation,
                                          const Deltas& number_deltas) {
  auto bound = torch_values::BindArguments(
      program_->schema(),
      meta_ ? inputs::WithSizesAlone(inputs_, sizes) : inputs::WithSizes(inputs_, sizes));
  if (!bound.ok()) return RunFailure{nullptr, std::string(bound.status().message()), false};
  Run run;
  run.bindings = sizes;
  for (torch_values::BoundArgument& argument : *bound) {
    ForEachNumber(&argument.value, argument.name, [&](Value* number, const std::string& path) {
      const auto delta = number_deltas.find(path);
      if (delta != number_deltas.end()) {
        number->integer += std::llround(delta->second);
        number->number += delta->second;
      }
      if (number->kind == Value::Kind::kInt && number->integer >= 0 && inputs::IsSymbolName(path)) {
        run.bindings.emplace(path, number->integer);
      }
    });
  }
  const auto values = torch_values::ToIValues(program_->schema(), *bound,
                                              meta_ ? c10::kMeta : c10::kCPU);
  if (!values.ok()) return RunFailure{nullptr, std::string(values.status().message()), false};
  c10::IValue output;
  auto failure = interpreter_.Run(*values, {.meta = meta_, .perturbation = perturbation},
                                  &run.record, &output);
  if (failure) {
    restart_ = restart_ || (meta_ && failure->needs_values);
    return failure;
  }
  runs_.push_back(std::move(run));
  return std::nullopt;
}

std::string Schedule::Explain(const RunFailure& failure) const {
  if (failure.node == nullptr) return failure.message;
  const std::string place = LocationText(LocationOf(failure.node));
  return absl::StrCat(failure.node->kind().toQualString(), place.empty() ? "" : " at ", place, ": ",
                      failure.message);
}

absl::Status Schedule::RunBase() {
  auto failure = RunAt(ExampleSizes(), {}, {});
  if (failure && meta_) {
    meta_ = false;
    failure = RunAt(ExampleSizes(), {}, {});
  }
  restart_ = false;
  if (!failure) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the program fails on the given inputs: ", Explain(*failure)));
}

absl::Status Schedule::RunAxis(const std::string& symbol,
                               diagnostics::Diagnostics* diagnostics) {
  inputs::SymbolSizes& known = symbols_[symbol];
  const int64_t n = known.example;
  std::vector<int64_t> candidates = inputs::LargerSizes(n);
  if (known.second) candidates = {*known.second};
  std::optional<RunFailure> first;
  for (const int64_t size : candidates) {
    if (size == n) continue;
    Sizes sizes = ExampleSizes();
    sizes[symbol] = size;
    const auto failure = RunAt(sizes, {}, {});
    if (restart_) return absl::OkStatus();
    if (!failure) {
      known.second = size;
      directions_[symbol] = {{symbol, size - n}};
      return absl::OkStatus();
    }
    if (!first) first = failure;
  }
  if (!known.second && RunCoupled(symbol, candidates)) return absl::OkStatus();
  if (restart_) return absl::OkStatus();
  const bool frozen = !first || !first->node || HoldsConstant(first->node);
  const bool alone = symbols_.size() == 1 && !frozen && TakesInputsAlone(first->node);
  if (!frozen && (alone || TakesWeights(first->node))) {
    diagnostics->Add({.severity = diagnostics::Severity::kWarning,
                      .id = "fixed-axis",
                      .message = absl::StrCat("axis ", symbol, " can only be ", n, ", as ",
                                              alone ? "another input has" : "weights have",
                                              " that size: at ", candidates.front(),
                                              " the program fails in ", Explain(*first)),
                      .op = first->node->kind().toQualString(),
                      .location = LocationText(LocationOf(first->node)),
                      .hint = "the axis is static in the exported model"});
    Freeze(symbol);
    return absl::OkStatus();
  }
  if (!frozen && symbols_.size() > 1) {
    diagnostics->Add({.severity = diagnostics::Severity::kWarning,
                      .id = "untested-axis",
                      .message = absl::StrCat("axis ", symbol, " depends on other sizes: the program "
                                              "could not be run at another size of it"),
                      .op = first->node->kind().toQualString(),
                      .location = LocationText(LocationOf(first->node)),
                      .hint = "axes that must be equal take one name"});
    Distrust(symbol);
    return absl::OkStatus();
  }
  const std::string message = absl::StrCat(
      "axis ", symbol, " is frozen at ", n, ": the program fails at ", candidates.front(),
      first ? absl::StrCat(" in ", Explain(*first)) : "");
  const std::string hint = absl::StrCat(
      "the program holds ", n, " as a fixed number; make it follow the input's size, name another "
      "second size with [", symbol, "=", n, "|size], or allow it with allow_frozen_shapes");
  if (!allow_frozen_shapes_) {
    return absl::FailedPreconditionError(absl::StrCat(message, "; ", hint));
  }
  diagnostics->Add({.severity = diagnostics::Severity::kWarning,
                    .id = "frozen-size",
                    .message = message,
                    .op = first && first->node ? first->node->kind().toQualString() : "",
                    .location = first && first->node ? LocationText(LocationOf(first->node)) : "",
                    .hint = "the axis is static in the exported model"});
  Freeze(symbol);
  return absl::OkStatus();
}

// Runs at sizes at which other axes than this one move, too; true if the program takes them.
bool Schedule::RunMoved(const std::string& symbol, const Sizes& sizes) {
  if (RunAt(sizes, {}, {})) return false;
  symbols_[symbol].second = sizes.at(symbol);
  Sizes& direction = directions_[symbol];
  for (const auto& [name, size] : sizes) {
    if (size != symbols_[name].example) direction[name] = size - symbols_[name].example;
  }
  return true;
}

// Axes that the program wants equal, in proportion, or one to be the sum of others.
bool Schedule::RunCoupled(const std::string& symbol, const std::vector<int64_t>& candidates) {
  for (const Sizes& moved : inputs::CoupledSizes(ExampleSizes(), symbol, candidates)) {
    Sizes sizes = ExampleSizes();
    for (const auto& [name, size] : moved) sizes[name] = size;
    if (RunMoved(symbol, sizes)) return true;
    if (restart_) return false;
  }
  return false;
}

// The sizes at which the axis has this one, and axes that must move with it have theirs.
std::optional<inputs::Sizes> Schedule::Along(const std::string& symbol, int64_t size) const {
  Sizes sizes = ExampleSizes();
  const int64_t amount = size - sizes[symbol];
  const auto found = directions_.find(symbol);
  if (found == directions_.end()) {
    sizes[symbol] = size;
    return sizes;
  }
  const int64_t step = found->second.at(symbol);
  for (const auto& [name, delta] : found->second) {
    if (amount * delta % step != 0) return std::nullopt;
    sizes[name] += amount * delta / step;
    if (sizes[name] < 1) return std::nullopt;
  }
  return sizes;
}

// Takes no size that follows from the inputs with this axis as known.
void Schedule::Distrust(const std::string& symbol) {
  const auto bound = torch_values::BindArguments(program_->schema(), inputs_);
  if (!bound.ok()) return;
  inputs::Inputs named;
  for (const torch_values::BoundArgument& argument : *bound) {
    named.arguments.push_back({.name = argument.name, .value = argument.value});
  }
  for (const inputs::Leaf& leaf : inputs::TensorLeaves(named)) {
    for (const inputs::Axis& axis : leaf.value->tensor.axes) {
      if (axis.symbol == symbol) untrusted_inputs_.insert(leaf.path);
    }
  }
}

void Schedule::Freeze(const std::string& symbol) {
  for (inputs::Tensor* tensor : inputs::MutableTensors(&inputs_)) {
    for (inputs::Axis& axis : tensor->axes) {
      if (axis.symbol == symbol) axis.symbol.clear();
    }
  }
  symbols_.erase(symbol);
  directions_.erase(symbol);
  for (auto& [other, direction] : directions_) direction.erase(symbol);
  for (Run& run : runs_) run.bindings.erase(symbol);
}

// All axes moved by different odd amounts, those that move as one together; or, where the program
// takes only multiples of a step, by different odd numbers of those steps.
inputs::Sizes Schedule::AllMoved(int64_t first, bool by_steps) const {
  Sizes sizes = ExampleSizes();
  std::set<Sizes> moved;
  int64_t amount = first;
  for (const auto& [symbol, known] : symbols_) {
    const auto found = directions_.find(symbol);
    Sizes direction = found == directions_.end() ? Sizes{{symbol, 1}} : found->second;
    int64_t step = 0;
    for (const auto& [name, delta] : direction) step = std::gcd(step, delta);
    if (by_steps) step = 1;
    if (direction.begin()->second < 0) step = -step;
    for (auto& [name, delta] : direction) delta /= step;
    if (!moved.insert(direction).second) continue;
    for (const auto& [name, delta] : direction) sizes[name] += amount * delta;
    amount += 2;
  }
  return sizes;
}

void Schedule::RunAllMoved() {
  if (symbols_.empty()) return;
  for (const Sizes& sizes : {AllMoved(3, false), AllMoved(3, true)}) {
    if (RunAt(sizes, {}, {}) || restart_) continue;
    all_moved_ = sizes;
    break;
  }
  // Far enough for sizes that only a large change moves; inputs with values stay of a fair size.
  int64_t far = kFar;
  while (!meta_ && far > 5 && LargestInput(inputs_, AllMoved(far, false)) > kMaxElements) {
    far = far / 2 | 1;
  }
  for (const Sizes& sizes : {AllMoved(far, false), AllMoved(5, true)}) {
    if (restart_ || !RunAt(sizes, {}, {})) return;
  }
}

// With this axis alone at that size; kept if ranks, dtypes and lengths of lists stay.
bool Schedule::RunAlone(const std::string& symbol, int64_t size) {
  const std::optional<Sizes> sizes = Along(symbol, size);
  if (!sizes || RunAt(*sizes, {}, {})) return false;
  if (SameForms(runs_.back().record, runs_.front().record)) return true;
  runs_.pop_back();
  return false;
}

void Schedule::RunSmaller(const std::string& symbol) {
  const int64_t n = symbols_[symbol].example;
  for (const int64_t size : {int64_t{2}, n / 2}) {
    if (size >= 2 && size < n && RunAlone(symbol, size)) return;
    if (restart_) return;
  }
  if (n > 2) RunAlone(symbol, n - 1);
  // What takes a step of many to move (strides of convolutions) may not have moved yet.
  if (!restart_ && n > kFar) RunAlone(symbol, 2 * n);
}

std::vector<Schedule::NumberInput> Schedule::NumberInputs() const {
  std::vector<NumberInput> numbers;
  auto bound = torch_values::BindArguments(program_->schema(), inputs_);
  if (!bound.ok()) return numbers;
  for (torch_values::BoundArgument& argument : *bound) {
    if (argument.is_default) continue;
    ForEachNumber(&argument.value, argument.name, [&](Value* number, const std::string& path) {
      const bool is_float = number->kind == Value::Kind::kFloat;
      numbers.push_back(
          {path, is_float ? number->number : static_cast<double>(number->integer), is_float});
    });
  }
  return numbers;
}

// True if the program takes another number.
bool Schedule::MoveAlone(const NumberInput& number) {
  const auto moves = [&](double delta) {
    return !restart_ && !RunAt(ExampleSizes(), {}, {{number.path, delta}});
  };
  const bool up = moves(1);
  bool moved = ((!up || number.value > 1) && moves(-1)) || up;
  // As far as the program lets it: what is halved, rounded or limited does not move at each step.
  const double half = number.is_float ? number.value / 2 : std::trunc(number.value / 2);
  for (const double delta : {-2.0, 2.0, 37.0, number.value, -half}) {
    if (delta != 0 && number.value + delta > 0) moved = moves(delta) || moved;
  }
  return moved;
}

// The same, with another number or an axis at another size.
bool Schedule::MoveCoupled(const NumberInput& number, const std::vector<NumberInput>& all) {
  const double n = number.value;
  const auto runs = [this](const Sizes& sizes, const Deltas& deltas) {
    return !restart_ && !RunAt(sizes, {}, deltas);
  };
  for (const auto& [symbol, known] : symbols_) {
    for (const double delta : {1.0, n}) {
      const auto added = delta == 1 ? int64_t{1} : known.example;
      const auto sizes = Along(symbol, known.example + added);
      if (delta != 0 && sizes && runs(*sizes, {{number.path, delta}})) return true;
    }
  }
  for (const NumberInput& other : all) {
    if (other.path == number.path || other.is_float != number.is_float) continue;
    const double m = other.value;
    const auto both = [&](double delta, double other_delta) {
      if (delta == 0 || n + delta < 0 || m + other_delta < 0) return false;
      return runs(ExampleSizes(), {{number.path, delta}, {other.path, other_delta}});
    };
    if (both(m - n, n - m) || both(1, 1) || both(1, -1) || both(-1, 1)) return true;
    if (std::fmod(m, 2) == 0 && both(n, -m / 2)) return true;
    if (std::fmod(n, 2) == 0 && both(-n / 2, m)) return true;
  }
  return false;
}

// Numbers among the inputs are graph inputs: what follows from them must be seen to move.
void Schedule::RunNumberInputs() {
  const std::vector<NumberInput> numbers = NumberInputs();
  for (const NumberInput& number : numbers) {
    const bool moved = MoveAlone(number) || MoveCoupled(number, numbers);
    if (restart_) return;
    if (!moved) untrusted_inputs_.insert(number.path);
  }
}

absl::Status Schedule::RunSizes(diagnostics::Diagnostics* diagnostics) {
  auto symbols = inputs::CollectSymbols(inputs_);
  if (!symbols.ok()) return symbols.status();
  while (true) {
    runs_.clear();
    restart_ = false;
    symbols_ = *symbols;
    directions_.clear();
    if (absl::Status status = RunBase(); !status.ok()) return status;
    for (const auto& [symbol, known] : *symbols) {
      if (absl::Status status = RunAxis(symbol, diagnostics); !status.ok()) return status;
      if (restart_) break;
    }
    if (!restart_) RunAllMoved();
    for (const auto& [symbol, known] : symbols_) {
      if (!restart_) RunSmaller(symbol);
    }
    if (!restart_) RunNumberInputs();
    if (!restart_) return absl::OkStatus();
    meta_ = false;
  }
}

// True if the program runs with another outcome of the node.
bool Schedule::RunPoint(const DynamicPoint& point) {
  if (point.kind == DynamicPoint::Kind::kCondition) {
    Perturbation change;
    change.flipped.insert(point.node);
    if (RunAt(ExampleSizes(), change, {})) return false;
    all_points_.flipped.insert(point.node);
    return true;
  }
  if (point.axis) moved_axes_[point.node].insert(*point.axis);
  if (point.kind == DynamicPoint::Kind::kNumber) moved_numbers_.insert(point.node);
  const auto place = [&](Perturbation* change) -> int64_t& {
    return point.axis ? change->resized[point.node][*point.axis] : change->deltas[point.node];
  };
  int64_t works = 0;
  const auto moves = [&](int64_t delta) {
    Perturbation change;
    place(&change) = delta;
    if (!RunAt(ExampleSizes(), change, {}) && works == 0) works = delta;
  };
  moves(1);
  if (works == 0 || point.kind != DynamicPoint::Kind::kLoop) moves(-1);
  // What must be a multiple of something.
  if (const int64_t seen = LargestSeen(runs_.front().record, point); works == 0 && seen > 1) {
    moves(seen);
  }
  if (works == 0) return false;
  const size_t others = all_points_.deltas.size() + all_points_.resized.size();
  place(&all_points_) = works * (2 * static_cast<int64_t>(others) + 3);
  return true;
}

bool Schedule::RunPoints(const std::vector<DynamicPoint>& points) {
  bool any = false;
  for (const DynamicPoint& point : points) {
    if (!seen_points_.insert({point.node, point.axis}).second) continue;
    any = true;
    if (!RunPoint(point) && !point.axes_alone) untrusted_.insert(point.node);
  }
  if (any) {
    // All at once: a fit that holds for each alone may not hold for all.
    RunAt(all_moved_.empty() ? ExampleSizes() : all_moved_, all_points_, {});
  }
  restart_ = false;
  return any;
}

bool Schedule::DistrustPoints(const std::vector<DynamicPoint>& points) {
  bool any = false;
  for (const DynamicPoint& point : points) {
    if (!point.axes_alone && seen_points_.insert({point.node, point.axis}).second) {
      any = untrusted_.insert(point.node).second || any;
    }
  }
  return any;
}

}  // namespace rules_onnx::script
