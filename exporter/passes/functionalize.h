// Removes every written argument from the graph.
#ifndef RULES_ONNX_EXPORTER_PASSES_FUNCTIONALIZE_H_
#define RULES_ONNX_EXPORTER_PASSES_FUNCTIONALIZE_H_

#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// In-place operators, out= variants and writes through views become new values: each writing
// operator is replaced by its functional twin (twins.h), what a view was written through gets a
// new value by the view's inverse (views.h), and every later read of the written tensor, or of
// any other view of it, sees the new value. Views are derived anew where they are read. Changed
// lists are known item by item where the program order says so, else they become values of
// prim::ListAppend and its like (ir/graph.h); a tensor that lies in one of these alone is a view of
// it. What a branch or a loop writes outside itself becomes an output of the prim::If, a carried
// value of the prim::Loop; flags say which tensor a name stands for where the run decides that, and
// numbers which elements of it.
//
// Linear in the graph, but for views: each is derived at most once for each write to its tensor.
//
// Reported as errors, with operator, scope and place: operators whose write has no functional
// form (id "write-not-expressible"), and reads after a write where the program alone does not
// say whether both share memory ("ambiguous-alias"). As warnings: changed buffers
// ("buffer-changed"), whose final state is no output unless Context::state_outputs says so.
void Functionalize(Context* context);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_FUNCTIONALIZE_H_
