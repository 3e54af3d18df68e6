// PyTorch's primitive operators, which decompositions end in: each through the ATen operator that
// does the same.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "exporter/lowering/call.h"
#include "exporter/lowering/complex.h"
#include "exporter/lowering/expr.h"
#include "exporter/lowering/lowering.h"
#include "exporter/lowering/random.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// A primitive, its counterpart, and the arguments that have another name there ("": none).
struct Counterpart {
  const char* prim;
  const char* aten;
  std::vector<std::pair<const char*, const char*>> names = {};
  bool unscaled = false;  // of a Fourier transform: there, it is an argument
};

// clang-format off
const std::vector<Counterpart>& Counterparts() {
  static const auto* const kCounterparts = new std::vector<Counterpart>{
      {"acos", "acos"}, {"acosh", "acosh"}, {"asin", "asin"}, {"asinh", "asinh"}, {"atan", "atan"},
      {"atanh", "atanh"}, {"cos", "cos"}, {"cosh", "cosh"}, {"sin", "sin"}, {"sinh", "sinh"},
      {"tan", "tan"}, {"tanh", "tanh"}, {"exp", "exp"}, {"exp2", "exp2"}, {"expm1", "expm1"},
      {"log", "log"}, {"log10", "log10"}, {"log1p", "log1p"}, {"log2", "log2"}, {"sqrt", "sqrt"},
      {"rsqrt", "rsqrt"}, {"reciprocal", "reciprocal"}, {"abs", "abs"}, {"neg", "neg"},
      {"ceil", "ceil"}, {"floor", "floor"}, {"round", "round"}, {"trunc", "trunc"},
      {"sign", "sign"}, {"isfinite", "isfinite"},
      {"bitwise_not", "bitwise_not"}, {"erf", "erf"}, {"erfc", "erfc"}, {"erf_inv", "erfinv"},
      {"erfcx", "special_erfcx"}, {"lgamma", "lgamma"}, {"digamma", "digamma"},
      {"ndtri", "special_ndtri"}, {"bessel_i0", "i0"}, {"bessel_i0e", "special_i0e"},
      {"bessel_i1", "special_i1"}, {"bessel_i1e", "special_i1e"},
      {"bessel_j0", "special_bessel_j0"},
      {"bessel_j1", "special_bessel_j1"},
      {"spherical_bessel_j0", "special_spherical_bessel_j0", {{"self", "x"}}},
      {"frexp", "frexp.Tensor"}, {"conj_physical", "conj_physical"}, {"real", "real"},
      {"imag", "imag"},
      {"add", "add.Tensor"}, {"sub", "sub.Tensor"}, {"mul", "mul.Tensor"},
      {"fma", "addcmul", {{"a", "tensor1"}, {"b", "tensor2"}, {"c", "self"}}},
      {"atan2", "atan2"}, {"hypot", "hypot"}, {"gcd", "gcd"}, {"nextafter", "nextafter"},
      {"fmax", "fmax"}, {"fmin", "fmin"}, {"maximum", "maximum"}, {"minimum", "minimum"},
      {"fmod", "fmod.Tensor"}, {"remainder", "remainder.Tensor"},
      {"pow", "pow.Tensor_Tensor", {{"other", "exponent"}}},
      {"igamma", "igamma"}, {"igammac", "igammac"}, {"zeta", "special_zeta"},
      {"bitwise_and", "bitwise_and.Tensor"}, {"bitwise_or", "bitwise_or.Tensor"},
      {"bitwise_xor", "bitwise_xor.Tensor"}, {"shift_left", "bitwise_left_shift.Tensor"},
      {"shift_right_arithmetic", "bitwise_right_shift.Tensor"},
      {"eq", "eq.Tensor"}, {"ne", "ne.Tensor"}, {"lt", "lt.Tensor"}, {"le", "le.Tensor"},
      {"gt", "gt.Tensor"}, {"ge", "ge.Tensor"},
      {"sum", "sum.dim_IntList", {{"inp", "self"}, {"dims", "dim"}, {"output_dtype", ""}}},
      {"amax", "amax", {{"inp", "self"}, {"dims", "dim"}, {"output_dtype", ""}}},
      {"amin", "amin", {{"inp", "self"}, {"dims", "dim"}, {"output_dtype", ""}}},
      {"var", "var.correction", {{"inp", "self"}, {"dims", "dim"}, {"output_dtype", ""}}},
      {"cat", "cat"}, {"clone", "clone"}, {"item", "item", {{"a", "self"}}},
      {"reshape", "reshape", {{"a", "self"}}}, {"rev", "flip", {{"a", "self"}}},
      {"transpose", "permute", {{"a", "self"}, {"permutation", "dims"}}},
      {"squeeze", "squeeze.dims", {{"a", "self"}, {"dimensions", "dim"}}},
      {"collapse", "flatten.using_ints", {{"a", "self"}, {"start", "start_dim"}, {"end", "end_dim"}}},
      {"collapse_view", "flatten.using_ints",
       {{"a", "self"}, {"start", "start_dim"}, {"end", "end_dim"}}},
      {"as_strided_scatter", "as_strided_scatter"},
      {"view_of", "alias", {{"a", "self"}}}, {"view_of_dtype", "view.dtype", {{"a", "self"}}},
      {"copy_strided", "alias", {{"a", "self"}, {"stride", ""}}},
      {"device_put", "alias", {{"a", "self"}, {"device", ""}, {"non_blocking", ""}}},
      {"fft_c2c", "_fft_c2c", {}, /*unscaled=*/true},
      {"fft_r2c", "_fft_r2c", {}, /*unscaled=*/true},
      {"fft_c2r", "_fft_c2r", {}, /*unscaled=*/true},
      {"convert_element_type", "_to_copy", {{"a", "self"}}},
  };
  return *kCounterparts;
}
// clang-format on

