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
  // Of a captured graph: gets 12_0.pb for the value of id 12 that a node of the main block gives,
  // 12_0.pb, 12_1.pb, … for the tensors of a list; complex tensors as pairs of reals.
  std::string values_dir;
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
