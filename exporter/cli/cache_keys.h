// What the results of the two stages depend on.
#ifndef RULES_ONNX_EXPORTER_CLI_CACHE_KEYS_H_
#define RULES_ONNX_EXPORTER_CLI_CACHE_KEYS_H_

#include <string>

#include "absl/status/statusor.h"
#include "cache/digest.h"
#include "cache/key.h"
#include "cache/memo.h"
#include "exporter/cli/options.h"

namespace rules_onnx::cli {

// The programs, LibTorch where it reads the model (TorchScript), the model, the example inputs and
// the options of the capture stage. Paths play no part.
absl::StatusOr<cache::Key> CaptureKey(const Options& options, const cache::Memo& memo);

struct CapturedDigests {
  cache::Digest graph, weights, debug;
};

// `output` and `weights_name` are names without folder. Source locations count only where they
// stand in the model, weights only where they are copied.
absl::StatusOr<cache::Key> LowerKey(const Options& options, const CapturedDigests& captured,
                                    int opset, const std::string& output,
                                    const std::string& weights_name, const cache::Memo& memo);

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_CACHE_KEYS_H_
