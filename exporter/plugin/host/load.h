// Plugins (plugin.h), from shared objects.
#ifndef RULES_ONNX_EXPORTER_PLUGIN_HOST_LOAD_H_
#define RULES_ONNX_EXPORTER_PLUGIN_HOST_LOAD_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exporter/lowering/lower.h"

namespace rules_onnx::plugin {

// The plugin's lowerings; it stays loaded. Errors name the file: it cannot be loaded, is no plugin,
// or was made for a later form of the interface.
absl::StatusOr<std::vector<lowering::UserLowering>> LoadPlugin(const std::string& path);

}  // namespace rules_onnx::plugin

#endif  // RULES_ONNX_EXPORTER_PLUGIN_HOST_LOAD_H_
