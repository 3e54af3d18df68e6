// builder::OpSchemas over ONNX's own operator schemas (domain ai.onnx).
#ifndef RULES_ONNX_EXPORTER_ONNX_OP_SCHEMAS_H_
#define RULES_ONNX_EXPORTER_ONNX_OP_SCHEMAS_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "exporter/builder/op_schemas.h"

namespace rules_onnx::onnx_format {

// Lowest and highest opset that the exporter writes.
inline constexpr int kMinOpset = 9;
inline constexpr int kMaxOpset = 28;

// Reads a schema when it is first asked for; ONNX registers its own ones (all versions, some
// milliseconds) at the first question in the process. A deprecated form counts as none. Not
// thread-safe.
class OnnxOpSchemas : public builder::OpSchemas {
 public:
  const builder::OpSchema* Find(absl::string_view op_type, int opset) const override;
  int FirstOpset(absl::string_view op_type) const override;

 private:
  // (operator, opset) → its form; null where there is none.
  mutable std::map<std::pair<std::string, int>, std::unique_ptr<builder::OpSchema>> cache_;
};

}  // namespace rules_onnx::onnx_format

#endif  // RULES_ONNX_EXPORTER_ONNX_OP_SCHEMAS_H_
