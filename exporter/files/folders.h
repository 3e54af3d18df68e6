// Making of folders.
#ifndef RULES_ONNX_EXPORTER_FILES_FOLDERS_H_
#define RULES_ONNX_EXPORTER_FILES_FOLDERS_H_

#include <string>

#include "absl/status/status.h"

namespace rules_onnx::files {

// Makes a folder and those above it that are missing. Any number of processes may do so at once.
absl::Status MakeFolders(const std::string& path);

}  // namespace rules_onnx::files

#endif  // RULES_ONNX_EXPORTER_FILES_FOLDERS_H_
