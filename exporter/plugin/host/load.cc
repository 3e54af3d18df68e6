#include "exporter/plugin/host/load.h"

#include <dlfcn.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exporter/plugin/host/host.h"

namespace rules_onnx::plugin {

absl::StatusOr<std::vector<lowering::UserLowering>> LoadPlugin(const std::string& path) {
  // A name without a folder would be looked for among the system's libraries.
  const std::string file = absl::StrContains(path, "/") ? path : absl::StrCat("./", path);
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("plugin ", path, ": ", dlerror()));
  }
  using Entry = const rules_onnx_plugin* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "rules_onnx_plugin_1"));
  if (entry == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "plugin ", path, ": is no plugin of interface 1: it has no RULES_ONNX_PLUGIN"));
  }
  const rules_onnx_plugin* const plugin = entry();
  if (plugin->revision > RULES_ONNX_PLUGIN_REVISION) {
    return absl::InvalidArgumentError(
        absl::StrCat("plugin ", path, ": was made for revision ", plugin->revision,
                     " of the interface, this exporter has ", RULES_ONNX_PLUGIN_REVISION));
  }
  std::vector<lowering::UserLowering> lowerings;
  for (size_t i = 0; i < plugin->num_lowerings; ++i) {
    const rules_onnx_lowering* const row = &plugin->lowerings[i];
    lowerings.push_back(
        {row->op, row->since_opset, [row](lowering::Op& op) { RunPluginLowering(*row, op); }});
  }
  return lowerings;
}

}  // namespace rules_onnx::plugin
