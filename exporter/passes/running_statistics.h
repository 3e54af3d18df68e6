// Writes that aten::batch_norm and instance_norm make and their schemas do not state.
#ifndef RULES_ONNX_EXPORTER_PASSES_RUNNING_STATISTICS_H_
#define RULES_ONNX_EXPORTER_PASSES_RUNNING_STATISTICS_H_

#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// In training aten::batch_norm moves the running statistics towards the batch's. Where another
// operator reads them, or they are outputs, it becomes aten::_native_batch_norm_legit, whose schema
// says so; what aten::instance_norm does to them becomes operators of its own. Comes before
// everything that asks what a program writes to.
void StateRunningStatistics(Context* context);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_RUNNING_STATISTICS_H_
