// Types of nodes' outputs as far as lowering needs them while it builds: dtype, rank, and sizes
// where they follow plainly. ONNX's own inference fills the rest when the file is written.
#ifndef RULES_ONNX_EXPORTER_BUILDER_INFER_H_
#define RULES_ONNX_EXPORTER_BUILDER_INFER_H_

#include "absl/strings/string_view.h"
#include "exporter/builder/builder.h"

namespace rules_onnx::builder {

// dtype is kUndefined where it follows from ONNX's schema.
ValueType InferOutput(absl::string_view op_type, const Vals& inputs, const Attrs& attrs,
                      size_t output);

// numpy's broadcast of two shapes; nullopt where either is unknown. A symbol against another
// symbol is unknown; a symbol against a number other than 1 is that number.
std::optional<Shape> Broadcast(const std::optional<Shape>& a, const std::optional<Shape>& b);

const Attr* FindAttr(const Attrs& attrs, absl::string_view name);
int64_t IntAttr(const Attrs& attrs, absl::string_view name, int64_t default_value);

}  // namespace rules_onnx::builder

#endif  // RULES_ONNX_EXPORTER_BUILDER_INFER_H_
