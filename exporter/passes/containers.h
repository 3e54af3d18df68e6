// Takes lists, tuples and dicts apart where their items are known.
#ifndef RULES_ONNX_EXPORTER_PASSES_CONTAINERS_H_
#define RULES_ONNX_EXPORTER_PASSES_CONTAINERS_H_

#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// Replaces reads of containers (items, unpacking, length, concatenation, keys) by the items, and
// list arguments by Arg::List. Known are: prim::…Construct and constant lists, what prim::ListSet,
// prim::ListAppend and their like make of those, aten::size of a value of known rank, and the
// items of split, chunk and unbind at a constant index. Constructs that a carried value or a
// block's result holds stay.
//
// Also right before functionalize: containers that something writes to are left alone. True if
// something was replaced.
bool ResolveContainers(Context* context);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_CONTAINERS_H_
