// Activation functions.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/families.h"

namespace rules_onnx::lowering {
namespace {

void Relu(Op& op) {
  const Val x = op.Tensor("self");
  if (ir::IsFloat(x.dtype()) || op.b.opset() >= 14) return op.Return(op.b.Unary("Relu", x));
  op.Return(op.b.Max(x, op.b.ScalarInt(0, x.dtype())));
}

void Relu6(Op& op) {
  const Val x = op.Tensor("self");
  op.Return(op.b.Clip(x, op.b.Scalar(0, x.dtype()), op.b.Scalar(6, x.dtype())));
}

void Hardtanh(Op& op) {
  const Val x = op.Tensor("self");
  op.Return(op.b.Clip(x, op.Scalar("min_val", x.dtype()), op.Scalar("max_val", x.dtype())));
}

void LeakyRelu(Op& op) {
  op.Return(op.b.Op("LeakyRelu", {op.Tensor("self")}, {{"alpha", op.Float("negative_slope")}}));
}

// max(x, 0) + min(scale · (exp(x · input_scale) − 1) · alpha, 0), with α and the scales as given.
void Elu(Op& op) {
  const Val x = op.Tensor("self");
  const double alpha = op.Float("alpha"), scale = op.Float("scale");
  const double input_scale = op.Float("input_scale");
  if (scale == 1 && input_scale == 1) {
    return op.Return(op.b.Op("Elu", {x}, {{"alpha", alpha}}));
  }
  Builder& b = op.b;
  const DType dtype = x.dtype();
  const Val scaled = b.Mul(x, b.Scalar(input_scale, dtype));
  const Val negative = b.Mul(b.Sub(b.Unary("Exp", scaled), b.Scalar(1, dtype)),
                             b.Scalar(alpha * scale, dtype));
  op.Return(b.Where(b.Greater(x, b.Scalar(0, dtype)), b.Mul(x, b.Scalar(scale, dtype)),
                    negative));
}

Val SigmoidOf(Builder& b, Val x) { return b.Unary("Sigmoid", x); }

void Sigmoid(Op& op) { op.Return(SigmoidOf(op.b, op.Tensor("self", op.OutDType()))); }
void Tanh(Op& op) { op.Return(op.b.Unary("Tanh", op.Tensor("self", op.OutDType()))); }

void Silu(Op& op) {
  const Val x = op.Tensor("self");
  if (op.b.opset() >= 24) return op.Return(op.b.Unary("Swish", x));
  op.Return(op.b.Mul(x, SigmoidOf(op.b, x)));
}

void Hardsigmoid(Op& op) {
  op.Return(op.b.Op("HardSigmoid", {op.Tensor("self")}, {{"alpha", 1.0 / 6}, {"beta", 0.5}}));
}

void Hardswish(Op& op) {
  const Val x = op.Tensor("self");
  if (op.b.opset() >= 14) return op.Return(op.b.Unary("HardSwish", x));
  op.Return(op.b.Mul(x, op.b.Op("HardSigmoid", {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}})));
}

// 0.5 · x · (1 + erf(x / √2)), or its tanh form.
void Gelu(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const std::string approximate = op.String("approximate");
  if (b.opset() >= 20) {
    return op.Return(b.Op("Gelu", {x}, {{"approximate", builder::Attr::Data(approximate)}}));
  }
  const DType dtype = x.dtype();
  const auto constant = [&](double value) { return b.Scalar(value, dtype); };
  const Val half = b.Mul(x, constant(0.5));
  if (approximate == "none") {
    const Val erf = b.Unary("Erf", b.Div(x, constant(std::sqrt(2.0))));
    return op.Return(b.Mul(half, b.Add(erf, constant(1))));
  }
  const Val cube = b.Mul(x, b.Mul(x, x));
  const Val inner = b.Mul(constant(std::sqrt(2 / 3.14159265358979323846)),
                          b.Add(x, b.Mul(constant(0.044715), cube)));
  op.Return(b.Mul(half, b.Add(b.Unary("Tanh", inner), constant(1))));
}

// log(1 + exp(beta · x)) / beta; x itself where beta · x > threshold.
void Softplus(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const Val beta = op.Scalar("beta", x.dtype());
  const Val scaled = b.Mul(x, beta);
  const Val soft = b.Div(b.Unary("Softplus", scaled), beta);
  op.Return(b.Where(b.Greater(scaled, op.Scalar("threshold", x.dtype())), x, soft));
}

void Mish(Op& op) {
  const Val x = op.Tensor("self");
  if (op.b.opset() >= 18) return op.Return(op.b.Unary("Mish", x));
  op.Return(op.b.Mul(x, op.b.Unary("Tanh", op.b.Unary("Softplus", x))));
}

DType SoftmaxType(Op& op, Val x) { return op.Dtype("dtype", x.dtype()); }

void Softmax(Op& op) {
  const Val x = op.Tensor("self");
  op.Return(op.b.Softmax(op.b.Cast(x, SoftmaxType(op, x)), op.Axis("dim", x)));
}

void LogSoftmax(Op& op) {
  const Val x = op.Tensor("self");
  op.Return(op.b.LogSoftmax(op.b.Cast(x, SoftmaxType(op, x)), op.Axis("dim", x)));
}

void LogSigmoid(Op& op) {
  const Val x = op.Tensor("self");
  op.Return(op.b.Unary("Neg", op.b.Unary("Softplus", op.b.Unary("Neg", x))));
}

}  // namespace

const Family kActivation = {"activation", {
    {"aten::relu", Relu},
    {"aten::relu6", Relu6},
    {"aten::hardtanh", Hardtanh},
    {"aten::leaky_relu", LeakyRelu},
    {"aten::elu", Elu},
    {"aten::sigmoid", Sigmoid},
    {"aten::tanh", Tanh},
    {"aten::silu", Silu},
    {"aten::hardsigmoid", Hardsigmoid},
    {"aten::hardswish", Hardswish},
    {"aten::gelu", Gelu},
    {"aten::softplus", Softplus},
    {"aten::mish", Mish},
    {"aten::softmax", Softmax},
    {"aten::_softmax", Softmax},
    {"aten::special_softmax", Softmax},
    {"aten::log_softmax", LogSoftmax},
    {"aten::_log_softmax", LogSoftmax},
    {"aten::special_log_softmax", LogSoftmax},
    {"aten::log_sigmoid", LogSigmoid},
}};

}  // namespace rules_onnx::lowering
