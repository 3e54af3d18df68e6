#include "exporter/builder/fold.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "exporter/builder/infer.h"
#include "exporter/builder/literal.h"

namespace rules_onnx::builder {
namespace {

constexpr int64_t kMaxElements = 128;

using Ints = std::vector<int64_t>;

// Row-major strides of `shape` seen as `out`, 0 where it is broadcast.
Ints BroadcastStrides(const Ints& shape, const Ints& out) {
  Ints strides(out.size(), 0);
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1) strides[out.size() - shape.size() + i] = stride;
    stride *= shape[i];
  }
  return strides;
}

std::optional<Ints> BroadcastShapes(const Ints& a, const Ints& b) {
  Ints out(std::max(a.size(), b.size()), 1);
  for (const Ints* shape : {&a, &b}) {
    for (size_t i = 0; i < shape->size(); ++i) {
      int64_t& size = out[out.size() - shape->size() + i];
      const int64_t other = (*shape)[i];
      if (size != 1 && other != 1 && size != other) return std::nullopt;
      size = size == 1 ? other : size;
    }
  }
  return out;
}

// For each element of `out`, in order: its position in an operand with the given strides.
Ints Positions(const Ints& out, const Ints& strides, int64_t start = 0) {
  Ints positions;
  Ints index(out.size(), 0);
  const int64_t count = NumElements(out);
  for (int64_t n = 0; n < count; ++n) {
    int64_t position = start;
    for (size_t d = 0; d < out.size(); ++d) position += index[d] * strides[d];
    positions.push_back(position);
    for (size_t d = out.size(); d-- > 0;) {
      if (++index[d] < out[d]) break;
      index[d] = 0;
    }
  }
  return positions;
}

// The elements of `from` at the given positions, under a new shape.
LiteralPtr Pick(const TensorLiteral& from, const Ints& positions, Ints shape) {
  auto result = std::make_shared<TensorLiteral>();
  result->dtype = from.dtype;
  result->shape = std::move(shape);
  const size_t size = ElementSize(from.dtype);
  for (const int64_t position : positions) {
    result->bytes.append(from.bytes, position * size, size);
  }
  return result;
}

template <typename T, typename F>
std::vector<T> Zip(const std::vector<T>& a, const Ints& shape_a, const std::vector<T>& b,
                   const Ints& shape_b, const Ints& out, F f) {
  const Ints pa = Positions(out, BroadcastStrides(shape_a, out));
  const Ints pb = Positions(out, BroadcastStrides(shape_b, out));
  std::vector<T> result;
  for (size_t i = 0; i < pa.size(); ++i) result.push_back(f(a[pa[i]], b[pb[i]]));
  return result;
}

int64_t FloorMod(int64_t a, int64_t b) {
  const int64_t r = a % b;
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}

using IntFunction = int64_t (*)(int64_t, int64_t);
using FloatFunction = double (*)(double, double);

IntFunction FindIntFunction(absl::string_view op) {
  static const auto* const kFunctions = new std::map<std::string, IntFunction>{
      {"Add", [](int64_t a, int64_t b) { return a + b; }},
      {"Sub", [](int64_t a, int64_t b) { return a - b; }},
      {"Mul", [](int64_t a, int64_t b) { return a * b; }},
      {"Div", [](int64_t a, int64_t b) { return a / b; }},
      {"Mod", [](int64_t a, int64_t b) { return FloorMod(a, b); }},
      {"Min", [](int64_t a, int64_t b) { return std::min(a, b); }},
      {"Max", [](int64_t a, int64_t b) { return std::max(a, b); }},
      {"Equal", [](int64_t a, int64_t b) -> int64_t { return a == b; }},
      {"Less", [](int64_t a, int64_t b) -> int64_t { return a < b; }},
      {"Greater", [](int64_t a, int64_t b) -> int64_t { return a > b; }},
      {"LessOrEqual", [](int64_t a, int64_t b) -> int64_t { return a <= b; }},
      {"GreaterOrEqual", [](int64_t a, int64_t b) -> int64_t { return a >= b; }},
      {"And", [](int64_t a, int64_t b) { return a & b; }},
      {"Or", [](int64_t a, int64_t b) { return a | b; }},
      {"Xor", [](int64_t a, int64_t b) { return a ^ b; }},
  };
  const auto it = kFunctions->find(std::string(op));
  return it == kFunctions->end() ? nullptr : it->second;
}

