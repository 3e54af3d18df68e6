// Sizes and movement of elements: reshape, slice, gather, pad, … of the builder.
#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "exporter/builder/builder.h"
#include "exporter/builder/infer.h"
#include "exporter/builder/literal.h"

namespace rules_onnx::builder {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

std::optional<std::vector<int64_t>> Numbers(const std::optional<Shape>& shape) {
  if (!shape) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Dim& dim : *shape) {
    if (!dim.is_number()) return std::nullopt;
    numbers.push_back(dim.value());
  }
  return numbers;
}

std::optional<std::vector<int64_t>> Numbers(Val x) {
  return x ? Numbers(x.get()->type.shape) : std::nullopt;
}

bool IsIdentity(const std::vector<int64_t>& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

// ---------------------------------------------------------------- sizes

Val Builder::Size(Val x, int axis) {
  if (!x || failed()) return {};
  axis = static_cast<int>(NormalizeAxis(axis, x.rank()));
  const Dim dim = x.dim(axis);
  if (dim.is_number()) return Int(dim.value());
  return Op("Gather", {Op("Shape", {x}), Int(axis)}, {{"axis", 0}});
}

Val Builder::ShapeOf(Val x) {
  if (!x || failed()) return {};
  if (const auto numbers = Numbers(x)) return Ints(*numbers);
  return Op("Shape", {x});
}

Val Builder::NumElements(Val x) {
  if (!x || failed()) return {};
  if (const auto count = x.numel()) return Int(*count);
  return Op("Size", {x});
}

Val Builder::Rank(Val x) {
  if (!x || failed()) return {};
  if (x.rank() >= 0) return Int(x.rank());
  return Op("Gather", {Op("Shape", {Op("Shape", {x})}), Int(0)}, {{"axis", 0}});
}

Val Builder::Vector(const Vals& scalars) {
  if (scalars.empty()) return Ints({});
  Vals parts;
  std::vector<int64_t> constants;  // a run of them
  const auto flush = [&] {
    if (!constants.empty()) parts.push_back(Ints(constants));
    constants.clear();
  };
  for (const Val scalar : scalars) {
    if (const auto value = scalar.int_value()) {
      constants.push_back(*value);
    } else {
      flush();
      const Val wide = Cast(scalar, DType::kInt64);
      parts.push_back(wide.rank() == 1 ? wide : Reshape(wide, std::vector<int64_t>{1}));
    }
  }
  flush();
  return Concat(parts, 0);
}

Vals Builder::Elements(Val vector) {
  if (!vector || failed()) return {};
  const auto count = vector.numel();
  if (!count) {
    Fail("the length of a list of sizes is not known");
    return {};
  }
  Vals scalars;
  for (int64_t i = 0; i < *count; ++i) scalars.push_back(Gather(vector, Int(i), 0));
  return scalars;
}

// ---------------------------------------------------------------- reshape

namespace {

// What a -1 beside zeros stands for, which ONNX leaves open: the number of elements does not tell.
// As if each of the zeros were the same axis before and after: x's other sizes over the others of
// the shape.
Val SizeBesideZeros(Builder& b, Val x, const std::vector<int64_t>& shape) {
  auto zeros = std::count(shape.begin(), shape.end(), 0);
  Val size = b.Int(1);
  for (int i = 0; i < x.rank(); ++i) {
    const bool is_kept = x.dim(i).Equals(Dim(0)) && zeros-- > 0;
    if (!is_kept) size = b.Mul(size, b.Size(x, i));
  }
  int64_t others = 1;
  for (const int64_t other : shape) others *= other > 0 ? other : 1;
  return b.Div(size, b.Int(others));
}

}  // namespace

Val Builder::Reshape(Val x, const std::vector<int64_t>& shape) {
  if (!x || failed()) return {};
  if (const auto from = Numbers(x); from && *from == shape) return x;
  if (x.rank() == 0 && shape == std::vector<int64_t>{1} && !x.is_const()) {
    return Unsqueeze(x, {0});
  }
  if (std::count(shape.begin(), shape.end(), 0) == 0) return Op("Reshape", {x, Ints(shape)});
  Vals sizes;
  for (const int64_t size : shape) {
    sizes.push_back(size == -1 ? SizeBesideZeros(*this, x, shape) : Int(size));
  }
  const Val target = Vector(sizes);
  if (opset() >= 14) return Op("Reshape", {x, target}, {{"allowzero", 1}});
  // A result without elements; before opset 14 a 0 in a shape means something else.
  return ConstantOfShape(target, 0, x.dtype());
}

Val Builder::Reshape(Val x, Val shape) {
  if (!x || !shape || failed()) return {};
  if (const auto numbers = shape.ints()) return Reshape(x, *numbers);
  if (opset() >= 14) return Op("Reshape", {x, shape}, {{"allowzero", 1}});
  return Op("Reshape", {x, shape});
}

Val Builder::Reshape(Val x, const Vals& sizes, const std::optional<Shape>& known) {
  if (!x || failed()) return {};
  std::vector<int64_t> numbers;
  int unknown = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool is_known = known && i < known->size() && (*known)[i].is_number();
    const auto constant = sizes[i].int_value();
    const int64_t number = is_known ? (*known)[i].value() : constant.value_or(-1);
    numbers.push_back(number);
    unknown += number == -1;
  }
  const bool has_zero = std::count(numbers.begin(), numbers.end(), 0) > 0;
  if (unknown == 0 || (unknown == 1 && !has_zero)) return Reshape(x, numbers);
  Vals scalars;
  for (size_t i = 0; i < sizes.size(); ++i) {
    scalars.push_back(numbers[i] == -1 ? sizes[i] : Int(numbers[i]));
  }
  const bool infers = std::any_of(sizes.begin(), sizes.end(),
                                  [](Val size) { return size.int_value() == -1; });
  const Val target = Vector(scalars);
  // A result without elements; before opset 14 a 0 in a shape means something else.
  if (has_zero && !infers && opset() < 14) return ConstantOfShape(target, 0, x.dtype());
  // With a -1 in the list PyTorch allows no 0 beside it either: the plain form is right.
  const Val result = infers ? Op("Reshape", {x, target}) : Reshape(x, target);
  if (result && known && !result.has_shape()) result.get()->type.shape = known;
  return result;
}

