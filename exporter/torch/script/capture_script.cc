#include "exporter/torch/script/capture_script.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/torch/script/converter.h"
#include "exporter/torch/script/frozen_sizes.h"
#include "exporter/torch/script/schedule.h"
#include "exporter/torch/values/arguments.h"

namespace rules_onnx::script {
namespace {

// Each round of varied outcomes can show that more of the program depends on them.
constexpr int kMaxRounds = 8;

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

void WarnOfDropped(const ir::Graph& graph, diagnostics::Diagnostics* diagnostics) {
  for (const ir::DroppedOutput& output : graph.dropped_outputs) {
    diagnostics->Add({.severity = diagnostics::Severity::kWarning,
                      .id = "dropped-output",
                      .message = absl::StrCat("output ", output.path, " is ", output.reason,
                                              ", which no tensor carries: it is dropped")});
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
                               .untrusted_inputs = schedule.untrusted_inputs()});
    if (!conversion.ok()) return conversion.status();
    if (round < kMaxRounds && schedule.RunPoints(conversion->points)) continue;
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

}  // namespace rules_onnx::script
