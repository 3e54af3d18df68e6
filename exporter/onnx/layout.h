// Where each weight of a model goes. Internal to exporter/onnx.
#ifndef RULES_ONNX_EXPORTER_ONNX_LAYOUT_H_
#define RULES_ONNX_EXPORTER_ONNX_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporter/files/input_file.h"
#include "exporter/ir/graph.h"
#include "exporter/onnx/proto.h"
#include "exporter/onnx/stream.h"
#include "exporter/onnx/writer.h"

namespace rules_onnx::onnx_format {

// Smaller tensors stand in the .onnx file.
inline constexpr uint64_t kExternalFrom = 1024;

// A range of the weights file that is copied.
struct Range {
  uint64_t from = 0;
  uint64_t bytes = 0;
  uint64_t to = 0;    // offset in the new file
  std::string file;   // layout per_tensor: its name in the folder
};

struct Layout {
  std::vector<Range> copies;  // layouts single and per_tensor, in order of `to`
  std::vector<StreamedTensor> streamed;  // beside model.graph().initializer()
};

// Gives every weight of the skeleton its data or its external entry. `weights_file` is needed by
// all layouts but shared. `data_name` is the file (single) or folder (per_tensor) beside the model.
absl::StatusOr<Layout> PlaceWeights(const std::vector<ir::Weight>& weights,
                                    const WriteOptions& options, const std::string& data_name,
                                    const files::InputFile* weights_file, Skeleton* skeleton);

}  // namespace rules_onnx::onnx_format

#endif  // RULES_ONNX_EXPORTER_ONNX_LAYOUT_H_
