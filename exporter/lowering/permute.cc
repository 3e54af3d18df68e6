// Other orders of axes and of elements along them: transpose, flip, roll, pixel_shuffle, ….
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/arithmetic.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

template <const char* kFirst, const char* kSecond>
void Swap(Op& op) {
  const Val x = op.Tensor("self");
  const int first = op.Axis(kFirst, x), second = op.Axis(kSecond, x);
  op.Return(x.rank() == 0 ? x : op.b.SwapAxes(x, first, second));
}

constexpr char kDim0[] = "dim0", kDim1[] = "dim1";
constexpr char kAxis0[] = "axis0", kAxis1[] = "axis1";

void Permute(Op& op) {
  const Val x = op.Tensor("self");
  std::vector<int64_t> dims = op.Ints("dims");
  for (int64_t& dim : dims) dim = op.b.NormalizeAxis(dim, x.rank());
  op.Return(op.b.Transpose(x, dims));
}

void Reversed(Op& op) {
  const Val x = op.Tensor("self");
  std::vector<int64_t> dims(std::max(x.rank(), 0));
  std::iota(dims.rbegin(), dims.rend(), 0);
  op.Return(op.b.Transpose(x, dims));
}

void SwapLastTwo(Op& op) {
  const Val x = op.Tensor("self");
  op.Return(x.rank() < 2 ? x : op.b.SwapAxes(x, -2, -1));
}

// Axes `source` go to `destination`; the others keep their order.
void MoveDim(Op& op) {
  const Val x = op.Tensor("self");
  if (!x) return;
  const auto axes = [&](absl::string_view name) {
    std::vector<int64_t> values;
    if (op.Arg(name).is_list()) {
      values = op.Ints(name);
    } else {
      values = {op.Int(name)};
    }
    for (int64_t& value : values) value = op.b.NormalizeAxis(value, x.rank());
    return values;
  };
  const std::vector<int64_t> source = axes("source"), destination = axes("destination");
  if (!op.Require(source.size() == destination.size(), "source and destination differ in length") ||
      x.rank() == 0) {
    return op.Return(x);
  }
  std::vector<int64_t> permutation(x.rank(), -1);
  for (size_t i = 0; i < source.size(); ++i) permutation[destination[i]] = source[i];
  const std::vector<int64_t> order = FrontPermutation(x.rank(), source);
  auto next = order.begin() + source.size();
  for (int64_t& axis : permutation) {
    if (axis == -1) axis = *next++;
  }
  op.Return(op.b.Transpose(x, permutation));
}

// ---------------------------------------------------------------- flip and roll

void FlipOp(Op& op) {
  const Val x = op.Tensor("self");
  const std::vector<int64_t> dims = op.Ints("dims");
  op.Return(dims.empty() ? x : Flip(op.b, x, op.Axes("dims", x)));
}

void FlipFirst(Op& op) { op.Return(Flip(op.b, op.Tensor("self"), {0})); }
void FlipSecond(Op& op) { op.Return(Flip(op.b, op.Tensor("self"), {1})); }

void Rot90(Op& op) {
  const Val x = op.Tensor("self");
  std::vector<int64_t> dims = op.Ints("dims");
  if (!op.Require(dims.size() == 2, "rot90 needs two axes")) return;
  for (int64_t& dim : dims) dim = op.b.NormalizeAxis(dim, x.rank());
  const int first = static_cast<int>(dims[0]), second = static_cast<int>(dims[1]);
  const int64_t turns = ((op.Int("k") % 4) + 4) % 4;
  if (turns == 0) return op.Return(x);
  if (turns == 2) return op.Return(Flip(op.b, x, dims));
  const Val flipped = Flip(op.b, x, {turns == 1 ? dims[1] : dims[0]});
  op.Return(op.b.SwapAxes(flipped, first, second));
}

// The last `shift` elements along the axis come first.
Val RollAxis(Builder& b, Val x, int axis, Val shift) {
  const Val size = b.Size(x, axis);
  if (size.int_value() == 0) return x;
  // A size that is 0 at run time leaves nothing to cut; only the division must not fail.
  const Val divisor = size.int_value() ? size : b.Max(size, b.Int(1));
  const Val split = b.Sub(size, Remainder(b, shift, divisor));
  if (split.int_value() && split.int_value() == size.int_value()) return x;
  return b.Concat({b.Slice(x, axis, split, size), b.Slice(x, axis, b.Int(0), split)}, axis);
}

