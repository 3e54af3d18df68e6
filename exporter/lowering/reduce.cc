// Sums, means, extrema, norms and running sums along axes.
#include "exporter/lowering/reduce.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/norm.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

using Ints = std::vector<int64_t>;

// The axes of argument `dim`: all of them where the overload has none.
Ints DimAxes(Op& op, Val x) { return op.Axes("dim", x); }

bool Keepdim(Op& op) { return op.node.Find("keepdim") != nullptr && op.Bool("keepdim"); }

// A reduction of the operand in the result's dtype.
template <const char* kOnnxOp>
void InResultType(Op& op) {
  const Val x = op.Tensor("self", op.OutDType());
  op.Return(op.b.Reduce(kOnnxOp, x, DimAxes(op, x), Keepdim(op)));
}
inline constexpr char kReduceSum[] = "ReduceSum";
inline constexpr char kReduceProd[] = "ReduceProd";
inline constexpr char kReduceMax[] = "ReduceMax";
inline constexpr char kReduceMin[] = "ReduceMin";

void Mean(Op& op) {
  const Val x = op.Tensor("self", op.OutDType());
  op.Return(MeanOf(op.b, x, DimAxes(op, x), Keepdim(op)));
}

// ONNX reduces no bools before opset 20, and no small integers: as int32.
Val ReduceOrdered(Builder& b, absl::string_view onnx_op, Val x, const Ints& axes, bool keepdims) {
  const DType dtype = x.dtype();
  const bool narrow = dtype == DType::kBool || dtype == DType::kInt16 || dtype == DType::kUInt16 ||
                      dtype == DType::kInt8 || dtype == DType::kUInt8;
  const Val wide = narrow ? b.Cast(x, DType::kInt32) : x;
  return b.Cast(b.Reduce(onnx_op, wide, axes, keepdims), dtype);
}

// NaN anywhere gives NaN, which ONNX leaves open.
Val ReduceExtremum(Builder& b, absl::string_view onnx_op, Val x, const Ints& axes,
                   bool keepdims) {
  const Val extremum = ReduceOrdered(b, onnx_op, x, axes, keepdims);
  if (!ir::IsFloat(x.dtype())) return extremum;
  const Val nan_count = b.Reduce("ReduceMax", b.Cast(b.Unary("IsNaN", x), DType::kFloat32), axes,
                                 keepdims);
  const Val nan = b.Scalar(std::numeric_limits<double>::quiet_NaN(), x.dtype());
  return b.Where(b.Greater(nan_count, b.Scalar(0, DType::kFloat32)), nan, extremum);
}

template <const char* kOnnxOp>
void Amax(Op& op) {
  const Val x = op.Tensor("self");
  op.Return(ReduceExtremum(op.b, kOnnxOp, x, DimAxes(op, x), Keepdim(op)));
}

Val ArgExtremum(Op& op, bool largest, Val x, int axis, bool keepdims) {
  Builder& b = op.b;
  const auto arg = [&](Val v) {
    return largest ? b.ArgMax(v, axis, keepdims) : b.ArgMin(v, axis, keepdims);
  };
  if (x.dtype() == DType::kBool) x = b.Cast(x, DType::kInt32);
  if (!ir::IsFloat(x.dtype())) return arg(x);
  // The first NaN, where there is one.
  const Val nan = b.Cast(b.Unary("IsNaN", x), DType::kInt32);
  const Val first_nan = b.ArgMax(nan, axis, keepdims);
  const Val any_nan = b.Reduce("ReduceMax", nan, {axis}, keepdims);
  const double worst = largest ? -std::numeric_limits<double>::infinity()
                               : std::numeric_limits<double>::infinity();
  const Val clean = b.Where(b.Unary("IsNaN", x), b.Scalar(worst, x.dtype()), x);
  return b.Where(b.Greater(any_nan, b.ScalarInt(0, DType::kInt32)), first_nan, arg(clean));
}

void ExtremumWithIndices(Op& op, bool largest) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const int axis = op.Axis("dim", x);
  const bool keepdims = Keepdim(op);
  const Val indices = ArgExtremum(op, largest, AtLeast1D(b, x), axis, keepdims && x.rank() > 0);
  const Val values = x.rank() == 0 ? x
                                   : ReduceExtremum(b, largest ? "ReduceMax" : "ReduceMin", x,
                                                    {axis}, keepdims);
  op.Return(Vals{values, indices});
}

void Max(Op& op) {
  if (op.node.Find("dim") != nullptr) return ExtremumWithIndices(op, true);
  Amax<kReduceMax>(op);
}
void Min(Op& op) {
  if (op.node.Find("dim") != nullptr) return ExtremumWithIndices(op, false);
  Amax<kReduceMin>(op);
}

