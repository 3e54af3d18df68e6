// Text form of an ONNX model, for people and for golden tests.
#ifndef RULES_ONNX_EXPORTER_BUILDER_PRINT_H_
#define RULES_ONNX_EXPORTER_BUILDER_PRINT_H_

#include <cstdint>
#include <map>
#include <string>

#include "exporter/builder/model.h"

namespace rules_onnx::builder {

// One line an opset, input, weight, constant, node and output, in this order. A node's line:
// `%y: float32[N, 3] = Gemm(%x, %fc.weight) {transB=1}  # /fc/Gemm  Net/Linear[fc]  net.py:7`, what
// follows the name from `places` by the id of the ir node. Inner graphs are indented below their node.
std::string PrintModel(const Model& model, const std::map<int32_t, std::string>& places = {});

}  // namespace rules_onnx::builder

#endif  // RULES_ONNX_EXPORTER_BUILDER_PRINT_H_
