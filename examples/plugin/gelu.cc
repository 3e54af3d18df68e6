// Replaces a standard lowering: GELU by its sigmoid approximation x · sigmoid(1.702 · x), which
// some accelerators compute in one step.
#include "exporter/plugin/plugin.h"

namespace {

void Gelu(rules_onnx::plugin::Op& op) {
  const auto x = op.Tensor("self");
  const auto factor = op.Constant(1.702, op.DTypeOf(x));
  const auto gate = op.Node("Sigmoid", {op.Node("Mul", {x, factor})});
  op.Return(op.Node("Mul", {x, gate}));
}

}  // namespace

RULES_ONNX_PLUGIN({"aten::gelu", Gelu})
