// Operators on each tensor of a list: torch._foreach_add_ and its like.
#ifndef RULES_ONNX_EXPORTER_PASSES_FOREACH_H_
#define RULES_ONNX_EXPORTER_PASSES_FOREACH_H_

#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// `aten::_foreach_mul_.List(self=[a, b], other=[c, d])` becomes `aten::mul_.Tensor(a, c)` and
// `aten::mul_.Tensor(b, d)`, in the order of the list, and without the underscore the results make
// a list. The operator on one tensor is the overload that takes an item for each list, by the
// arguments' types. Lists whose items the program does not state, forms with `out`, and those with
// no such overload stay. Comes before everything that asks what a program writes to.
void ExpandForeach(Context* context);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_FOREACH_H_
