// Products, norms, tests and factories of complex tensors, by operators on their parts.
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "exporter/lowering/call.h"
#include "exporter/lowering/complex.h"
#include "exporter/lowering/lowering.h"
#include "exporter/lowering/math.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// ---------------------------------------------------------------- products

// The node's operator on two real tensors in place of its two operands.
Val OnReals(Op& op, absl::string_view first, Val x, absl::string_view second, Val y) {
  const auto replace = [&](const ir::NamedArg& arg) -> std::optional<Item> {
    if (arg.name == first) return Item(x);
    if (arg.name == second) return Item(y);
    return std::nullopt;
  };
  return CallReplaced(op, FindRow(op.node.op)->function, replace, {PartOf(op.OutType())})[0].val;
}

// What is linear in both of two operands, `product` on reals. A real operand has no second part.
template <typename Product>
Complex Bilinear(Builder& b, Complex x, Complex y, bool real_x, bool real_y, Product product) {
  const auto times = [&](Expr u, Expr v) { return Expr(b, product(u.val(), v.val())); };
  if (real_x) return {times(x.re, y.re), times(x.re, y.im)};
  if (real_y) return {times(x.re, y.re), times(x.im, y.re)};
  return {times(x.re, y.re) - times(x.im, y.im), times(x.re, y.im) + times(x.im, y.re)};
}

// Of the operator itself, its operands by their names.
template <const char* kFirst, const char* kSecond>
void Product(Op& op) {
  const DType part = PartType(op);
  const Complex x = ReadComplex(op, kFirst, part), y = ReadComplex(op, kSecond, part);
  ReturnComplex(
      op, Bilinear(op.b, x, y, !IsComplexArgument(op, kFirst), !IsComplexArgument(op, kSecond),
                   [&](Val u, Val v) { return OnReals(op, kFirst, u, kSecond, v); }));
}
constexpr char kSelf[] = "self", kOther[] = "other", kMat2[] = "mat2", kVec[] = "vec",
               kVec2[] = "vec2", kTensor[] = "tensor";

// The first operand is conjugated.
void Vdot(Op& op) {
  const DType part = PartType(op);
  const Complex x = ReadComplex(op, "self", part), y = ReadComplex(op, "other", part);
  ReturnComplex(op, Bilinear(op.b, {x.re, -x.im}, y, false, false,
                             [&](Val u, Val v) { return OnReals(op, kSelf, u, kOther, v); }));
}

// Of one or two operands in a list.
void Einsum(Op& op) {
  const ir::Arg* list = op.node.Find("tensors");
  const Item items = op.Arg("tensors");
  const bool two = list != nullptr && list->is_list() && items.items.size() == 2;
  if (!op.Require(two, "einsum of complex numbers takes two operands")) return;
  const DType part = PartType(op);
  Complex operands[2] = {{{op.b, Val()}, {op.b, Val()}}, {{op.b, Val()}, {op.b, Val()}}};
  bool is_real[2];
  for (int i = 0; i < 2; ++i) {
    const Val val = op.b.Cast(items.items[i].val, part);
    is_real[i] = !IsComplexArgument(list->list()[i]);
    operands[i] = is_real[i] ? Complex{{op.b, val}, {op.b, val}} : Unpacked(op.b, val);
  }
  const auto product = [&](Val u, Val v) {
    return Call(op, op.node.op,
                {{"equation", *op.node.Find("equation")}, {"tensors", Item::List(Vals{u, v})}},
                {PartOf(op.OutType())})[0]
        .val;
  };
  ReturnComplex(op, Bilinear(op.b, operands[0], operands[1], is_real[0], is_real[1], product));
}

// input · weightᵀ + bias
void Linear(Op& op) {
  const DType part = PartType(op);
  const Complex x = ReadComplex(op, "input", part), w = ReadComplex(op, "weight", part);
  const auto product = [&](Val u, Val v) {
    return Call(op, "aten::linear", {{"input", u}, {"weight", v}}, {PartOf(op.OutType())})[0].val;
  };
  Complex result = Bilinear(op.b, x, w, false, false, product);
  if (op.Has("bias")) {
    const Complex bias = ReadComplex(op, "bias", part);
    result = {result.re + bias.re, result.im + bias.im};
  }
  ReturnComplex(op, result);
}