FloatFunction FindFloatFunction(absl::string_view op) {
  static const auto* const kFunctions = new std::map<std::string, FloatFunction>{
      {"Add", [](double a, double b) { return a + b; }},
      {"Sub", [](double a, double b) { return a - b; }},
      {"Mul", [](double a, double b) { return a * b; }},
      {"Div", [](double a, double b) { return a / b; }},
  };
  const auto it = kFunctions->find(std::string(op));
  return it == kFunctions->end() ? nullptr : it->second;
}

bool IsComparison(absl::string_view op) {
  return op == "Equal" || op == "Less" || op == "Greater" || op == "LessOrEqual" ||
         op == "GreaterOrEqual";
}

LiteralPtr FoldBinary(absl::string_view op, const TensorLiteral& a, const TensorLiteral& b) {
  if (a.dtype != b.dtype) return nullptr;
  const auto shape = BroadcastShapes(a.shape, b.shape);
  if (!shape || NumElements(*shape) > kMaxElements) return nullptr;
  const auto ints_a = LiteralInts(a), ints_b = LiteralInts(b);
  if (ints_a && ints_b) {
    const IntFunction f = FindIntFunction(op);
    const bool divides = op == "Div" || op == "Mod";
    if (f == nullptr || (divides && std::count(ints_b->begin(), ints_b->end(), 0) > 0) ||
        (a.dtype == DType::kUInt64 && (divides || IsComparison(op)))) {
      return nullptr;
    }
    return IntLiteral(Zip(*ints_a, a.shape, *ints_b, b.shape, *shape, f), *shape,
                      IsComparison(op) ? DType::kBool : a.dtype);
  }
  // One IEEE operation in double on float32 operands, rounded once more, is the float32 result.
  const FloatFunction f = FindFloatFunction(op);
  if (f == nullptr || (a.dtype != DType::kFloat32 && a.dtype != DType::kFloat64)) return nullptr;
  return FloatLiteral(Zip(*LiteralFloats(a), a.shape, *LiteralFloats(b), b.shape, *shape, f),
                      *shape, a.dtype);
}

LiteralPtr FoldUnary(absl::string_view op, const TensorLiteral& x) {
  if (auto ints = LiteralInts(x)) {
    if (op != "Neg" && op != "Abs" && op != "Not") return nullptr;
    for (int64_t& value : *ints) {
      value = op == "Not" ? !value : (op == "Neg" || value < 0) ? 0 - value : value;
    }
    return IntLiteral(*ints, x.shape, x.dtype);
  }
  if (x.dtype != DType::kFloat32 && x.dtype != DType::kFloat64) return nullptr;
  if (op != "Neg" && op != "Abs" && op != "Sqrt") return nullptr;
  std::vector<double> values = *LiteralFloats(x);
  for (double& value : values) {
    value = op == "Neg" ? -value : op == "Abs" ? std::fabs(value) : std::sqrt(value);
  }
  return FloatLiteral(values, x.shape, x.dtype);
}

LiteralPtr FoldCast(const TensorLiteral& x, DType to) {
  if (to >= DType::kComplex64) return nullptr;
  if (const auto ints = LiteralInts(x)) return IntLiteral(*ints, x.shape, to);
  const auto floats = LiteralFloats(x);
  if (!floats) return nullptr;
  if (!IsFloat(to)) {
    constexpr double kLimit = 2147483647;  // beyond it casts differ between runtimes
    for (const double value : *floats) {
      if (!(std::fabs(value) <= kLimit)) return nullptr;
    }
  }
  return FloatLiteral(*floats, x.shape, to);
}

