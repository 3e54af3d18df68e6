#include "exporter/capture/capture.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exporter/capture/weight_folding.h"
#include "exporter/files/atomic_file.h"
#include "exporter/ir/verify.h"
#include "exporter/passes/rewrite.h"
#include "exporter/passes/run_passes.h"
#include "exporter/weights/weights_file.h"

namespace rules_onnx::capture {
namespace {

// Inputs first, then weights, in order. Weights that are dropped later have had their turn.
absl::Status RenameInputs(const std::vector<std::string>& names, ir::Graph* graph) {
  const size_t inputs = graph->main.params.size();
  if (names.size() > inputs + graph->weights.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--input-names gives ", names.size(), " names, but the program has ", inputs,
                     " inputs and ", graph->weights.size(), " weights"));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (i < inputs) {
      graph->main.params[i]->name = names[i];
    } else {
      graph->weights[i - inputs].name = names[i];
      graph->weights[i - inputs].value->name = names[i];
    }
  }
  return absl::OkStatus();
}

void DropUnusedWeights(Program* program) {
  const auto uses = passes::CountUses(program->graph);
  std::vector<ir::Weight> weights;
  std::vector<std::unique_ptr<weights::TensorSource>> sources;
  for (size_t i = 0; i < program->graph.weights.size(); ++i) {
    if (!uses.contains(program->graph.weights[i].value)) continue;
    weights.push_back(std::move(program->graph.weights[i]));
    sources.push_back(std::move(program->sources[i]));
  }
  program->graph.weights = std::move(weights);
  program->sources = std::move(sources);
}

absl::Status WriteAll(Program* program, const CapturePaths& paths) {
  std::vector<const weights::TensorSource*> sources;
  for (const auto& source : program->sources) sources.push_back(source.get());
  const auto places = weights::WriteWeights(sources, paths.weights);
  if (!places.ok()) return places.status();
  for (size_t i = 0; i < places->size(); ++i) {
    program->graph.weights[i].offset = (*places)[i].offset;
    program->graph.weights[i].bytes = (*places)[i].bytes;
  }
  const std::string graph = ir::SerializeGraph(&program->graph, &program->debug);
  const std::string debug = ir::SerializeDebug(program->debug);
  if (absl::Status status = files::WriteFile(paths.debug, debug);
      !status.ok()) {
    return status;
  }
  return files::WriteFile(paths.graph, graph);
}

}  // namespace

absl::Status FinishCapture(Program program, const CaptureOptions& options,
                           const CapturePaths& paths, diagnostics::Diagnostics* diagnostics) {
  if (absl::Status status = RenameInputs(options.input_names, &program.graph); !status.ok()) {
    return status;
  }
  absl::Status status = passes::RunPasses(
      &program.graph, &program.debug, diagnostics,
      {.state_outputs = options.state_outputs, .weight_memory = std::move(program.weight_memory)});
  if (!status.ok() || diagnostics->has_errors()) return status;
  if (options.do_constant_folding && options.training == Training::kEval) {
    if (status = FoldBatchNorm(&program); !status.ok()) return status;
  }
  if (options.do_constant_folding) FoldMovedWeights(&program);
  DropUnusedWeights(&program);
  status = ir::VerifyGraph(program.graph, {.functional = true});
  if (!status.ok()) return status;
  return WriteAll(&program, paths);
}

}  // namespace rules_onnx::capture
