// builder::Model → ModelProto, without the bytes of weights. Internal to exporter/onnx.
#ifndef RULES_ONNX_EXPORTER_ONNX_PROTO_H_
#define RULES_ONNX_EXPORTER_ONNX_PROTO_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporter/builder/model.h"
#include "exporter/ir/graph.h"
#include "onnx/onnx_pb.h"

namespace rules_onnx::onnx_format {

// A model whose weights have name, type and shape, and no data yet.
struct Skeleton {
  onnx::ModelProto model;
  // Beside model.graph().initializer(), index for index: the weight's index in the ir graph, or -1
  // for a constant, whose data is in place.
  std::vector<int> weights;
};

struct SkeletonOptions {
  std::map<std::string, std::string> metadata;
  std::map<int32_t, std::string> doc_strings;  // by builder::Node::source
};

// The lowest IR version that allows the opset; 0 for an opset outside kMinOpset…kMaxOpset.
int IrVersion(int opset);

// Initializers that name the same place of the weights file with the same type and shape become
// one, under the first one's name, unless they are inputs or outputs of the model. Values without
// a known type get no value_info, unknown dims are left out. Errors: a weight whose size in bytes
// does not fit its type, a complex value, a string constant.
absl::StatusOr<Skeleton> BuildSkeleton(const builder::Model& model,
                                       const std::vector<ir::Weight>& weights,
                                       const SkeletonOptions& options);

}  // namespace rules_onnx::onnx_format

#endif  // RULES_ONNX_EXPORTER_ONNX_PROTO_H_
