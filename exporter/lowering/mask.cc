// Masks and where: masked_fill, masked_select, masked_scatter, where, nonzero.
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

void MaskedFill(Op& op) {
  const Val x = op.Tensor("self");
  const Val mask = op.Tensor("mask", DType::kBool);
  op.Return(op.b.Where(mask, op.Scalar("value", x.dtype()), x));
}

// The elements of source in order, at the places where the mask is true.
void MaskedScatter(Op& op) {
  Builder& b = op.b;
  const Val source = b.Flatten1D(op.Tensor("source"));
  const Val x = op.Tensor("self"), mask = op.Tensor("mask", DType::kBool);
  if (!x || !mask) return;
  const Vals wide = Broadcast(b, {AtLeast1D(b, x), AtLeast1D(b, mask)});
  const Val places = b.Transpose(b.NonZero(wide[1]), {1, 0});
  const Val used = b.Slice(source, 0, b.Int(0), b.Size(places, 0));
  const Val written = b.Op("ScatterND", {wide[0], places, used});
  const bool scalar = x.rank() == 0 && mask.rank() == 0;
  op.Return(scalar ? b.Reshape(written, std::vector<int64_t>{}) : written);
}

void MaskedSelect(Op& op) {
  Builder& b = op.b;
  const Vals wide = Broadcast(b, {op.Tensor("self"), op.Tensor("mask", DType::kBool)});
  op.Return(b.Op("Compress", {b.Flatten1D(wide[0]), b.Flatten1D(wide[1])}, {{"axis", 0}},
                 {DType::kUndefined, Shape(1)}));
}

template <const char* kCondition, const char* kThen, const char* kElse>
void Where(Op& op) {
  const DType dtype = op.OutDType();
  op.Return(op.b.Where(op.Tensor(kCondition, DType::kBool), op.Tensor(kThen, dtype),
                       op.Tensor(kElse, dtype)));
}

constexpr char kCondition[] = "condition", kSelf[] = "self", kOther[] = "other";
constexpr char kPred[] = "pred", kA[] = "a", kB[] = "b";

// ---------------------------------------------------------------- nonzero

// [rank, count], as ONNX has it. Where NonZero lacks the type, of what differs from zero.
Val NonZeroOf(Builder& b, Val x) {
  const DType dtype = x.dtype();
  const bool plain = dtype == DType::kFloat32 || dtype == DType::kInt64 ||
                     dtype == DType::kInt32 || dtype == DType::kBool;
  return b.NonZero(plain ? x : b.Cast(x, DType::kBool));
}

// [count, rank]; no columns for a 0-d tensor.
Val NonZeroRows(Builder& b, Val x) {
  if (!x) return {};
  const Val rows = b.Transpose(NonZeroOf(b, AtLeast1D(b, x)), {1, 0});
  return x.rank() == 0 ? b.Slice(rows, 1, 0, 0) : rows;
}

void NonZero(Op& op) { op.Return(NonZeroRows(op.b, op.Tensor("self"))); }

void NonZeroLists(Op& op, absl::string_view name) {
  Builder& b = op.b;
  const Val x = AtLeast1D(b, op.Tensor(name));
  if (!x) return;
  const Val places = NonZeroOf(b, x);
  Vals columns;
  for (int i = 0; i < x.rank(); ++i) columns.push_back(b.Gather(places, b.Int(i), 0));
  op.Return(Item::List(columns));
}

void NonZeroNumpy(Op& op) { NonZeroLists(op, "self"); }

// `where(condition)` alone asks for the places.
void WhereOp(Op& op) {
  if (op.Has("self")) return Where<kCondition, kSelf, kOther>(op);
  NonZeroLists(op, "condition");
}

// As many rows as asked for: cut, or filled up.
void NonZeroStatic(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  if (!x) return;
  const Val rows = NonZeroRows(b, x), size = op.IntVal("size");
  const Val fill = Filled(b, b.Vector({size, b.Int(x.rank())}), op.IntVal("fill_value"));
  op.Return(b.Slice(b.Concat({rows, fill}, 0), 0, b.Int(0), size));
}

}  // namespace

extern const Family kMask;
const Family kMask = {"mask", {
    {"aten::masked_fill", MaskedFill},
    {"aten::masked_scatter", MaskedScatter, 11},
    {"aten::masked_select", MaskedSelect},
    {"aten::where", WhereOp},
    {"prims::where", Where<kPred, kA, kB>},
    {"aten::nonzero", NonZero},
    {"aten::nonzero_static", NonZeroStatic},
    {"aten::argwhere", NonZero},
    {"aten::nonzero_numpy", NonZeroNumpy},
}};

}  // namespace rules_onnx::lowering
