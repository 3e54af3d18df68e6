// Between floats and integers: quantize, dequantize, fake quantization, PT2E's decomposed forms.
//
// PyTorch multiplies by 1 / scale, QuantizeLinear divides by it: a value in the middle of two steps
// may become the one or the other.
#include <limits>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/quantized.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

constexpr DType kFloat = DType::kFloat32;

// One number, in a tensor of one element or not.
Val Number(Op& op, absl::string_view name, DType dtype) {
  const Val x = op.Tensor(name, dtype);
  return x.rank() == 0 ? x : op.b.Reshape(x, std::vector<int64_t>{});
}

// ---------------------------------------------------------------- quantized tensors

Quantization Target(Op& op) {
  const DType dtype = StorageType(op.Dtype("dtype", DType::kQUInt8));
  if (!op.Require(dtype == DType::kInt8 || dtype == DType::kUInt8 || dtype == DType::kInt32,
                  "ONNX has no such quantized type")) {
    return {};
  }
  return {Val(), Val(), dtype};
}

void QuantizePerTensor(Op& op) {
  Quantization q = Target(op);
  if (op.failed()) return;
  q.scale = Number(op, "scale", kFloat);
  q.zero_point = Number(op, "zero_point", q.dtype);
  op.Return(QuantizedItem(op.b, op.Tensor("self"), q));
}

void QuantizePerChannel(Op& op) {
  Quantization q = Target(op);
  if (op.failed()) return;
  const Val x = op.Tensor("self");
  q.axis = op.Axis("axis", x);
  q.scale = op.Tensor("scales", kFloat);
  q.zero_point = op.Tensor("zero_points", q.dtype);
  op.Return(QuantizedItem(op.b, x, q));
}

// From integers, whose type is the quantized one's.
void MakeQuantized(Op& op) {
  Item item(op.Tensor("self"));
  if (item.failed()) return;
  const bool per_channel = op.node.Find("axis") != nullptr;
  item.scale = per_channel ? op.Tensor("scale", kFloat) : Number(op, "scale", kFloat);
  item.zero_point = per_channel ? op.Tensor("zero_point", item.val.dtype())
                                : Number(op, "zero_point", item.val.dtype());
  item.quantized_axis = per_channel ? op.Axis("axis", item.val) : -1;
  op.Return(item);
}

Item DequantizedItem(Op& op, const Item& item) {
  if (item.is_list()) {
    std::vector<Item> items;
    for (const Item& element : item.items) items.push_back(DequantizedItem(op, element));
    return Item::List(std::move(items));
  }
  return item.is_quantized() || !item.is_val() || !ir::IsFloat(item.val.dtype())
             ? Item(Dequantized(op, item))
             : Item(op.b.Cast(item.val, kFloat));
}

void DequantizeSelf(Op& op) {
  const char* names[] = {"self", "qtensor", "tensors", "qtensors"};
  for (const char* name : names) {
    if (op.node.Find(name) != nullptr) return op.Return(DequantizedItem(op, op.Arg(name)));
  }
}

bool RequireQuantized(Op& op, const Item& item) {
  return !item.failed() &&
         op.Require(item.is_quantized(), "scale and zero point are not known here");
}

void IntRepr(Op& op) {
  const Item item = op.Arg("self");
  if (RequireQuantized(op, item)) op.Return(item.val);
}

void Scale(Op& op) {
  const Item item = op.Arg("self");
  if (RequireQuantized(op, item)) op.Return(op.b.Cast(item.scale, DType::kFloat64));
}

void ZeroPoint(Op& op) {
  const Item item = op.Arg("self");
  if (RequireQuantized(op, item)) op.Return(op.b.Cast(item.zero_point, DType::kInt64));
}

void ChannelAxis(Op& op) {
  const Item item = op.Arg("self");
  if (RequireQuantized(op, item)) op.Return(op.b.Int(item.quantized_axis));
}

// ---------------------------------------------------------------- fake quantization

// The smallest storage of a range, so that QuantizeLinear does the cutting where it can.
DType StorageFor(int64_t min, int64_t max) {
  for (const DType dtype : {DType::kUInt8, DType::kInt8, DType::kUInt16, DType::kInt16}) {
    const auto range = RangeOf(dtype);
    if (min >= range.first && max <= range.second) return dtype;
  }
  return DType::kInt32;
}

// Without ONNX's operators: zero points may be floats.
struct FakeResult {
  Val y, within;  // within: bool, the values that are not cut
};

