#include "exporter/passes/run_passes.h"

#include "exporter/ir/verify.h"
#include "exporter/passes/context.h"
#include "exporter/passes/dce.h"
#include "exporter/passes/fold.h"
#include "exporter/passes/functionalize.h"
#include "exporter/passes/identities.h"

namespace rules_onnx::passes {
namespace {

// Each round can uncover constants for the next (a loop unrolled, a list taken apart); a program
// that needs more rounds than this is merely left larger.
constexpr int kMaxRounds = 16;

void Simplify(Context* context) {
  for (int round = 0; round < kMaxRounds; ++round) {
    bool changed = Fold(context);
    changed |= Identities(context);
    changed |= Dce(context);
    if (!changed) return;
  }
}

}  // namespace

absl::Status RunPasses(ir::Graph* graph, ir::DebugInfo* debug,
                       diagnostics::Diagnostics* diagnostics, const StageObserver& observer) {
  if (absl::Status status = ir::VerifyGraph(*graph); !status.ok()) return status;
  const auto show = [&](absl::string_view stage) {
    if (observer) observer(stage, *graph);
  };
  Context context(graph, debug, diagnostics);
  show("captured");
  Functionalize(&context);
  if (diagnostics->has_errors()) return absl::OkStatus();
  show("functional");
  Simplify(&context);
  show("final");
  if (diagnostics->has_errors()) return absl::OkStatus();
  return ir::VerifyGraph(*graph, {.functional = true});
}

}  // namespace rules_onnx::passes
