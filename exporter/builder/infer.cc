#include "exporter/builder/infer.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace rules_onnx::builder {
namespace {

using OptShape = std::optional<Shape>;

OptShape ShapeOf(Val x) { return x ? x.get()->type.shape : std::nullopt; }

Dim BroadcastDims(const Dim& a, const Dim& b) {
  if (a.Equals(b)) return a;
  if (a.is_number()) return a.value() == 1 ? b : a;
  if (b.is_number()) return b.value() == 1 ? a : b;
  return Dim::Unknown();
}

OptShape BroadcastAll(const Vals& inputs) {
  OptShape shape = Shape{};
  for (const Val input : inputs) {
    if (input) shape = Broadcast(shape, ShapeOf(input));
  }
  return shape;
}

std::optional<std::vector<int64_t>> IntsAttr(const Attrs& attrs, absl::string_view name) {
  const Attr* attr = FindAttr(attrs, name);
  if (attr == nullptr) return std::nullopt;
  return std::get<std::vector<int64_t>>(attr->data);
}

// Axes of Squeeze, Unsqueeze, Reduce…: an attribute, or input 1.
std::optional<std::vector<int64_t>> Axes(const Vals& inputs, const Attrs& attrs) {
  if (auto axes = IntsAttr(attrs, "axes")) return axes;
  if (inputs.size() > 1 && inputs[1]) return inputs[1].ints();
  return std::vector<int64_t>{};
}

std::set<int64_t> Normalized(const std::vector<int64_t>& axes, int64_t rank) {
  std::set<int64_t> result;
  for (const int64_t axis : axes) result.insert(axis < 0 ? axis + rank : axis);
  return result;
}

OptShape InferReduce(const Vals& inputs, const Attrs& attrs) {
  const OptShape shape = ShapeOf(inputs[0]);
  const auto axes = Axes(inputs, attrs);
  if (!shape || !axes) return std::nullopt;
  const std::set<int64_t> reduced = Normalized(*axes, shape->size());
  const bool keepdims = IntAttr(attrs, "keepdims", 1) != 0;
  Shape result;
  for (size_t i = 0; i < shape->size(); ++i) {
    const bool gone = axes->empty() || reduced.count(i) > 0;
    if (!gone) {
      result.push_back((*shape)[i]);
    } else if (keepdims) {
      result.push_back(1);
    }
  }
  return result;
}

OptShape InferArg(const Vals& inputs, const Attrs& attrs) {
  const OptShape shape = ShapeOf(inputs[0]);
  if (!shape || shape->empty()) return shape;
  int64_t axis = IntAttr(attrs, "axis", 0);
  if (axis < 0) axis += shape->size();
  Shape result = *shape;
  if (IntAttr(attrs, "keepdims", 1) != 0) {
    result[axis] = 1;
  } else {
    result.erase(result.begin() + axis);
  }
  return result;
}

OptShape InferReshape(const Vals& inputs) {
  if (!inputs[1]) return std::nullopt;
  const auto target = inputs[1].ints();
  if (!target) {
    const auto rank = inputs[1].numel();
    return rank ? OptShape(Shape(*rank)) : std::nullopt;
  }
  Shape result(target->begin(), target->end());
  const auto hole = std::find(target->begin(), target->end(), -1);
  if (hole == target->end()) return result;
  Dim rest(1);
  for (const int64_t size : *target) rest = size == -1 ? rest : rest * size;
  const OptShape from = ShapeOf(inputs[0]);
  result[hole - target->begin()] =
      from ? Dim::FloorDiv(ir::NumElements(*from), rest) : Dim::Unknown();
  return result;
}

OptShape InferSqueeze(const Vals& inputs, const Attrs& attrs) {
  const OptShape shape = ShapeOf(inputs[0]);
  const auto axes = Axes(inputs, attrs);
  if (!shape || !axes) return std::nullopt;
  const std::set<int64_t> gone = Normalized(*axes, shape->size());
  Shape result;
  for (size_t i = 0; i < shape->size(); ++i) {
    if (gone.count(i) == 0) result.push_back((*shape)[i]);
  }
  return result;
}

OptShape InferUnsqueeze(const Vals& inputs, const Attrs& attrs) {
  const OptShape shape = ShapeOf(inputs[0]);
  const auto axes = Axes(inputs, attrs);
  if (!shape || !axes) return std::nullopt;
  Shape result = *shape;
  for (const int64_t axis : Normalized(*axes, shape->size() + axes->size())) {
    result.insert(result.begin() + std::min<size_t>(axis, result.size()), Dim(1));
  }
  return result;
}

OptShape InferTranspose(const Vals& inputs, const Attrs& attrs) {
  const OptShape shape = ShapeOf(inputs[0]);
  const auto perm = IntsAttr(attrs, "perm");
  if (!shape || !perm || perm->size() != shape->size()) return std::nullopt;
  Shape result;
  for (const int64_t axis : *perm) result.push_back((*shape)[axis]);
  return result;
}

OptShape InferConcat(const Vals& inputs, const Attrs& attrs) {
  OptShape result = ShapeOf(inputs[0]);
  if (!result) return result;
  int64_t axis = IntAttr(attrs, "axis", 0);
  if (axis < 0) axis += result->size();
  for (size_t i = 1; i < inputs.size(); ++i) {
    const OptShape shape = ShapeOf(inputs[i]);
    if (!shape || shape->size() != result->size()) return std::nullopt;
    for (size_t d = 0; d < shape->size(); ++d) {
      if (static_cast<int64_t>(d) == axis) {
        (*result)[d] = (*result)[d] + (*shape)[d];
      } else if (!(*result)[d].is_number()) {
        (*result)[d] = (*shape)[d];
      }
    }
  }
  return result;
}

OptShape InferGather(const Vals& inputs, const Attrs& attrs) {
  const OptShape shape = ShapeOf(inputs[0]), indices = ShapeOf(inputs[1]);
  if (!shape || !indices) return std::nullopt;
  int64_t axis = IntAttr(attrs, "axis", 0);
  if (axis < 0) axis += shape->size();
  Shape result = *shape;
  result.erase(result.begin() + axis);
  result.insert(result.begin() + axis, indices->begin(), indices->end());
  return result;
}

// The size that start:end:step takes of `size`, with ONNX's clamping.
Dim SliceSize(const Dim& size, int64_t start, int64_t end, int64_t step) {
  if (size.is_number()) {
    const int64_t n = size.value();
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    const auto clamp = [&](int64_t index) {
      return std::clamp(index < 0 ? index + n : index, low, high);
    };
    const int64_t distance = clamp(end) - clamp(start);
    const int64_t count = step > 0 ? (distance + step - 1) / step : (distance + step + 1) / step;
    return std::max<int64_t>(count, 0);
  }
  if (step == 1 && start == 0 && end == std::numeric_limits<int64_t>::max()) return size;
  return Dim::Unknown();
}

OptShape InferSlice(const Vals& inputs, const Attrs& attrs) {
  OptShape shape = ShapeOf(inputs[0]);
  if (!shape) return shape;
  const bool as_inputs = inputs.size() >= 4;
  const auto axes = as_inputs ? inputs[3].ints() : IntsAttr(attrs, "axes");
  const auto starts = as_inputs ? inputs[1].ints() : IntsAttr(attrs, "starts");
  const auto ends = as_inputs ? inputs[2].ints() : IntsAttr(attrs, "ends");
  const auto steps =
      inputs.size() >= 5 ? inputs[4].ints() : std::vector<int64_t>(axes ? axes->size() : 0, 1);
  if (!axes) return Shape(shape->size());
  for (size_t i = 0; i < axes->size(); ++i) {
    const int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + shape->size() : (*axes)[i];
    Dim& dim = (*shape)[axis];
    dim = starts && ends && steps ? SliceSize(dim, (*starts)[i], (*ends)[i], (*steps)[i])
                                  : Dim::Unknown();
  }
  return shape;
}

OptShape InferExpand(const Vals& inputs) {
  const auto target = inputs[1].ints();
  if (target) return Broadcast(ShapeOf(inputs[0]), Shape(target->begin(), target->end()));
  const auto rank = inputs[1].numel();
  const OptShape from = ShapeOf(inputs[0]);
  if (!rank || !from) return std::nullopt;
  return Shape(std::max<size_t>(*rank, from->size()));
}

OptShape InferFromShapeInput(Val shape) {
  if (const auto sizes = shape.ints()) return Shape(sizes->begin(), sizes->end());
  const auto rank = shape.numel();
  return rank ? OptShape(Shape(*rank)) : std::nullopt;
}

OptShape InferMatMul(const Vals& inputs) {
  const OptShape a = ShapeOf(inputs[0]), b = ShapeOf(inputs[1]);
  if (!a || !b || a->empty() || b->empty()) return std::nullopt;
  const auto batch = [](const Shape& s) {
    return s.size() > 2 ? Shape(s.begin(), s.end() - 2) : Shape{};
  };
  OptShape result = Broadcast(batch(*a), batch(*b));
  if (!result) return result;
  if (a->size() > 1) result->push_back((*a)[a->size() - 2]);
  if (b->size() > 1) result->push_back(b->back());
  return result;
}

OptShape InferPad(const Vals& inputs, const Attrs& attrs) {
  OptShape shape = ShapeOf(inputs[0]);
  const auto pads = inputs.size() > 1 ? inputs[1].ints() : IntsAttr(attrs, "pads");
  if (!shape) return shape;
  if (!pads || pads->size() != 2 * shape->size()) return Shape(shape->size());
  for (size_t i = 0; i < shape->size(); ++i) {
    (*shape)[i] = (*shape)[i] + ((*pads)[i] + (*pads)[i + shape->size()]);
  }
  return shape;
}

// Indices of rank q whose last axis has k elements: q − 1 + r − k axes, batch_dims being 0.
OptShape InferGatherNd(const Vals& inputs) {
  const OptShape shape = ShapeOf(inputs[0]), indices = ShapeOf(inputs[1]);
  if (!shape || !indices || indices->empty() || !indices->back().is_number()) return std::nullopt;
  Shape result(indices->begin(), indices->end() - 1);
  const size_t taken = indices->back().value();
  if (taken > shape->size()) return std::nullopt;
  result.insert(result.end(), shape->begin() + taken, shape->end());
  return result;
}

OptShape InferTile(const Vals& inputs) {
  OptShape shape = ShapeOf(inputs[0]);
  if (!shape) return shape;
  const auto repeats = inputs[1] ? inputs[1].ints() : std::nullopt;
  if (!repeats || repeats->size() != shape->size()) return Shape(shape->size());
  for (size_t i = 0; i < shape->size(); ++i) (*shape)[i] = (*shape)[i] * Dim((*repeats)[i]);
  return shape;
}

OptShape InferOneHot(const Vals& inputs, const Attrs& attrs) {
  OptShape shape = ShapeOf(inputs[0]);
  if (!shape) return shape;
  int64_t axis = IntAttr(attrs, "axis", -1);
  if (axis < 0) axis += shape->size() + 1;
  const auto depth = inputs[1] ? inputs[1].int_value() : std::nullopt;
  shape->insert(shape->begin() + axis, depth ? Dim(*depth) : Dim::Unknown());
  return shape;
}

// Convolutions and pools: batch and rank; the rest is left to ONNX's inference.
OptShape SameRank(Val x) {
  const OptShape shape = ShapeOf(x);
  return shape ? OptShape(Shape(shape->size())) : std::nullopt;
}

bool IsElementwise(absl::string_view op_type) {
  static const auto* const kOps = new std::set<std::string>{
      "Add", "Sub", "Mul", "Div", "Pow", "Mod", "Min", "Max", "Equal", "Less", "Greater",
      "LessOrEqual", "GreaterOrEqual", "And", "Or", "Xor", "Where", "PRelu", "BitShift",
      "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Sum", "Mean"};
  return kOps->count(std::string(op_type)) > 0;
}

// Output has the shape of the first input.
bool KeepsShape(absl::string_view op_type) {
  static const auto* const kOps = new std::set<std::string>{
      "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BatchNormalization",
      "BitwiseNot", "Cast", "Ceil", "Celu", "Clip", "Cos", "Cosh", "CumSum", "DequantizeLinear",
      "Dropout", "Elu", "Erf", "Exp", "Floor", "Gelu", "GroupNormalization", "HardSigmoid",
      "HardSwish", "Hardmax", "Identity", "InstanceNormalization", "IsInf", "IsNaN",
      "LayerNormalization", "LeakyRelu", "Log", "LogSoftmax", "LpNormalization", "LRN",
      "MeanVarianceNormalization", "Mish", "Neg", "Not", "QuantizeLinear", "RMSNormalization",
      "Reciprocal", "Relu", "Round", "ScatterElements", "ScatterND", "Scatter", "Selu", "Shrink",
      "Sigmoid", "Sign", "Sin", "Sinh", "Softmax", "Softplus", "Softsign", "Sqrt", "Swish", "Tan",
      "Tanh", "ThresholdedRelu", "Trilu"};
  return kOps->count(std::string(op_type)) > 0;
}

bool StartsWith(absl::string_view text, absl::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

OptShape InferShape(absl::string_view op, const Vals& in, const Attrs& attrs, size_t output) {
  if (in.empty() || !in[0]) return std::nullopt;
  if (IsElementwise(op)) return BroadcastAll(in);
  if (KeepsShape(op)) return output == 0 ? ShapeOf(in[0]) : std::nullopt;
  if (StartsWith(op, "Reduce")) return InferReduce(in, attrs);
  if (op == "ArgMax" || op == "ArgMin") return InferArg(in, attrs);
  if (op == "Reshape") return InferReshape(in);
  if (op == "Squeeze") return InferSqueeze(in, attrs);
  if (op == "Unsqueeze") return InferUnsqueeze(in, attrs);
  if (op == "Transpose") return InferTranspose(in, attrs);
  if (op == "Concat") return InferConcat(in, attrs);
  if (op == "Gather") return InferGather(in, attrs);
  if (op == "GatherElements") return ShapeOf(in[1]);
  if (op == "GatherND") return InferGatherNd(in);
  if (op == "Tile") return InferTile(in);
  if (op == "OneHot") return InferOneHot(in, attrs);
  if (op == "Slice") return InferSlice(in, attrs);
  if (op == "Expand") return InferExpand(in);
  if (op == "ConstantOfShape") return InferFromShapeInput(in[0]);
  if (op == "MatMul") return InferMatMul(in);
  if (op == "Pad") return InferPad(in, attrs);
  if (op == "Range") return Shape(1);
  if (op == "NonZero" && in[0].rank() >= 0) {
    return Shape{Dim(std::max(in[0].rank(), 1)), Dim::Unknown()};
  }
  if (op == "Shape") return in[0].rank() < 0 ? Shape(1) : Shape{Dim(in[0].rank())};
  if (op == "Size") return Shape{};
  if (op == "TopK") {
    OptShape shape = ShapeOf(in[0]);
    if (!shape || shape->empty()) return shape;
    const int64_t axis = IntAttr(attrs, "axis", -1);
    const auto k = in.size() > 1 ? in[1].int_value() : std::optional(IntAttr(attrs, "k", 0));
    (*shape)[axis < 0 ? axis + shape->size() : axis] = k ? Dim(*k) : Dim::Unknown();
    return shape;
  }
  if (op == "Conv" || op == "ConvTranspose" || op == "MaxPool" || op == "AveragePool" ||
      op == "LpPool" || op == "Resize" || op == "Upsample" || op == "GlobalAveragePool" ||
      op == "GlobalMaxPool" || op == "DepthToSpace" || op == "SpaceToDepth" ||
      op == "GridSample") {
    return SameRank(in[0]);
  }
  if (op == "Gemm") {
    return Shape{in[0].dim(IntAttr(attrs, "transA", 0) ? 1 : 0),
                 in[1].dim(IntAttr(attrs, "transB", 0) ? 0 : 1)};
  }
  return std::nullopt;
}

}  // namespace

const Attr* FindAttr(const Attrs& attrs, absl::string_view name) {
  for (const Attr& attr : attrs) {
    if (attr.name == name) return &attr;
  }
  return nullptr;
}

int64_t IntAttr(const Attrs& attrs, absl::string_view name, int64_t default_value) {
  const Attr* attr = FindAttr(attrs, name);
  return attr == nullptr ? default_value : std::get<int64_t>(attr->data);
}

OptShape Broadcast(const OptShape& a, const OptShape& b) {
  if (!a || !b) return std::nullopt;
  const Shape& longer = a->size() >= b->size() ? *a : *b;
  const Shape& shorter = a->size() >= b->size() ? *b : *a;
  Shape result = longer;
  const size_t lead = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    result[lead + i] = BroadcastDims(longer[lead + i], shorter[i]);
  }
  return result;
}

ValueType InferOutput(absl::string_view op_type, const Vals& inputs, const Attrs& attrs,
                      size_t output) {
  ValueType type;
  if (const Attr* to = FindAttr(attrs, "to")) {
    if (const DType* dtype = std::get_if<DType>(&to->data)) type.dtype = *dtype;
  }
  if (const Attr* dtype = FindAttr(attrs, "dtype")) {
    if (const DType* value = std::get_if<DType>(&dtype->data)) type.dtype = *value;
  }
  type.shape = InferShape(op_type, inputs, attrs, output);
  return type;
}

}  // namespace rules_onnx::builder
