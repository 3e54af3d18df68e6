// The Python program that runs ONNX models and looks for differences (run_onnx.py).
#ifndef RULES_ONNX_EXPORTER_VERIFY_SCRIPT_H_
#define RULES_ONNX_EXPORTER_VERIFY_SCRIPT_H_

#include <string>

#include "absl/status/status.h"

namespace rules_onnx::verify {

// Writes run_onnx.py and the modules that it imports into the folder.
absl::Status WriteScripts(const std::string& folder);

}  // namespace rules_onnx::verify

#endif  // RULES_ONNX_EXPORTER_VERIFY_SCRIPT_H_
