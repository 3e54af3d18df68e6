// What a `.pt2` file tells about the symbols in its sizes.
#ifndef RULES_ONNX_EXPORTER_PT2_SYMBOLS_H_
#define RULES_ONNX_EXPORTER_PT2_SYMBOLS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "exporter/ir/graph.h"
#include "exporter/pt2/format.h"

namespace rules_onnx::pt2 {

// Fills graph->symbols for every symbol in a type of the graph: bounds from `ranges`, example
// sizes from `hints`. Symbols u0, u1, … come from values (data_dependent) and have no example.
void DescribeSymbols(const std::map<std::string, RangeConstraint>& ranges,
                     const std::vector<std::pair<ir::Dim, int64_t>>& hints, ir::Graph* graph);

}  // namespace rules_onnx::pt2

#endif  // RULES_ONNX_EXPORTER_PT2_SYMBOLS_H_
