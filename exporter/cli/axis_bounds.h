// What a program states of the sizes of its dynamic axes, for those who run the model.
#ifndef RULES_ONNX_EXPORTER_CLI_AXIS_BOUNDS_H_
#define RULES_ONNX_EXPORTER_CLI_AXIS_BOUNDS_H_

#include <map>
#include <string>

#include "exporter/ir/graph.h"

namespace rules_onnx::cli {

// Entries of metadata_props, "axis.N" → "2..100" or "2..", for the symbols of input axes that a
// `.pt2` bounds. That one is a multiple of another, the inputs' shapes say: "2*N".
std::map<std::string, std::string> AxisBounds(const ir::Graph& graph);

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_AXIS_BOUNDS_H_
