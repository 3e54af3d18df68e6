#include "exporter/lowering/quantized.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exporter/lowering/call.h"
#include "exporter/lowering/lowering.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

constexpr DType kFloat = DType::kFloat32;

// 1-D parameters as [1, …, n, …, 1]; 0-d ones stay.
Val Aligned(Builder& b, Val parameter, Val x, int axis) {
  return axis < 0 || parameter.rank() != 1 ? parameter : AlongAxis(b, parameter, axis, x.rank());
}

bool HasOperator(const Builder& b, DType dtype, int axis) {
  const bool wide = dtype == DType::kInt16 || dtype == DType::kUInt16;
  if (dtype == DType::kInt32) return false;
  return b.opset() >= (wide ? 21 : axis >= 0 ? 13 : 10);
}

Attrs AxisAttr(int axis) { return axis < 0 ? Attrs{} : Attrs{{"axis", axis}}; }

}  // namespace

DType StorageType(DType dtype) {
  switch (dtype) {
    case DType::kQInt8: return DType::kInt8;
    case DType::kQUInt8: return DType::kUInt8;
    case DType::kQInt32: return DType::kInt32;
    default: return dtype;
  }
}

std::pair<int64_t, int64_t> RangeOf(DType dtype) {
  const int bits = static_cast<int>(ir::ElementSize(dtype)) * 8;
  if (ir::IsUnsigned(dtype)) return {0, (int64_t{1} << bits) - 1};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

Quantization PerTensor(Builder& b, double scale, int64_t zero_point, DType dtype) {
  return {b.Scalar(scale, kFloat), b.ScalarInt(zero_point, dtype), dtype};
}

Val Quantize(Builder& b, Val x, const Quantization& q) {
  if (!x || !q.scale || !q.zero_point) return {};
  const auto range = RangeOf(q.dtype);
  const int64_t low = q.min.value_or(range.first), high = q.max.value_or(range.second);
  const bool narrow = low > range.first || high < range.second;
  if (HasOperator(b, q.dtype, q.axis)) {
    const Val y = b.Op("QuantizeLinear", {x, q.scale, q.zero_point}, AxisAttr(q.axis), {q.dtype});
    return narrow ? b.Clip(y, b.ScalarInt(low, q.dtype), b.ScalarInt(high, q.dtype)) : y;
  }
  // int32 needs more digits than float32 has.
  const DType wide = q.dtype == DType::kInt32 ? DType::kFloat64 : kFloat;
  const Val steps = b.Unary("Round", b.Div(x, Aligned(b, q.scale, x, q.axis)));
  const Val shifted = b.Add(b.Cast(steps, wide), b.Cast(Aligned(b, q.zero_point, x, q.axis), wide));
  const auto bound = [&](int64_t value) { return b.Scalar(static_cast<double>(value), wide); };
  return b.Cast(b.Min(b.Max(shifted, bound(low)), bound(high)), q.dtype);
}

Val Dequantize(Builder& b, Val x, const Quantization& q) {
  if (!x || !q.scale || !q.zero_point) return {};
  if (HasOperator(b, q.dtype, q.axis)) {
    return b.Op("DequantizeLinear", {x, q.scale, q.zero_point}, AxisAttr(q.axis), {kFloat});
  }
  const DType wide = q.dtype == DType::kInt32 ? DType::kInt64 : DType::kInt32;
  const Val steps = b.Sub(b.Cast(x, wide), b.Cast(Aligned(b, q.zero_point, x, q.axis), wide));
  return b.Mul(b.Cast(steps, kFloat), Aligned(b, q.scale, x, q.axis));
}

Val FakeQuantize(Builder& b, Val x, const Quantization& q) {
  return Dequantize(b, Quantize(b, x, q), q);
}

Item QuantizedItem(Builder& b, Val x, const Quantization& q) {
  Item item(Quantize(b, x, q));
  if (item.failed()) return item;
  item.scale = q.scale;
  item.zero_point = q.zero_point;
  item.quantized_axis = q.axis;
  return item;
}

Quantization QuantizationOf(const Item& item) {
  return {item.scale, item.zero_point, item.val.dtype(), item.quantized_axis};
}

Val Dequantized(Op& op, const Item& item) {
  if (item.failed()) return {};
  if (!item.is_quantized())
    return op.Fail("scale and zero point of a quantized operand are not known");
  return Dequantize(op.b, item.val, QuantizationOf(item));
}

// ---------------------------------------------------------------- operators for any tensor

namespace {

// On the integers: elements move, or the largest or smallest is taken.
const std::set<std::string>& Movements() {
  static const auto* const kOps = new std::set<std::string>{
      "_reshape_alias", "_unsafe_view", "adaptive_max_pool2d", "alias", "as_strided",
      "broadcast_tensors", "broadcast_to", "channel_shuffle", "chunk", "clone", "contiguous",
      "detach", "dim", "dropout", "expand", "expand_as", "feature_dropout", "flatten", "flip",
      "index_select", "is_floating_point", "len", "lift_fresh_copy", "max", "max_pool1d",
      "max_pool2d", "max_pool3d", "min", "movedim", "narrow", "numel", "numpy_T", "permute",
      "pixel_shuffle", "pixel_unshuffle", "repeat", "reshape", "reshape_as", "roll", "select",
      "size", "slice", "split", "split_with_sizes", "squeeze", "sym_numel", "sym_size", "t",
      "tile", "transpose", "unbind", "unflatten", "unsqueeze", "upsample_nearest1d",
      "upsample_nearest2d", "upsample_nearest3d", "view", "view_as"};
  return *kOps;
}

// On floats that are quantized again with the first operand's scale and zero point.
const std::set<std::string>& SameScale() {
  static const auto* const kOps = new std::set<std::string>{
      "adaptive_avg_pool1d", "adaptive_avg_pool2d", "_adaptive_avg_pool2d", "adaptive_avg_pool3d",
      "_adaptive_avg_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "cat", "clamp",
      "clamp_max", "clamp_min", "concat", "constant_pad_nd", "elu", "hardtanh", "leaky_relu",
      "mean", "pad", "reflection_pad1d", "reflection_pad2d", "relu", "relu6", "stack", "threshold",
      "upsample_bilinear2d", "upsample_linear1d"};
  return *kOps;
}

// The scale and zero point that PyTorch gives to what lies in a fixed range.
std::optional<Quantization> FixedRange(Builder& b, absl::string_view name, DType dtype) {
  if (dtype != DType::kUInt8 && dtype != DType::kInt8) return std::nullopt;
  const bool is_signed = dtype == DType::kInt8;
  if (name == "sigmoid" || name == "hardsigmoid") {
    return PerTensor(b, 1.0 / 256, is_signed ? -128 : 0, dtype);
  }
  if (name == "tanh") return PerTensor(b, 2.0 / 256, is_signed ? 0 : 128, dtype);
  return std::nullopt;
}

bool HandlesQuantized(absl::string_view op) {
  static const auto* const kOps = new std::set<std::string>{"aten::dequantize",
                                                            "aten::int_repr",
                                                            "aten::q_scale",
                                                            "aten::q_zero_point",
                                                            "aten::q_per_channel_scales",
                                                            "aten::q_per_channel_zero_points",
                                                            "aten::q_per_channel_axis"};
  return absl::StartsWith(op, "quantized::") || absl::StartsWith(op, "prim::") ||
         kOps->count(std::string(op)) > 0;
}

std::vector<Item> QuantizedOperands(Op& op) {
  std::vector<Item> operands;
  op.node.ForEachInput([&](ir::Value* value) {
    const Item item = op.lowering.Get(value);
    if (item.is_quantized()) {
      operands.push_back(item);
    } else if (value->type.is_tensor() && IsQuantized(value->type.dtype) && !item.failed()) {
      op.Fail("scale and zero point of a quantized operand are not known");
    }
  });
  return operands;
}

bool SameQuantization(const std::vector<Item>& items) {
  return std::all_of(items.begin(), items.end(), [&](const Item& item) {
    return item.scale == items[0].scale && item.zero_point == items[0].zero_point &&
           item.val.dtype() == items[0].val.dtype();
  });
}

// The outputs' types with `dtype` in place of quantized ones.
std::vector<ir::Type> OutputTypes(Op& op, DType dtype) {
  std::vector<ir::Type> types;
  const std::function<void(ir::Type*)> replace = [&](ir::Type* type) {
    if (type->is_tensor() && IsQuantized(type->dtype)) type->dtype = dtype;
    for (ir::Type& element : type->elements) replace(&element);
  };
  for (size_t i = 0; i < op.num_outputs(); ++i) {
    types.push_back(op.OutType(i));
    replace(&types.back());
  }
  return types;
}

// Maps the tensors of results whose captured type is quantized.
Item MapQuantized(const Item& item, const ir::Type& type, const std::function<Item(Val)>& map) {
  if (item.is_list()) {
    std::vector<Item> items;
    for (size_t i = 0; i < item.items.size(); ++i) {
      const size_t element = std::min(i, type.elements.size() - 1);
      items.push_back(type.elements.empty()
                          ? item.items[i]
                          : MapQuantized(item.items[i], type.elements[element], map));
    }
    return Item::List(std::move(items));
  }
  const bool quantized = type.is_tensor() && IsQuantized(type.dtype);
  return quantized && item.is_val() ? map(item.val) : item;
}

void ReturnMapped(Op& op, std::vector<Item> results, const std::function<Item(Val)>& map) {
  if (op.failed()) return;
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = MapQuantized(results[i], op.OutType(i), map);
  }
  op.Return(std::move(results));
}

}  // namespace

