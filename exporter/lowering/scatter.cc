// Writing at integer indices: scatter, scatter_reduce, index_add, index_copy, put, ….
#include <algorithm>
#include <limits>
#include <string>

#include "exporter/lowering/arithmetic.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// The part of src that lies under index.
Val CutTo(Builder& b, Val src, Val index) {
  for (int i = 0; i < index.rank(); ++i) {
    if (src.dim(i).Equals(index.dim(i))) continue;
    src = b.Slice(src, i, b.Int(0), b.Size(index, i));
  }
  return src;
}

// Operands with at least one axis.
struct Scattered {
  Val x, index, src;
  int axis = 0;
};

Scattered Operands(Op& op) {
  Builder& b = op.b;
  Scattered s;
  const Val x = op.Tensor("self");
  s.axis = op.Axis("dim", x);
  s.x = AtLeast1D(b, x);
  s.index = AtLeast1D(b, op.Tensor("index", DType::kInt64));
  if (!s.x || !s.index) return s;
  if (op.Has("src")) {
    s.src = CutTo(b, AtLeast1D(b, op.Tensor("src", x.dtype())), s.index);
  } else {
    s.src = Filled(b, b.ShapeOf(s.index), op.Scalar("value", x.dtype()));
  }
  return s;
}

void ReturnLikeSelf(Op& op, Val result) {
  op.Return(op.Tensor("self").rank() == 0 ? op.b.Reshape(result, std::vector<int64_t>{})
                                          : result);
}

// ---------------------------------------------------------------- reductions

// How many values each element of the mean is made of: those written, and its own.
Val Counts(Builder& b, const Scattered& s, bool include_self) {
  const Val start = Filled(b, b.ShapeOf(s.x), b.Int(include_self ? 1 : 0));
  const Val ones = Filled(b, b.ShapeOf(s.index), b.Int(1));
  return b.Max(ScatterAlong(b, start, s.axis, s.index, ones, "add"), b.Int(1));
}

Val Reduced(Op& op, const Scattered& s, const std::string& name, bool include_self) {
  Builder& b = op.b;
  const std::string reduction = ScatterReduction(op, name);
  if (!s.x || !s.index || !s.src || op.failed()) return {};
  Val base = s.x;
  if (!include_self) {
    const Val neutral = Neutral(b, reduction, s.x.dtype());
    base = ScatterAlong(b, base, s.axis, s.index, Filled(b, b.ShapeOf(s.index), neutral));
  }
  const Val result = ScatterAlong(b, base, s.axis, s.index, s.src, reduction);
  if (name != "mean") return result;
  const Val counts = b.Cast(Counts(b, s, include_self), s.x.dtype());
  return ir::IsFloat(s.x.dtype()) ? b.Div(result, counts) : FloorDivide(b, result, counts);
}

// ---------------------------------------------------------------- scatter

void Scatter(Op& op) {
  const Scattered s = Operands(op);
  if (op.Has("reduce")) return ReturnLikeSelf(op, Reduced(op, s, op.String("reduce"), true));
  ReturnLikeSelf(op, ScatterAlong(op.b, s.x, s.axis, s.index, s.src));
}

void ScatterAdd(Op& op) { ReturnLikeSelf(op, Reduced(op, Operands(op), "sum", true)); }

void ScatterReduce(Op& op) {
  ReturnLikeSelf(op,
                 Reduced(op, Operands(op), op.String("reduce"), op.Bool("include_self")));
}

// ---------------------------------------------------------------- whole slices

// A 1-D index of slices as an index of elements of source.
Scattered SliceOperands(Op& op) {
  Builder& b = op.b;
  Scattered s;
  const Val x = op.Tensor("self");
  s.axis = op.Axis("dim", x);
  s.x = AtLeast1D(b, x);
  s.src = AtLeast1D(b, op.Tensor("source", x.dtype()));
  const Val index = AtLeast1D(b, op.Tensor("index", DType::kInt64));
  if (!s.x || !s.src || !index) return s;
  const Val along = AlongAxis(b, index, s.axis, s.x.rank());
  s.index = s.x.rank() == 1 ? along : b.Expand(along, b.ShapeOf(s.src));
  return s;
}

void IndexReduce(Op& op) {
  ReturnLikeSelf(
      op, Reduced(op, SliceOperands(op), op.String("reduce"), op.Bool("include_self")));
}

Val AtSlices(Op& op, Val source, absl::string_view reduction) {
  const Val x = op.Tensor("self");
  const Val index = AtLeast1D(op.b, op.Tensor("index", DType::kInt64));
  return ScatterSlices(op.b, AtLeast1D(op.b, x), op.Axis("dim", x), index,
                       AtLeast1D(op.b, source), reduction);
}

void IndexAdd(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  Val source = op.Tensor("source", x.dtype());
  if (!x || !source) return;
  if (op.KnownFloat("alpha") != 1.0) source = b.Mul(source, op.Scalar("alpha", x.dtype()));
  ReturnLikeSelf(op, AtSlices(op, source, "add"));
}

void IndexCopy(Op& op) {
  ReturnLikeSelf(op, AtSlices(op, op.Tensor("source", op.OutDType()), "none"));
}

// Which slices are named, as a mask along the axis.
void IndexFill(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  if (!x) return;
  const int axis = op.Axis("dim", x);
  const Val wide = AtLeast1D(b, x);
  const Val index = AtLeast1D(b, op.Tensor("index", DType::kInt64));
  const Val none = Filled(b, b.Vector({b.Size(wide, axis)}), b.Int(0));
  const Val named = ScatterAlong(b, none, 0, index, Filled(b, b.ShapeOf(index), b.Int(1)));
  const Val mask = AlongAxis(b, b.Cast(named, DType::kBool), axis, wide.rank());
  ReturnLikeSelf(op, b.Where(mask, op.Scalar("value", x.dtype()), wide));
}

// Into the flattened tensor.
void Put(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const Val index = b.Flatten1D(op.Tensor("index", DType::kInt64));
  const Val source = b.Flatten1D(op.Tensor("source", x.dtype()));
  const Val flat = ScatterAlong(b, b.Flatten1D(x), 0, index, source,
                                op.Bool("accumulate") ? "add" : "none");
  op.Return(ReshapeLike(b, flat, x));
}

}  // namespace

extern const Family kScatter;
const Family kScatter = {"scatter", {
    {"aten::scatter", Scatter},
    {"aten::scatter_add", ScatterAdd},
    {"aten::scatter_reduce", ScatterReduce},
    {"aten::index_reduce", IndexReduce},
    {"aten::index_add", IndexAdd, 11},
    {"aten::index_copy", IndexCopy, 11},
    {"aten::index_fill", IndexFill},
    {"aten::put", Put},
}};

}  // namespace rules_onnx::lowering
