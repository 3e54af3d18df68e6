// Finds the first value of a captured graph that an ONNX model computes otherwise.
//
// The model does not say which of its values stand for which of the program's. Lowering is
// deterministic, so the captured graph is lowered again to learn it, and values are found in the
// model by the names of the nodes that make them. The expected values come from the captured graph,
// run node by node in LibTorch; exporter/verify/first_difference.py compares.
#ifndef RULES_ONNX_EXPORTER_CLI_FIRST_DIFFERENCE_H_
#define RULES_ONNX_EXPORTER_CLI_FIRST_DIFFERENCE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporter/capture/capture.h"
#include "exporter/cli/lower_stage.h"
#include "exporter/cli/options.h"

namespace rules_onnx::cli {

// A model that gave other outputs than the program.
struct Mismatch {
  int result = 0;           // position among the results
  int opset = 0;            // of the model
  std::string case_folder;  // input_0.pb, …
};

// Reads the file that `run_onnx.py --defer` writes.
absl::StatusOr<std::vector<Mismatch>> ReadMismatches(const std::string& path);

// Puts plan.json (search_plan.h) into `folder`, for `run_onnx.py --search`. `captured` was read from
// `paths`.
absl::Status PrepareSearch(const Options& options, const Captured& captured,
                           const capture::CapturePaths& paths, const Mismatch& mismatch,
                           const std::string& folder);

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_FIRST_DIFFERENCE_H_
