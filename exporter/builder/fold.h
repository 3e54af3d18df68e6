// Computes nodes on small constants on the spot.
#ifndef RULES_ONNX_EXPORTER_BUILDER_FOLD_H_
#define RULES_ONNX_EXPORTER_BUILDER_FOLD_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "exporter/builder/builder.h"

namespace rules_onnx::builder {

// The value of a node all of whose inputs are constants of at most 128 elements, or null where
// it is not one of the operators that fold: integer and bool arithmetic, comparisons, moves of
// elements, casts, and + - * / sqrt neg abs of floats (no others: their last bits depend on the
// machine's libm).
std::shared_ptr<const TensorLiteral> FoldNode(absl::string_view op_type, const Vals& inputs,
                                              const Attrs& attrs);

}  // namespace rules_onnx::builder

#endif  // RULES_ONNX_EXPORTER_BUILDER_FOLD_H_
