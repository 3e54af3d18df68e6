#include "exporter/lowering/complex.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "exporter/lowering/call.h"
#include "exporter/lowering/linear.h"
#include "exporter/lowering/lowering.h"
#include "exporter/lowering/math.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

bool IsComplexType(const ir::Type& type) {
  if (type.is_list()) return IsComplexType(type.elements.front());
  return IsComplex(type.TensorDType());
}

// The dtype of the parts of the result.
DType PartType(Op& op) {
  const DType dtype = op.OutDType();
  return IsComplex(dtype) ? ir::RealOf(dtype) : dtype;
}

}  // namespace

bool IsComplexArgument(Op& op, absl::string_view name) {
  const ir::Arg* arg = op.node.Find(name);
  if (arg == nullptr) return false;
  return arg->is_complex() || (arg->is_value() && IsComplex(arg->value()->type.TensorDType()));
}

Complex Unpacked(Builder& b, Val pair) {
  if (!pair) return {{b, Val()}, {b, Val()}};
  return {{b, b.Gather(pair, b.Int(0), pair.rank() - 1)},
          {b, b.Gather(pair, b.Int(1), pair.rank() - 1)}};
}

Complex ReadComplex(Op& op, absl::string_view name, DType part) {
  Builder& b = op.b;
  const ir::Arg* arg = op.node.Find(name);
  if (arg != nullptr && arg->is_complex()) {
    const std::complex<double> value = arg->as_complex();
    return {{b, b.Scalar(value.real(), part)}, {b, b.Scalar(value.imag(), part)}};
  }
  if (IsComplexArgument(op, name)) return Unpacked(b, b.Cast(op.Arg(name).val, part));
  return {{b, op.Tensor(name, part)}, {b, b.Scalar(0, part)}};
}

Val Packed(Complex x) {
  Builder& b = x.re.b();
  const Vals parts = Broadcast(b, {x.re.val(), x.im.val()});
  return b.Concat({b.Unsqueeze(parts[0], {-1}), b.Unsqueeze(parts[1], {-1})}, -1);
}