FakeResult FakeByHand(Op& op, Val x, Val scale, Val zero_point, int axis) {
  Builder& b = op.b;
  const auto align = [&](Val v) { return axis < 0 ? v : AlongAxis(b, v, axis, x.rank()); };
  const Val low = b.Scalar(static_cast<double>(op.Int("quant_min")), kFloat);
  const Val high = b.Scalar(static_cast<double>(op.Int("quant_max")), kFloat);
  const Val step = align(scale), shift = align(b.Cast(zero_point, kFloat));
  const Val q = b.Add(b.Unary("Round", b.Div(b.Cast(x, kFloat), step)), shift);
  const Val within = b.And(b.GreaterOrEqual(q, low), b.LessOrEqual(q, high));
  const Val y = b.Mul(b.Sub(b.Clip(q, low, high), shift), step);
  return {b.Cast(y, x.dtype()), within};
}

// Float32 as QuantizeLinear and DequantizeLinear, other forms by hand. A second result is the mask.
void Fake(Op& op) {
  Builder& b = op.b;
  const absl::string_view input = op.node.Find("self") != nullptr ? "self" : "input";
  const absl::string_view scale_name = op.node.Find("scales") != nullptr ? "scales" : "scale";
  const absl::string_view zero_name =
      op.node.Find("zero_points") != nullptr ? "zero_points" : "zero_point";
  const Val x = op.Tensor(input);
  const bool per_channel = op.node.Find("axis") != nullptr;
  const int axis = per_channel ? op.Axis("axis", x) : -1;
  const Val scale = per_channel ? op.Tensor(scale_name, kFloat) : Number(op, scale_name, kFloat);
  const Val zero_point = per_channel ? op.Tensor(zero_name)
                                     : op.b.Reshape(op.Tensor(zero_name), std::vector<int64_t>{});
  if (op.failed() || !x || !zero_point) return;
  const int64_t min = op.Int("quant_min"), max = op.Int("quant_max");
  const DType dtype = StorageFor(min, max);
  FakeResult by_hand = FakeByHand(op, x, scale, zero_point, axis);
  if (x.dtype() == kFloat && !ir::IsFloat(zero_point.dtype()) && dtype != DType::kInt32) {
    by_hand.y = FakeQuantize(b, x, {scale, b.Cast(zero_point, dtype), dtype, axis, min, max});
  }
  if (op.node.Find("fake_quant_enabled") != nullptr) {
    const Val on = b.Cast(Number(op, "fake_quant_enabled", DType::kInt64), DType::kBool);
    by_hand.y = b.Where(on, by_hand.y, x);
    by_hand.within = b.Or(b.Not(on), by_hand.within);
  }
  if (op.num_outputs() == 1) return op.Return(by_hand.y);
  op.Return(Vals{by_hand.y, by_hand.within});
}

// ---------------------------------------------------------------- quantized_decomposed

std::optional<int64_t> Bound(Op& op, absl::string_view name) {
  return op.Has(name) ? op.OptInt(name) : std::nullopt;
}

bool IsStorage(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kUInt8 || dtype == DType::kInt16 ||
         dtype == DType::kUInt16 || dtype == DType::kInt32;
}

// What the node's arguments say; zero points may be left out. Tensors have one axis, or per tensor
// one element.
Quantization Decomposed(Op& op, Val x, DType dtype) {
  Quantization q;
  q.dtype = dtype;
  if (!op.Require(IsStorage(dtype),
                  absl::StrCat("quantization to ", std::string(ir::DTypeName(dtype)),
                               " has no ONNX form"))) {
    return q;
  }
  if (op.node.Find("axis") == nullptr) {
    q.scale = Number(op, "scale", kFloat);
    q.zero_point = Number(op, "zero_point", dtype);
  } else {
    q.axis = op.Axis("axis", x);
    q.scale = op.Tensor("scales", kFloat);
    q.zero_point = op.Has("zero_points")
                       ? op.Tensor("zero_points", dtype)
                       : Filled(op.b, op.b.ShapeOf(q.scale), op.b.ScalarInt(0, dtype));
  }
  q.min = Bound(op, "quant_min");
  q.max = Bound(op, "quant_max");
  return q;
}

void QuantizeDecomposed(Op& op) {
  const Val x = op.Tensor("input", kFloat);
  const Quantization q = Decomposed(op, x, op.Dtype("dtype", DType::kInt8));
  op.Return(Quantize(op.b, x, q));
}

void DequantizeDecomposed(Op& op) {
  const Val x = op.Tensor("input");
  if (!x) return;
  const Quantization q = Decomposed(op, x, x.dtype());
  op.Return(op.b.Cast(Dequantize(op.b, x, q), op.OutDType()));
}

