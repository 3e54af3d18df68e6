// What ONNX says of an operator at one opset: implemented over ONNX's own schemas by
// exporter/onnx, so that the builder needs no ONNX headers and no table of its own.
#ifndef RULES_ONNX_EXPORTER_BUILDER_OP_SCHEMAS_H_
#define RULES_ONNX_EXPORTER_BUILDER_OP_SCHEMAS_H_

#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "exporter/ir/dtype.h"

namespace rules_onnx::builder {

// One formal input or output.
struct FormalParameter {
  std::string type_variable;      // "T"; equal variables mean equal types. The type itself if fixed
  std::set<ir::DType> dtypes;     // element types allowed, of tensors, sequences and optionals
  bool optional = false;          // may be left out
  bool variadic = false;          // the last one may repeat
  bool homogeneous = true;        // variadic: all of one type
};

struct OpSchema {
  int since_version = 0;          // the version of the form in use at the opset
  std::vector<FormalParameter> inputs, outputs;
};

class OpSchemas {
 public:
  virtual ~OpSchemas() = default;
  // The operator's form at `opset`, or nullptr where ONNX has none then.
  virtual const OpSchema* Find(absl::string_view op_type, int opset) const = 0;
  // The first opset that has the operator; 0 if none.
  virtual int FirstOpset(absl::string_view op_type) const = 0;
};

}  // namespace rules_onnx::builder

#endif  // RULES_ONNX_EXPORTER_BUILDER_OP_SCHEMAS_H_
