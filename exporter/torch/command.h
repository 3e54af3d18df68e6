// The commands of onnx-capture-torch. Each returns the exit status; messages go to stderr.
#ifndef RULES_ONNX_EXPORTER_TORCH_COMMAND_H_
#define RULES_ONNX_EXPORTER_TORCH_COMMAND_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exporter/capture/capture.h"
#include "exporter/inputs/input.h"
#include "exporter/torch/script/program.h"

namespace rules_onnx::torch_command {

struct CaptureFlags {
  std::string model;
  std::vector<std::string> inputs;
  std::string dynamic_axes;               // JSON; empty: none
  std::vector<std::string> torch_libraries;
  capture::CaptureOptions options;
  capture::CapturePaths paths;
  bool print_raw = false;                 // print the graph before passes and write nothing
};
absl::Status RunCapture(const CaptureFlags& flags);

// Loads shared objects that register operators with PyTorch, for the rest of the process.
absl::Status LoadLibraries(const std::vector<std::string>& paths);

struct RunFlags {
  std::string model;                      // a .pt program; or
  std::string graph, weights;             // a captured graph
  std::vector<std::string> inputs;
  std::string dynamic_axes;
  std::map<std::string, int64_t> sizes;   // symbol → size other than the example's
  std::vector<std::string> torch_libraries;
  std::string output_dir;                 // gets input_0.pb …, output_0.pb …
  // Of a captured graph: gets the values of the block that `values_of` names: 3_12_0.pb is the value
  // of id 12 in the block's iteration 3; 3_12_0.pb, 3_12_1.pb, … are the tensors of a list, pairs of
  // reals those of complex tensors.
  std::string values_dir;
  // "5:2/14:3" is the block of node 14 from its iteration 3 on, as it is run in iteration 2 of node
  // 5, which the main block has; "" the main block. After some 256 MB no further iteration is written,
  // and the run ends without outputs.
  std::string values_of;
  capture::Training training = capture::Training::kEval;
};
absl::Status RunProgram(const RunFlags& flags);

// Reads the example inputs, names them after the program's parameters (or `input_names`), and
// names their dynamic axes. An error: one is given by the name of a parameter at another position.
absl::StatusOr<inputs::Inputs> ReadProgramInputs(const std::vector<std::string>& items,
                                                 const std::string& dynamic_axes,
                                                 const std::vector<std::string>& input_names,
                                                 const std::vector<std::string>& parameters);

}  // namespace rules_onnx::torch_command

#endif  // RULES_ONNX_EXPORTER_TORCH_COMMAND_H_
