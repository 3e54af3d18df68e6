// Diagonals, windows and strided views, and writing through them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// ---------------------------------------------------------------- diagonals

struct Diagonal {
  int64_t offset = 0;
  int row_axis = 0, column_axis = 1;
};

Diagonal DiagonalOf(Op& op, Val x, int rank) {
  Diagonal diagonal;
  diagonal.offset = op.Int(op.Has("diagonal") ? "diagonal" : "offset");
  if (!x || !op.Has("dim1")) return diagonal;
  diagonal.row_axis = static_cast<int>(op.b.NormalizeAxis(op.Int("dim1"), rank));
  diagonal.column_axis = static_cast<int>(op.b.NormalizeAxis(op.Int("dim2"), rank));
  return diagonal;
}

// Row and column of each element of the diagonal.
Vals DiagonalPositions(Builder& b, Val x, const Diagonal& diagonal) {
  const Val first_row = b.Int(std::max<int64_t>(-diagonal.offset, 0));
  const Val first_column = b.Int(std::max<int64_t>(diagonal.offset, 0));
  const Val rows = b.Sub(b.Size(x, diagonal.row_axis), first_row);
  const Val columns = b.Sub(b.Size(x, diagonal.column_axis), first_column);
  const Val steps = Iota(b, b.Max(b.Min(rows, columns), b.Int(0)));
  return {b.Add(steps, first_row), b.Add(steps, first_column)};
}

std::vector<int64_t> RowAndColumnFirst(Val x, const Diagonal& diagonal) {
  return FrontPermutation(x.rank(), {diagonal.row_axis, diagonal.column_axis});
}

// The diagonal becomes the last axis.
Val TakeDiagonal(Builder& b, Val x, const Diagonal& diagonal) {
  if (!x || b.failed()) return {};
  const Val moved = b.Transpose(x, RowAndColumnFirst(x, diagonal));
  return MoveAxis(b, GatherFirst(b, moved, DiagonalPositions(b, x, diagonal)), 0, x.rank() - 2);
}

void DiagonalOp(Op& op) {
  const Val x = op.Tensor("self");
  op.Return(TakeDiagonal(op.b, x, DiagonalOf(op, x, x.rank())));
}

void LinalgDiagonal(Op& op) {
  const Val x = op.Tensor("A");
  op.Return(TakeDiagonal(op.b, x, DiagonalOf(op, x, x.rank())));
}

// The last axis becomes the diagonal of the last two of [*, n + |offset|, n + |offset|].
Val Embedded(Builder& b, Val x, int64_t offset) {
  if (!x || b.failed()) return {};
  const int rank = x.rank();
  std::vector<int64_t> begins(rank, 0), ends(rank, 0);
  ends.back() = offset < 0 ? -offset : offset;
  const Val padded = b.Pad(x, begins, ends);
  const Val positions = Iota(b, b.Size(padded, rank - 1));
  const Val rows = b.Unsqueeze(positions, {1}), columns = b.Unsqueeze(positions, {0});
  const Val here = b.Equal(b.Add(rows, b.Int(offset)), columns);
  const Val spread = b.Unsqueeze(padded, {offset < 0 ? rank - 1 : rank});
  return b.Where(here, spread, b.ScalarInt(0, x.dtype()));
}

void DiagEmbed(Op& op) {
  const Val x = op.Tensor("self");
  if (!x) return;
  const Diagonal diagonal = DiagonalOf(op, x, x.rank() + 1);
  const Val matrices = Embedded(op.b, x, diagonal.offset);
  // The result's axes, in the order that `matrices` has them.
  std::vector<int64_t> order;
  for (int64_t i = 0; i <= x.rank(); ++i) {
    if (i != diagonal.row_axis && i != diagonal.column_axis) order.push_back(i);
  }
  order.push_back(diagonal.row_axis);
  order.push_back(diagonal.column_axis);
  op.Return(op.b.Transpose(matrices, InversePermutation(order)));
}

void Diag(Op& op) {
  const Val x = op.Tensor("self");
  const Diagonal diagonal = DiagonalOf(op, x, x.rank());
  op.Return(x.rank() == 1 ? Embedded(op.b, x, diagonal.offset)
                          : TakeDiagonal(op.b, x, diagonal));
}

void DiagFlat(Op& op) {
  op.Return(Embedded(op.b, op.b.Flatten1D(op.Tensor("self")), op.Int("offset")));
}

void DiagonalScatter(Op& op) {
  const Val x = op.Tensor("self");
  const Val source = op.Tensor("src", x.dtype());
  if (!x || !source) return;
  const Diagonal diagonal = DiagonalOf(op, x, x.rank());
  const std::vector<int64_t> order = RowAndColumnFirst(x, diagonal);
  const Val written = ScatterFirst(op.b, op.b.Transpose(x, order),
                                   DiagonalPositions(op.b, x, diagonal),
                                   MoveAxis(op.b, source, x.rank() - 2, 0));
  op.Return(op.b.Transpose(written, InversePermutation(order)));
}

// ---------------------------------------------------------------- windows and strides