// Of one that has a counterpart.
const Counterpart& CounterpartOf(absl::string_view op) {
  absl::ConsumePrefix(&op, "prims::");
  return *std::find_if(Counterparts().begin(), Counterparts().end(),
                       [&](const Counterpart& entry) { return op == entry.prim; });
}

void Prim(Op& op) {
  const Counterpart& entry = CounterpartOf(op.node.base_op());
  const std::string aten = absl::StrCat("aten::", entry.aten);
  // Forms for complex numbers read the node's own arguments; `self` and `other` they have in common.
  if (HasComplex(op.node)) {
    const LoweringFunction function = FindComplexLowering(aten);
    if (function != nullptr && entry.names.empty()) return function(op);
  }
  std::vector<CallArg> args;
  for (const ir::NamedArg& arg : op.node.args) {
    std::string name = arg.name;
    for (const auto& [from, to] : entry.names) {
      if (arg.name == from) name = to;
    }
    if (!name.empty()) args.emplace_back(std::move(name), arg.value);
  }
  if (entry.unscaled) args.emplace_back("normalization", ir::Arg(int64_t{0}));
  std::vector<ir::Type> types;
  for (size_t i = 0; i < op.num_outputs(); ++i) types.push_back(op.OutType(i));
  op.Return(Call(op, aten, std::move(args), std::move(types)));
}

// ---------------------------------------------------------------- those without a counterpart

// Of integers the quotient rounded towards zero.
void Div(Op& op) {
  if (HasComplex(op.node)) return FindComplexLowering("aten::div")(op);
  const DType dtype = op.OutDType();
  const Val x = op.Tensor("self", dtype), y = op.Tensor("other", dtype);
  op.Return(op.b.Div(x, y));
}

void Cbrt(Op& op) {
  const Val x = op.Tensor("self");
  if (!x) return;
  const Expr wide(op.b, op.b.Cast(x, DType::kFloat64));
  op.Return(op.b.CastLike((Sign(wide) * Pow(Abs(wide), wide.Number(1.0 / 3))).val(), x));
}

void Prod(Op& op) {
  const Val x = op.Tensor("inp", op.OutDType());
  if (!x) return;
  op.Return(op.b.Reduce("ReduceProd", x, op.Axes("dims", x), /*keepdims=*/false));
}

// The axes of `a` are those of the result at `broadcast_dimensions`.
void BroadcastInDim(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("a");
  const std::vector<int64_t> places = op.Ints("broadcast_dimensions");
  const Vals sizes = op.IntVals("shape");
  if (!x || op.failed()) return;
  std::vector<int64_t> others;
  for (int64_t i = 0; i < static_cast<int64_t>(sizes.size()); ++i) {
    if (std::find(places.begin(), places.end(), i) == places.end()) others.push_back(i);
  }
  op.Return(ExpandTo(b, others.empty() ? x : b.Unsqueeze(x, others), sizes));
}

// The axis as two, the first of them of that length.
void SplitDim(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("a"), outer = op.IntVal("outer_length");
  if (!x || !outer) return;
  const int axis = op.Axis("dim", x);
  Vals sizes = SizesOf(b, x);
  sizes[axis] = b.Div(sizes[axis], outer);
  sizes.insert(sizes.begin() + axis, outer);
  op.Return(b.Reshape(x, sizes, op.OutShape()));
}

// start, start + step, …
void IotaOf(Op& op) {
  Builder& b = op.b;
  const Val places = Iota(b, op.IntVal("length"));
  const Val steps = b.Mul(places, op.IntVal("step"));
  op.Return(b.Cast(b.Add(steps, op.IntVal("start")), op.OutDType()));
}

void Conj(Op& op) {
  const Complex x = ReadComplex(op, "a", PartType(op));
  ReturnComplex(op, {x.re, -x.im});
}

void UniformNumbers(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Val shape = SizeVector(op, "shape", op.OutShape());
  const Val low = op.Scalar("low", dtype), high = op.Scalar("high", dtype);
  op.Return(b.Add(b.Mul(Uniform(b, shape, dtype), b.Sub(high, low)), low));
}

void NormalNumbers(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Val drawn = Normal(b, SizeVector(op, "shape", op.OutShape()), dtype);
  op.Return(b.Add(b.Mul(drawn, op.Scalar("std", dtype)), op.Scalar("mean", dtype)));
}

}  // namespace

extern const Family kPrims;
const Family kPrims = {"prims", [] {
    std::vector<Row> rows;
    for (const Counterpart& entry : Counterparts()) {
      rows.push_back({absl::StrCat("prims::", entry.prim), Prim});
    }
    rows.insert(rows.end(), {
        {"prims::div", Div},
        {"prims::cbrt", Cbrt},
        {"prims::conj", Conj},
        {"prims::prod", Prod},
        {"prims::broadcast_in_dim", BroadcastInDim},
        {"prims::split_dim", SplitDim},
        {"prims::iota", IotaOf},
        {"prims::uniform", UniformNumbers, 9, kRandomNote},
        {"prims::normal", NormalNumbers, 9, kRandomNote},
    });
    return rows;
}()};

}  // namespace rules_onnx::lowering
