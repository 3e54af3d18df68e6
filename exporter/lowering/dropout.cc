// Dropout: the identity in evaluation, random in training.
#include "exporter/lowering/dropout.h"

#include <cmath>

#include "exporter/lowering/random.h"
#include "exporter/lowering/registry.h"

namespace rules_onnx::lowering {
namespace {

// The shape of the noise: x's, or with `features` one number for each channel.
Val NoiseShape(Builder& b, Val x, bool features) {
  if (!features) return b.ShapeOf(x);
  Vals sizes;
  for (int i = 0; i < x.rank(); ++i) sizes.push_back(i < 2 ? b.Size(x, i) : b.Int(1));
  return b.Vector(sizes);
}

// ONNX's, which takes a training flag from opset 12 on: the result, and true for what stays.
Vals NativeDrop(Builder& b, Val x, double p) {
  if (!x) return Vals(2);
  return b.OpN("Dropout", {x, b.Scalar(p, DType::kFloat32), b.ScalarInt(1, DType::kBool)}, {}, 2,
               {{}, {DType::kBool, x.get()->type.shape}});
}

// True for what stays, with probability 1 − p.
Val Kept(Builder& b, Val x, double p, bool features) {
  const Val shape = NoiseShape(b, x, features);
  if (b.opset() >= 12) return NativeDrop(b, b.ConstantOfShape(shape, 1, DType::kFloat32), p)[1];
  const Val drawn = Uniform(b, shape, DType::kFloat32);
  return b.GreaterOrEqual(drawn, b.Scalar(p, DType::kFloat32));
}

Val Scaled(Builder& b, Val x, Val kept, double p) {
  return b.Mul(b.Mul(x, b.Scalar(1 / (1 - p), x.dtype())), b.Cast(kept, x.dtype()));
}

// Elements, or with `features` whole channels, dropped with probability p < 1 and the rest scaled;
// and what stays.
Vals Drop(Builder& b, Val x, double p, bool features) {
  if (b.opset() >= 12 && !features) return NativeDrop(b, x, p);
  const Val kept = Kept(b, x, p, features);
  return {Scaled(b, x, kept, p), kept};
}

// What dropping everything leaves: zeros, but NaN of what is infinite or NaN.
Val Nothing(Builder& b, Val x) { return b.Mul(x, b.Scalar(0, x.dtype())); }

}  // namespace

// By the mask: ONNX Runtime takes a Dropout behind a Softmax away, in training too.
Val Dropped(Builder& b, Val x, double p) {
  if (p == 0) return x;
  return p == 1 ? Nothing(b, x) : Scaled(b, x, Kept(b, x, p, /*features=*/false), p);
}

namespace {

template <bool kFeatures>
void Dropout(Op& op) {
  const Val x = op.Tensor("input");
  const bool train = op.Has("train") && op.Bool("train");
  const double p = op.Float("p");
  if (!x || op.failed()) return;
  if (!train || p == 0) return op.Return(x);
  op.Return(p == 1 ? Nothing(op.b, x) : Drop(op.b, x, p, kFeatures)[0]);
}

void NativeDropout(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("input");
  if (!x) return;
  const bool train = !op.Has("train") || op.Bool("train");
  const double p = op.Float("p");
  const auto all = [&](bool kept) { return b.ConstantOfShape(b.ShapeOf(x), kept, DType::kBool); };
  if (!train) return op.Return(Vals{x, all(true)});
  if (p == 1) return op.Return(Vals{Nothing(b, x), all(false)});
  op.Return(Drop(b, x, p, false));
}

void NativeDropoutBackward(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Val grad = op.Tensor("grad_output", dtype), kept = op.Tensor("mask", dtype);
  op.Return(b.Mul(b.Mul(grad, kept), op.Scalar("scale", dtype)));
}

// Keeps mean and variance of SELU's outputs: what is dropped takes SELU's lowest value, and the
// result is scaled and shifted.
template <bool kFeatures>
void AlphaDropout(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("input");
  const double p = op.Float("p");
  if (!x || op.failed()) return;
  if (!op.Bool("train") || p == 0) return op.Return(x);
  if (p == 1) return op.Return(Nothing(b, x));
  constexpr double kAlpha = 1.7580993408473766;
  const double scale = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  const Val kept = b.Cast(Kept(b, x, p, kFeatures), x.dtype());
  const Val dropped = b.Sub(kept, b.Scalar(1 - p, x.dtype()));
  op.Return(b.Add(b.Mul(x, b.Mul(kept, b.Scalar(scale, x.dtype()))),
                  b.Mul(dropped, b.Scalar(kAlpha * scale, x.dtype()))));
}

}  // namespace

extern const Family kDropout;
const Family kDropout = {"dropout", {
    {"aten::dropout", Dropout<false>, 9, kRandomInTraining},
    {"aten::feature_dropout", Dropout<true>, 9, kRandomInTraining},
    {"aten::native_dropout", NativeDropout, 9, kRandomInTraining},
    {"aten::native_dropout_backward", NativeDropoutBackward},
    {"aten::alpha_dropout", AlphaDropout<false>, 9, kRandomInTraining},
    {"aten::feature_alpha_dropout", AlphaDropout<true>, 9, kRandomInTraining},
}};

}  // namespace rules_onnx::lowering