// scales [tokens…, 1]; zero points may be fractions.
void QuantizeToken(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("input", kFloat);
  const DType dtype = op.Dtype("dtype", DType::kInt8);
  const Val scale = op.Tensor("scales", kFloat), shift = op.Tensor("zero_points", kFloat);
  const Val q = b.Unary("Round", b.Add(b.Div(x, scale), shift));
  const auto bound = [&](const char* name) {
    return b.Scalar(static_cast<double>(op.Int(name)), kFloat);
  };
  op.Return(b.Cast(b.Clip(q, bound("quant_min"), bound("quant_max")), dtype));
}

void DequantizeToken(Op& op) {
  Builder& b = op.b;
  const Val scale = op.Tensor("scales");
  const Val x = op.Tensor("input", scale.dtype()), shift = op.Tensor("zero_points", scale.dtype());
  op.Return(b.Cast(b.Mul(b.Sub(x, shift), scale), op.OutDType()));
}

// Each row in groups of a size, each with its scale.
struct Groups {
  Val x, scale, shift;  // [groups, size], [groups, 1] each
};

Groups ReadGroups(Op& op, Val x) {
  Builder& b = op.b;
  int64_t size = op.Int("group_size");
  const Val scales = op.Tensor("scales", kFloat);
  const Dim columns = x.dim(-1);
  if (columns.is_number() && size > columns.value()) size = columns.value();
  const auto column = [&](Val v) { return b.Reshape(v, std::vector<int64_t>{-1, 1}); };
  return {b.Reshape(x, std::vector<int64_t>{-1, size}), column(scales),
          op.Has("zero_points") ? column(op.Tensor("zero_points", kFloat)) : b.Scalar(0, kFloat)};
}

void QuantizeGroups(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("input", kFloat);
  if (!x) return;
  const Groups g = ReadGroups(op, x);
  const auto bound = [&](const char* name) {
    return b.Scalar(static_cast<double>(op.Int(name)), kFloat);
  };
  const Val q = b.Unary("Round", b.Add(b.Div(g.x, g.scale), g.shift));
  const Val cut = b.Clip(q, bound("quant_min"), bound("quant_max"));
  op.Return(b.Cast(ReshapeLike(b, cut, x), op.OutDType()));
}

void DequantizeGroups(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("input", kFloat);
  if (!x) return;
  const Groups g = ReadGroups(op, x);
  op.Return(b.Cast(ReshapeLike(b, b.Mul(b.Sub(g.x, g.shift), g.scale), x), op.OutDType()));
}

// Scale and zero point of what the tensor holds, 0 included: [1] each, float64 and int64.
void ChooseParameters(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("input", kFloat), zero = b.Scalar(0, kFloat);
  const auto number = [&](int64_t value) { return b.Scalar(static_cast<double>(value), kFloat); };
  const int64_t low = op.Int("quant_min"), high = op.Int("quant_max");
  const Val least = b.Min(b.Reduce("ReduceMin", x, {}, false), zero);
  const Val most = b.Max(b.Reduce("ReduceMax", x, {}, false), zero);
  const Val scale = b.Max(b.Div(b.Sub(most, least), number(high - low)), op.Scalar("eps", kFloat));
  const Val shift =
      b.Clip(b.Sub(number(low), b.Unary("Round", b.Div(least, scale))), number(low), number(high));
  const std::vector<int64_t> one = {1};
  op.Return(Vals{b.Cast(b.Reshape(scale, one), DType::kFloat64),
                 b.Cast(b.Reshape(shift, one), DType::kInt64)});
}

// The same with as much below zero as above it, which is in the middle.
void ChooseSymmetricParameters(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("input");
  if (!x) return;
  const double span = static_cast<double>(op.Int("quant_max") - op.Int("quant_min")) / 2;
  const Val most = b.Reduce("ReduceMax", b.Unary("Abs", x), {}, false);
  const Val step = b.Cast(b.Div(most, b.Scalar(span, x.dtype())), kFloat);
  const Val scale = b.Max(step, op.Scalar("eps", kFloat));
  const bool unsigned_bytes = op.Dtype("dtype", DType::kUInt8) == DType::kUInt8;
  op.Return(Vals{b.Cast(b.Reshape(scale, std::vector<int64_t>{1}), DType::kFloat64),
                 b.Ints({unsigned_bytes ? 128 : 0})});
}

