// Opens a saved TorchScript program.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_LOADER_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_LOADER_H_

#include <torch/csrc/jit/api/module.h>

#include <string>

#include "absl/status/statusor.h"

namespace rules_onnx::script {

// Loads what torch.jit.save, Module.save or ScriptFunction.save wrote, on the CPU. Anything else
// (no file, a folder, text, a damaged zip, a state dict, a `.pt2`) is an error that says what the
// file is and what to save instead.
absl::StatusOr<torch::jit::Module> LoadProgram(const std::string& path);

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_LOADER_H_