Val Builder::Squeeze(Val x, std::vector<int64_t> axes) {
  if (!x || failed() || axes.empty()) return x;
  for (int64_t& axis : axes) axis = NormalizeAxis(axis, x.rank());
  std::sort(axes.begin(), axes.end());
  if (opset() >= 13) return Op("Squeeze", {x, Ints(axes)});
  if (const auto folded = Numbers(x); folded && x.is_const()) {
    std::vector<int64_t> shape;
    for (size_t i = 0; i < folded->size(); ++i) {
      if (std::count(axes.begin(), axes.end(), static_cast<int64_t>(i)) == 0) {
        shape.push_back((*folded)[i]);
      }
    }
    return Reshape(x, shape);
  }
  return Op("Squeeze", {x}, {{"axes", axes}});
}

Val Builder::Unsqueeze(Val x, std::vector<int64_t> axes) {
  if (!x || failed() || axes.empty()) return x;
  const int rank = x.rank() < 0 ? -1 : x.rank() + static_cast<int>(axes.size());
  for (int64_t& axis : axes) {
    if (axis < 0 || rank >= 0) axis = NormalizeAxis(axis, rank);
  }
  std::sort(axes.begin(), axes.end());
  if (opset() >= 13) return Op("Unsqueeze", {x, Ints(axes)});
  if (x.is_const()) {
    std::vector<int64_t> shape = *Numbers(x);
    for (const int64_t axis : axes) shape.insert(shape.begin() + axis, 1);
    return Reshape(x, shape);
  }
  return Op("Unsqueeze", {x}, {{"axes", axes}});
}