// For each row of the last axis, to int8, with as much below zero as above it.
void ChooseSymmetricTokenParameters(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("input");
  if (!x) return;
  const Val sizes = b.Reduce("ReduceMax", b.Unary("Abs", x), {-1}, /*keepdims=*/true);
  const Val largest = x.dtype() == DType::kFloat16 ? b.Cast(sizes, kFloat) : sizes;
  const auto number = [&](double value) { return b.Scalar(value, largest.dtype()); };
  const Val scale = b.Div(b.Max(largest, number(1e-5)), number(127));
  op.Return(Vals{b.Cast(scale, op.OutDType(0)),
                 ExpandTo(b, b.Scalar(0, op.OutDType(1)), SizesOf(b, scale))});
}

// For each row of the last axis, to int8.
void ChooseTokenParameters(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("input");
  if (!x) return;
  const DType dtype = x.dtype();
  const Val zero = b.Scalar(0, dtype), low = b.Scalar(-128, dtype), high = b.Scalar(127, dtype);
  const Val least = b.Min(b.Reduce("ReduceMin", x, {-1}, true), zero);
  const Val most = b.Max(b.Reduce("ReduceMax", x, {-1}, true), zero);
  const Val smallest = b.Scalar(std::numeric_limits<float>::epsilon(), dtype);
  const Val scale = b.Max(b.Div(b.Sub(most, least), b.Scalar(255, dtype)), smallest);
  const Val from_least = b.Sub(low, b.Div(least, scale)),
            from_most = b.Sub(high, b.Div(most, scale));
  const Val errors = b.Add(b.Add(low, b.Div(least, scale)), b.Add(high, b.Div(most, scale)));
  const Val shift = b.Where(b.Greater(errors, zero), from_least, from_most);
  op.Return(Vals{b.Cast(scale, DType::kFloat64),
                 b.Cast(b.Unary("Round", b.Clip(shift, low, high)), DType::kInt64)});
}

void ConvertType(Op& op) { op.Return(op.b.Cast(op.Tensor("input"), op.OutDType())); }

constexpr char kHalfwayOrWide[] =
    "values in the middle of two steps may differ by one step; int16 and int32: opset 11";
constexpr char kHalfway[] = "values in the middle of two steps may differ by one step";

}  // namespace

extern const Family kQuantize;
const Family kQuantize = {"quantize", {
    {"aten::quantize_per_tensor", QuantizePerTensor, 10, kHalfwayOrWide},
    {"aten::quantize_per_channel", QuantizePerChannel, 11, kHalfway},
    {"aten::_make_per_tensor_quantized_tensor", MakeQuantized},
    {"aten::_make_per_channel_quantized_tensor", MakeQuantized},
    {"aten::dequantize", DequantizeSelf},
    {"aten::int_repr", IntRepr},
    {"aten::q_scale", Scale},
    {"aten::q_zero_point", ZeroPoint},
    {"aten::q_per_channel_scales", Scale},
    {"aten::q_per_channel_zero_points", ZeroPoint},
    {"aten::q_per_channel_axis", ChannelAxis},
    {"aten::fake_quantize_per_tensor_affine", Fake, 11, kHalfway},
    {"aten::fake_quantize_per_tensor_affine_cachemask", Fake, 11, kHalfway},
    {"aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", Fake, 11, kHalfway},
    {"aten::fake_quantize_per_channel_affine", Fake, 11, kHalfway},
    {"aten::fake_quantize_per_channel_affine_cachemask", Fake, 11, kHalfway},
    {"quantized_decomposed::quantize_per_tensor", QuantizeDecomposed, 10, kHalfwayOrWide},
    {"quantized_decomposed::quantize_per_channel", QuantizeDecomposed, 11, kHalfway},
    {"quantized_decomposed::dequantize_per_tensor", DequantizeDecomposed},
    {"quantized_decomposed::dequantize_per_channel", DequantizeDecomposed},
    {"quantized_decomposed::fake_quant_per_channel", Fake, 11, kHalfway},
    {"quantized_decomposed::quantize_per_token", QuantizeToken, 11, kHalfway},
    {"quantized_decomposed::dequantize_per_token", DequantizeToken},
    {"quantized_decomposed::quantize_per_channel_group", QuantizeGroups, 11, kHalfway},
    {"quantized_decomposed::dequantize_per_channel_group", DequantizeGroups},
    {"quantized_decomposed::choose_qparams", ChooseParameters, 11},
    {"quantized_decomposed::choose_qparams_symmetric", ChooseSymmetricParameters},
    {"quantized_decomposed::choose_qparams_per_token", ChooseSymmetricTokenParameters},
    {"quantized_decomposed::choose_qparams_per_token_asymmetric", ChooseTokenParameters, 11},
    {"quantized_decomposed::_choose_qparams_per_token_asymmetric_impl", ChooseTokenParameters, 11},
    {"quantized_decomposed::convert_element_type", ConvertType},
}};

}  // namespace rules_onnx::lowering
