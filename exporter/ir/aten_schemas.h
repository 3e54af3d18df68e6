// The built-in schema texts, sorted by operator name. Internal to FindSchema.
#ifndef RULES_ONNX_EXPORTER_IR_ATEN_SCHEMAS_H_
#define RULES_ONNX_EXPORTER_IR_ATEN_SCHEMAS_H_

#include <cstddef>

namespace rules_onnx::ir {

extern const char* const kBuiltinSchemas[];
extern const size_t kNumBuiltinSchemas;

}  // namespace rules_onnx::ir

#endif  // RULES_ONNX_EXPORTER_IR_ATEN_SCHEMAS_H_