bool LowerOnQuantized(Op& op, LoweringFunction function) {
  const absl::string_view base = op.node.base_op();
  if (HandlesQuantized(base)) return false;
  const std::vector<Item> operands = QuantizedOperands(op);
  if (operands.empty()) return op.failed();
  const Item& first = operands[0];
  const std::string name(base.substr(base.rfind(':') + 1));
  const auto fixed = FixedRange(op.b, name, first.val.dtype());
  const bool moves = Movements().count(name) > 0;
  const bool same = SameScale().count(name) > 0;
  if (!moves && !same && !fixed) return false;
  const bool joined =
      (name == "cat" || name == "stack" || name == "concat") && SameQuantization(operands);
  if (moves || joined) {
    const bool per_channel = first.quantized_axis >= 0;
    if (per_channel && name != "clone" && name != "contiguous" && name != "detach" &&
        name != "alias" && name != "size" && name != "dim") {
      op.Fail("elements of a tensor that is quantized per channel are moved; dequantize it first");
      return true;
    }
    const auto integers = [](const Item& item) {
      return item.is_quantized() ? Item(item.val) : item;
    };
    ReturnMapped(op, CallOn(op, function, integers, OutputTypes(op, first.val.dtype())),
                 [&](Val val) {
                   Item item = first;
                   item.val = val;
                   return item;
                 });
    return true;
  }
  const auto floats = [&](const Item& item) {
    return item.is_quantized() ? Item(Dequantized(op, item)) : item;
  };
  const Quantization target = fixed ? *fixed : QuantizationOf(first);
  ReturnMapped(op, CallOn(op, function, floats, OutputTypes(op, kFloat)),
               [&](Val val) { return QuantizedItem(op.b, val, target); });
  return true;
}

}  // namespace rules_onnx::lowering
