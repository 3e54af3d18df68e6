// Where a weight lay while the program ran.
#ifndef RULES_ONNX_EXPORTER_IR_WEIGHT_MEMORY_H_
#define RULES_ONNX_EXPORTER_IR_WEIGHT_MEMORY_H_

#include <cstdint>
#include <vector>

namespace rules_onnx::ir {

// Where a weight's elements lay in the program's memory. Two weights of one storage can overlap.
struct WeightMemory {
  int storage = 0;               // a number
  int64_t offset = 0;            // in elements
  std::vector<int64_t> strides;  // in elements
};

}  // namespace rules_onnx::ir

#endif  // RULES_ONNX_EXPORTER_IR_WEIGHT_MEMORY_H_
