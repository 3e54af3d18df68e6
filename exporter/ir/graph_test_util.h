// A graph that has something of everything, for the tests of this folder.
#ifndef RULES_ONNX_EXPORTER_IR_GRAPH_TEST_UTIL_H_
#define RULES_ONNX_EXPORTER_IR_GRAPH_TEST_UTIL_H_

#include "exporter/ir/graph.h"
#include "exporter/ir/serialize.h"

namespace rules_onnx::ir {

struct Sample {
  Graph graph;
  DebugInfo debug;
};

Sample MakeSample();

}  // namespace rules_onnx::ir

#endif  // RULES_ONNX_EXPORTER_IR_GRAPH_TEST_UTIL_H_