LiteralPtr Reshaped(const TensorLiteral& x, Ints shape) {
  auto result = std::make_shared<TensorLiteral>(x);
  result->shape = std::move(shape);
  return result;
}

LiteralPtr FoldReshape(const TensorLiteral& x, const std::optional<Ints>& target) {
  if (!target) return nullptr;
  Ints shape = *target;
  int64_t known = 1;
  for (const int64_t size : shape) known *= size == -1 ? 1 : size;
  if (known == 0) return nullptr;
  for (int64_t& size : shape) {
    if (size == -1) size = NumElements(x.shape) / known;
  }
  return NumElements(shape) == NumElements(x.shape) ? Reshaped(x, shape) : nullptr;
}

LiteralPtr FoldUnsqueeze(const TensorLiteral& x, const std::optional<Ints>& axes) {
  if (!axes) return nullptr;
  Ints shape = x.shape;
  for (const int64_t axis : *axes) {
    if (axis < 0 || axis > static_cast<int64_t>(shape.size())) return nullptr;
    shape.insert(shape.begin() + axis, 1);
  }
  return Reshaped(x, shape);
}

LiteralPtr FoldSqueeze(const TensorLiteral& x, const std::optional<Ints>& axes) {
  if (!axes) return nullptr;
  Ints shape;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    const bool gone = std::count(axes->begin(), axes->end(), static_cast<int64_t>(i)) > 0;
    if (!gone) shape.push_back(x.shape[i]);
    if (gone && x.shape[i] != 1) return nullptr;
  }
  return Reshaped(x, shape);
}

LiteralPtr FoldConcat(const Vals& inputs, int64_t axis) {
  if (axis != 0) return nullptr;
  auto result = std::make_shared<TensorLiteral>();
  result->dtype = inputs[0].dtype();
  result->shape = {0};
  for (const Val input : inputs) {
    const TensorLiteral& part = input.literal();
    if (part.shape.size() != 1) return nullptr;
    result->shape[0] += part.shape[0];
    result->bytes += part.bytes;
  }
  return result;
}

LiteralPtr FoldGather(const TensorLiteral& x, const TensorLiteral& indices, int64_t axis) {
  if (x.shape.size() != 1 || axis != 0) return nullptr;
  Ints positions = *LiteralInts(indices);
  for (int64_t& position : positions) {
    if (position < 0) position += x.shape[0];
    if (position < 0 || position >= x.shape[0]) return nullptr;
  }
  return Pick(x, positions, indices.shape);
}

LiteralPtr FoldSlice(const Vals& inputs) {
  const TensorLiteral& x = inputs[0].literal();
  if (inputs.size() < 5 || x.shape.size() != 1 || inputs[1].numel() != 1) return nullptr;
  const int64_t n = x.shape[0], step = *inputs[4].int_value();
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  const auto bound = [&](Val value) {
    const int64_t index = *value.int_value();
    return std::clamp(index < 0 ? index + n : index, low, high);
  };
  const int64_t start = bound(inputs[1]), end = bound(inputs[2]);
  Ints positions;
  for (int64_t i = start; step > 0 ? i < end : i > end; i += step) positions.push_back(i);
  return Pick(x, positions, {static_cast<int64_t>(positions.size())});
}

LiteralPtr FoldTranspose(const TensorLiteral& x, const Attrs& attrs) {
  const auto& perm = std::get<Ints>(FindAttr(attrs, "perm")->data);
  const Ints strides = BroadcastStrides(x.shape, x.shape);
  Ints shape, moved;
  for (const int64_t axis : perm) {
    shape.push_back(x.shape[axis]);
    moved.push_back(strides[axis]);
  }
  return Pick(x, Positions(shape, moved), shape);
}

LiteralPtr FoldExpand(const TensorLiteral& x, const std::optional<Ints>& target) {
  if (!target) return nullptr;
  const auto shape = BroadcastShapes(x.shape, *target);
  if (!shape || NumElements(*shape) > kMaxElements) return nullptr;
  return Pick(x, Positions(*shape, BroadcastStrides(x.shape, *shape)), *shape);
}

