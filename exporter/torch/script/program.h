// A loaded program in the form that the other parts work on.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_PROGRAM_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_PROGRAM_H_

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exporter/capture/capture.h"

namespace rules_onnx::script {

struct ScriptProgram {
  torch::jit::Module module;
  // forward, inlined; the first input is self. Numbers, strings and None that the program never
  // assigns are constants; parameters and buffers stay attributes.
  std::shared_ptr<torch::jit::Graph> graph;
  std::string class_name;
  // Saved in training mode, which forward asks for, and put into evaluation mode.
  bool left_training = false;

  const c10::FunctionSchema& schema() const;
  std::vector<std::string> parameter_names() const;  // without self
};

// Puts the module into the mode that `training` asks for and inlines forward. Errors: no forward
// method, a call that cannot be inlined.
absl::StatusOr<ScriptProgram> PrepareProgram(torch::jit::Module module,
                                             capture::Training training);

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_PROGRAM_H_
