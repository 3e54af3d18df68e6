#include "exporter/passes/run_passes.h"

#include <algorithm>
#include <utility>

#include "exporter/ir/verify.h"
#include "exporter/passes/alias_classes.h"
#include "exporter/passes/assertions.h"
#include "exporter/passes/block_values.h"
#include "exporter/passes/containers.h"
#include "exporter/passes/context.h"
#include "exporter/passes/cse.h"
#include "exporter/passes/dce.h"
#include "exporter/passes/dissolve_scans.h"
#include "exporter/passes/fold.h"
#include "exporter/passes/foreach.h"
#include "exporter/passes/functionalize.h"
#include "exporter/passes/identities.h"
#include "exporter/passes/overlapping_weights.h"
#include "exporter/passes/running_statistics.h"
#include "exporter/passes/scalar_tensors.h"
#include "exporter/passes/squeezes.h"
#include "exporter/passes/unroll.h"

namespace rules_onnx::passes {
namespace {

using Pass = bool (*)(Context* context);

// Each round can uncover constants for the next (a loop unrolled, a list taken apart); a program
// that needs more rounds than this is merely left larger.
constexpr int kMaxRounds = 16;

// True if anything changed.
template <size_t N>
bool Repeat(Context* context, const Pass (&passes)[N]) {
  bool ever = false;
  for (int round = 0; round < kMaxRounds; ++round) {
    bool changed = false;
    for (const Pass pass : passes) changed |= pass(context);
    if (!changed) break;
    ever = true;
  }
  return ever;
}

// Sound while operators still write: nothing here moves, merges or drops a tensor.
constexpr Pass kBeforeFunctionalize[] = {Fold, ResolveContainers, Unroll};
constexpr Pass kAfterFunctionalize[] = {
    Fold, Identities, ScalarTensors, ResolveContainers, Unroll, SimplifyBlockValues, DissolveScans,
    Cse,  Dce};

// Some operator changes a tensor's type (`x.t_()`, `out=`), or a constant: what a value's type or
// the constant states holds only up to there.
bool ChangesFacts(const Context& context) {
  bool changes = false;
  ir::ForEachNode(context.graph->main, [&](const ir::Node& node) {
    const ir::Schema* schema = context.schemas.Find(node.op);
    if (schema == nullptr || !schema->writes() || ChangesContainer(node)) return;
    changes |= std::any_of(schema->args.begin() + 1, schema->args.end(),
                           [](const ir::SchemaArg& arg) { return arg.is_write; });
    const bool same_type = !node.outputs.empty() && !node.args.empty() &&
                           node.args[0].value.is_value() &&
                           node.args[0].value.value()->type.ToString() ==
                               node.output()->type.ToString();
    changes |= !node.outputs.empty() && !same_type;
    changes |= !node.args.empty() && node.args[0].value.is_literal();
  });
  return changes;
}

}  // namespace

absl::Status RunPasses(ir::Graph* graph, ir::DebugInfo* debug,
                       diagnostics::Diagnostics* diagnostics, PassOptions options) {
  if (absl::Status status = ir::VerifyGraph(*graph); !status.ok()) return status;
  const auto show = [&](absl::string_view stage) {
    if (options.observer) options.observer(stage, *graph);
  };
  Context context(graph, debug, diagnostics);
  context.state_outputs = options.state_outputs;
  context.weight_memory = std::move(options.weight_memory);
  show("captured");
  ExpandForeach(&context);
  StateRunningStatistics(&context);
  ViewOverlappingWeights(&context);
  if (!ChangesFacts(context)) {
    Repeat(&context, kBeforeFunctionalize);
    if (DropAssertions(&context)) Repeat(&context, kBeforeFunctionalize);
    show("simplified");
  }
  Functionalize(&context);
  if (diagnostics->has_errors()) return absl::OkStatus();
  show("functional");
  Repeat(&context, kAfterFunctionalize);
  if (DropAssertions(&context)) Repeat(&context, kAfterFunctionalize);
  WarnOfSqueezes(&context);
  show("final");
  if (diagnostics->has_errors()) return absl::OkStatus();
  return ir::VerifyGraph(*graph, {.functional = true});
}

}  // namespace rules_onnx::passes
