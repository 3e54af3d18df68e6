// Activation functions.
#include "exporter/lowering/activation.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/arithmetic.h"
#include "exporter/lowering/random.h"
#include "exporter/lowering/registry.h"

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

// x where it is positive, else slope · x.
Val Leaky(Builder& b, Val x, double slope) {
  if (x.dtype() != DType::kFloat64) return b.Op("LeakyRelu", {x}, {{"alpha", slope}});
  const Val below = b.Mul(x, b.Scalar(slope, x.dtype()));
  return b.Where(b.Greater(x, b.Scalar(0, x.dtype())), x, below);
}

void LeakyRelu(Op& op) {
  op.Return(Leaky(op.b, op.Tensor("self"), op.Float("negative_slope")));
}

// scale · x where x is positive, else scale · alpha · (exp(x · input_scale) − 1).
Val EluOf(Builder& b, Val x, double alpha, double scale, double input_scale) {
  const DType dtype = x.dtype();
  if (scale == 1 && input_scale == 1 && dtype != DType::kFloat64) {
    return b.Op("Elu", {x}, {{"alpha", alpha}});
  }
  const Val scaled = b.Mul(x, b.Scalar(input_scale, dtype));
  const Val negative = b.Mul(b.Sub(b.Unary("Exp", scaled), b.Scalar(1, dtype)),
                             b.Scalar(alpha * scale, dtype));
  return b.Where(b.Greater(x, b.Scalar(0, dtype)), b.Mul(x, b.Scalar(scale, dtype)), negative);
}

void Elu(Op& op) {
  op.Return(EluOf(op.b, op.Tensor("self"), op.Float("alpha"), op.Float("scale"),
                  op.Float("input_scale")));
}

Val SigmoidOf(Builder& b, Val x) { return b.Unary("Sigmoid", x); }

void Sigmoid(Op& op) { op.Return(SigmoidOf(op.b, op.Tensor("self", op.OutDType()))); }
void Tanh(Op& op) { op.Return(op.b.Unary("Tanh", op.Tensor("self", op.OutDType()))); }

void Silu(Op& op) {
  const Val x = op.Tensor("self");
  const bool native = op.b.opset() >= 24 && x.dtype() != DType::kFloat64;
  if (native) return op.Return(op.b.Unary("Swish", x));
  op.Return(op.b.Mul(x, SigmoidOf(op.b, x)));
}