void Aminmax(Op& op) {
  const Val x = op.Tensor("self");
  const Ints axes = DimAxes(op, x);
  const bool keepdims = Keepdim(op);
  op.Return(Vals{ReduceExtremum(op.b, "ReduceMin", x, axes, keepdims),
                 ReduceExtremum(op.b, "ReduceMax", x, axes, keepdims)});
}

// Without dim: the position in the flattened tensor.
void ArgReduce(Op& op, bool largest) {
  Builder& b = op.b;
  Val x = op.Tensor("self");
  const bool keepdims = Keepdim(op);
  if (op.Has("dim")) {
    const int axis = op.Axis("dim", x);
    return op.Return(ArgExtremum(op, largest, AtLeast1D(b, x), axis, keepdims && x.rank() > 0));
  }
  const Val index = ArgExtremum(op, largest, b.Flatten1D(x), 0, false);
  if (!keepdims) return op.Return(index);
  op.Return(b.Reshape(index, Ints(std::max(x.rank(), 0), 1)));
}
void Argmax(Op& op) { ArgReduce(op, true); }
void Argmin(Op& op) { ArgReduce(op, false); }

// Some element is true: the count of those that are is not 0, of none included. Alone among
// reductions these take an empty list of axes for none.
Val AnyOf(Op& op, Val truth) {
  const Item dim = op.Arg("dim");
  if (dim.is_list() && dim.items.empty()) return truth;
  const Val count = op.b.Reduce("ReduceSum", op.b.Cast(truth, DType::kInt64),
                                DimAxes(op, truth), Keepdim(op));
  return op.b.Greater(count, op.b.Int(0));
}

// PyTorch keeps uint8 for uint8.
void Any(Op& op) {
  op.Return(op.b.Cast(AnyOf(op, op.Tensor("self", DType::kBool)), op.OutDType()));
}

void All(Op& op) {
  const Val fails = op.b.Not(op.Tensor("self", DType::kBool));
  op.Return(op.b.Cast(op.b.Not(AnyOf(op, fails)), op.OutDType()));
}

void LogSumExp(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self", op.OutDType());
  const Ints axes = DimAxes(op, x);
  const Val largest = b.Reduce("ReduceMax", x, axes, /*keepdims=*/true);
  const Val infinite = b.Equal(b.Unary("Abs", largest),
                               b.Scalar(std::numeric_limits<double>::infinity(), x.dtype()));
  const Val shift = b.Where(infinite, b.Scalar(0, x.dtype()), largest);
  const Val sum = b.Reduce("ReduceSum", b.Unary("Exp", b.Sub(x, shift)), axes, Keepdim(op));
  const Val kept = Keepdim(op) ? shift : b.Squeeze(shift, axes);
  op.Return(b.Add(b.Unary("Log", sum), kept));
}

// ---------------------------------------------------------------- variance

// `unbiased` of the older overloads is correction 1.
Val Correction(Op& op) {
  if (op.Has("correction")) return op.Tensor("correction", DType::kFloat64);
  const bool unbiased = op.node.Find("unbiased") == nullptr || op.Bool("unbiased");
  return op.b.Scalar(unbiased ? 1 : 0, DType::kFloat64);
}

Val Reduced(Op& op, Val kept, const Ints& axes) {
  return Keepdim(op) ? kept : op.b.Squeeze(kept, axes);
}

struct Variance {
  Val variance, mean;  // half types as float32
};

Variance VarianceOf(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const Ints axes = DimAxes(op, x);
  const Moments moments = MomentsOf(b, b.Cast(x, Wide(x.dtype())), axes, Correction(op));
  return {Reduced(op, moments.variance, axes), Reduced(op, moments.mean, axes)};
}

void ReturnRounded(Op& op, Vals results) {
  for (Val& result : results) result = op.b.Cast(result, op.OutDType());
  op.Return(results);
}

void Var(Op& op) { ReturnRounded(op, {VarianceOf(op).variance}); }
void Std(Op& op) { ReturnRounded(op, {op.b.Unary("Sqrt", VarianceOf(op).variance)}); }
void VarMean(Op& op) {
  const Variance result = VarianceOf(op);
  ReturnRounded(op, {result.variance, result.mean});
}
void StdMean(Op& op) {
  const Variance result = VarianceOf(op);
  ReturnRounded(op, {op.b.Unary("Sqrt", result.variance), result.mean});
}

// ---------------------------------------------------------------- norms

