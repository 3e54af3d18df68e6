// Operators of PyTorch's `quantized` namespace: floats in between, quantized at the end.
//
// PyTorch's kernels add up in integers and round once; floats that are quantized at the end can
// differ by one step where a value lies in the middle of two.
//
// Packed parameters (`quantized::linear_prepack`, `conv2d_prepack`, …) are a list here: weight
// (quantized, or float32 of fp16), bias or None, then for convolutions stride, padding, dilation,
// groups, and output padding of transposed ones.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/call.h"
#include "exporter/lowering/linear.h"
#include "exporter/lowering/quantized.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

constexpr DType kFloat = DType::kFloat32;
using Ints = std::vector<int64_t>;

// The name of an operand that is there.
absl::string_view FirstOf(Op& op, std::initializer_list<absl::string_view> names) {
  for (const absl::string_view name : names) {
    if (op.node.Find(name) != nullptr) return name;
  }
  op.Fail("has no operand");
  return *names.begin();
}

absl::string_view InputName(Op& op) { return FirstOf(op, {"qx", "X", "input", "self", "qa"}); }

Val Input(Op& op) { return Dequantized(op, op.Arg(InputName(op))); }

// The type of the output with floats in it.
ir::Type FloatType(Op& op) {
  ir::Type type = op.OutType();
  type.dtype = kFloat;
  return type;
}

Quantization OutputQuantization(Op& op) {
  const absl::string_view scale = FirstOf(op, {"output_scale", "Y_scale_i", "scale"});
  const absl::string_view zero = FirstOf(op, {"output_zero_point", "Y_zero_point_i", "zero_point"});
  DType dtype = StorageType(op.OutDType());
  if (!ir::IsInteger(dtype)) dtype = op.Arg(InputName(op)).val.dtype();
  return {op.Scalar(scale, kFloat), op.Scalar(zero, dtype), dtype};
}

void ReturnQuantized(Op& op, Val y) {
  if (op.failed() || !y) return;
  op.Return(QuantizedItem(op.b, y, OutputQuantization(op)));
}

// ---------------------------------------------------------------- one operand

// Operator `aten` of the float operand, with the node's arguments of the same names.
void Through(Op& op, absl::string_view aten, std::initializer_list<absl::string_view> names,
             bool same_scale = false) {
  const Item x = op.Arg(InputName(op));
  const Val input = Dequantized(op, x);
  if (op.failed() || !input) return;
  const bool norm = aten == "aten::layer_norm" || aten == "aten::group_norm";
  std::vector<CallArg> args = {{norm ? "input" : "self", input}};
  for (const absl::string_view name : names) {
    const ir::Arg* arg = op.node.Find(name);
    if (arg == nullptr || arg->is_none()) continue;
    bool constant = true;
    arg->ForEachValue([&](ir::Value*) { constant = false; });
    args.push_back(constant ? CallArg(std::string(name), *arg)
                            : CallArg(std::string(name), op.Arg(name)));
  }
  const Item y = Call(op, aten, std::move(args), {FloatType(op)})[0];
  if (op.failed() || y.failed()) return;
  if (same_scale) return op.Return(QuantizedItem(op.b, y.val, QuantizationOf(x)));
  ReturnQuantized(op, y.val);
}

void Sigmoid(Op& op) { Through(op, "aten::sigmoid", {}); }
void Hardswish(Op& op) { Through(op, "aten::hardswish", {}); }
void Elu(Op& op) { Through(op, "aten::elu", {"alpha", "scale", "input_scale"}); }
void Celu(Op& op) { Through(op, "aten::celu", {"alpha"}); }
void LeakyRelu(Op& op) { Through(op, "aten::leaky_relu", {"negative_slope"}); }
void Softmax(Op& op) { Through(op, "aten::softmax.int", {"dim"}); }
void Relu6(Op& op) { Through(op, "aten::relu6", {}, true); }
void Clamp(Op& op) { Through(op, "aten::clamp", {"min", "max"}, true); }
void Threshold(Op& op) { Through(op, "aten::threshold", {"threshold", "value"}, true); }
void Prelu(Op& op) { Through(op, "aten::prelu", {"weight"}); }
void LayerNorm(Op& op) {
  Through(op, "aten::layer_norm", {"normalized_shape", "weight", "bias", "eps"});
}
void GroupNorm(Op& op) { Through(op, "aten::group_norm", {"num_groups", "weight", "bias", "eps"}); }