// min(max(x + 3, 0), 6) / 6. The factor of ONNX's operators is a sixth of float32.
Val HardsigmoidOf(Builder& b, Val x) {
  if (HoldsExactly(x.dtype(), 1.0 / 6)) {
    return b.Op("HardSigmoid", {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
  }
  const auto constant = [&](double value) { return b.Scalar(value, x.dtype()); };
  const Val raised = b.Add(x, constant(3));
  return b.Div(b.Min(b.Max(raised, constant(0)), constant(6)), constant(6));
}

void Hardsigmoid(Op& op) { op.Return(HardsigmoidOf(op.b, op.Tensor("self"))); }

void Hardswish(Op& op) {
  const Val x = op.Tensor("self");
  const bool native = op.b.opset() >= 14 && HoldsExactly(x.dtype(), 1.0 / 6);
  op.Return(native ? op.b.Unary("HardSwish", x) : op.b.Mul(x, HardsigmoidOf(op.b, x)));
}

void GeluOp(Op& op) {
  op.Return(Gelu(op.b, op.Tensor("self"), op.String("approximate")));
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

// ---------------------------------------------------------------- by sign

// scale · (max(x, 0) + alpha · min(exp(x) − 1, 0)) with the two constants of the SELU paper, in the
// digits that PyTorch has.
void Selu(Op& op) {
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  constexpr double kScale = 1.0507009873554804934193349852946;
  const Val x = op.Tensor("self");
  if (!HoldsExactly(x.dtype(), kAlpha)) return op.Return(EluOf(op.b, x, kAlpha, kScale, 1));
  op.Return(op.b.Op("Selu", {x}, {{"alpha", kAlpha}, {"gamma", kScale}}));
}

// max(x, 0) + min(alpha · (exp(x / alpha) − 1), 0)
void Celu(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const double alpha = op.Float("alpha");
  if (b.opset() >= 12 && x.dtype() == DType::kFloat32) {
    return op.Return(b.Op("Celu", {x}, {{"alpha", alpha}}));
  }
  const Val factor = b.Scalar(alpha, x.dtype());
  const Val curve = b.Mul(EluOf(b, b.Div(x, factor), 1, 1, 1), factor);
  op.Return(b.Where(b.Greater(x, b.Scalar(0, x.dtype())), x, curve));
}

// A slope for each channel (axis 1), or one for all.
void Prelu(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  Val weight = op.Tensor("weight");
  if (!weight || !x) return;
  if (weight.rank() == 1 && x.rank() > 2) {
    std::vector<int64_t> axes;
    for (int i = 1; i + 1 < x.rank(); ++i) axes.push_back(i);
    weight = b.Unsqueeze(weight, axes);
  } else if (weight.rank() == 1 && x.rank() == 0) {
    weight = b.Reshape(weight, std::vector<int64_t>{});
  }
  op.Return(b.Op("PRelu", {x, weight}));
}

// The weight broadcasts by PyTorch's rules already.
void PreluKernel(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  op.Return(b.Where(b.Greater(x, b.Scalar(0, x.dtype())), x, b.Mul(x, op.Tensor("weight"))));
}

// The slope of each element below 0 is drawn from its range; 1 for the others.
Val RandomSlopes(Builder& b, Val x, double lower, double upper) {
  if (!x) return {};
  const Val drawn = Uniform(b, b.ShapeOf(x), x.dtype(), lower, upper);
  const Val below = b.LessOrEqual(x, b.Scalar(0, x.dtype()));
  return b.Where(below, drawn, b.Scalar(1, x.dtype()));
}

// In evaluation the slope is the middle of its range.
void Rrelu(Op& op) {
  const Val x = op.Tensor("self");
  const double lower = op.Float("lower"), upper = op.Float("upper");
  const bool training = op.node.Find("training") != nullptr && op.Bool("training");
  Val noise = training ? RandomSlopes(op.b, x, lower, upper) : Val();
  const Val result = training ? op.b.Mul(x, noise) : Leaky(op.b, x, (lower + upper) / 2);
  if (op.num_outputs() == 1) return op.Return(result);
  if (!training) noise = op.Tensor("noise");
  op.Return(Vals{result, noise});
}

// x where x > threshold, else value; NaN stays.
void Threshold(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const Val below = b.LessOrEqual(x, op.Scalar("threshold", x.dtype()));
  op.Return(b.Where(below, op.Scalar("value", x.dtype()), x));
}

// ---------------------------------------------------------------- shrinking

// 0 within [−lambd, lambd], x outside; NaN stays.
void Hardshrink(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const Val within = b.LessOrEqual(b.Unary("Abs", x), op.Scalar("lambd", x.dtype()));
  op.Return(b.Where(within, b.Scalar(0, x.dtype()), x));
}

// x less what the clamp to [−lambd, lambd] keeps.
void Softshrink(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const Val limit = op.Scalar("lambd", x.dtype());
  const Val zero = b.Scalar(0, x.dtype());
  const Val above = b.Sub(x, limit), below = b.Add(x, limit);
  const Val negative = b.Where(b.Less(x, b.Unary("Neg", limit)), below, b.Mul(x, zero));
  op.Return(b.Where(b.Greater(x, limit), above, negative));
}

// ---------------------------------------------------------------- gates

void Glu(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const int axis = op.Axis("dim", x);
  if (!x) return;
  const Dim size = x.dim(axis);
  if (size.is_number()) {
    const int64_t half = size.value() / 2;
    const Vals halves = b.Split(x, axis, {half, half});
    return op.Return(b.Mul(halves[0], SigmoidOf(b, halves[1])));
  }
  const Val half = b.Div(b.Size(x, axis), b.Int(2));
  const Val first = b.Slice(x, axis, b.Int(0), half);
  const Val second = b.Slice(x, axis, half, b.Size(x, axis));
  op.Return(b.Mul(first, SigmoidOf(b, second)));
}

// Rows of −∞ only give 0 instead of NaN.
void SafeSoftmax(Op& op) {
  Builder& b = op.b;
  const Val x = op.b.Cast(op.Tensor("self"), SoftmaxType(op, op.Tensor("self")));
  const int axis = op.Axis("dim", x);
  const Val lowest = b.Scalar(-std::numeric_limits<double>::infinity(), x.dtype());
  const Val largest = x.rank() == 0 ? x : b.Reduce("ReduceMax", x, {axis}, /*keepdims=*/true);
  op.Return(b.Where(b.Equal(largest, lowest), b.Scalar(0, x.dtype()), b.Softmax(x, axis)));
}

// ---------------------------------------------------------------- gradients that programs hold

// (grad − Σ grad · output) · output
void SoftmaxBackward(Op& op) {
  Builder& b = op.b;
  const Val grad = op.Tensor("grad_output"), y = op.Tensor("output");
  const int axis = op.Axis("dim", y);
  const Val product = b.Mul(grad, y);
  const Val sum = y.rank() == 0 ? product : b.Reduce("ReduceSum", product, {axis}, true);
  op.Return(b.Cast(b.Sub(product, b.Mul(y, sum)), op.OutDType()));
}

// grad − exp(output) · Σ grad
void LogSoftmaxBackward(Op& op) {
  Builder& b = op.b;
  const Val grad = op.Tensor("grad_output"), y = op.Tensor("output");
  const int axis = op.Axis("dim", y);
  const Val sum = y.rank() == 0 ? grad : b.Reduce("ReduceSum", grad, {axis}, true);
  op.Return(b.Cast(b.Sub(grad, b.Mul(b.Unary("Exp", y), sum)), op.OutDType()));
}

void HardtanhBackward(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self"), grad = op.Tensor("grad_output");
  const Val outside = b.Or(b.LessOrEqual(x, op.Scalar("min_val", x.dtype())),
                           b.GreaterOrEqual(x, op.Scalar("max_val", x.dtype())));
  op.Return(b.Where(outside, b.Scalar(0, grad.dtype()), grad));
}

// The second result is scratch space of the CPU kernel, exp(−|x|).
void LogSigmoidForward(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const Val result = b.Unary("Neg", b.Unary("Softplus", b.Unary("Neg", x)));
  op.Return(Vals{result, b.Unary("Exp", b.Unary("Neg", b.Unary("Abs", x)))});
}

}  // namespace

// 0.5 · x · (1 + erf(x / √2)), or its tanh form.
Val Gelu(Builder& b, Val x, const std::string& approximate) {
  if (!x || b.failed()) return {};
  // ONNX's function has its constants in float32.
  if (b.opset() >= 20 && x.dtype() != DType::kFloat64) {
    return b.Op("Gelu", {x}, {{"approximate", builder::Attr::Data(approximate)}});
  }
  const DType dtype = x.dtype();
  const auto constant = [&](double value) { return b.Scalar(value, dtype); };
  const Val half = b.Mul(x, constant(0.5));
  if (approximate == "none") {
    const Val erf = b.Unary("Erf", b.Div(x, constant(std::sqrt(2.0))));
    return b.Mul(half, b.Add(erf, constant(1)));
  }
  const Val cube = b.Mul(x, b.Mul(x, x));
  const Val inner = b.Mul(constant(std::sqrt(2 / M_PI)),
                          b.Add(x, b.Mul(constant(0.044715), cube)));
  return b.Mul(half, b.Add(b.Unary("Tanh", inner), constant(1)));
}

extern const Family kActivation;
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
    {"aten::gelu", GeluOp},
    {"aten::softplus", Softplus},
    {"aten::mish", Mish},
    {"aten::softmax", Softmax},
    {"aten::_softmax", Softmax},
    {"aten::special_softmax", Softmax},
    {"aten::log_softmax", LogSoftmax},
    {"aten::_log_softmax", LogSoftmax},
    {"aten::special_log_softmax", LogSoftmax},
    {"aten::log_sigmoid", LogSigmoid},
    {"aten::log_sigmoid_forward", LogSigmoidForward},
    {"aten::selu", Selu},
    {"aten::celu", Celu},
    {"aten::prelu", Prelu},
    {"aten::_prelu_kernel", PreluKernel},
    {"aten::rrelu", Rrelu, 9, kRandomInTraining},
    {"aten::rrelu_with_noise_functional", Rrelu, 9, kRandomInTraining},
    {"aten::threshold", Threshold},
    {"aten::hardshrink", Hardshrink},
    {"aten::softshrink", Softshrink},
    {"aten::glu", Glu},
    {"aten::_safe_softmax", SafeSoftmax},
    {"aten::_softmax_backward_data", SoftmaxBackward},
    {"aten::_log_softmax_backward_data", LogSoftmaxBackward},
    {"aten::hardtanh_backward", HardtanhBackward},
    {"aten::special_expit", Sigmoid},
}};

}  // namespace rules_onnx::lowering
