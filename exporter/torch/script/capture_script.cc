#include "exporter/torch/script/capture_script.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exporter/torch/script/converter.h"
#include "exporter/torch/script/frozen_sizes.h"
#include "exporter/torch/script/restructure.h"
#include "exporter/torch/script/schedule.h"
#include "exporter/torch/values/arguments.h"

namespace rules_onnx::script {
namespace {

// Each round of varied outcomes can show that more of the program depends on them.
constexpr int kMaxRounds = 8;
// How often a program may take another form, and what it may grow to.
constexpr int kMaxRestructured = 32;
constexpr int64_t kMaxNodes = 20000;

void AddSymbols(const Schedule& schedule, ir::Graph* graph) {
  for (const auto& [symbol, sizes] : schedule.symbols()) {
    graph->symbols[symbol] =
        ir::SymbolInfo{.example = sizes.example, .second = sizes.second.value_or(0)};
  }
  // Numbers among the inputs, under their names.
  for (const auto& [symbol, example] : schedule.runs().front().bindings) {
    graph->symbols.try_emplace(symbol,
                               ir::SymbolInfo{.example = example, .data_dependent = true});
  }
}

// Gives a node another form; false where there is none.
bool Restructure(const ScriptProgram& program, const FormChange& change) {
  if (CountNodes(program.graph->block()) > kMaxNodes) return false;
  auto* const changed = const_cast<torch::jit::Node*>(change.node);
  if (change.argument) {
    ChooseArgument(changed, *change.argument);
    return true;
  }
  if (changed->kind() == c10::prim::If) return SinkRest(changed);
  PeelIteration(changed);
  return true;
}

void WarnOfDropped(const ir::Graph& graph, diagnostics::Diagnostics* diagnostics) {
  for (const ir::DroppedOutput& output : graph.dropped_outputs) {
    diagnostics->Add({.severity = diagnostics::Severity::kWarning,
                      .id = "dropped-output",
                      .message = absl::StrCat("output ", output.path, " is ", output.reason,
                                              ", which no tensor carries: it is dropped")});
  }
}

// Sets *changes where the program needs another form first; there is no graph then.
absl::StatusOr<capture::Program> CaptureOnce(const ScriptProgram& program, inputs::Inputs inputs,
                                             const capture::CaptureOptions& options,
                                             const std::set<const torch::jit::Node*>& as_it_is,
                                             std::vector<FormChange>* changes,
                                             diagnostics::Diagnostics* diagnostics) {
  Schedule schedule(&program, std::move(inputs), options.allow_frozen_shapes);
  if (absl::Status status = schedule.RunSizes(diagnostics); !status.ok()) return status;
  for (int round = 0;; ++round) {
    const auto arguments = torch_values::BindArguments(program.schema(), schedule.inputs());
    if (!arguments.ok()) return arguments.status();
    auto conversion = Convert({.program = &program,
                               .arguments = &*arguments,
                               .runs = &schedule.runs(),
                               .contexts = &schedule.contexts(),
                               .untrusted = schedule.untrusted(),
                               .as_it_is = as_it_is,
                               .untrusted_inputs = schedule.untrusted_inputs(),
                               .moved_numbers = schedule.moved_numbers(),
                               .moved_axes = schedule.moved_axes()});
    if (!conversion.ok()) return conversion.status();
    *changes = conversion->changes;
    if (!changes->empty()) return capture::Program();
    if (round < kMaxRounds ? schedule.RunPoints(conversion->points)
                           : schedule.DistrustPoints(conversion->points)) {
      continue;
    }
    AddSymbols(schedule, &conversion->program.graph);
    WarnOfDropped(conversion->program.graph, diagnostics);
    for (diagnostics::Diagnostic& warning : conversion->warnings) {
      diagnostics->Add(std::move(warning));
    }
    for (diagnostics::Diagnostic& warning : FindFrozenSizes(conversion->program)) {
      diagnostics->Add(std::move(warning));
    }
    return std::move(conversion->program);
  }
}

}  // namespace

absl::StatusOr<capture::Program> CaptureScript(const ScriptProgram& program,
                                               inputs::Inputs inputs,
                                               const capture::CaptureOptions& options,
                                               diagnostics::Diagnostics* diagnostics) {
  const auto bound = torch_values::BindArguments(program.schema(), inputs);
  if (!bound.ok()) return bound.status();
  if (auto values = torch_values::ToIValues(program.schema(), *bound); !values.ok()) {
    return values.status();
  }
  std::set<const torch::jit::Node*> as_it_is;
  for (int restructured = 0;; ++restructured) {
    diagnostics::Diagnostics found;
    std::vector<FormChange> changes;
    auto captured = CaptureOnce(program, inputs, options, as_it_is, &changes, &found);
    if (changes.empty() || !captured.ok()) {
      for (const diagnostics::Diagnostic& diagnostic : found.all()) diagnostics->Add(diagnostic);
      return captured;
    }
    for (const FormChange& change : changes) {
      if (restructured < kMaxRestructured && Restructure(program, change)) {
        as_it_is.clear();  // holds nodes that may be gone now
      } else {
        as_it_is.insert(change.node);
      }
    }
  }
}

}  // namespace rules_onnx::script