void Roll(Op& op) {
  const Val x = op.Tensor("self");
  const Vals shifts = op.IntVals("shifts");
  const std::vector<int64_t> dims = op.Ints("dims");
  if (!x || op.failed()) return;
  if (dims.empty()) {
    if (!op.Require(shifts.size() == 1, "roll of the flattened tensor takes one shift")) return;
    const Val flat = RollAxis(op.b, op.b.Flatten1D(x), 0, shifts[0]);
    return op.Return(ReshapeLike(op.b, flat, x));
  }
  if (!op.Require(shifts.size() == dims.size(), "shifts and dims differ in length")) return;
  Val result = x;
  for (size_t i = 0; i < dims.size() && x.rank() > 0; ++i) {
    const int axis = static_cast<int>(op.b.NormalizeAxis(dims[i], x.rank()));
    result = RollAxis(op.b, result, axis, shifts[i]);
  }
  op.Return(result);
}

// ---------------------------------------------------------------- channels and pixels

// Reshapes axes from `first` on to `inner`, permutes those, and reshapes them to the result.
Val Rearranged(Op& op, Val x, int first, const Vals& inner, const std::vector<int64_t>& order,
               const Vals& outer) {
  const auto with_lead = [&](const Vals& sizes) {
    Vals all;
    for (int i = 0; i < first; ++i) all.push_back(op.b.Size(x, i));
    all.insert(all.end(), sizes.begin(), sizes.end());
    return all;
  };
  std::vector<int64_t> permutation(first);
  std::iota(permutation.begin(), permutation.end(), 0);
  for (const int64_t axis : order) permutation.push_back(first + axis);
  const Val split = op.b.Reshape(x, with_lead(inner), std::nullopt);
  return op.b.Reshape(op.b.Transpose(split, permutation), with_lead(outer), op.OutShape());
}

// [*, C·r², H, W] → [*, C, H·r, W·r].
void PixelShuffle(Op& op) {
  const Val x = op.Tensor("self");
  if (!x) return;
  Builder& b = op.b;
  const int64_t factor = op.Int("upscale_factor");
  if (x.rank() == 4 && b.opset() >= 11) {
    return op.Return(b.Op("DepthToSpace", {x}, {{"blocksize", factor}, {"mode", "CRD"}}));
  }
  const int first = x.rank() - 3;
  const Val r = b.Int(factor), height = b.Size(x, -2), width = b.Size(x, -1);
  const Val channels = b.Div(b.Size(x, first), b.Int(factor * factor));
  op.Return(Rearranged(op, x, first, {channels, r, r, height, width}, {0, 3, 1, 4, 2},
                       {channels, b.Mul(height, r), b.Mul(width, r)}));
}

// [*, C, H·r, W·r] → [*, C·r², H, W].
void PixelUnshuffle(Op& op) {
  const Val x = op.Tensor("self");
  if (!x) return;
  Builder& b = op.b;
  const int first = x.rank() - 3;
  const Val r = b.Int(op.Int("downscale_factor")), channels = b.Size(x, first);
  const Val height = b.Div(b.Size(x, -2), r), width = b.Div(b.Size(x, -1), r);
  op.Return(Rearranged(op, x, first, {channels, height, r, width, r}, {0, 2, 4, 1, 3},
                       {b.Mul(channels, b.Mul(r, r)), height, width}));
}

void ChannelShuffle(Op& op) {
  const Val x = op.Tensor("self");
  if (!x) return;
  const Val groups = op.IntVal("groups"), channels = op.b.Size(x, 1);
  Vals inner = {groups, op.b.Div(channels, groups)}, outer = {channels};
  std::vector<int64_t> order = {1, 0};
  for (int i = 2; i < x.rank(); ++i) {
    inner.push_back(op.b.Size(x, i));
    outer.push_back(op.b.Size(x, i));
    order.push_back(i);
  }
  op.Return(Rearranged(op, x, 1, inner, order, outer));
}

}  // namespace

extern const Family kPermute;
const Family kPermute = {"permute", {
    {"aten::transpose", Swap<kDim0, kDim1>},
    {"aten::transpose_copy", Swap<kDim0, kDim1>},
    {"aten::swapaxes", Swap<kAxis0, kAxis1>},
    {"aten::swapdims", Swap<kDim0, kDim1>},
    {"aten::permute", Permute},
    {"aten::permute_copy", Permute},
    {"aten::t", SwapLastTwo},
    {"aten::t_copy", SwapLastTwo},
    {"aten::numpy_T", Reversed},
    {"aten::mT", SwapLastTwo},
    {"aten::mH", SwapLastTwo},
    {"aten::matrix_H", SwapLastTwo},
    {"aten::adjoint", SwapLastTwo},
    {"aten::movedim", MoveDim},
    {"aten::moveaxis", MoveDim},
    {"aten::flip", FlipOp},
    {"aten::flipud", FlipFirst},
    {"aten::fliplr", FlipSecond},
    {"aten::rot90", Rot90},
    {"aten::roll", Roll, 9, "a dynamic axis: opset 10"},
    {"aten::pixel_shuffle", PixelShuffle},
    {"aten::pixel_unshuffle", PixelUnshuffle},
    {"aten::channel_shuffle", ChannelShuffle},
    {"aten::native_channel_shuffle", ChannelShuffle},
}};

}  // namespace rules_onnx::lowering
