// Tensors put together: cat, stack, repeat, block_diag, products of tensors.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/dynamic_list.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// The tensors of a list, cast to the result's dtype.
Vals Operands(Op& op) {
  Vals operands;
  for (const Val x : op.Tensors("tensors")) operands.push_back(op.b.Cast(x, op.OutDType()));
  op.Require(op.failed() || !operands.empty(), "the list of tensors is empty");
  return operands;
}

// By `join`, if the list's length is known at run time only.
bool JoinDynamic(Op& op, Val (*join)(Builder&, const Item&, int)) {
  const Item list = op.Arg("tensors");
  const ir::Arg& arg = *op.node.Find("tensors");
  if (!arg.is_value() || !IsDynamicList(list, arg.value()->type)) return false;
  const std::optional<Shape>& shape = op.OutShape();
  if (!op.Require(shape.has_value(), "the rank of the result is not known")) return true;
  const int64_t axis = op.b.NormalizeAxis(op.Int("dim"), static_cast<int>(shape->size()));
  op.Return(op.b.Cast(join(op.b, list, static_cast<int>(axis)), op.OutDType()));
  return true;
}

// PyTorch leaves out 1-D tensors without elements beside tensors of another rank.
Val Concatenated(Builder& b, const Vals& operands, int64_t axis) {
  const auto is_empty = [](Val x) { return x.rank() == 1 && x.numel() == 0; };
  Vals parts;
  for (const Val x : operands) {
    if (!x) return {};
    if (!is_empty(x)) parts.push_back(x);
  }
  if (parts.empty()) return operands.front();
  return b.Concat(parts, static_cast<int>(b.NormalizeAxis(axis, parts.front().rank())));
}

void Cat(Op& op) {
  if (JoinDynamic(op, ListCat)) return;
  const Vals operands = Operands(op);
  if (!op.failed()) op.Return(Concatenated(op.b, operands, op.Int("dim")));
}

Val Stacked(Builder& b, Vals operands, int64_t axis) {
  for (Val& x : operands) {
    if (!x) return {};
    x = b.Unsqueeze(x, {b.NormalizeAxis(axis, x.rank() + 1)});
  }
  return operands.empty() ? Val()
                          : b.Concat(operands, static_cast<int>(b.NormalizeAxis(
                                                   axis, operands.front().rank())));
}

void Stack(Op& op) {
  if (JoinDynamic(op, ListStack)) return;
  op.Return(Stacked(op.b, Operands(op), op.Int("dim")));
}

// ---------------------------------------------------------------- numpy's stacks

Val AsRow(Builder& b, Val x) {
  if (x.rank() == 0) return b.Unsqueeze(x, {0, 1});
  return x.rank() == 1 ? b.Unsqueeze(x, {0}) : x;
}

Val AsColumn(Builder& b, Val x) {
  if (x.rank() == 0) return b.Unsqueeze(x, {0, 1});
  return x.rank() == 1 ? b.Unsqueeze(x, {1}) : x;
}

Val AsDepth(Builder& b, Val x) {
  x = AsRow(b, x);
  return x.rank() == 2 ? b.Unsqueeze(x, {2}) : x;
}

template <Val (*kForm)(Builder&, Val), int kAxis>
void StackForm(Op& op) {
  Vals operands = Operands(op);
  if (op.failed()) return;
  for (Val& x : operands) x = kForm(op.b, x);
  op.Return(Concatenated(op.b, operands, kAxis));
}

void Hstack(Op& op) {
  Vals operands = Operands(op);
  if (op.failed()) return;
  for (Val& x : operands) x = AtLeast1D(op.b, x);
  op.Return(Concatenated(op.b, operands, operands.front().rank() == 1 ? 0 : 1));
}

// ---------------------------------------------------------------- repetition

// `repeats` for the last axes of the result, padded with 1 to x's rank.
Val Repeated(Builder& b, Val x, Vals repeats) {
  if (!x || b.failed()) return {};
  while (static_cast<int>(repeats.size()) < x.rank()) repeats.insert(repeats.begin(), b.Int(1));
  const int lead = static_cast<int>(repeats.size()) - x.rank();
  std::vector<int64_t> axes;
  for (int i = 0; i < lead; ++i) axes.push_back(i);
  x = b.Unsqueeze(x, axes);
  const bool once = std::all_of(repeats.begin(), repeats.end(),
                                [](Val repeat) { return repeat.int_value() == 1; });
  return once ? x : b.Op("Tile", {x, b.Vector(repeats)});
}

void Repeat(Op& op) { op.Return(Repeated(op.b, op.Tensor("self"), op.IntVals("repeats"))); }
void Tile(Op& op) { op.Return(Repeated(op.b, op.Tensor("self"), op.IntVals("dims"))); }

// ---------------------------------------------------------------- products

