// Removes what no output and no effect needs.
#ifndef RULES_ONNX_EXPORTER_PASSES_DCE_H_
#define RULES_ONNX_EXPORTER_PASSES_DCE_H_

#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// Drops nodes whose outputs nothing reads, results of a prim::If that nothing reads, and carried
// values of a prim::Loop that neither a later node nor an iteration reads. Nodes that write or
// raise stay. Block params of the main block (the inputs) stay. True if something went.
bool Dce(Context* context);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_DCE_H_
