// Matrix and vector products.
#include "exporter/lowering/linear.h"

#include <functional>

#include "exporter/lowering/arithmetic.h"
#include "exporter/lowering/loop.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

void MatMulOp(Op& op) { op.Return(MatMul(op.b, op.Tensor("self"), op.Tensor("other"))); }
void Mm(Op& op) { op.Return(MatMul(op.b, op.Tensor("self"), op.Tensor("mat2"))); }
void Mv(Op& op) { op.Return(MatMul(op.b, op.Tensor("self"), op.Tensor("vec"))); }
void Dot(Op& op) { op.Return(MatMul(op.b, op.Tensor("self"), op.Tensor("tensor"))); }
void Vdot(Op& op) { op.Return(MatMul(op.b, op.Tensor("self"), op.Tensor("other"))); }

void LinearOp(Op& op) {
  op.Return(Linear(op.b, op.Tensor("input"), op.Tensor("weight"),
                   op.Has("bias") ? op.Tensor("bias") : Val()));
}

// beta · self + alpha · product. With beta 0 self is ignored, NaN included.
Val Mixed(Op& op, Val product) {
  const DType dtype = op.OutDType();
  Builder& b = op.b;
  if (op.KnownFloat("alpha") != 1.0) product = b.Mul(product, op.Scalar("alpha", dtype));
  if (op.KnownFloat("beta") == 0.0) return product;
  Val self = op.Tensor("self");
  if (op.KnownFloat("beta") != 1.0) self = b.Mul(self, op.Scalar("beta", dtype));
  return b.Add(self, product);
}

void Addmm(Op& op) {
  Builder& b = op.b;
  const Val self = op.Tensor("self"), x = op.Tensor("mat1"), y = op.Tensor("mat2");
  const auto alpha = op.KnownFloat("alpha"), beta = op.KnownFloat("beta");
  // Gemm adds a C that broadcasts one way to [M, N]; what it multiplies by beta may not be NaN.
  const bool fits = self.rank() >= 0 && self.rank() <= 2 && ir::IsFloat(op.OutDType()) &&
                    alpha && beta && *beta != 0 && HoldsExactly(op.OutDType(), *alpha) &&
                    HoldsExactly(op.OutDType(), *beta);
  if (!fits) return op.Return(Mixed(op, MatMul(b, x, y)));
  op.Return(b.Op("Gemm", {x, y, self}, {{"alpha", *alpha}, {"beta", *beta}}));
}

void Addbmm(Op& op) {
  const Val products = MatMul(op.b, op.Tensor("batch1"), op.Tensor("batch2"));
  op.Return(Mixed(op, op.b.Reduce("ReduceSum", products, {0}, /*keepdims=*/false)));
}

void Baddbmm(Op& op) {
  op.Return(Mixed(op, MatMul(op.b, op.Tensor("batch1"), op.Tensor("batch2"))));
}

void Addmv(Op& op) { op.Return(Mixed(op, MatMul(op.b, op.Tensor("mat"), op.Tensor("vec")))); }

Val OuterProduct(Builder& b, Val x, Val y) {
  return b.Mul(b.Unsqueeze(x, {1}), b.Unsqueeze(y, {0}));
}

void Outer(Op& op) {
  const DType dtype = op.OutDType();
  const bool is_bool = dtype == DType::kBool;
  const Val x = op.Tensor("self", dtype), y = op.Tensor("vec2", dtype);
  if (!is_bool) return op.Return(OuterProduct(op.b, x, y));
  op.Return(op.b.And(op.b.Unsqueeze(x, {1}), op.b.Unsqueeze(y, {0})));
}

void Addr(Op& op) {
  const DType dtype = op.OutDType();
  op.Return(Mixed(op, OuterProduct(op.b, op.Tensor("vec1", dtype), op.Tensor("vec2", dtype))));
}

// Sum over n of x1[n, i] · weight[o, i, j] · x2[n, j], plus bias[o].
void Bilinear(Op& op) {
  Builder& b = op.b;
  const Val x1 = op.Tensor("input1"), x2 = op.Tensor("input2"), weight = op.Tensor("weight");
  const Val left = MatMul(b, b.Unsqueeze(b.Unsqueeze(x1, {-2}), {-2}), weight);  // [.., o, 1, j]
  const Val right = b.Unsqueeze(b.Unsqueeze(x2, {-2}), {-2});
  Val result = b.Reduce("ReduceSum", b.Mul(left, right), {-1}, /*keepdims=*/false);
  result = b.Squeeze(result, {-1});
  op.Return(op.Has("bias") ? b.Add(result, op.Tensor("bias")) : result);
}

// ---------------------------------------------------------------- products of groups

// For each group, `step` on the number of the group, the indices that it takes up (`ends` says where
// each stops) and what stands so far.
Val OverGroups(Builder& b, Val ends, Val start,
               const std::function<Val(Val group, Val indices, Val so_far)>& step) {
  const Val begins = b.Concat({b.Ints({0}), b.Slice(ends, 0, b.Int(0), b.Int(-1))}, 0);
  return Repeat(b, b.Size(ends, 0), {}, {start}, [&](Val group, const Vals& carried) {
    const Val indices = b.Range(b.Gather(begins, group, 0), b.Gather(ends, group, 0), b.Int(1));
    return LoopStep{{step(group, indices, carried[0])}};
  })[0];
}

