// What an operator's definition says about the sizes of its results.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_SHAPE_RULES_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_SHAPE_RULES_H_

#include <vector>

#include "exporter/ir/graph.h"
#include "exporter/torch/script/observed.h"

namespace rules_onnx::script {

// Candidates for the sizes of a node's tensor results of rank `rank`, by axis. `derived`: the
// operator's own formula (convolutions, pooling, slices, unfold, split). `possible`: sizes of its
// inputs, their sums and products.
std::vector<DimHints> HintsFor(const ir::Node& node, size_t rank);

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_SHAPE_RULES_H_