// beta · self + alpha · x · y, with the product of that name.
void AddProduct(Op& op, absl::string_view product, const char* first, const char* second,
                const char* operand) {
  const DType part = PartType(op);
  const Complex x = ReadComplex(op, first, part), y = ReadComplex(op, second, part);
  const auto multiply = [&](Val u, Val v) {
    return Call(op, product, {{"self", u}, {operand, v}}, {PartOf(op.OutType())})[0].val;
  };
  const Complex xy =
      Times(ReadComplex(op, "alpha", part), Bilinear(op.b, x, y, false, false, multiply));
  const Complex self = Times(ReadComplex(op, "beta", part), Self(op));
  ReturnComplex(op, {self.re + xy.re, self.im + xy.im});
}
void Addmm(Op& op) { AddProduct(op, "aten::mm", "mat1", "mat2", kMat2); }
void Baddbmm(Op& op) { AddProduct(op, "aten::bmm", "batch1", "batch2", kMat2); }
void Addmv(Op& op) { AddProduct(op, "aten::mv", "mat", "vec", kVec); }
void Addr(Op& op) { AddProduct(op, "aten::outer", "vec1", "vec2", kVec2); }

// self + value · x · y, or · x / y
template <bool kDivides>
void AddPointwise(Op& op) {
  const DType part = PartType(op);
  Complex y = ReadComplex(op, "tensor2", part);
  if (kDivides) y = Inverse(y);
  const Complex xy =
      Times(ReadComplex(op, "value", part), Times(ReadComplex(op, "tensor1", part), y));
  const Complex self = Self(op);
  ReturnComplex(op, {self.re + xy.re, self.im + xy.im});
}

// self + weight · (end − self)
void Lerp(Op& op) {
  const DType part = PartType(op);
  const Complex x = Self(op), end = ReadComplex(op, "end", part);
  const Complex step = Times(ReadComplex(op, "weight", part), {end.re - x.re, end.im - x.im});
  ReturnComplex(op, {x.re + step.re, x.im + step.im});
}

// ---------------------------------------------------------------- by a real tensor of the elements

// The node's operator with each complex value replaced by `map(value)`.
template <typename Map>
std::vector<Item> OnMapped(Op& op, Map map) {
  const Row* row = FindRow(op.node.op);
  std::vector<ir::Type> types;
  for (size_t i = 0; i < op.num_outputs(); ++i) types.push_back(op.OutType(i));
  const auto replace = [&](const ir::NamedArg& arg) -> std::optional<Item> {
    if (!IsComplexArgument(arg.value)) return std::nullopt;
    return Item(map(Unpacked(op.b, op.Arg(arg.name).val)));
  };
  return CallReplaced(op, row->function, replace, types);
}

// Norms of vectors depend on the elements' sizes only.
void OnSizes(Op& op) {
  op.Return(OnMapped(op, [](Complex x) { return Size(x).val(); }));
}

// Norms of the elements; those of matrices by their singular values are not.
void LinalgNorm(Op& op) {
  const Item order = op.Arg("ord");
  const bool named = order.kind == Item::Kind::kConstant && order.constant.is_string();
  const int rank = op.Arg("self").val.rank() - (IsComplexArgument(op, "self") ? 1 : 0);
  const bool vector = rank == 1 || (op.Has("dim") && op.Ints("dim").size() == 1);
  const bool by_values = named ? op.String("ord") != "fro"
                               : !order.is_none() && !vector && std::abs(op.Float("ord")) == 2;
  if (!op.Require(!by_values, "a matrix norm of complex numbers by their singular values")) return;
  OnSizes(op);
}

// The mean of |x − mean|²: the sum of what the parts give.
Val Variance(Op& op) {
  Val sum;
  for (const bool second : {false, true}) {
    const Val part =
        OnMapped(op, [&](Complex x) { return second ? x.im.val() : x.re.val(); })[0].val;
    sum = second ? op.b.Add(sum, part) : part;
  }
  return sum;
}
void Var(Op& op) { op.Return(Variance(op)); }

// Standard deviations: the root of the sum of the parts' squares.
void Std(Op& op) {
  const auto deviation = [&](bool second) {
    return Expr(op.b, OnMapped(op, [&](Complex x) {
                        return second ? x.im.val() : x.re.val();
                      })[0].val);
  };
  op.Return(Size({deviation(false), deviation(true)}).val());
}