Val Builder::Transpose(Val x, const std::vector<int64_t>& perm) {
  if (IsIdentity(perm)) return x;
  return Op("Transpose", {x}, {{"perm", perm}});
}

Val Builder::SwapAxes(Val x, int a, int b) {
  if (!x || failed()) return {};
  a = static_cast<int>(NormalizeAxis(a, x.rank()));
  b = static_cast<int>(NormalizeAxis(b, x.rank()));
  if (a == b) return x;
  std::vector<int64_t> perm(x.rank());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[a], perm[b]);
  return Transpose(x, perm);
}

Val Builder::Expand(Val x, Val shape) {
  if (!x || !shape || failed()) return {};
  const auto from = Numbers(x);
  if (from && shape.ints() && *from == *shape.ints()) return x;
  return Op("Expand", {x, shape});
}

// ---------------------------------------------------------------- join and cut

Val Builder::Concat(const Vals& inputs, int axis) {
  if (inputs.size() == 1) return inputs.front();
  if (inputs.empty()) return Fail("Concat of nothing");
  for (const Val input : inputs) {
    if (!input) return {};
  }
  if (axis < 0) axis = static_cast<int>(NormalizeAxis(axis, inputs.front().rank()));
  return Op("Concat", inputs, {{"axis", axis}});
}

Val Builder::Slice(Val x, int axis, int64_t start, int64_t end, int64_t step) {
  if (!x || failed()) return {};
  if (start == 0 && end == kEnd && step == 1) return x;
  if (opset() < 10 && step == 1) {
    axis = static_cast<int>(NormalizeAxis(axis, x.rank()));
    const std::vector<int64_t> axes = {axis}, starts = {start}, ends = {end};
    return Op("Slice", {x}, {{"axes", axes}, {"starts", starts}, {"ends", ends}});
  }
  return Slice(x, axis, Int(start), Int(end), Int(step));
}

Val Builder::Slice(Val x, int axis, Val start, Val end, Val step) {
  if (!x || !start || !end || failed()) return {};
  axis = static_cast<int>(NormalizeAxis(axis, x.rank()));
  if (!step) step = Int(1);
  if (opset() >= 10) {
    return Op("Slice", {x, Vector({start}), Vector({end}), Ints({axis}), Vector({step})});
  }
  if (start.int_value() && end.int_value() && step.int_value() == 1) {
    return Slice(x, axis, *start.int_value(), *end.int_value());
  }
  return SliceByGather(x, axis, start, end, step);
}

// Before opset 10 a slice has constant bounds and no step: the positions are gathered then.
Val Builder::SliceByGather(Val x, int axis, Val start, Val end, Val step) {
  if (step.int_value().value_or(0) <= 0) {
    return Fail("a slice with a computed or negative step needs opset 10");
  }
  const Val size = Size(x, axis);
  const auto bound = [&](Val position) {
    position = Reshape(Cast(position, DType::kInt64), std::vector<int64_t>{});
    const Val from_start = Where(Less(position, Int(0)), Add(position, size), position);
    return Min(Max(from_start, Int(0)), size);
  };
  return Gather(x, Range(bound(start), bound(end), step), axis);
}

Vals Builder::Split(Val x, int axis, const std::vector<int64_t>& sizes) {
  if (!x || failed()) return Vals(sizes.size());
  axis = static_cast<int>(NormalizeAxis(axis, x.rank()));
  if (sizes.size() == 1) return {x};
  std::vector<OutputType> types(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!x.has_shape()) continue;
    types[i].shape = x.shape();
    (*types[i].shape)[axis] = sizes[i];
  }
  if (opset() >= 13) return OpN("Split", {x, Ints(sizes)}, {{"axis", axis}}, sizes.size(), types);
  return OpN("Split", {x}, {{"axis", axis}, {"split", sizes}}, sizes.size(), types);
}