// PyTorch only quantizes again.
void Dropout(Op& op) { ReturnQuantized(op, Input(op)); }

void InstanceNorm(Op& op) {
  const Val x = Input(op);
  if (op.failed() || !x) return;
  const Item y = Call(op, "aten::instance_norm",
                      {{"input", x},
                       {"weight", op.Arg("weight")},
                       {"bias", op.Arg("bias")},
                       {"running_mean", ir::Arg()},
                       {"running_var", ir::Arg()},
                       {"use_input_stats", ir::Arg(true)},
                       {"momentum", ir::Arg(0.1)},
                       {"eps", ir::Arg(op.Float("eps"))},
                       {"cudnn_enabled", ir::Arg(false)}},
                      {FloatType(op)})[0];
  ReturnQuantized(op, y.val);
}

template <bool kRelu>
void BatchNorm(Op& op) {
  const Val x = Input(op);
  if (op.failed() || !x) return;
  const Item y = Call(op, "aten::batch_norm",
                      {{"input", x},
                       {"weight", op.Arg("weight")},
                       {"bias", op.Arg("bias")},
                       {"running_mean", op.Arg("mean")},
                       {"running_var", op.Arg("var")},
                       {"training", ir::Arg(false)},
                       {"momentum", ir::Arg(0.1)},
                       {"eps", ir::Arg(op.Float("eps"))},
                       {"cudnn_enabled", ir::Arg(false)}},
                      {FloatType(op)})[0];
  ReturnQuantized(op, kRelu ? op.b.Unary("Relu", y.val) : y.val);
}

// Elements are chosen by their integers.
void MaxPool(Op& op) {
  const Item x = op.Arg("qx");
  if (!op.Require(x.failed() || x.is_quantized(), "scale and zero point are not known here"))
    return;
  if (x.failed()) return;
  ir::Type type = op.OutType();
  type.dtype = x.val.dtype();
  std::vector<CallArg> args = {{"self", x.val}};
  for (const char* name : {"kernel_size", "stride", "padding", "dilation"}) {
    args.push_back({name, ir::Arg::Ints(op.Ints(name))});
  }
  args.push_back({"ceil_mode", ir::Arg(op.Bool("ceil_mode"))});
  const bool one = op.node.base_op() == "quantized::max_pool1d";
  Item y = x;
  y.val = Call(op, one ? "aten::max_pool1d" : "aten::max_pool2d", std::move(args), {type})[0].val;
  if (!op.failed()) op.Return(y);
}

// ---------------------------------------------------------------- two operands

enum class Function { kAdd, kMul, kMatMul };

template <Function kFunction, bool kRelu>
void Binary(Op& op) {
  Builder& b = op.b;
  if (!op.Require(op.node.Find("qb") != nullptr, "a number as operand is not supported")) return;
  const Val x = Dequantized(op, op.Arg("qa")), y = Dequantized(op, op.Arg("qb"));
  Val z = kFunction == Function::kAdd   ? b.Add(x, y)
          : kFunction == Function::kMul ? b.Mul(x, y)
                                        : MatMul(b, x, y);
  if (kRelu) z = b.Unary("Relu", z);
  ReturnQuantized(op, z);
}

