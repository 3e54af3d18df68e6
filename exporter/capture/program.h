// What a front end makes of a saved program, before passes run and files are written.
#ifndef RULES_ONNX_EXPORTER_CAPTURE_PROGRAM_H_
#define RULES_ONNX_EXPORTER_CAPTURE_PROGRAM_H_

#include <memory>
#include <string>
#include <vector>

#include "exporter/ir/graph.h"
#include "exporter/ir/serialize.h"
#include "exporter/ir/weight_memory.h"
#include "exporter/weights/tensor_source.h"

namespace rules_onnx::capture {

struct Program {
  ir::Graph graph;
  ir::DebugInfo debug;
  // Beside graph.weights, index for index: where each weight's bytes come from.
  std::vector<std::unique_ptr<weights::TensorSource>> sources;
  // Likewise: where in the program's memory each weight lay; or empty (Context::weight_memory).
  std::vector<ir::WeightMemory> weight_memory;
  // Names of axes that the file itself gives, in the form of the option dynamic_axes; or empty.
  std::string axis_names;
};

}  // namespace rules_onnx::capture

#endif  // RULES_ONNX_EXPORTER_CAPTURE_PROGRAM_H_
