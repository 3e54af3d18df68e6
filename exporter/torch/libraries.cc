#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "exporter/torch/command.h"

namespace rules_onnx::torch_command {

absl::Status LoadLibraries(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    // Stays loaded: what it registers is used until the process ends.
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("--torch-library ", path, ": ", dlerror()));
    }
  }
  return absl::OkStatus();
}

}  // namespace rules_onnx::torch_command