// Each matrix at its place on the diagonal, zeros around it.
void BlockDiag(Op& op) {
  Vals blocks = Operands(op);
  if (op.failed()) return;
  Builder& b = op.b;
  Vals widths;
  for (Val& block : blocks) {
    block = AsRow(b, block);
    widths.push_back(b.Size(block, 1));
  }
  const auto total = [&](size_t from, size_t to) {
    Val sum = b.Int(0);
    for (size_t i = from; i < to; ++i) sum = b.Add(sum, widths[i]);
    return sum;
  };
  Vals rows;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Val pads = b.Vector({b.Int(0), total(0, i), b.Int(0), total(i + 1, blocks.size())});
    const auto known = pads.ints();
    const bool padded = !known || (*known)[1] != 0 || (*known)[3] != 0;
    rows.push_back(padded ? b.Pad(blocks[i], pads) : blocks[i]);
  }
  op.Return(b.Concat(rows, 0));
}

// Each 1-D tensor along its own axis, broadcast over those of the others.
Vals Grid(Builder& b, const Vals& tensors, const std::vector<int>& places) {
  const int rank = static_cast<int>(tensors.size());
  Vals sizes(rank);
  for (int i = 0; i < rank; ++i) sizes[places[i]] = b.Size(tensors[i], 0);
  Vals results;
  for (int i = 0; i < rank; ++i) {
    results.push_back(ExpandTo(b, AlongAxis(b, tensors[i], places[i], rank), sizes));
  }
  return results;
}

std::vector<int> PlacesOf(size_t count, bool swap_first_two) {
  std::vector<int> places;
  for (size_t i = 0; i < count; ++i) places.push_back(static_cast<int>(i));
  if (swap_first_two && count > 1) std::swap(places[0], places[1]);
  return places;
}

void Meshgrid(Op& op) {
  Vals tensors = op.Tensors("tensors");
  if (op.failed()) return;
  for (Val& x : tensors) x = AtLeast1D(op.b, x);
  const bool by_columns = op.Has("indexing") && op.String("indexing") == "xy";
  op.Return(Item::List(Grid(op.b, tensors, PlacesOf(tensors.size(), by_columns))));
}

void CartesianProd(Op& op) {
  const Vals tensors = Operands(op);
  if (op.failed()) return;
  if (tensors.size() == 1) return op.Return(tensors[0]);
  Vals columns;
  for (const Val x : Grid(op.b, tensors, PlacesOf(tensors.size(), false))) {
    columns.push_back(op.b.Flatten1D(x));
  }
  op.Return(Stacked(op.b, columns, -1));
}

// Rows of r elements with rising indices: the places where they rise, in row-major order.
void Combinations(Op& op) {
  const Val x = op.Tensor("self");
  if (!x) return;
  Builder& b = op.b;
  const int count = static_cast<int>(op.Int("r"));
  if (count == 0) return op.Return(b.Full(0, x.dtype(), {0}));
  if (count == 1) return op.Return(b.Unsqueeze(x, {1}));
  const bool repeats = op.Bool("with_replacement");
  const Val positions = Iota(b, b.Size(x, 0));
  Val rising;
  for (int i = 0; i + 1 < count; ++i) {
    const Val left = AlongAxis(b, positions, i, count);
    const Val right = AlongAxis(b, positions, i + 1, count);
    const Val step = repeats ? b.LessOrEqual(left, right) : b.Less(left, right);
    rising = rising ? b.And(rising, step) : step;
  }
  op.Return(b.Gather(x, b.Transpose(b.NonZero(rising), {1, 0}), 0));
}

// Each tensor in chunks of one size along `dim`, filled up with zeros, one chunk a row.
void ChunkCat(Op& op) {
  Builder& b = op.b;
  const Vals tensors = op.Tensors("tensors");
  const int64_t dim = op.Int("dim");
  const Val count = op.IntVal("num_chunks");
  Vals parts;
  int axis = 0;
  for (const Val x : tensors) {
    if (!x || op.failed()) return;
    const int rank = x.rank();
    axis = static_cast<int>(b.NormalizeAxis(dim, rank));
    const Val chunk = CeilDivide(b, b.Size(x, axis), count);
    Vals pads(2 * rank, b.Int(0));
    pads[rank + axis] = b.Sub(b.Mul(chunk, count), b.Size(x, axis));
    const Vals all = SizesOf(b, x);
    Vals sizes(all.begin(), all.begin() + axis);
    sizes.push_back(count);
    sizes.push_back(b.Mul(chunk, Product(b, Vals(all.begin() + axis + 1, all.end()))));
    parts.push_back(b.Reshape(b.Pad(x, b.Vector(pads)), b.Vector(sizes)));
  }
  op.Return(b.Concat(parts, axis + 1));
}

}  // namespace

extern const Family kJoin;
const Family kJoin = {"join", {
    {"aten::cat", Cat},
    {"aten::concat", Cat},
    {"aten::concatenate", Cat},
    {"aten::stack", Stack},
    {"aten::hstack", Hstack},
    {"aten::vstack", StackForm<AsRow, 0>},
    {"aten::row_stack", StackForm<AsRow, 0>},
    {"aten::column_stack", StackForm<AsColumn, 1>},
    {"aten::dstack", StackForm<AsDepth, 2>},
    {"aten::_chunk_cat", ChunkCat},
    {"aten::repeat", Repeat},
    {"aten::tile", Tile},
    {"aten::block_diag", BlockDiag},
    {"aten::meshgrid", Meshgrid},
    {"aten::cartesian_prod", CartesianProd},
    {"aten::combinations", Combinations},
}};

}  // namespace rules_onnx::lowering