// x + c: the same integers with another zero point, where the new one fits; scale and zero point
// of x must be known.
template <bool kRelu>
void AddNumber(Op& op) {
  Builder& b = op.b;
  const Item x = op.Arg("qa");
  if (x.failed()) return;
  const auto scale = x.is_quantized() ? x.scale.float_value() : std::nullopt;
  const auto zero = x.is_quantized() ? x.zero_point.int_value() : std::nullopt;
  const auto number = op.KnownFloat("b");
  if (!op.Require(scale && zero && number,
                  "scale, zero point and number must be known at build time")) {
    return;
  }
  const auto [low, high] = RangeOf(x.val.dtype());
  const int64_t shift = std::nearbyint(*number / *scale), moved = *zero - shift;
  const double steps = static_cast<double>(high - low);
  Quantization q = PerTensor(b, *scale, std::clamp(moved, low, high), x.val.dtype());
  if (moved < low) q.scale = b.Scalar(static_cast<double>(high - moved) / steps * *scale, kFloat);
  if (moved > high) q.scale = b.Scalar(static_cast<double>(moved - low) / steps * *scale, kFloat);
  // The sum that PyTorch's integers stand for: x + scale · shift.
  Val sum =
      b.Mul(b.Sub(b.Cast(x.val, kFloat), b.Scalar(static_cast<double>(moved), kFloat)), x.scale);
  if (kRelu) sum = b.Unary("Relu", sum);
  op.Return(QuantizedItem(b, sum, q));
}

// x · c: the same integers with another scale, mirrored for c < 0.
template <bool kRelu>
void MulNumber(Op& op) {
  Builder& b = op.b;
  const Item x = op.Arg("qa");
  const auto number = op.KnownFloat("b");
  if (x.failed() || !op.Require(x.is_quantized() && number, "scale and number must be known"))
    return;
  const auto [low, high] = RangeOf(x.val.dtype());
  Item y = x;
  if (*number == 0) {
    y.scale = b.Scalar(1, kFloat);
    y.zero_point = b.ScalarInt(0, x.val.dtype());
    y.val = b.Mul(x.val, y.zero_point);
  } else {
    y.scale = b.Mul(x.scale, b.Scalar(std::abs(*number), kFloat));
  }
  if (*number < 0) {
    const Val ends = b.ScalarInt(low + high, DType::kInt32);
    const auto mirrored = [&](Val v) {
      return b.Cast(b.Sub(ends, b.Cast(v, DType::kInt32)), x.val.dtype());
    };
    y.val = mirrored(x.val);
    y.zero_point = mirrored(x.zero_point);
  }
  if (kRelu) y.val = b.Max(y.val, y.zero_point);
  op.Return(y);
}

template <bool kRelu>
void Cat(Op& op) {
  Builder& b = op.b;
  const Item list = op.Arg("qx");
  if (!op.Require(list.is_list() || list.failed(), "the list's length must be known")) return;
  if (list.failed() || list.items.empty()) return;
  std::vector<Item> floats;
  for (const Item& item : list.items) floats.push_back(Dequantized(op, item));
  if (op.failed()) return;
  Quantization q = QuantizationOf(list.items[0]);
  if (op.Has("scale")) q.scale = op.Scalar("scale", kFloat);
  if (op.Has("zero_point")) q.zero_point = op.Scalar("zero_point", q.dtype);
  Val y = Call(op, "aten::cat", {{"tensors", Item::List(floats)}, {"dim", ir::Arg(op.Int("dim"))}},
               {FloatType(op)})[0]
              .val;
  if (kRelu) y = b.Unary("Relu", y);
  if (!op.failed()) op.Return(QuantizedItem(b, y, q));
}

// ---------------------------------------------------------------- packed parameters

void PackLinear(Op& op) { op.Return(Item::List(std::vector<Item>{op.Arg("W"), op.Arg("B")})); }

void PackLinearFp16(Op& op) {
  const Val weight = op.b.Cast(op.b.Cast(op.Tensor("W"), DType::kFloat16), kFloat);
  op.Return(Item::List(std::vector<Item>{weight, op.Arg("B")}));
}

void PackConv(Op& op) {
  std::vector<Item> items = {op.Arg("weight"),  op.Arg("bias"),     op.Arg("stride"),
                             op.Arg("padding"), op.Arg("dilation"), op.Arg("groups")};
  if (op.node.Find("output_padding") != nullptr) items.push_back(op.Arg("output_padding"));
  op.Return(Item::List(std::move(items)));
}

