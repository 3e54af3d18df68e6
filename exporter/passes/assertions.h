// Drops the paths of a program that end in an exception.
#ifndef RULES_ONNX_EXPORTER_PASSES_ASSERTIONS_H_
#define RULES_ONNX_EXPORTER_PASSES_ASSERTIONS_H_

#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// `assert` and `raise` are a prim::If with a branch that raises. ONNX has no exceptions: the other
// branch is taken whatever the condition is, with a warning (id "assertion-dropped"). To be run
// when conditions known at build time have been resolved, so that no warning is about those. A
// program that always raises is an error ("always-raises"). True if something changed.
bool DropAssertions(Context* context);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_ASSERTIONS_H_
