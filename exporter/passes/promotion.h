// The dtype that a functional operator gives for the arguments of its in-place form.
#ifndef RULES_ONNX_EXPORTER_PASSES_PROMOTION_H_
#define RULES_ONNX_EXPORTER_PASSES_PROMOTION_H_

#include "exporter/ir/graph.h"

namespace rules_onnx::passes {

// torch.result_type of the tensor and number arguments: dimensioned tensors go before 0-d ones,
// those before numbers, within one category.
ir::DType ResultType(const ir::Node& node);

// The dtype of the first output of `node`, an operator whose in-place form exists and that was
// called on a first argument of dtype `self`: promoted for arithmetic, bool for comparisons,
// int64 for sums of integers, `self` for the rest.
ir::DType OutputDType(const ir::Node& node, ir::DType self);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_PROMOTION_H_