struct Packed {
  Val weight, bias;  // float32; bias may be null
  std::vector<Item> rest;
};

std::optional<Packed> Unpack(Op& op, size_t least) {
  const Item item = op.Arg(FirstOf(op, {"W_prepack", "packed_weight", "weight"}));
  if (item.failed()) return std::nullopt;
  if (!op.Require(item.is_list() && item.items.size() >= least,
                  "packed parameters are not known: they must be made in the program")) {
    return std::nullopt;
  }
  Packed packed;
  const Item& weight = item.items[0];
  packed.weight = weight.is_quantized() ? Dequantized(op, weight) : weight.val;
  packed.bias = item.items[1].val;
  packed.rest.assign(item.items.begin() + 2, item.items.end());
  if (!packed.weight) return std::nullopt;
  return packed;
}

enum class After { kNothing, kRelu, kLeakyRelu, kTanh };

Val Apply(Op& op, Val y, After after) {
  switch (after) {
    case After::kNothing: return y;
    case After::kRelu: return op.b.Unary("Relu", y);
    case After::kTanh: return op.b.Unary("Tanh", y);
    case After::kLeakyRelu:
      return op.b.Op("LeakyRelu", {y}, {{"alpha", op.Float("negative_slope")}});
  }
  return y;
}

template <After kAfter>
void QuantizedLinear(Op& op) {
  const auto packed = Unpack(op, 2);
  const Val x = Input(op);
  if (!packed || !x) return;
  ReturnQuantized(op, Apply(op, Linear(op.b, x, packed->weight, packed->bias), kAfter));
}

// A float operand, quantized to uint8 over its own range: [0, 127] with reduce_range.
Val DynamicallyQuantized(Op& op, Val x) {
  Builder& b = op.b;
  const double high = op.Bool("reduce_range") ? 127 : 255;
  const Val zero = b.Scalar(0, kFloat), limit = b.Scalar(high, kFloat);
  const Val least = b.Min(b.Reduce("ReduceMin", x, {}, false), zero);
  const Val most = b.Max(b.Reduce("ReduceMax", x, {}, false), zero);
  const Val range = b.Sub(most, least);
  const Val scale = b.Where(b.Equal(range, zero), b.Scalar(0.1, kFloat), b.Div(range, limit));
  const Val shift = b.Clip(b.Unary("Round", b.Div(b.Unary("Neg", least), scale)), zero, limit);
  const Quantization q = {scale, b.Cast(shift, DType::kUInt8), DType::kUInt8, -1,
                          0,     static_cast<int64_t>(high)};
  return FakeQuantize(b, x, q);
}

template <After kAfter>
void DynamicLinear(Op& op) {
  const auto packed = Unpack(op, 2);
  const Val x = op.Tensor("X");
  if (!packed || !x) return;
  const Val rounded = DynamicallyQuantized(op, x);
  op.Return(Apply(op, Linear(op.b, rounded, packed->weight, packed->bias), kAfter));
}

template <After kAfter>
void Fp16Linear(Op& op) {
  const auto packed = Unpack(op, 2);
  const Val x = op.Tensor("X");
  if (!packed || !x) return;
  op.Return(Apply(op, Linear(op.b, x, packed->weight, packed->bias), kAfter));
}

// The numbers of a packed list; for one-dimensional convolutions that are packed as
// two-dimensional ones, the last.
ir::Arg Numbers(Op& op, const Item& item, bool last_only) {
  Ints values;
  for (const Item& element : item.items) {
    const auto value = element.val.int_value();
    op.Require(value.has_value(), "packed parameters must be known at build time");
    values.push_back(value.value_or(1));
  }
  if (last_only && values.size() > 1) values = {values.back()};
  return ir::Arg::Ints(values);
}