namespace {

Complex Self(Op& op) { return ReadComplex(op, "self", PartType(op)); }
Complex Other(Op& op) { return ReadComplex(op, "other", PartType(op)); }

void ReturnComplex(Op& op, Complex x) { op.Return(Packed(x)); }

Complex Times(Complex x, Complex y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

// |x|, without overflow of the squares.
Expr Size(Complex x) {
  Builder& b = x.re.b();
  const Expr re = Abs(x.re), im = Abs(x.im);
  const Expr larger(b, b.Max(re.val(), im.val())), smaller(b, b.Min(re.val(), im.val()));
  const Val zero = larger == 0;
  const Expr ratio = smaller / Select(zero, 1.0, larger);
  return larger * Sqrt(1 + ratio * ratio);
}

Complex Inverse(Complex x) {
  const Expr square = x.re * x.re + x.im * x.im;
  return {x.re / square, -x.im / square};
}

// ---------------------------------------------------------------- making and taking apart

void MakeComplex(Op& op) {
  const DType part = PartType(op);
  ReturnComplex(op, {{op.b, op.Tensor("real", part)}, {op.b, op.Tensor("imag", part)}});
}

void Polar(Op& op) {
  const DType part = PartType(op);
  const Expr size(op.b, op.Tensor("abs", part)), angle(op.b, op.Tensor("angle", part));
  ReturnComplex(op, {size * Cos(angle), size * Sin(angle)});
}

// The pair as a real tensor, or a real tensor as pairs: the same value.
void SameValue(Op& op) { op.Return(op.Arg("self").val); }

void Real(Op& op) {
  op.Return(IsComplexArgument(op, "self") ? Self(op).re.val() : op.Tensor("self"));
}
void Imag(Op& op) { op.Return(Self(op).im.val()); }

void Conjugate(Op& op) {
  const Complex x = Self(op);
  ReturnComplex(op, {x.re, -x.im});
}

// ---------------------------------------------------------------- arithmetic

void AddScaled(Op& op, double sign) {
  const Complex x = Self(op);
  Complex y = Other(op);
  if (op.Has("alpha")) y = Times(y, ReadComplex(op, "alpha", PartType(op)));
  ReturnComplex(op, {x.re + sign * y.re, x.im + sign * y.im});
}
void Add(Op& op) { AddScaled(op, 1); }
void Sub(Op& op) { AddScaled(op, -1); }

void Mul(Op& op) { ReturnComplex(op, Times(Self(op), Other(op))); }

void Div(Op& op) {
  const Complex x = Self(op);
  if (IsComplexArgument(op, "other")) return ReturnComplex(op, Times(x, Inverse(Other(op))));
  const Expr y = Other(op).re;
  ReturnComplex(op, {x.re / y, x.im / y});
}

void Neg(Op& op) {
  const Complex x = Self(op);
  ReturnComplex(op, {-x.re, -x.im});
}

void Reciprocal(Op& op) { ReturnComplex(op, Inverse(Self(op))); }

void Square(Op& op) { ReturnComplex(op, Times(Self(op), Self(op))); }

// Whole powers.
void Power(Op& op) {
  const auto exponent = op.KnownFloat("exponent");
  if (!op.Require(exponent && *exponent == std::floor(*exponent) && std::abs(*exponent) <= 64,
                  "complex powers that are not small whole numbers")) {
    return;
  }
  const Complex base = *exponent < 0 ? Inverse(Self(op)) : Self(op);
  Complex result = {base.re * 0 + 1, base.im * 0};
  for (int i = 0; i < std::abs(*exponent); ++i) result = i == 0 ? base : Times(result, base);
  ReturnComplex(op, result);
}

void AbsOp(Op& op) { op.Return(Size(Self(op)).val()); }

void AngleOp(Op& op) {
  const Complex x = Self(op);
  const ir::Type type = op.OutType();
  const std::vector<Item> angle = Call(op, "aten::atan2", {{"self", x.im.val()},
                                                           {"other", x.re.val()}}, {type});
  op.Return(angle);
}

void ExpOp(Op& op) {
  const Complex x = Self(op);
  const Expr size = Exp(x.re);
  ReturnComplex(op, {size * Cos(x.im), size * Sin(x.im)});
}

// x / |x|, 0 at 0.
void Sgn(Op& op) {
  const Complex x = Self(op);
  const Expr size = Size(x);
  const Expr safe = Select(size == 0, 1.0, size);
  ReturnComplex(op, {x.re / safe, x.im / safe});
}

template <const char* kSecond>
void Product(Op& op) {
  Builder& b = op.b;
  const Complex x = Self(op), y = ReadComplex(op, kSecond, PartType(op));
  const bool real_x = !IsComplexArgument(op, "self"), real_y = !IsComplexArgument(op, kSecond);
  const auto times = [&](Expr u, Expr v) { return Expr(b, MatMul(b, u.val(), v.val())); };
  if (real_x) return ReturnComplex(op, {times(x.re, y.re), times(x.re, y.im)});
  if (real_y) return ReturnComplex(op, {times(x.re, y.re), times(x.im, y.re)});
  ReturnComplex(op, {times(x.re, y.re) - times(x.im, y.im), times(x.re, y.im) + times(x.im, y.re)});
}
inline constexpr char kOther[] = "other";
inline constexpr char kMat2[] = "mat2";
inline constexpr char kVec[] = "vec";

void Equal(Op& op) {
  const DType part = DType::kFloat64;
  const Complex x = ReadComplex(op, "self", part), y = ReadComplex(op, "other", part);
  op.Return(op.b.And(x.re == y.re, x.im == y.im));
}

void NotEqual(Op& op) {
  const DType part = DType::kFloat64;
  const Complex x = ReadComplex(op, "self", part), y = ReadComplex(op, "other", part);
  op.Return(op.b.Not(op.b.And(x.re == y.re, x.im == y.im)));
}

// ---------------------------------------------------------------- part by part

// The same in both parts: what moves elements, and sums.
ir::Type PartOf(const ir::Type& type) {
  ir::Type part = type;
  if (part.is_list()) {
    part.elements.front() = PartOf(part.elements.front());
  } else if (IsComplex(part.TensorDType())) {
    part.dtype = ir::RealOf(part.dtype);
  }
  return part;
}

Item PartOf(Builder& b, const Item& item, int part) {
  if (item.is_list()) {
    std::vector<Item> items;
    for (const Item& element : item.items) items.push_back(PartOf(b, element, part));
    return Item::List(std::move(items));
  }
  if (!item.is_val()) return item;
  return b.Gather(item.val, b.Int(part), item.val.rank() - 1);
}

Item PackedItem(Builder& b, const Item& re, const Item& im) {
  if (!re.is_list()) return Packed({{b, re.val}, {b, im.val}});
  std::vector<Item> items;
  for (size_t i = 0; i < re.items.size() && i < im.items.size(); ++i) {
    items.push_back(PackedItem(b, re.items[i], im.items[i]));
  }
  return Item::List(std::move(items));
}

void PartByPart(Op& op) {
  const Row* row = FindRow(op.node.op);
  if (!op.Require(row != nullptr, "complex numbers are not supported")) return;
  std::vector<ir::Type> types;
  for (size_t i = 0; i < op.num_outputs(); ++i) types.push_back(PartOf(op.OutType(i)));
  std::vector<Item> parts[2];
  for (int i = 0; i < 2; ++i) {
    parts[i] = CallOnTyped(op, row->function, [&](const Item& item, const ir::Type& type) {
      return IsComplexType(type) ? PartOf(op.b, item, i) : item;
    }, types);
  }
  std::vector<Item> results;
  for (size_t i = 0; i < parts[0].size() && i < parts[1].size(); ++i) {
    results.push_back(PackedItem(op.b, parts[0][i], parts[1][i]));
  }
  op.Return(std::move(results));
}

const std::vector<Row>& Forms() {
  static const auto* const kForms = [] {
    auto* forms = new std::vector<Row>{
        {"aten::real", Real},
        {"aten::imag", Imag},
        {"aten::_conj", Conjugate},
        {"aten::_conj_copy", Conjugate},
        {"aten::conj", Conjugate},
        {"aten::conj_physical", Conjugate},
        {"aten::_conj_physical", Conjugate},
        {"aten::add", Add},
        {"aten::sub", Sub},
        {"aten::mul", Mul},
        {"aten::multiply", Mul},
        {"aten::div", Div},
        {"aten::true_divide", Div},
        {"aten::neg", Neg},
        {"aten::reciprocal", Reciprocal},
        {"aten::square", Square},
        {"aten::pow", Power},
        {"aten::abs", AbsOp},
        {"aten::absolute", AbsOp},
        {"aten::angle", AngleOp},
        {"aten::exp", ExpOp},
        {"aten::sgn", Sgn},
        {"aten::matmul", Product<kOther>},
        {"aten::mm", Product<kMat2>},
        {"aten::bmm", Product<kMat2>},
        {"aten::mv", Product<kVec>},
        {"aten::eq", Equal},
        {"aten::ne", NotEqual},
    };
    for (const char* name :
         {"view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "permute", "transpose",
          "t", "numpy_T", "movedim", "swapaxes", "expand", "expand_as", "repeat", "tile", "flip",
          "roll", "slice", "select", "narrow", "index", "index_select", "gather", "cat", "concat",
          "stack", "split", "split_with_sizes", "chunk", "unbind", "clone", "contiguous",
          "alias", "detach", "sum", "mean", "cumsum", "diff", "diagonal", "tril", "triu",
          "constant_pad_nd", "where", "view_as", "reshape_as", "_reshape_alias", "_unsafe_view",
          "unfold", "rot90", "trace", "lift_fresh", "lift_fresh_copy", "fft_fftshift",
          "fft_ifftshift"}) {
      forms->push_back({std::string("aten::") + name, PartByPart});
    }
    return forms;
  }();
  return *kForms;
}

}  // namespace

bool HasComplex(const ir::Node& node) {
  bool found = false;
  node.ForEachInput([&](const ir::Value* value) { found |= IsComplexType(value->type); });
  for (const ir::Value* output : node.outputs) found |= IsComplexType(output->type);
  return found;
}

LoweringFunction FindComplexLowering(absl::string_view op) {
  const absl::string_view base = op.substr(0, op.find('.'));
  for (const Row& row : Forms()) {
    if (row.op == base) return row.function;
  }
  return nullptr;
}

extern const Family kComplex;
const Family kComplex = {"complex", {
    {"aten::complex", MakeComplex},
    {"aten::polar", Polar},
    {"aten::view_as_real", SameValue},
    {"aten::view_as_complex", SameValue},
    {"aten::view_as_real_copy", SameValue},
    {"aten::view_as_complex_copy", SameValue},
    {"aten::real", Real},
}};

}  // namespace rules_onnx::lowering
