// What a program asks of tensors as numbers: sizes, ranks, dtypes, single values.
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// The first argument, whatever the overload calls it.
const std::string& FirstName(Op& op) { return op.node.args.front().name; }
Val Operand(Op& op) { return op.Tensor(FirstName(op)); }

void Size(Op& op) {
  const Val x = Operand(op);
  if (op.node.Find("dim") != nullptr) return op.Return(op.b.Size(x, op.Axis("dim", x)));
  if (x.rank() < 0) return op.Return(op.b.ShapeOf(x));
  op.Return(Item::List(SizesOf(op.b, x)));
}

void ShapeAsTensor(Op& op) { op.Return(op.b.ShapeOf(Operand(op))); }
void Numel(Op& op) { op.Return(op.b.NumElements(Operand(op))); }
void Rank(Op& op) { op.Return(op.b.Rank(Operand(op))); }
void Length(Op& op) { op.Return(op.b.Size(Operand(op), 0)); }

// ---------------------------------------------------------------- dtypes

DType OperandType(Op& op) {
  const ir::Arg& arg = op.node.args.front().value;
  if (arg.is_literal()) return arg.literal().dtype;
  return arg.is_value() ? arg.value()->type.TensorDType() : DType::kUndefined;
}

void ReturnBool(Op& op, bool value) { op.Return(op.b.ScalarInt(value, DType::kBool)); }

void IsFloatingPoint(Op& op) { ReturnBool(op, ir::IsFloat(OperandType(op))); }
void IsComplexOp(Op& op) { ReturnBool(op, ir::IsComplex(OperandType(op))); }
void IsSigned(Op& op) {
  const DType dtype = OperandType(op);
  ReturnBool(op, dtype != DType::kBool && !ir::IsUnsigned(dtype));
}
void No(Op& op) { ReturnBool(op, false); }
void Yes(Op& op) { ReturnBool(op, true); }
void DtypeOf(Op& op) { op.Return(Item::Constant(ir::Arg(OperandType(op)))); }
void Nothing(Op& op) { op.Return(Item::Constant({})); }

// ---------------------------------------------------------------- values

// A tensor with one element, or a number, as a number of the result's kind.
void Number(Op& op) {
  const Val x = Operand(op);
  const DType dtype = op.OutDType();
  if (!op.Require(!ir::IsComplex(OperandType(op)), "complex numbers are not supported")) return;
  const Val number = x.rank() == 0 ? x : op.b.Reshape(x, std::vector<int64_t>{});
  op.Return(op.b.Cast(number, dtype == DType::kUndefined ? number.dtype() : dtype));
}

void IsNonZero(Op& op) {
  op.Return(op.b.Cast(op.b.Reshape(Operand(op), std::vector<int64_t>{}), DType::kBool));
}

}  // namespace

extern const Family kSize;
const Family kSize = {"size", {
    {"aten::size", Size},
    {"aten::sym_size", Size},
    {"aten::_shape_as_tensor", ShapeAsTensor},
    {"aten::numel", Numel},
    {"aten::sym_numel", Numel},
    {"aten::dim", Rank},
    {"aten::ndimension", Rank},
    {"aten::len.Tensor", Length},
    {"aten::is_floating_point", IsFloatingPoint},
    {"aten::is_complex", IsComplexOp},
    {"aten::is_signed", IsSigned},
    {"aten::is_conj", No},
    {"aten::is_neg", No},
    {"aten::is_inference", No},
    {"aten::is_pinned", No},
    {"prim::is_cpu", Yes},
    {"prim::is_cuda", No},
    {"prim::is_meta", No},
    {"prim::is_mkldnn", No},
    {"prim::is_mps", No},
    {"prim::is_nested", No},
    {"prim::is_quantized", No},
    {"prim::is_sparse", No},
    {"prim::is_sparse_csr", No},
    {"prim::is_vulkan", No},
    {"prim::is_xla", No},
    {"prim::is_xpu", No},
    {"prim::requires_grad", No},
    {"prim::dtype", DtypeOf},
    {"prim::device", Nothing},
    {"prim::layout", Nothing},
    {"aten::item", Number},
    {"aten::_local_scalar_dense", Number},
    {"aten::Int", Number},
    {"aten::Float", Number},
    {"aten::Bool", Number},
    {"aten::Scalar", Number},
    {"aten::IntImplicit", Number},
    {"aten::FloatImplicit", Number},
    {"aten::ScalarImplicit", Number},
    {"aten::sym_float", Number},
    {"aten::is_nonzero", IsNonZero},
}};

}  // namespace rules_onnx::lowering
