// ONNX's checker and type inference over a model without its weights. Internal to exporter/onnx.
#ifndef RULES_ONNX_EXPORTER_ONNX_CHECK_H_
#define RULES_ONNX_EXPORTER_ONNX_CHECK_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "exporter/builder/model.h"
#include "exporter/onnx/proto.h"

namespace rules_onnx::onnx_format {

// Runs ONNX's checker and its full, strict type and shape inference with data propagation. Data of
// weights plays no part. An error names each node concerned and, by `sources` (builder::Node::source
// → "alexnet.py:12"), its place in the program. An error is also what inference finds constant
// where the model says that it varies. What the model leaves open (types, shapes, dims) and
// inference knows is filled in.
absl::Status CheckModel(const builder::Model& model,
                        const std::map<int32_t, std::string>& sources, Skeleton* skeleton);

// Fills in as CheckModel does; faults of the model are passed over.
void InferTypes(Skeleton* skeleton);

}  // namespace rules_onnx::onnx_format

#endif  // RULES_ONNX_EXPORTER_ONNX_CHECK_H_