// Before opset 11 ONNX takes no negative indices: the size is added to those.
Val Builder::Gather(Val x, Val indices, int axis) {
  if (!x || !indices || failed()) return {};
  axis = static_cast<int>(NormalizeAxis(axis, x.rank()));
  if (opset() < 11) {
    const auto constants = indices.ints();
    const bool negative = !constants || std::any_of(constants->begin(), constants->end(),
                                                    [](int64_t i) { return i < 0; });
    if (negative) {
      const Val zero = ScalarInt(0, indices.dtype());
      indices = Where(Less(indices, zero),
                      Add(indices, Cast(Size(x, axis), indices.dtype())), indices);
    }
  }
  return Op("Gather", {x, indices}, {{"axis", axis}});
}

Val Builder::GatherElements(Val x, Val indices, int axis) {
  if (!x || !indices || failed()) return {};
  axis = static_cast<int>(NormalizeAxis(axis, x.rank()));
  return Op("GatherElements", {x, indices}, {{"axis", axis}});
}

// ---------------------------------------------------------------- make and pad

Val Builder::ConstantOfShape(Val shape, double value, DType dtype) {
  return ConstantOfShape(shape, Scalar(value, dtype));
}

Val Builder::ConstantOfShape(Val shape, Val value) {
  if (!shape || !value || failed()) return {};
  const DType dtype = value.dtype();
  const auto takes = [&](DType type) {
    return schemas_->Find("ConstantOfShape", opset())->outputs[0].dtypes.count(type) > 0;
  };
  if (!takes(dtype)) return Cast(ConstantOfShape(shape, Cast(value, DType::kFloat32)), dtype);
  auto literal = std::make_shared<TensorLiteral>(value.literal());
  literal->shape = {1};
  return Op("ConstantOfShape", {shape},
            {{"value", std::shared_ptr<const TensorLiteral>(std::move(literal))}}, {dtype});
}

Val Builder::Range(Val start, Val end, Val step) {
  if (!start || !end || !step || failed()) return {};
  if (opset() >= 11) return Op("Range", {start, end, step});
  // NonZero of ones counts 0, 1, 2, … before there is a Range.
  if (start.dtype() != DType::kInt64) return Fail("a range of this type needs opset 11");
  const Val distance = Sub(end, start);
  // ceil(distance / step), for either sign of step
  const Val exact = Div(distance, step);
  const Val rest = Not(Equal(Mul(exact, step), distance));
  const Val same_sign = Equal(Less(distance, Int(0)), Less(step, Int(0)));
  const Val count = Add(exact, Cast(And(rest, same_sign), DType::kInt64));
  const Val length = Max(count, Int(0));
  const Val steps = Squeeze(NonZero(ConstantOfShape(Vector({length}), 1, DType::kInt64)), {0});
  const Val scaled = step.int_value() == 1 ? steps : Mul(steps, step);
  return start.int_value() == 0 ? scaled : Add(scaled, start);
}

Val Builder::Pad(Val x, const std::vector<int64_t>& begins, const std::vector<int64_t>& ends,
                 absl::string_view mode, Val value) {
  std::vector<int64_t> pads = begins;
  pads.insert(pads.end(), ends.begin(), ends.end());
  if (std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; })) return x;
  return Pad(x, Ints(pads), mode, value);
}

Val Builder::Pad(Val x, Val pads, absl::string_view mode, Val value) {
  if (!x || !pads || failed()) return {};
  const std::string mode_name(mode);
  if (opset() >= 11) return Op("Pad", {x, pads, value}, {{"mode", Attr::Data(mode_name)}});
  const auto numbers = pads.ints();
  const auto fill = value ? value.float_value() : 0.0;
  if (!numbers || !fill) return Fail("padding by computed amounts needs opset 11");
  return Op("Pad", {x}, {{"mode", Attr::Data(mode_name)}, {"pads", *numbers}, {"value", *fill}});
}

Val Builder::NonZero(Val x) { return Op("NonZero", {x}); }

}  // namespace rules_onnx::builder
