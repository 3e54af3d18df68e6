// Removes operators that give their argument back.
#ifndef RULES_ONNX_EXPORTER_PASSES_IDENTITIES_H_
#define RULES_ONNX_EXPORTER_PASSES_IDENTITIES_H_

#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// On a functional graph: aliases and copies (alias, detach, clone, contiguous, lift_fresh …),
// conversions that change nothing, dropout outside training, views to the shape that the value
// has already; and checks that give no value (`_assert*`,
// `sym_constrain_range*`, warnings, prints), which ONNX has no operator for. view becomes reshape,
// which means the same for values. True if something changed.
bool Identities(Context* context);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_IDENTITIES_H_
