// New tensors: filled ones, those of numbers and lists, identity and triangular matrices.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/dynamic_list.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// ---------------------------------------------------------------- filled

// `size`, or `shape` as prims has it.
Val NewShape(Op& op) {
  return SizeVector(op, op.node.Find("size") != nullptr ? "size" : "shape", op.OutShape());
}

template <int kValue>
void Constant(Op& op) {
  op.Return(Filled(op.b, NewShape(op), op.b.ScalarInt(kValue, op.OutDType())));
}

void Full(Op& op) {
  op.Return(Filled(op.b, NewShape(op), op.Scalar("fill_value", op.OutDType())));
}

Val ShapeOfOperand(Op& op) {
  return op.b.ShapeOf(op.Tensor(op.node.Find("self") != nullptr ? "self" : "a"));
}

template <int kValue>
void ConstantLike(Op& op) {
  op.Return(Filled(op.b, ShapeOfOperand(op), op.b.ScalarInt(kValue, op.OutDType())));
}

void FullLike(Op& op) {
  op.Return(Filled(op.b, ShapeOfOperand(op), op.Scalar("fill_value", op.OutDType())));
}

void FillOp(Op& op) {
  op.Return(Filled(op.b, ShapeOfOperand(op), op.Scalar("value", op.OutDType())));
}

// ---------------------------------------------------------------- from numbers

template <const char* kName>
void FromNumber(Op& op) {
  op.Return(op.Scalar(kName, op.OutDType()));
}

constexpr char kS[] = "s", kT[] = "t", kA[] = "a";

// Nested lists of numbers or 0-d tensors, of known length or not: a new axis for each level.
Val FromList(Op& op, const Item& item, DType dtype) {
  if (item.is_val() && item.val.is_sequence()) {
    return op.b.Cast(ListStack(op.b, item, 0), dtype);
  }
  if (item.is_val()) return op.b.Cast(item.val, dtype);
  const bool columns = item.kind == Item::Kind::kColumns;  // rows of one length
  if (!item.is_list() && !columns) return op.failed() ? Val() : op.Fail("a list of numbers is expected");
  if (item.items.empty()) return op.b.Full(0, dtype, {0});
  Vals rows;
  for (const Item& element : item.items) {
    const Val row = FromList(op, element, dtype);
    if (!row) return {};
    rows.push_back(op.b.Unsqueeze(row, {columns ? 1 : 0}));
  }
  return op.b.Concat(rows, columns ? 1 : 0);
}

void TensorOp(Op& op) {
  const Item item = op.Arg(op.node.Find("data") != nullptr ? "data" : "t");
  op.Return(FromList(op, item, op.OutDType()));
}

// ---------------------------------------------------------------- matrices

// The places of a triangle, [rows, columns]; `offset` moves its edge to the right.
Val TriangleMask(Builder& b, Val rows, Val columns, Val offset, bool lower) {
  const Val row = b.Unsqueeze(b.Add(Iota(b, rows), offset), {1});
  const Val column = b.Unsqueeze(Iota(b, columns), {0});
  return lower ? b.GreaterOrEqual(row, column) : b.LessOrEqual(row, column);
}

void Eye(Op& op) {
  Builder& b = op.b;
  const Val n = op.IntVal("n"), m = op.Has("m") ? op.IntVal("m") : n;
  const Val row = b.Unsqueeze(Iota(b, n), {1}), column = b.Unsqueeze(Iota(b, m), {0});
  op.Return(b.Cast(b.Equal(row, column), op.OutDType()));
}

// Trilu comes with opset 14; a mask does it before, and for the types that are compared as well.
template <bool kLower>
void Triangle(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self"), diagonal = op.IntVal("diagonal");
  if (!x) return;
  const bool native = ir::IsFloat(x.dtype()) || x.dtype() == DType::kInt64;
  if (b.opset() >= 14 && native) {
    return op.Return(b.Op("Trilu", {x, diagonal}, {{"upper", kLower ? 0 : 1}}));
  }
  const int rank = x.rank();
  const Val kept =
      TriangleMask(b, b.Size(x, rank - 2), b.Size(x, rank - 1), diagonal, kLower);
  op.Return(b.Where(kept, x, b.ScalarInt(0, x.dtype())));
}

// Row and column of each element of a triangle, row by row.
template <bool kLower>
void TriangleIndices(Op& op) {
  const Val inside = TriangleMask(op.b, op.IntVal("row"), op.IntVal("col"), op.IntVal("offset"),
                                  kLower);
  op.Return(op.b.Cast(op.b.NonZero(inside), op.OutDType()));
}

// Rising or falling powers along a new last axis.
void Vander(Op& op) {
  Builder& b = op.b;
  const Val x = AtLeast1D(b, op.Tensor("x"));
  const DType dtype = op.OutDType();
  const Val count = op.Has("N") ? op.IntVal("N") : b.Size(x, -1);
  Val powers = Iota(b, count);
  const bool rises = op.node.Find("increasing") == nullptr || op.Bool("increasing");
  if (!rises) powers = b.Sub(b.Sub(count, b.Int(1)), powers);
  op.Return(b.Pow(b.Unsqueeze(b.Cast(x, dtype), {-1}), b.Cast(powers, dtype)));
}

}  // namespace

extern const Family kCreation;
const Family kCreation = {"creation", {
    {"aten::zeros", Constant<0>},
    {"aten::ones", Constant<1>},
    {"aten::full", Full},
    {"prims::full", Full},
    {"aten::empty", Constant<0>, 9, "filled with zeros"},
    {"aten::empty_strided", Constant<0>},
    {"aten::empty_permuted", Constant<0>},
    {"prims::empty", Constant<0>},
    {"prims::empty_strided", Constant<0>},
    {"prims::empty_permuted", Constant<0>},
    {"aten::_efficientzerotensor", Constant<0>},
    {"aten::new_zeros", Constant<0>},
    {"aten::new_ones", Constant<1>},
    {"aten::new_full", Full},
    {"aten::new_empty", Constant<0>},
    {"aten::new_empty_strided", Constant<0>},
    {"aten::zeros_like", ConstantLike<0>},
    {"aten::ones_like", ConstantLike<1>},
    {"aten::full_like", FullLike},
    {"prims::full_like", FullLike},
    {"aten::empty_like", ConstantLike<0>},
    {"aten::fill", FillOp},
    {"prims::fill", FillOp},
    {"aten::zero", ConstantLike<0>},
    {"aten::scalar_tensor", FromNumber<kS>},
    {"prims::scalar_tensor", FromNumber<kS>},
    {"prim::NumToTensor", FromNumber<kA>},
    {"aten::tensor", TensorOp},
    {"aten::as_tensor.list", TensorOp},
    {"aten::as_tensor.bool", FromNumber<kT>},
    {"aten::as_tensor.float", FromNumber<kT>},
    {"aten::as_tensor.int", FromNumber<kT>},
    {"aten::eye", Eye},
    {"aten::tril", Triangle<true>},
    {"aten::triu", Triangle<false>},
    {"aten::tril_indices", TriangleIndices<true>},
    {"aten::triu_indices", TriangleIndices<false>},
    {"aten::vander", Vander},
    {"aten::linalg_vander", Vander},
}};

}  // namespace rules_onnx::lowering