void IsNan(Op& op) {
  const Complex x = Unpacked(op.b, op.Arg("self").val);
  op.Return(op.b.Or(op.b.Unary("IsNaN", x.re.val()), op.b.Unary("IsNaN", x.im.val())));
}
void IsInf(Op& op) {
  const Complex x = Unpacked(op.b, op.Arg("self").val);
  op.Return(op.b.Or(IsInfinity(op.b, x.re.val()), IsInfinity(op.b, x.im.val())));
}
void IsFinite(Op& op) {
  const Complex x = Unpacked(op.b, op.Arg("self").val);
  op.Return(op.b.And(IsFiniteNumber(op.b, x.re.val()), IsFiniteNumber(op.b, x.im.val())));
}
void IsReal(Op& op) { op.Return(Unpacked(op.b, op.Arg("self").val).im == 0); }

// ---------------------------------------------------------------- filled tensors

// Of the sizes `size`, or those of `self`.
Val ShapeOfResult(Op& op) {
  if (op.node.Find("size") != nullptr) return SizeVector(op, "size", op.OutShape());
  const Val self = op.Arg("self").val;
  return op.b.ShapeOf(IsComplexArgument(op, "self") ? Unpacked(op.b, self).re.val() : self);
}

void ReturnFilled(Op& op, Complex value) {
  const Val shape = ShapeOfResult(op);
  ReturnComplex(op, {{op.b, Filled(op.b, shape, value.re.val())},
                     {op.b, Filled(op.b, shape, value.im.val())}});
}

template <int kValue>
void Constants(Op& op) {
  const DType part = PartType(op);
  ReturnFilled(op, {{op.b, op.b.Scalar(kValue, part)}, {op.b, op.b.Scalar(0, part)}});
}

template <const char* kValue>
void Full(Op& op) {
  ReturnFilled(op, ReadComplex(op, kValue, PartType(op)));
}
void ScalarTensor(Op& op) { ReturnComplex(op, ReadComplex(op, "s", PartType(op))); }
constexpr char kFillValue[] = "fill_value", kValueName[] = "value";

}  // namespace

void OnNonZero(Op& op) {
  op.Return(OnMapped(op, [&](Complex x) { return op.b.Not(op.b.And(x.re == 0, x.im == 0)); }));
}

const std::vector<Row>& ComplexTensorForms() {
  static const auto* const kRows = [] {
    auto* rows = new std::vector<Row>{
        {"aten::matmul", Product<kSelf, kOther>},
        {"aten::mm", Product<kSelf, kMat2>},
        {"aten::bmm", Product<kSelf, kMat2>},
        {"aten::mv", Product<kSelf, kVec>},
        {"aten::dot", Product<kSelf, kTensor>},
        {"aten::inner", Product<kSelf, kOther>},
        {"aten::outer", Product<kSelf, kVec2>},
        {"aten::ger", Product<kSelf, kVec2>},
        {"aten::kron", Product<kSelf, kOther>},
        {"aten::tensordot", Product<kSelf, kOther>},
        {"aten::vdot", Vdot},
        {"aten::einsum", Einsum},
        {"aten::linear", Linear},
        {"aten::addmm", Addmm},
        {"aten::baddbmm", Baddbmm},
        {"aten::addmv", Addmv},
        {"aten::addr", Addr},
        {"aten::addcmul", AddPointwise<false>},
        {"aten::addcdiv", AddPointwise<true>},
        {"aten::lerp", Lerp},
        {"aten::var", Var},
        {"aten::std", Std},
        {"aten::linalg_norm", LinalgNorm},
        {"aten::linalg_matrix_norm", LinalgNorm},
        {"aten::isnan", IsNan},
        {"aten::isinf", IsInf},
        {"aten::isfinite", IsFinite},
        {"aten::isreal", IsReal},
        {"aten::full", Full<kFillValue>},
        {"aten::full_like", Full<kFillValue>},
        {"aten::new_full", Full<kFillValue>},
        {"aten::fill", Full<kValueName>},
        {"aten::scalar_tensor", ScalarTensor},
    };
    for (const char* name :
         {"zeros", "zeros_like", "new_zeros", "zero", "empty", "empty_like", "new_empty"}) {
      rows->push_back({std::string("aten::") + name, Constants<0>});
    }
    for (const char* name : {"ones", "ones_like", "new_ones"}) {
      rows->push_back({std::string("aten::") + name, Constants<1>});
    }
    for (const char* name : {"linalg_vector_norm", "norm", "frobenius_norm"}) {
      rows->push_back({std::string("aten::") + name, OnSizes});
    }
    for (const char* name : {"any", "all", "nonzero", "argwhere", "count_nonzero", "logical_not",
                             "logical_and", "logical_or", "logical_xor"}) {
      rows->push_back({std::string("aten::") + name, OnNonZero});
    }
    return rows;
  }();
  return *kRows;
}

}  // namespace rules_onnx::lowering