// Each group of rows of x [M, K] times its matrix of y [G, K, N].
Val RowGroups(Builder& b, Val x, Val y, Val ends) {
  const Val start = b.ConstantOfShape(b.Vector({b.Size(x, 0), b.Size(y, 2)}), 0, x.dtype());
  return OverGroups(b, ends, start, [&](Val group, Val rows, Val so_far) {
    const Val product = MatMul(b, b.Gather(x, rows, 0), Select(b, y, 0, group));
    return ScatterFirst(b, so_far, {rows}, product);
  });
}

// Each group of columns of x [M, K] times the same rows of y [K, N]: [G, M, N].
Val InnerGroups(Builder& b, Val x, Val y, Val ends) {
  const Vals sizes = {b.Size(ends, 0), b.Size(x, 0), b.Size(y, 1)};
  const Val start = b.ConstantOfShape(b.Vector(sizes), 0, x.dtype());
  return OverGroups(b, ends, start, [&](Val group, Val places, Val so_far) {
    const Val product = MatMul(b, b.Gather(x, places, 1), b.Gather(y, places, 0));
    return ScatterFirst(b, so_far, {b.Unsqueeze(group, {0})}, b.Unsqueeze(product, {0}));
  });
}

void GroupedMm(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self"), y = op.Tensor("mat2");
  if (!x || !y || !op.Require(!op.Has("bias"), "grouped products with a bias")) return;
  const auto cast = [&](Val product) { return b.Cast(product, op.OutDType()); };
  if (x.rank() == 3 && y.rank() == 3) return op.Return(cast(MatMul(b, x, y)));
  const Val ends = op.Tensor("offs", DType::kInt64);
  if (!ends) return;
  if (y.rank() == 3) return op.Return(cast(RowGroups(b, x, y, ends)));
  if (x.rank() == 2) return op.Return(cast(InnerGroups(b, x, y, ends)));
  const Val turned = RowGroups(b, b.SwapAxes(y, 0, 1), b.SwapAxes(x, 1, 2), ends);
  op.Return(cast(b.SwapAxes(turned, 0, 1)));
}

}  // namespace

Val MatMul(Builder& b, Val x, Val y) {
  if (!x || !y || b.failed()) return {};
  const DType dtype = x.dtype();
  const bool native = ir::IsFloat(dtype) || dtype == DType::kInt32 || dtype == DType::kInt64 ||
                      dtype == DType::kUInt32 || dtype == DType::kUInt64;
  if (native) return b.MatMul(x, y);
  return b.Cast(b.MatMul(b.Cast(x, DType::kInt64), b.Cast(y, DType::kInt64)), dtype);
}

Val Linear(Builder& b, Val x, Val weight, Val bias) {
  if (!x || !weight || b.failed()) return {};
  if (weight.rank() == 1) {
    const Val product = MatMul(b, x, weight);
    return bias ? b.Add(product, bias) : product;
  }
  if (x.rank() == 2 && bias && ir::IsFloat(x.dtype())) {
    return b.Op("Gemm", {x, weight, bias}, {{"transB", 1}});
  }
  const Val product = MatMul(b, x, b.Transpose(weight, {1, 0}));
  return bias ? b.Add(product, bias) : product;
}

extern const Family kLinear;
const Family kLinear = {"linear", {
    {"aten::matmul", MatMulOp},
    {"aten::linalg_matmul", MatMulOp},
    {"aten::mm", Mm},
    {"aten::bmm", Mm},
    {"aten::mv", Mv},
    {"aten::dot", Dot},
    {"aten::inner", [](Op& op) {
       const Val x = op.Tensor("self"), y = op.Tensor("other");
       if (x.rank() == 0 || y.rank() == 0) return op.Return(op.b.Mul(x, y));
       if (y.rank() == 1) return op.Return(MatMul(op.b, x, y));
       // x[.., k] · y[.., k] → x's other axes, then y's: one matrix product of flattened operands.
       Builder& b = op.b;
       const Val k = b.Size(x, -1);
       const Val flat = MatMul(b, b.Reshape(x, b.Vector({b.Int(-1), k})),
                               b.Transpose(b.Reshape(y, b.Vector({b.Int(-1), k})), {1, 0}));
       Vals sizes;
       for (int i = 0; i + 1 < x.rank(); ++i) sizes.push_back(b.Size(x, i));
       for (int i = 0; i + 1 < y.rank(); ++i) sizes.push_back(b.Size(y, i));
       op.Return(b.Reshape(flat, sizes, op.OutShape()));
     }},
    {"aten::vdot", Vdot},
    {"aten::linear", LinearOp},
    {"aten::addmm", Addmm},
    {"aten::addbmm", Addbmm},
    {"aten::baddbmm", Baddbmm},
    {"aten::addmv", Addmv},
    {"aten::outer", Outer},
    {"aten::ger", Outer},
    {"aten::addr", Addr},
    {"aten::bilinear", Bilinear},
    {"aten::_grouped_mm", GroupedMm, 9, "groups: opset 11"},
}};

}  // namespace rules_onnx::lowering
