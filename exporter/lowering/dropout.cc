// Dropout: the identity in eval mode, ONNX's Dropout in training (opset 12 takes a training flag).
#include "exporter/lowering/registry.h"

namespace rules_onnx::lowering {
namespace {

const char kNote[] = "in training mode: opset 12, random; verify compares type and shape";

// Elements, or with `features` whole channels, dropped with probability p and the rest scaled.
Vals Drop(Op& op, Val x, double p, bool features) {
  Builder& b = op.b;
  const DType dtype = x.dtype();
  if (!op.Require(b.opset() >= 12, "dropout in training mode needs opset 12")) return {};
  const Val ratio = b.Scalar(p, DType::kFloat32);
  const Val training = b.ScalarInt(1, DType::kBool);
  if (!features) {
    return b.OpN("Dropout", {x, ratio, training}, {}, 2, {{}, {DType::kBool, x.get()->type.shape}});
  }
  Vals sizes;
  for (int i = 0; i < x.rank(); ++i) sizes.push_back(i < 2 ? b.Size(x, i) : b.Int(1));
  const Val ones = b.ConstantOfShape(b.Vector(sizes), 1, dtype);
  return {b.Mul(x, b.Op("Dropout", {ones, ratio, training}))};
}

template <bool kFeatures>
void Dropout(Op& op) {
  const Val x = op.Tensor("input");
  const bool train = op.Has("train") && op.Bool("train");
  const double p = op.Float("p");
  if (!train || p == 0 || op.failed()) return op.Return(x);
  const Vals results = Drop(op, x, p, kFeatures);
  if (!results.empty()) op.Return(results[0]);
}

void NativeDropout(Op& op) {
  const Val x = op.Tensor("input");
  const bool train = !op.Has("train") || op.Bool("train");
  if (train) return op.Return(Drop(op, x, op.Float("p"), false));
  op.Return(Vals{x, op.b.ConstantOfShape(op.b.ShapeOf(x), 1, DType::kBool)});
}

// Alpha dropout keeps mean and variance of SELU's outputs; exported in eval mode only.
void AlphaDropout(Op& op) {
  const Val x = op.Tensor("input");
  if (op.Require(!op.Bool("train") || op.Float("p") == 0,
                 "alpha dropout in training mode is not supported")) {
    op.Return(x);
  }
}

}  // namespace

extern const Family kDropout;
const Family kDropout = {"dropout", {
    {"aten::dropout", Dropout<false>, 9, kNote},
    {"aten::feature_dropout", Dropout<true>, 9, kNote},
    {"aten::native_dropout", NativeDropout, 9, kNote},
    {"aten::alpha_dropout", AlphaDropout},
    {"aten::feature_alpha_dropout", AlphaDropout},
}};

}  // namespace rules_onnx::lowering