// Windows of `size` elements every `step` along an axis; the window is the last axis.
void Unfold(Op& op) {
  Builder& b = op.b;
  const Val x = AtLeast1D(b, op.Tensor("self"));
  const int axis = op.Axis("dimension", x);
  const Val size = op.IntVal("size"), step = op.IntVal("step");
  const Val last = b.Add(b.Sub(b.Size(x, axis), size), b.Int(1));
  const Val starts = b.Range(b.Int(0), last, step);
  const Val places = b.Add(b.Unsqueeze(starts, {1}), b.Unsqueeze(Iota(b, size), {0}));
  const Val windows = MoveAxis(b, b.Gather(x, places, axis), axis + 1, x.rank());
  op.Return(op.Tensor("self").rank() == 0 ? b.Squeeze(windows, {0}) : windows);
}

// Positions in the flattened tensor of a view's elements.
Val StridedPositions(Op& op) {
  Builder& b = op.b;
  const Vals sizes = op.IntVals("size"), strides = op.IntVals("stride");
  Val places = op.Has("storage_offset") ? op.IntVal("storage_offset") : b.Int(0);
  const int rank = static_cast<int>(sizes.size());
  for (int i = 0; i < rank; ++i) {
    const Val steps = AlongAxis(b, Iota(b, sizes[i]), i, rank);
    places = b.Add(places, b.Mul(steps, strides[i]));
  }
  return places;
}

void AsStrided(Op& op) {
  op.Return(op.b.Gather(op.b.Flatten1D(op.Tensor("self")), StridedPositions(op), 0));
}

void AsStridedScatter(Op& op) {
  const Val x = op.Tensor("self");
  const Val source = op.Tensor("src", x.dtype());
  const Val flat = ScatterFirst(op.b, op.b.Flatten1D(x), {StridedPositions(op)}, source);
  op.Return(ReshapeLike(op.b, flat, x));
}

// ---------------------------------------------------------------- writing a slice

// before, source and after along the axis, parts that are known to be empty left out.
Val Replaced(Builder& b, Val x, int axis, Val start, Val end, Val source) {
  if (!x || !source || b.failed()) return {};
  Vals parts;
  if (start.int_value() != 0) parts.push_back(b.Slice(x, axis, b.Int(0), start));
  parts.push_back(source);
  const Dim size = x.dim(axis);
  const bool to_end = end.int_value() && (*end.int_value() == kEnd ||
                                          (size.is_number() && *end.int_value() >= size.value()));
  if (!to_end) parts.push_back(b.Slice(x, axis, end, b.Int(kEnd)));
  return b.Concat(parts, axis);
}

void SelectScatter(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const int axis = op.Axis("dim", x);
  const Val source = b.Unsqueeze(op.Tensor("src", x.dtype()), {axis});
  const Val index = NonNegative(b, op.IntVal("index"), b.Size(x, axis));
  op.Return(Replaced(b, x, axis, index, b.Add(index, b.Int(1)), source));
}

// A bound as Python's slices clamp it: into [0, size].
Val Clamped(Builder& b, Val bound, Val size) {
  const auto known = bound.int_value();
  if (known == 0 || (known && *known == kEnd)) return bound;
  return b.Max(b.Min(NonNegative(b, bound, size), size), b.Int(0));
}

void SliceScatter(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const Val source = op.Tensor("src", x.dtype());
  const int axis = op.Axis("dim", x);
  const Val size = b.Size(x, axis), step = op.IntVal("step");
  const Val start = op.Has("start") ? Clamped(b, op.IntVal("start"), size) : b.Int(0);
  const Val end = op.Has("end") ? Clamped(b, op.IntVal("end"), size) : b.Int(kEnd);
  if (step.int_value() != 1) {
    const Val places = b.Range(start, b.Min(end, size), step);
    return op.Return(ScatterSlices(b, x, axis, places, source));
  }
  const bool forward = start.int_value() == 0 || end.int_value() == kEnd;
  op.Return(Replaced(b, x, axis, start, forward ? end : b.Max(start, end), source));
}

}  // namespace

extern const Family kDiagonal;
const Family kDiagonal = {"diagonal", {
    {"aten::diagonal", DiagonalOp},
    {"aten::diagonal_copy", DiagonalOp},
    {"aten::linalg_diagonal", LinalgDiagonal},
    {"aten::diag", Diag},
    {"aten::diag_embed", DiagEmbed},
    {"aten::diagflat", DiagFlat},
    {"aten::diagonal_scatter", DiagonalScatter, 11},
    {"aten::unfold", Unfold},
    {"aten::unfold_copy", Unfold},
    {"aten::as_strided", AsStrided, 9, "of a contiguous tensor"},
    {"aten::as_strided_copy", AsStrided},
    {"aten::as_strided_scatter", AsStridedScatter, 11, "of a contiguous tensor"},
    {"aten::select_scatter", SelectScatter},
    {"aten::slice_scatter", SliceScatter, 9, "with a step: opset 11"},
}};

}  // namespace rules_onnx::lowering
