// Reads `.pt2` files, without LibTorch and without Python.
#ifndef RULES_ONNX_EXPORTER_PT2_EXPORTED_PROGRAM_H_
#define RULES_ONNX_EXPORTER_PT2_EXPORTED_PROGRAM_H_

#include <string>

#include "absl/status/statusor.h"
#include "exporter/capture/program.h"
#include "exporter/diagnostics/diagnostics.h"

namespace rules_onnx::pt2 {

struct ReadOptions {
  std::string model;  // which one, where a package holds several
  bool state_outputs = false;  // changed buffers are outputs as well, "final_state." and their names
};

// The program of a file that torch.export.save wrote. Its inputs are the call's arguments,
// flattened, without those that the export fixed (None, numbers, strings); parameters, buffers
// and large constants are weights under their state-dict names, read from the file only when
// they are needed; constants up to 1 kB stand in the graph as prim::Constant.
//
// Outputs are the results, flattened; None and strings among them are in dropped_outputs. The
// final state of mutated buffers and inputs is no output: a warning names each.
//
// Errors name the file and what is wrong with it: no .pt2, damaged, of a newer schema, or a
// program with something that no graph can hold (custom objects, sparse tensors).
absl::StatusOr<capture::Program> ReadExportedProgram(const std::string& path,
                                                     const ReadOptions& options,
                                                     diagnostics::Diagnostics* diagnostics);

}  // namespace rules_onnx::pt2

#endif  // RULES_ONNX_EXPORTER_PT2_EXPORTED_PROGRAM_H_
