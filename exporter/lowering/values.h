// Sizes, positions and movement of elements on plain values, for the families to build on.
// Axes are in [0, rank), ranks known, unless said otherwise.
#ifndef RULES_ONNX_EXPORTER_LOWERING_VALUES_H_
#define RULES_ONNX_EXPORTER_LOWERING_VALUES_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// ---- sizes
// All sizes of x, each 0-d int64.
Vals SizesOf(Builder& b, Val x);
// Both shapes are known to be the same; false where that can't be told.
bool SameShape(Val x, Val y);
// The product of 0-d integers; 1 for none.
Val Product(Builder& b, const Vals& sizes);
// ceil(x / y) of positive integers.
Val CeilDivide(Builder& b, Val x, Val y);
// A list argument of sizes as 1-D int64, its length known or not. Sizes that capture knows are
// constants.
Val SizeVector(Op& op, absl::string_view name, const std::optional<Shape>& known);

// ---- positions
// As the end of a slice: that of the axis.
inline constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
// 0, 1, … n − 1 as int64; `n` is 0-d.
Val Iota(Builder& b, Val n);
// Iota of x's size along `axis`, of shape [1, …, n, …, 1] with x's rank.
Val IotaLike(Builder& b, Val x, int axis);
// A 1-D value as [1, …, n, …, 1] of that rank.
Val AlongAxis(Builder& b, Val vector, int axis, int rank);
// Negative indices counted from the end of an axis of that size, in int64.
Val NonNegative(Builder& b, Val indices, Val size);

// ---- order of axes
// The permutation that puts `axes` first, in that order, and keeps the order of the others.
std::vector<int64_t> FrontPermutation(int rank, const std::vector<int64_t>& axes);
std::vector<int64_t> InversePermutation(const std::vector<int64_t>& permutation);
// Of `pairs` pairs of axes behind `lead` others: of each the one at `first`, 0 or 1, and then of each
// the other one.
std::vector<int64_t> PairsApart(int lead, int pairs, int first = 0);
// Moves axis `from` to place `to`.
Val MoveAxis(Builder& b, Val x, int from, int to);

// ---- elements
// The element at a 0-d index along the axis, which goes away.
Val Select(Builder& b, Val x, int axis, Val index);
// x[:, …, i] with the axis kept.
Val SelectKept(Builder& b, Val x, int axis, Val index);
// A tensor of that shape (1-D int64) filled with a 0-d value.
Val Filled(Builder& b, Val shape, Val fill);
// x reversed along the axes.
Val Flip(Builder& b, Val x, const std::vector<int64_t>& axes);
// x broadcast so that `sizes` (0-d each, as many as x has axes or more) is its shape; axes whose
// size is known to be right already are left alone.
Val ExpandTo(Builder& b, Val x, const Vals& sizes);
// All of them broadcast against each other.
Vals Broadcast(Builder& b, Vals values);
// Reshapes a 0-d tensor to [1]; others stay.
Val AtLeast1D(Builder& b, Val x);
// The shape `like` has, x being a reshaped one of as many elements.
Val ReshapeLike(Builder& b, Val x, Val like);

// ---- gather and scatter
// Reductions (none, add, mul, max, min) that ScatterND and ScatterElements lack at the opset are
// loops that write without one: over all indices, or over the axis. Booleans are reduced as
// integers, float16 and bfloat16 in float32.
// x[indices[0], indices[1], …]: integer indices into the first axes of x, broadcast against each
// other, negative ones counted from the end. Shape: that of the indices, then x's other axes.
Val GatherFirst(Builder& b, Val x, Vals indices);
// x with updates, shaped as GatherFirst gives them, put at those places.
Val ScatterFirst(Builder& b, Val x, Vals indices, Val updates,
                 absl::string_view reduction = "none");
// The reduction that PyTorch calls `name`, "add" for a mean; an unknown one fails.
std::string ScatterReduction(Op& op, absl::string_view name);
// The value that changes no result of a reduction, 0-d.
Val Neutral(Builder& b, absl::string_view reduction, DType dtype);
// torch.gather for x and indices of one rank ≥ 1.
Val GatherAlong(Builder& b, Val x, int axis, Val indices);
// torch.scatter for rank ≥ 1; updates has the shape of indices.
Val ScatterAlong(Builder& b, Val x, int axis, Val indices, Val updates,
                 absl::string_view reduction = "none");
// x with the slices at a 1-D index along the axis replaced by, or combined with, those of source.
Val ScatterSlices(Builder& b, Val x, int axis, Val index, Val source,
                  absl::string_view reduction = "none");

// ---- types
// The largest and smallest value of a dtype (±inf for floats) as 0-d.
Val Highest(Builder& b, DType dtype);
Val Lowest(Builder& b, DType dtype);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_VALUES_H_