void VectorNormOp(Op& op) {
  const Val x = op.Tensor("self", op.OutDType());
  op.Return(VectorNorm(op.b, x, op.Float("ord"), DimAxes(op, x), Keepdim(op)));
}

void Norm(Op& op) {
  const Val x = op.Tensor("self", op.OutDType());
  op.Return(VectorNorm(op.b, x, op.Has("p") ? op.Float("p") : 2, DimAxes(op, x), Keepdim(op)));
}

void FrobeniusNorm(Op& op) {
  const Val x = op.Tensor("self");
  op.Return(VectorNorm(op.b, x, 2, DimAxes(op, x), Keepdim(op)));
}

// ---------------------------------------------------------------- running

void Cumsum(Op& op) {
  const Val x = op.Tensor("self", op.OutDType());
  if (x.rank() == 0) return op.Return(x);
  op.Return(op.b.CumSum(x, op.Axis("dim", x)));
}

// ---------------------------------------------------------------- NaN-skipping forms

Val NanToZero(Op& op, Val x) {
  if (!ir::IsFloat(x.dtype())) return x;
  return op.b.Where(op.b.Unary("IsNaN", x), op.b.Scalar(0, x.dtype()), x);
}

void Nansum(Op& op) {
  const Val x = op.b.Cast(NanToZero(op, op.Tensor("self")), op.OutDType());
  op.Return(op.b.Reduce("ReduceSum", x, DimAxes(op, x), Keepdim(op)));
}

void Nanmean(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const Ints axes = DimAxes(op, x);
  const Val sum = b.Reduce("ReduceSum", NanToZero(op, x), axes, Keepdim(op));
  const Val counted = b.Cast(b.Not(b.Unary("IsNaN", x)), DType::kInt64);
  const Val count = b.Reduce("ReduceSum", counted, axes, Keepdim(op));
  op.Return(b.Cast(b.Div(sum, b.CastLike(count, x)), op.OutDType()));
}

void CountNonzero(Op& op) {
  Builder& b = op.b;
  const Val x = b.Cast(op.Tensor("self", DType::kBool), DType::kInt64);
  op.Return(b.Reduce("ReduceSum", x, DimAxes(op, x), /*keepdims=*/false));
}

}  // namespace

Val VectorNorm(Builder& b, Val x, double p, const Ints& axes, bool keepdims) {
  const Val magnitude = b.Unary("Abs", x);
  if (std::isinf(p)) {
    return ReduceExtremum(b, p > 0 ? "ReduceMax" : "ReduceMin", magnitude, axes, keepdims);
  }
  if (p == 0) {
    const Val non_zero = b.Not(b.Equal(x, b.Scalar(0, x.dtype())));
    return b.CastLike(b.Reduce("ReduceSum", b.Cast(non_zero, Wide(x.dtype())), axes, keepdims), x);
  }
  if (p == 1) return b.Reduce("ReduceL1", x, axes, keepdims);
  if (p == 2) return b.Reduce("ReduceL2", x, axes, keepdims);
  const auto constant = [&](double value) { return b.Scalar(value, Wide(x.dtype())); };
  const Val powers = b.Pow(b.Cast(magnitude, Wide(x.dtype())), constant(p));
  return b.CastLike(b.Pow(b.Reduce("ReduceSum", powers, axes, keepdims), constant(1 / p)), x);
}

extern const Family kReduce;
const Family kReduce = {"reduce", {
    {"aten::sum", InResultType<kReduceSum>},
    {"aten::mean", Mean},
    {"aten::prod", InResultType<kReduceProd>},
    {"aten::amax", Amax<kReduceMax>},
    {"aten::amin", Amax<kReduceMin>},
    {"aten::max", Max},
    {"aten::min", Min},
    {"aten::aminmax", Aminmax},
    {"aten::argmax", Argmax},
    {"aten::argmin", Argmin},
    {"aten::any", Any},
    {"aten::all", All},
    {"aten::logsumexp", LogSumExp},
    {"aten::special_logsumexp", LogSumExp},
    {"aten::var", Var},
    {"aten::std", Std},
    {"aten::var_mean", VarMean},
    {"aten::std_mean", StdMean},
    {"aten::linalg_vector_norm", VectorNormOp},
    {"aten::norm", Norm},
    {"aten::frobenius_norm", FrobeniusNorm},
    {"aten::cumsum", Cumsum, 11},
    {"aten::nansum", Nansum},
    {"aten::nanmean", Nanmean},
    {"aten::count_nonzero", CountNonzero},
}};

}  // namespace rules_onnx::lowering