// `kSpatial` axes.
template <int kSpatial, bool kTransposed>
Val Convolve(Op& op, Val x) {
  auto packed = Unpack(op, kTransposed ? 7 : 6);
  if (!packed || !x || op.failed()) return {};
  const bool one = kSpatial == 1;
  if (packed->weight.rank() == kSpatial + 3) packed->weight = op.b.Squeeze(packed->weight, {2});
  const auto groups = packed->rest[3].val.int_value();
  std::vector<CallArg> args = {{"input", x},
                               {"weight", packed->weight},
                               {"bias", packed->bias},
                               {"stride", Numbers(op, packed->rest[0], one)},
                               {"padding", Numbers(op, packed->rest[1], one)}};
  if (kTransposed) args.push_back({"output_padding", Numbers(op, packed->rest[4], one)});
  args.push_back({"groups", ir::Arg(groups.value_or(1))});
  args.push_back({"dilation", Numbers(op, packed->rest[2], one)});
  const std::string name = absl::StrCat(kTransposed ? "aten::conv_transpose" : "aten::conv",
                                        kSpatial, kTransposed && kSpatial > 1 ? "d.input" : "d");
  return Call(op, name, std::move(args), {FloatType(op)})[0].val;
}

template <int kSpatial, bool kTransposed, bool kRelu>
void QuantizedConv(Op& op) {
  const Val y = Convolve<kSpatial, kTransposed>(op, Input(op));
  ReturnQuantized(op, kRelu ? op.b.Unary("Relu", y) : y);
}

template <bool kRelu>
void ConvAdd(Op& op) {
  const Val y = op.b.Add(Convolve<2, false>(op, Input(op)), Dequantized(op, op.Arg("qaccum")));
  ReturnQuantized(op, kRelu ? op.b.Unary("Relu", y) : y);
}

template <int kSpatial, bool kTransposed>
void DynamicConv(Op& op) {
  const Val x = op.Tensor("qx");
  if (x) op.Return(Convolve<kSpatial, kTransposed>(op, DynamicallyQuantized(op, x)));
}

constexpr char kSteps[] = "may differ from PyTorch by one step";

}  // namespace

