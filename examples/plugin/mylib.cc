// Lowerings of a library of one's own, `mylib` (mylib.py).
//
// `mylib::rotate` becomes an operator of a custom domain, which a runtime brings with it.
// `mylib::scaled_softsign` is made of ONNX operators, at any opset and for any size.
#include "exporter/plugin/plugin.h"

namespace {

using rules_onnx::plugin::Attr;
using rules_onnx::plugin::Op;

// rotate(Tensor x, float angle, int[] axes) -> Tensor
void Rotate(Op& op) {
  const auto outputs = op.Custom("com.example.mylib", "Rotate", {op.Tensor("x")},
                                 {Attr("angle", op.Float("angle")), Attr("axes", op.Ints("axes"))},
                                 {op.OutputType()});
  op.Return(outputs[0]);
}

// scaled_softsign(Tensor x, Tensor scale) -> Tensor: scale · x / (1 + |x|)
void ScaledSoftsign(Op& op) {
  op.Return(op.Node("Mul", {op.Tensor("scale"), op.Node("Softsign", {op.Tensor("x")})}));
}

// leaky_square(Tensor x, float slope) -> Tensor, of torch_library.cc: x² where x > 0, else slope ·
// x.
void LeakySquare(Op& op) {
  const auto x = op.Tensor("x");
  const auto dtype = op.DTypeOf(x);
  const auto positive = op.Node("Greater", {x, op.Constant(0, dtype)});
  const auto scaled = op.Node("Mul", {x, op.Constant(op.Float("slope"), dtype)});
  op.Return(op.Node("Where", {positive, op.Node("Mul", {x, x}), scaled}));
}

}  // namespace

RULES_ONNX_PLUGIN({"mylib::rotate", Rotate}, {"mylib::scaled_softsign", ScaledSoftsign},
                  {"mykernels::leaky_square", LeakySquare})
