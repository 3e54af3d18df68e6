// The exporter's side of plugin.h.
#ifndef RULES_ONNX_EXPORTER_PLUGIN_HOST_HOST_H_
#define RULES_ONNX_EXPORTER_PLUGIN_HOST_HOST_H_

#include "exporter/lowering/op.h"
#include "exporter/plugin/plugin.h"

namespace rules_onnx::plugin {

// Runs a plugin's lowering on a node.
void RunPluginLowering(const rules_onnx_lowering& row, lowering::Op& op);

}  // namespace rules_onnx::plugin

#endif  // RULES_ONNX_EXPORTER_PLUGIN_HOST_HOST_H_