extern const Family kQuantized;
const Family kQuantized = {"quantized", {
    {"quantized::sigmoid", Sigmoid, 10, kSteps},
    {"quantized::hardswish", Hardswish, 10, kSteps},
    {"quantized::elu", Elu, 10, kSteps},
    {"quantized::celu", Celu, 10, kSteps},
    {"quantized::leaky_relu", LeakyRelu, 10, kSteps},
    {"quantized::softmax", Softmax, 10, kSteps},
    {"quantized::relu6", Relu6, 10},
    {"quantized::clamp", Clamp, 10},
    {"quantized::threshold", Threshold, 10},
    {"quantized::prelu", Prelu, 10, kSteps},
    {"quantized::dropout", Dropout, 10},
    {"quantized::layer_norm", LayerNorm, 10, kSteps},
    {"quantized::group_norm", GroupNorm, 10, kSteps},
    {"quantized::instance_norm", InstanceNorm, 10, kSteps},
    {"quantized::batch_norm", BatchNorm<false>, 10, kSteps},
    {"quantized::batch_norm1d", BatchNorm<false>, 10, kSteps},
    {"quantized::batch_norm2d", BatchNorm<false>, 10, kSteps},
    {"quantized::batch_norm3d", BatchNorm<false>, 10, kSteps},
    {"quantized::batch_norm_relu", BatchNorm<true>, 10, kSteps},
    {"quantized::batch_norm1d_relu", BatchNorm<true>, 10, kSteps},
    {"quantized::batch_norm2d_relu", BatchNorm<true>, 10, kSteps},
    {"quantized::batch_norm3d_relu", BatchNorm<true>, 10, kSteps},
    {"quantized::max_pool1d", MaxPool},
    {"quantized::max_pool2d", MaxPool},
    {"quantized::add", Binary<Function::kAdd, false>, 10, kSteps},
    {"quantized::add_relu", Binary<Function::kAdd, true>, 10, kSteps},
    {"quantized::mul", Binary<Function::kMul, false>, 10, kSteps},
    {"quantized::mul_relu", Binary<Function::kMul, true>, 10, kSteps},
    {"quantized::matmul", Binary<Function::kMatMul, false>, 10, kSteps},
    {"quantized::add.Scalar", AddNumber<false>, 10},
    {"quantized::add.Scalar2", AddNumber<false>, 10},
    {"quantized::add_relu.Scalar", AddNumber<true>, 10},
    {"quantized::add_relu.Scalar2", AddNumber<true>, 10},
    {"quantized::add_scalar", AddNumber<false>, 10},
    {"quantized::add_scalar_relu", AddNumber<true>, 10},
    {"quantized::mul.Scalar", MulNumber<false>, 10},
    {"quantized::mul.Scalar2", MulNumber<false>, 10},
    {"quantized::mul_relu.Scalar", MulNumber<true>, 10},
    {"quantized::mul_relu.Scalar2", MulNumber<true>, 10},
    {"quantized::mul_scalar", MulNumber<false>, 10},
    {"quantized::mul_scalar_relu", MulNumber<true>, 10},
    {"quantized::cat", Cat<false>, 10, kSteps},
    {"quantized::cat_relu", Cat<true>, 10, kSteps},
    {"quantized::linear_prepack", PackLinear},
    {"quantized::linear_prepack_fp16", PackLinearFp16},
    {"quantized::conv_prepack", PackConv},
    {"quantized::conv1d_prepack", PackConv},
    {"quantized::conv2d_prepack", PackConv},
    {"quantized::conv3d_prepack", PackConv},
    {"quantized::conv_transpose1d_prepack", PackConv},
    {"quantized::conv_transpose2d_prepack", PackConv},
    {"quantized::conv_transpose3d_prepack", PackConv},
    {"quantized::linear", QuantizedLinear<After::kNothing>, 10, kSteps},
    {"quantized::linear_relu", QuantizedLinear<After::kRelu>, 10, kSteps},
    {"quantized::linear_leaky_relu", QuantizedLinear<After::kLeakyRelu>, 10, kSteps},
    {"quantized::linear_tanh", QuantizedLinear<After::kTanh>, 10, kSteps},
    {"quantized::linear_dynamic", DynamicLinear<After::kNothing>, 11, kSteps},
    {"quantized::linear_relu_dynamic", DynamicLinear<After::kRelu>, 11, kSteps},
    {"quantized::linear_dynamic_fp16", Fp16Linear<After::kNothing>},
    {"quantized::linear_relu_dynamic_fp16", Fp16Linear<After::kRelu>},
    {"quantized::conv1d", QuantizedConv<1, false, false>, 10, kSteps},
    {"quantized::conv2d", QuantizedConv<2, false, false>, 10, kSteps},
    {"quantized::conv3d", QuantizedConv<3, false, false>, 10, kSteps},
    {"quantized::conv1d_relu", QuantizedConv<1, false, true>, 10, kSteps},
    {"quantized::conv2d_relu", QuantizedConv<2, false, true>, 10, kSteps},
    {"quantized::conv3d_relu", QuantizedConv<3, false, true>, 10, kSteps},
    {"quantized::conv2d_add", ConvAdd<false>, 10, kSteps},
    {"quantized::conv2d_add_relu", ConvAdd<true>, 10, kSteps},
    {"quantized::conv_transpose1d", QuantizedConv<1, true, false>, 10, kSteps},
    {"quantized::conv_transpose2d", QuantizedConv<2, true, false>, 10, kSteps},
    {"quantized::conv_transpose3d", QuantizedConv<3, true, false>, 10, kSteps},
    {"quantized::conv1d_dynamic", DynamicConv<1, false>, 11, kSteps},
    {"quantized::conv2d_dynamic", DynamicConv<2, false>, 11, kSteps},
    {"quantized::conv3d_dynamic", DynamicConv<3, false>, 11, kSteps},
    {"quantized::conv_transpose1d_dynamic", DynamicConv<1, true>, 11, kSteps},
    {"quantized::conv_transpose2d_dynamic", DynamicConv<2, true>, 11, kSteps},
    {"quantized::conv_transpose3d_dynamic", DynamicConv<3, true>, 11, kSteps},
}};

}  // namespace rules_onnx::lowering