LiteralPtr FoldReduce(absl::string_view op, const TensorLiteral& x, bool keepdims) {
  const auto ints = LiteralInts(x);
  if (!ints || x.shape.size() > 1) return nullptr;
  int64_t result;
  if (op == "ReduceSum") {
    result = std::accumulate(ints->begin(), ints->end(), int64_t{0});
  } else if (op == "ReduceProd") {
    result = std::accumulate(ints->begin(), ints->end(), int64_t{1}, std::multiplies<>());
  } else {
    return nullptr;
  }
  return IntLiteral({result}, keepdims ? Ints(x.shape.size(), 1) : Ints{}, x.dtype);
}

LiteralPtr FoldWhere(const TensorLiteral& condition, const TensorLiteral& a,
                     const TensorLiteral& b) {
  if (condition.bytes.size() != 1 || !condition.shape.empty()) return nullptr;
  const TensorLiteral& chosen = condition.bytes[0] ? a : b;
  const auto shape = BroadcastShapes(a.shape, b.shape);
  return shape ? FoldExpand(chosen, *shape) : nullptr;
}

// Fills only what is small, so that no large literal is made.
LiteralPtr FoldConstantOfShape(const std::optional<Ints>& shape, const Attrs& attrs) {
  if (!shape || NumElements(*shape) > 16) return nullptr;
  const Attr* attr = FindAttr(attrs, "value");
  const auto& value = *std::get<LiteralPtr>(attr->data);
  return Pick(value, Ints(NumElements(*shape), 0), *shape);
}

LiteralPtr FoldRange(const Vals& inputs) {
  const auto start = inputs[0].int_value(), end = inputs[1].int_value(),
             step = inputs[2].int_value();
  if (!start || !end || !step || *step == 0) return nullptr;
  Ints values;
  for (int64_t i = *start; *step > 0 ? i < *end : i > *end; i += *step) {
    if (values.size() >= kMaxElements) return nullptr;
    values.push_back(i);
  }
  return IntLiteral(values, {static_cast<int64_t>(values.size())}, inputs[0].dtype());
}

bool AllSmallConstants(const Vals& inputs) {
  return !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), [](Val input) {
    return input.is_const() && *input.numel() <= kMaxElements;
  });
}

}  // namespace

LiteralPtr FoldNode(absl::string_view op, const Vals& inputs, const Attrs& attrs) {
  if (!AllSmallConstants(inputs)) return nullptr;
  const TensorLiteral& x = inputs[0].literal();
  const auto second = inputs.size() > 1 ? inputs[1].ints() : std::nullopt;
  if (op == "Cast") return FoldCast(x, std::get<DType>(FindAttr(attrs, "to")->data));
  if (op == "Reshape") return FoldReshape(x, second);
  if (op == "Unsqueeze") return FoldUnsqueeze(x, second);
  if (op == "Squeeze") return FoldSqueeze(x, second);
  if (op == "Concat") return FoldConcat(inputs, IntAttr(attrs, "axis", 0));
  if (op == "Gather") return FoldGather(x, inputs[1].literal(), IntAttr(attrs, "axis", 0));
  if (op == "Slice") return FoldSlice(inputs);
  if (op == "Transpose") return FoldTranspose(x, attrs);
  if (op == "Expand") return FoldExpand(x, second);
  if (op == "ReduceSum" || op == "ReduceProd") {
    if (inputs.size() > 1 || FindAttr(attrs, "axes") != nullptr) {
      if (x.shape.size() != 1) return nullptr;
    }
    return FoldReduce(op, x, IntAttr(attrs, "keepdims", 1) != 0);
  }
  if (op == "Where") return FoldWhere(x, inputs[1].literal(), inputs[2].literal());
  if (op == "ConstantOfShape") return FoldConstantOfShape(inputs[0].ints(), attrs);
  if (op == "Range") return FoldRange(inputs);
  if (inputs.size() == 2) return FoldBinary(op, x, inputs[1].literal());
  if (inputs.size() == 1) return FoldUnary(op, x);
  return nullptr;
}

}  // namespace rules_onnx::builder
